package debuginfo

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"trocar/internal/binary/types"
)

// BTF is type information in the kernel's own format (Documentation/bpf/btf.rst): what the running kernel's structures,
// enums and functions look like. Nothing is read until something is asked for, and then only that: a name is found by one walk
// over the types (some milliseconds), a structure behind a pointer is converted when somebody looks into it. Its methods
// may be called from several goroutines.
type BTF struct {
	mu      sync.Mutex
	mapped  []byte // to be unmapped
	types   []byte
	strings []byte
	starts  []uint32 // where each type begins in types, by id; of id 0, void, nothing
	conv    btfConverter
	byName  map[string]*types.Type // asked for before; nil: there is none
	enums   map[string]btfEnumerator
	finds   int // walks so far
	seed    maphash.Seed
	sorted  []uint64 // of each type with a name: its hash, and its id in the lower 32 bits
}

// KernelBTF is where the running kernel shows its types (with CONFIG_DEBUG_INFO_BTF, Linux 5.4).
const KernelBTF = "/sys/kernel/btf/vmlinux"

// btfMaxFile bounds what is read; vmlinux files have 4 to 10 MB.
const btfMaxFile = 64 << 20

var errBTF = errors.New("malformed BTF")

// Kinds of BTF types (include/uapi/linux/btf.h).
const (
	btfInt       = 1
	btfPtr       = 2
	btfArray     = 3
	btfStruct    = 4
	btfUnion     = 5
	btfEnum      = 6
	btfFwd       = 7
	btfTypedef   = 8
	btfVolatile  = 9
	btfConst     = 10
	btfRestrict  = 11
	btfFunc      = 12
	btfFuncProto = 13
	btfVar       = 14
	btfDatasec   = 15
	btfFloat     = 16
	btfDeclTag   = 17
	btfTypeTag   = 18
	btfEnum64    = 19
)

// btfLayout says how many bytes follow the common 12 of a type: a fixed number, and some for each of its vlen members.
var btfLayout = [32]struct {
	known            bool
	fixed, perMember uint32
}{
	btfInt: {true, 4, 0}, btfPtr: {true, 0, 0}, btfArray: {true, 12, 0}, btfStruct: {true, 0, 12}, btfUnion: {true, 0, 12},
	btfEnum: {true, 0, 8}, btfFwd: {true, 0, 0}, btfTypedef: {true, 0, 0}, btfVolatile: {true, 0, 0}, btfConst: {true, 0, 0},
	btfRestrict: {true, 0, 0}, btfFunc: {true, 0, 0}, btfFuncProto: {true, 0, 8}, btfVar: {true, 4, 0}, btfDatasec: {true, 0, 12},
	btfFloat: {true, 0, 0}, btfDeclTag: {true, 4, 0}, btfTypeTag: {true, 0, 0}, btfEnum64: {true, 0, 12},
}

// OpenBTF opens a file of types, KernelBTF as a rule. Types that it handed out stay good when it is closed, but those behind
// pointers are then no longer completed.
func OpenBTF(path string) (*BTF, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > btfMaxFile {
		return nil, fmt.Errorf("%s: %w: it has %d bytes, at most %d are read", path, errBTF, info.Size(), btfMaxFile)
	}
	var data, mapped []byte
	if strings.HasPrefix(path, "/sys/") && info.Size() > 0 {
		// The kernel's own file cannot shrink while it is mapped. It can be mapped from 6.16 on.
		mapped, _ = unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_PRIVATE)
		data = mapped
	}
	if data == nil {
		if data, err = readAtMost(file, info.Size()); err != nil {
			return nil, err
		}
	}
	b, err := newBTF(data)
	if err != nil {
		if mapped != nil {
			unix.Munmap(mapped)
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	b.mapped = mapped
	return b, nil
}

// readAtMost reads a file whose size is as good as known, into as much memory.
func readAtMost(file *os.File, size int64) ([]byte, error) {
	data := make([]byte, size)
	n, err := io.ReadFull(file, data)
	if err == io.ErrUnexpectedEOF || err == io.EOF {
		err = nil
	}
	return data[:n], err
}

// newBTF checks the header; data is kept.
func newBTF(data []byte) (*BTF, error) {
	const magic, headerSize = 0xeb9f, 24
	if len(data) < headerSize || binary.LittleEndian.Uint16(data) != magic {
		return nil, fmt.Errorf("%w: it begins with something else", errBTF)
	}
	header := uint64(btfU32(data, 4))
	section := func(at int) []byte {
		off, size := header+uint64(btfU32(data, at)), uint64(btfU32(data, at+4))
		if off > uint64(len(data)) || size > uint64(len(data))-off {
			return nil
		}
		return data[off : off+size : off+size]
	}
	b := &BTF{types: section(8), strings: section(16)}
	// Each string ends with a NUL, and the first is empty.
	if n := len(b.strings); n == 0 || b.strings[0] != 0 || b.strings[n-1] != 0 {
		return nil, fmt.Errorf("%w: its strings are cut off", errBTF)
	}
	b.conv.init(b)
	b.byName, b.enums = map[string]*types.Type{}, map[string]btfEnumerator{}
	return b, nil
}

// Close unmaps the file.
func (b *BTF) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	mapped := b.mapped
	b.mapped, b.types, b.strings, b.starts, b.sorted = nil, nil, []byte{0}, []uint32{0}, []uint64{}
	b.conv.init(b)
	if mapped == nil {
		return nil
	}
	return unix.Munmap(mapped)
}

