package btf

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math"
	"slices"
	"strings"
	"sync"

	"trocar/internal/binary/types"
)

// Types are the types of a Source. Its methods may be called from several goroutines; without types they find nothing,
// and Err tells why.
type Types struct {
	mu      sync.Mutex
	source  Source
	opened  bool
	err     error
	types   []byte
	strings []byte
	starts  []uint32 // where each type begins in types, by id, as far as was looked; of id 0, void, nothing
	rest    int      // where the one behind them begins, -1: there is none
	conv    converter
	byName  map[string]*types.Type // asked for before; nil: there is none
	enums   map[string]enumerator
	funcs   map[string]uint32 // ids asked for before; 0: there is none
	found   map[string]uint32 // structures that Structs has found
	finds   int               // walks so far
	seed    maphash.Seed
	heads   []uint32 // by the lower bits of a name's hash: the first type with such a name, and
	next    []uint32 // by id: the one behind it; 0 is none
}

// New opens nothing yet. Data of the source are kept and must not change.
func New(s Source) *Types {
	b := &Types{
		source: s, byName: map[string]*types.Type{}, enums: map[string]enumerator{}, funcs: map[string]uint32{},
	}
	b.conv.init(b)
	return b
}

// Kinds of BTF types (include/uapi/linux/btf.h).
const (
	kindInt       = 1
	kindPtr       = 2
	kindArray     = 3
	kindStruct    = 4
	kindUnion     = 5
	kindEnum      = 6
	kindFwd       = 7
	kindTypedef   = 8
	kindVolatile  = 9
	kindConst     = 10
	kindRestrict  = 11
	kindFunc      = 12
	kindFuncProto = 13
	kindVar       = 14
	kindDatasec   = 15
	kindFloat     = 16
	kindDeclTag   = 17
	kindTypeTag   = 18
	kindEnum64    = 19
)

// layouts says how many bytes follow the common 12 of a type: a fixed number, and some for each of its vlen members.
var layouts = [32]struct {
	known            bool
	fixed, perMember uint32
}{
	kindInt: {true, 4, 0}, kindPtr: {true, 0, 0}, kindArray: {true, 12, 0}, kindStruct: {true, 0, 12},
	kindUnion: {true, 0, 12}, kindEnum: {true, 0, 8}, kindFwd: {true, 0, 0}, kindTypedef: {true, 0, 0},
	kindVolatile: {true, 0, 0}, kindConst: {true, 0, 0}, kindRestrict: {true, 0, 0}, kindFunc: {true, 0, 0},
	kindFuncProto: {true, 0, 8}, kindVar: {true, 4, 0}, kindDatasec: {true, 0, 12}, kindFloat: {true, 0, 0},
	kindDeclTag: {true, 4, 0}, kindTypeTag: {true, 0, 0}, kindEnum64: {true, 0, 12},
}

func u32(b []byte, at int) uint32 { return binary.LittleEndian.Uint32(b[at:]) }

// index notes where each type begins.
func (b *Types) index() { b.indexTo(math.MaxInt) }

// indexTo does so up to an id. What follows a damaged type is not there.
func (b *Types) indexTo(id int) {
	if b.starts == nil {
		b.open()
		b.starts, b.rest = make([]uint32, 1, 1<<13), 0
	}
	for len(b.starts) <= id && b.rest >= 0 {
		off := b.rest
		b.rest = -1
		if len(b.types)-off < 12 {
			return
		}
		info := u32(b.types, off+4)
		l := &layouts[info>>24&0x1f]
		size := 12 + int(l.fixed) + int(l.perMember)*int(info&0xffff)
		if !l.known || len(b.types)-off < size {
			return
		}
		b.starts, b.rest = append(b.starts, uint32(off)), off+size
	}
}

// stored is one type as it is stored.
type stored struct {
	at   []byte // from its beginning on
	kind uint32
	vlen int
	flag bool // kind_flag: what it means depends on the kind
}

// at returns a type; of an id that does not exist one of kind 0.
func (b *Types) at(id uint32) stored {
	b.indexTo(int(id))
	if id == 0 || uint64(id) >= uint64(len(b.starts)) {
		return stored{}
	}
	t := stored{at: b.types[b.starts[id]:]}
	info := u32(t.at, 4)
	t.kind, t.vlen, t.flag = info>>24&0x1f, int(info&0xffff), info>>31 != 0
	return t
}

// ref is the id of the type that this one refers to.
func (t stored) ref() uint32 { return u32(t.at, 8) }

// size is the number of bytes of a value.
func (t stored) size() int { return int(u32(t.at, 8)) }

// word is the n-th number behind the common part.
func (t stored) word(n int) uint32 { return u32(t.at, 12+4*n) }

func (b *Types) nameOf(t stored) string { return b.text(u32(t.at, 0)) }

// text is a string by its offset.
func (b *Types) text(off uint32) string {
	if uint64(off) >= uint64(len(b.strings)) {
		return ""
	}
	s := b.strings[off:]
	return string(s[:bytes.IndexByte(s, 0)])
}

// called tells whether the string at an offset is name.
func (b *Types) called(off uint32, name string) bool {
	if uint64(off)+uint64(len(name)) >= uint64(len(b.strings)) {
		return false
	}
	s := b.strings[off:]
	return s[0] == name[0] && s[len(name)] == 0 && string(s[:len(name)]) == name
}

