package kernel

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

const kernelBTF = "/sys/kernel/btf/vmlinux"

// BTF is type information in the kernel's format (Documentation/bpf/btf.rst), opened for a few questions: the id of a
// function, the offset of a member. It is scanned, not parsed: 5.5 MB in a millisecond or two, against 11-17 ms for a
// parser that builds all types.
type BTF struct {
	mu      sync.Mutex
	types   []byte
	strings []byte
	funcs   []btfFuncID // all functions; listed when one is asked for
	offsets []uint32    // of each type in types, by id; built when a member is asked for
}

type btfFuncID struct{ name, id uint32 }

// Kinds of types.
const (
	btfPtr       = 2
	btfArray     = 3
	btfStruct    = 4
	btfUnion     = 5
	btfEnum      = 6
	btfTypedef   = 8
	btfVolatile  = 9
	btfConst     = 10
	btfRestrict  = 11
	btfFunc      = 12
	btfFuncProto = 13
	btfVar       = 14
	btfDatasec   = 15
	btfDeclTag   = 17
	btfTypeTag   = 18
	btfEnum64    = 19
)

// btfMax bounds what is read: vmlinux files have 4-10 MB.
const btfMax = 256 << 20

var errBTF = errors.New("malformed BTF")

func openBTF(path string) (*BTF, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, &LacksError{Feature: "its own type information (" + path + ")", Way: "a kernel built with CONFIG_DEBUG_INFO_BTF has it"}
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > btfMax {
		return nil, fmt.Errorf("%s: %w: %d bytes", path, errBTF, info.Size())
	}
	// From 6.16 on it can be mapped; it stays so for as long as we run.
	data, err := unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		if data, err = io.ReadAll(io.LimitReader(file, btfMax)); err != nil {
			return nil, err
		}
	}
	b, err := parseBTF(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}

func parseBTF(data []byte) (*BTF, error) {
	if len(data) < 24 {
		return nil, errBTF
	}
	b := &BTF{}
	if binary.NativeEndian.Uint16(data) != 0xeb9f {
		return nil, errBTF
	}
	header := uint64(u32(data, 4))
	section := func(at int) ([]byte, bool) {
		off := header + uint64(u32(data, at))
		size := uint64(u32(data, at+4))
		if off > uint64(len(data)) || size > uint64(len(data))-off {
			return nil, false
		}
		return data[off : off+size], true
	}
	var ok1, ok2 bool
	b.types, ok1 = section(8)
	b.strings, ok2 = section(16)
	if !ok1 || !ok2 || len(b.strings) == 0 || b.strings[0] != 0 || b.strings[len(b.strings)-1] != 0 {
		return nil, errBTF
	}
	return b, nil
}

func u32(b []byte, at int) uint32 { return binary.NativeEndian.Uint32(b[at:]) }

// btfSizes are the bytes that follow the common 12 of a type, by kind: fixed ones, and for each of its vlen members.
var btfSizes = [32]struct {
	known            bool
	fixed, perMember int
}{
	1:            {true, 4, 0}, // integer
	btfPtr:       {true, 0, 0},
	btfArray:     {true, 12, 0},
	btfStruct:    {true, 0, 12},
	btfUnion:     {true, 0, 12},
	btfEnum:      {true, 0, 8},
	7:            {true, 0, 0}, // forward declaration
	btfTypedef:   {true, 0, 0},
	btfVolatile:  {true, 0, 0},
	btfConst:     {true, 0, 0},
	btfRestrict:  {true, 0, 0},
	btfFunc:      {true, 0, 0},
	btfFuncProto: {true, 0, 8},
	btfVar:       {true, 4, 0},
	btfDatasec:   {true, 0, 12},
	16:           {true, 0, 0}, // float
	btfDeclTag:   {true, 4, 0},
	btfTypeTag:   {true, 0, 0},
	btfEnum64:    {true, 0, 12},
}

// size is the length of the type at off, 0 if it does not fit.
func (b *BTF) size(off int) int {
	if len(b.types)-off < 12 {
		return 0
	}
	info := u32(b.types, off+4)
	s := &btfSizes[info>>24&0x1f]
	n := 12 + s.fixed + s.perMember*int(info&0xffff)
	if !s.known || len(b.types)-off < n {
		return 0
	}
	return n
}

func (b *BTF) kind(off int) uint32 { return u32(b.types, off+4) >> 24 & 0x1f }

// find gives the first type of that name that is of one of the kinds.
func (b *BTF) find(name string, kinds ...uint32) (id uint32, off int, err error) {
	names, err := b.nameOffsets(name)
	if err != nil {
		return 0, 0, err
	}
	id = 1
	for off = 0; off < len(b.types); id++ {
		n := b.size(off)
		if n == 0 {
			return 0, 0, errBTF
		}
		nameOff := u32(b.types, off)
		for _, want := range names {
			if nameOff != want {
				continue
			}
			kind := b.kind(off)
			for _, k := range kinds {
				if k == kind {
					return id, off, nil
				}
			}
		}
		off += n
	}
	return 0, 0, fmt.Errorf("the kernel's BTF has no %q", name)
}