func btfU32(b []byte, at int) uint32 { return binary.LittleEndian.Uint32(b[at:]) }

// index notes where each type begins. What follows a damaged type is not there.
func (b *BTF) index() {
	if b.starts != nil {
		return
	}
	b.starts = make([]uint32, 1, len(b.types)/24+2)
	for off := 0; len(b.types)-off >= 12; {
		info := btfU32(b.types, off+4)
		l := &btfLayout[info>>24&0x1f]
		size := 12 + int(l.fixed) + int(l.perMember)*int(info&0xffff)
		if !l.known || len(b.types)-off < size {
			return
		}
		b.starts = append(b.starts, uint32(off))
		off += size
	}
}

// btfType is one type as it is stored.
type btfType struct {
	at   []byte // from its beginning on
	kind uint32
	vlen int
	flag bool // kind_flag: what it means depends on the kind
}

// at returns a type; of an id that does not exist one of kind 0.
func (b *BTF) at(id uint32) btfType {
	b.index()
	if id == 0 || uint64(id) >= uint64(len(b.starts)) {
		return btfType{}
	}
	t := btfType{at: b.types[b.starts[id]:]}
	info := btfU32(t.at, 4)
	t.kind, t.vlen, t.flag = info>>24&0x1f, int(info&0xffff), info>>31 != 0
	return t
}

// ref is the id of the type that this one refers to.
func (t btfType) ref() uint32 { return btfU32(t.at, 8) }

// size is the number of bytes of a value.
func (t btfType) size() int { return int(btfU32(t.at, 8)) }

// word is the n-th number behind the common part.
func (t btfType) word(n int) uint32 { return btfU32(t.at, 12+4*n) }

func (b *BTF) nameOf(t btfType) string { return b.text(btfU32(t.at, 0)) }

// text is a string by its offset.
func (b *BTF) text(off uint32) string {
	if uint64(off) >= uint64(len(b.strings)) {
		return ""
	}
	s := b.strings[off:]
	return string(s[:bytes.IndexByte(s, 0)])
}

// called tells whether the string at an offset is name.
func (b *BTF) called(off uint32, name string) bool {
	if uint64(off)+uint64(len(name)) >= uint64(len(b.strings)) {
		return false
	}
	s := b.strings[off:]
	return s[0] == name[0] && s[len(name)] == 0 && string(s[:len(name)]) == name
}

// btfWalks is how many names are looked for by walking over the types: some 0.7 ms each, while sorting them takes 10.
const btfWalks = 8

// find returns the id of the first type of one of the kinds (a set of bits) that has a name.
func (b *BTF) find(kinds uint32, name string) (id uint32, ok bool) {
	if name == "" {
		return 0, false
	}
	b.index()
	if b.finds++; b.finds > btfWalks {
		return b.search(kinds, name)
	}
	for id, off := range b.starts {
		if id == 0 {
			continue
		}
		if kinds>>(btfU32(b.types, int(off)+4)>>24&0x1f)&1 != 0 && b.called(btfU32(b.types, int(off)), name) {
			return uint32(id), true
		}
	}
	return 0, false
}

