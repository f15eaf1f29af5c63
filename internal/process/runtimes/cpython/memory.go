package cpython

import (
	"encoding/binary"
	"errors"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"trocar/internal/process/runtimes/remote"
)

const (
	// maxName bounds names, in characters.
	maxName = 1 << 10
	// maxTable bounds the elements of a tuple or dictionary.
	maxTable = 1 << 20
)

var errMemory = errors.New("its memory is not as it must be")

// memory is that of an interpreter.
type memory struct {
	*remote.Memory
	lay *layout
}

func newMemory(from io.ReaderAt, lay *layout) *memory {
	return &memory{remote.New(from, 2*remote.Seconds), lay}
}

func (m *memory) word(addr uint64, off int64) uint64 { return m.Word(addr + uint64(off)) }

func (m *memory) number(addr uint64, off int64) int { return int(int32(m.word(addr, off))) }

func (m *memory) typeOf(obj uint64) uint64 { return m.word(obj, objectType) }

// Bits of a type's flags: its objects are of a type derived from the builtin.
const (
	isStr  = 1 << 28
	isDict = 1 << 29
	isType = 1 << 31
)

func (m *memory) is(obj uint64, what uint64) bool {
	return obj != 0 && m.word(m.typeOf(obj), typeFlags)&what != 0
}

// text reads a str of the kind that names are.
func (m *memory) text(obj uint64) (string, bool) {
	if !m.is(obj, isStr) {
		return "", false
	}
	n, state := m.word(obj, strLength), m.word(obj, strState)
	unit, compact, ascii := state>>2&7, state>>5&1, state>>6&1
	if n > maxName || compact == 0 || unit != 1 && unit != 2 && unit != 4 {
		return "", false
	}
	at := m.lay.ascii
	if ascii == 0 {
		at = m.lay.compact()
	}
	b := make([]byte, n*unit)
	if !m.Read(b, obj+uint64(at)) {
		return "", false
	}
	switch {
	case ascii == 1:
		return string(b), utf8.Valid(b)
	case unit == 1:
		r := make([]rune, len(b))
		for i, c := range b {
			r[i] = rune(c)
		}
		return string(r), true
	case unit == 2:
		u := make([]uint16, n)
		for i := range u {
			u[i] = binary.LittleEndian.Uint16(b[2*i:])
		}
		return string(utf16.Decode(u)), true
	}
	r := make([]rune, n)
	for i := range r {
		r[i] = rune(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return string(r), true
}

// compact is where the text of a str is that is not all of ASCII.
func (l *layout) compact() int64 {
	const most = 48 // with the address of characters as C has them, of which there was one more
	if l.ascii == most {
		return l.ascii + 24
	}
	return l.ascii + 16
}

// each calls yield with what a dictionary has under names, until it gives false.
func (m *memory) each(dict uint64, yield func(key string, value uint64) bool) {
	m.items(dict, maxTable, func(key, value uint64) bool {
		name, ok := m.text(key)
		return !ok || yield(name, value)
	})
}

// items calls yield with what a dictionary of not more than most elements has, until it gives false.
func (m *memory) items(dict, most uint64, yield func(key, value uint64) bool) {
	if !m.is(dict, isDict) {
		return
	}
	const general, unicode = 0, 1 // kinds of keys; those of a third have their values elsewhere
	keys := m.word(dict, dictKeys)
	head := m.word(keys, keysHead)
	size, kind, n := head>>8&0xff, head>>16&0xff, m.word(keys, keysCount)
	if size > 40 || n > most || kind != general && kind != unicode {
		return
	}
	at, width := keys+keysTable+1<<size, uint64(16)
	if kind == general {
		at, width = at+8, 24 // in front of the key is its hash
	}
	for ; n > 0; n, at = n-1, at+width {
		value := m.word(at, 8)
		if value == 0 {
			continue // it was taken away
		}
		if !yield(m.word(at, 0), value) {
			return
		}
	}
}

// entry is what a dictionary has under a name, 0 if there is nothing.
func (m *memory) entry(dict uint64, name string) (found uint64) {
	m.each(dict, func(key string, value uint64) bool {
		if key == name {
			found = value
		}
		return key != name
	})
	return found
}

// tuple calls yield with the elements of a tuple.
func (m *memory) tuple(obj uint64, yield func(uint64)) {
	n := m.word(obj, sized)
	if n > maxTable {
		return
	}
	for i := range n {
		yield(m.word(obj, elements+8*int64(i)))
	}
}