// nameOffsets finds a string: once as itself, and as the tail of longer ones if the writer shares tails (pahole does not,
// but may).
func (b *BTF) nameOffsets(name string) ([]uint32, error) {
	if name == "" || strings.IndexByte(name, 0) >= 0 {
		return nil, fmt.Errorf("the kernel's BTF has no %q", name)
	}
	var found []uint32
	needle := append([]byte(name), 0)
	for at := 0; ; {
		i := bytes.Index(b.strings[at:], needle)
		if i < 0 {
			break
		}
		found = append(found, uint32(at+i))
		at += i + 1
		if len(found) == 64 {
			break
		}
	}
	if found == nil {
		return nil, fmt.Errorf("the kernel's BTF has no %q", name)
	}
	return found, nil
}

// FuncID is the type id of a function: what a call of it as kfunc names.
func (b *BTF) FuncID(name string) (uint32, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.funcs == nil {
		id := uint32(1)
		for off := 0; off < len(b.types); id++ {
			n := b.size(off)
			if n == 0 {
				return 0, errBTF
			}
			if b.kind(off) == btfFunc {
				b.funcs = append(b.funcs, btfFuncID{u32(b.types, off), id})
			}
			off += n
		}
	}
	names, err := b.nameOffsets(name)
	if err != nil {
		return 0, err
	}
	for _, f := range b.funcs {
		if slices.Contains(names, f.name) {
			return f.id, nil
		}
	}
	return 0, fmt.Errorf("the kernel's BTF has no function %q", name)
}

// HasStruct tells whether there is a struct or union of that name.
func (b *BTF) HasStruct(name string) bool {
	_, _, err := b.find(name, btfStruct, btfUnion)
	return err == nil
}

// MemberOffset is the offset in bytes of a member: MemberOffset("task_struct", "thread.fsbase"). Members of unnamed
// structs and unions are found by their own name.
func (b *BTF) MemberOffset(structName, path string) (int, error) {
	_, off, err := b.find(structName, btfStruct, btfUnion)
	if err != nil {
		return 0, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.index(); err != nil {
		return 0, err
	}
	bits := 0
	for rest := path; rest != ""; {
		var name string
		name, rest, _ = strings.Cut(rest, ".")
		at, typ, ok := b.member(off, name, 0)
		if !ok {
			return 0, fmt.Errorf("the kernel's struct %s has no member %q", structName, path)
		}
		bits += at
		if rest != "" {
			if off, ok = b.resolve(typ); !ok {
				return 0, errBTF
			}
		}
	}
	if bits%8 != 0 {
		return 0, fmt.Errorf("member %q of the kernel's struct %s is a bit field", path, structName)
	}
	return bits / 8, nil
}

// member finds a member in the struct at off, in its unnamed members too.
func (b *BTF) member(off int, name string, depth int) (bits int, typ uint32, ok bool) {
	kind := b.kind(off)
	if (kind != btfStruct && kind != btfUnion) || depth > 16 {
		return 0, 0, false
	}
	info := u32(b.types, off+4)
	bitfields := info>>31 != 0
	for i := range int(info & 0xffff) {
		m := b.types[off+12+12*i:]
		at := int(u32(m, 8))
		if bitfields {
			at &= 0xffffff // the upper 8 bits are the size
		}
		typ := u32(m, 4)
		nameOff := u32(m, 0)
		if nameOff == 0 {
			inner, ok := b.resolve(typ)
			if !ok {
				continue
			}
			if bits, typ, ok := b.member(inner, name, depth+1); ok {
				return at + bits, typ, true
			}
			continue
		}
		if b.hasName(nameOff, name) {
			return at, typ, true
		}
	}
	return 0, 0, false
}

func (b *BTF) hasName(off uint32, name string) bool {
	end := uint64(off) + uint64(len(name))
	return end < uint64(len(b.strings)) && string(b.strings[off:end]) == name && b.strings[end] == 0
}

// resolve goes through typedefs and qualifiers to the type's place.
func (b *BTF) resolve(id uint32) (off int, ok bool) {
	for range 32 {
		if id == 0 || int(id) >= len(b.offsets) {
			return 0, false
		}
		off = int(b.offsets[id])
		switch b.kind(off) {
		case btfTypedef, btfVolatile, btfConst, btfRestrict, btfTypeTag:
			id = u32(b.types, off+8)
		default:
			return off, true
		}
	}
	return 0, false
}

// index notes where each type is.
func (b *BTF) index() error {
	if b.offsets != nil {
		return nil
	}
	offsets := make([]uint32, 1, len(b.types)/24+1)
	for off := 0; off < len(b.types); {
		n := b.size(off)
		if n == 0 {
			return errBTF
		}
		offsets = append(offsets, uint32(off))
		off += n
	}
	b.offsets = offsets
	return nil
}