// search is find by hash.
func (b *BTF) search(kinds uint32, name string) (id uint32, ok bool) {
	if b.sorted == nil {
		b.sortNames()
	}
	hash := maphash.String(b.seed, name) >> 32 << 32
	i, _ := slices.BinarySearch(b.sorted, hash)
	for ; i < len(b.sorted) && b.sorted[i]>>32<<32 == hash; i++ {
		id := uint32(b.sorted[i])
		off := int(b.starts[id])
		if kinds>>(btfU32(b.types, off+4)>>24&0x1f)&1 != 0 && b.called(btfU32(b.types, off), name) {
			return id, true
		}
	}
	return 0, false
}

func (b *BTF) sortNames() {
	b.seed = maphash.MakeSeed()
	b.sorted = make([]uint64, 0, len(b.starts))
	for id, off := range b.starts {
		if id == 0 {
			continue
		}
		if name := btfU32(b.types, int(off)); name != 0 && uint64(name) < uint64(len(b.strings)) {
			s := b.strings[name:]
			hash := maphash.Bytes(b.seed, s[:bytes.IndexByte(s, 0)])
			b.sorted = append(b.sorted, hash>>32<<32|uint64(id))
		}
	}
	slices.Sort(b.sorted)
}

// Type finds a type by its name in C: "struct task_struct", "union x", "enum e", or that of a typedef or basic type
// ("size_t", "long unsigned int"). Nil: there is none. Of several the first that has members counts. It is complete, and what is
// behind its pointers is completed on demand.
func (b *BTF) Type(name string) *types.Type {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t, ok := b.byName[name]; ok {
		return t
	}
	t := b.lookUp(name)
	if len(b.byName) < btfMaxKept {
		b.byName[strings.Clone(name)] = t
	}
	return t
}

func (b *BTF) lookUp(name string) *types.Type {
	kinds := uint32(1<<btfTypedef | 1<<btfInt | 1<<btfFloat)
	word, tag, tagged := strings.Cut(name, " ")
	if tagged {
		switch word {
		case "struct":
			kinds, name = 1<<btfStruct, tag
		case "union":
			kinds, name = 1<<btfUnion, tag
		case "enum":
			kinds, name = 1<<btfEnum|1<<btfEnum64, tag
		}
	}
	id, ok := b.find(kinds, name)
	if !ok {
		return nil
	}
	t := b.conv.of(id, true, 0)
	if t.Incomplete {
		return nil
	}
	return t
}

// Tags lists the names of structs, unions and enums that have one, "struct task_struct", sorted.
func (b *BTF) Tags() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.index()
	var names []string
	for id := range b.starts {
		t := b.at(uint32(id))
		word := ""
		switch t.kind {
		case btfStruct:
			word = "struct "
		case btfUnion:
			word = "union "
		case btfEnum, btfEnum64:
			word = "enum "
		default:
			continue
		}
		if name := b.nameOf(t); name != "" && t.vlen > 0 {
			names = append(names, word+name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// btfEnumerator is the answer to a question for an enumerator.
type btfEnumerator struct {
	enum  *types.Type // nil: there is none
	value int64
}

// Enumerator finds a constant of any enum by its name.
func (b *BTF) Enumerator(name string) (enum *types.Type, value int64, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e, known := b.enums[name]
	if !known {
		e = b.findEnumerator(name)
		if len(b.enums) < btfMaxKept {
			b.enums[strings.Clone(name)] = e
		}
	}
	return e.enum, e.value, e.enum != nil
}

func (b *BTF) findEnumerator(name string) btfEnumerator {
	if name == "" {
		return btfEnumerator{}
	}
	b.index()
	for id := range b.starts {
		t := b.at(uint32(id))
		step := 2
		switch t.kind {
		case btfEnum64:
			step = 3
		case btfEnum:
		default:
			continue
		}
		for i := range t.vlen {
			if b.called(t.word(step*i), name) {
				return btfEnumerator{b.conv.of(uint32(id), true, 0), t.enumerator(i)}
			}
		}
	}
	return btfEnumerator{}
}