// maxWalks is how many names are looked for by walking over the types: some 0.7 ms each, while hashing them takes 2.
const maxWalks = 2

// find returns the id of the first type of one of the kinds (a set of bits) that has a name.
func (b *Types) find(kinds uint32, name string) (id uint32, ok bool) {
	if name == "" {
		return 0, false
	}
	if id := b.found[name]; id != 0 && kinds>>b.at(id).kind&1 != 0 {
		return id, true
	}
	b.index()
	if b.finds++; b.finds > maxWalks {
		return b.search(kinds, name)
	}
	for id, off := range b.starts {
		if id == 0 {
			continue
		}
		if kinds>>(u32(b.types, int(off)+4)>>24&0x1f)&1 != 0 && b.called(u32(b.types, int(off)), name) {
			return uint32(id), true
		}
	}
	return 0, false
}

// Structs finds many structures by their names in one walk, for which Type will be asked. It goes no further than it
// must: those that all the kernel knows of come first.
func (b *Types) Structs(names ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.found == nil {
		b.found = map[string]uint32{}
	}
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return b.found[name] != 0 })
	for id := 1; len(names) > 0; id++ {
		t := b.at(uint32(id))
		if t.at == nil {
			break
		}
		if t.kind != kindStruct {
			continue
		}
		name := u32(t.at, 0)
		if i := slices.IndexFunc(names, func(n string) bool { return b.called(name, n) }); i >= 0 {
			b.found[names[i]] = uint32(id)
			names = slices.Delete(names, i, i+1)
		}
	}
}

// search is find by hash.
func (b *Types) search(kinds uint32, name string) (id uint32, ok bool) {
	if b.heads == nil {
		b.hashNames()
	}
	for id := b.heads[maphash.String(b.seed, name)&uint64(len(b.heads)-1)]; id != 0; id = b.next[id] {
		off := int(b.starts[id])
		if kinds>>(u32(b.types, off+4)>>24&0x1f)&1 != 0 && b.called(u32(b.types, off), name) {
			return id, true
		}
	}
	return 0, false
}

// Forget gives the memory back by which types are found. It is made again when it is needed.
func (b *Types) Forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.starts, b.heads, b.next = nil, nil, nil
}

// hashNames puts the types with names into chains, of which each is in the order of the types.
func (b *Types) hashNames() {
	b.seed = maphash.MakeSeed()
	size := 1
	for size < len(b.starts) {
		size *= 2
	}
	b.heads, b.next = make([]uint32, size), make([]uint32, len(b.starts))
	for id := len(b.starts) - 1; id > 0; id-- {
		if name := u32(b.types, int(b.starts[id])); name != 0 && uint64(name) < uint64(len(b.strings)) {
			s := b.strings[name:]
			head := &b.heads[maphash.Bytes(b.seed, s[:bytes.IndexByte(s, 0)])&uint64(size-1)]
			b.next[id], *head = *head, uint32(id)
		}
	}
}

// Type finds a type by its name in C: "struct task_struct", "union x", "enum e", or that of a typedef or basic type
// ("size_t", "long unsigned int"). Nil: there is none. Of several the first that has members counts. It is complete,
// and what is behind its pointers is completed on demand.
func (b *Types) Type(name string) *types.Type {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t, ok := b.byName[name]; ok {
		return t
	}
	t := b.lookUp(name)
	if len(b.byName) < maxKept {
		b.byName[strings.Clone(name)] = t
	}
	return t
}

func (b *Types) lookUp(name string) *types.Type {
	kinds := uint32(1<<kindTypedef | 1<<kindInt | 1<<kindFloat)
	word, tag, tagged := strings.Cut(name, " ")
	if tagged {
		switch word {
		case "struct":
			kinds, name = 1<<kindStruct, tag
		case "union":
			kinds, name = 1<<kindUnion, tag
		case "enum":
			kinds, name = 1<<kindEnum|1<<kindEnum64, tag
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
func (b *Types) Tags() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.index()
	var names []string
	for id := range b.starts {
		t := b.at(uint32(id))
		word := ""
		switch t.kind {
		case kindStruct:
			word = "struct "
		case kindUnion:
			word = "union "
		case kindEnum, kindEnum64:
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

// enumerator is the answer to a question for an enumerator.
type enumerator struct {
	enum  *types.Type // nil: there is none
	value int64
}

// Enumerator finds a constant of any enum by its name.
func (b *Types) Enumerator(name string) (enum *types.Type, value int64, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e, known := b.enums[name]
	if !known {
		e = b.findEnumerator(name)
		if len(b.enums) < maxKept {
			b.enums[strings.Clone(name)] = e
		}
	}
	return e.enum, e.value, e.enum != nil
}

func (b *Types) findEnumerator(name string) enumerator {
	if name == "" {
		return enumerator{}
	}
	b.index()
	for id := range b.starts {
		t := b.at(uint32(id))
		step := 2
		switch t.kind {
		case kindEnum64:
			step = 3
		case kindEnum:
		default:
			continue
		}
		for i := range t.vlen {
			if b.called(t.word(step*i), name) {
				return enumerator{b.conv.of(uint32(id), true, 0), t.enumerator(i)}
			}
		}
	}
	return enumerator{}
}
