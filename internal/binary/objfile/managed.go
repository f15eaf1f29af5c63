package objfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/clr"
)

// Assemblies of .NET are files that code runs from as well: what was compiled ahead of time is mapped like that of a
// library. They are given as ELF files are: sections as segments, methods as the symbols of a table that is made of
// their tables. Addresses count from the begin of the image.

// maxMethodNames bounds the names that are made of one file; what is beyond has none.
const maxMethodNames = 64 << 20

// Managed is the .NET assembly that the file is, nil: it is none. What is read of it is to be used under Guard.
func (f *File) Managed() *clr.Image { return f.managed }

// parseManaged reads the headers of a file that begins as an assembly does.
func (f *File) parseManaged() error {
	im, err := clr.Open(f.data)
	if errors.Is(err, clr.ErrNotManaged) {
		return ErrNotELF
	} else if err != nil {
		return fmt.Errorf("%w: %w", ErrNotELF, err)
	}
	f.managed, f.is64, f.typ = im, true, TypeDyn
	if f.arch = abi.ByPE(uint16(im.Machine)); f.arch != nil {
		f.machine = f.arch.ELF.Machine
	} else if ok, _ := im.Compiled(); !ok {
		f.arch, _ = abi.Host() // for any CPU
	}
	for _, s := range im.Sections() {
		f.segments = append(f.segments, Segment{
			Offset: uint64(s.Offset), Addr: uint64(s.Addr), FileSize: uint64(s.Stored),
			MemSiz: uint64(max(s.Size, s.Stored)), Exec: s.Exec, Write: s.Write,
		})
	}
	return nil
}

// methods is a table with a symbol for each body of a method, as an ELF file has it.
func (f *File) methods() symTable {
	return f.methodTable.get(func(t *symTable) { *t = f.methodsAt(nil) })
}

// methodsAt are those that may hold one of some addresses, which are in order; nil: all.
func (f *File) methodsAt(wanted []uint64) (t symTable) {
	t.ent = 24
	bodies, _ := f.managed.Bodies() // damage is the runtime's to tell
	if wanted != nil {
		bodies = slices.DeleteFunc(slices.Clone(bodies), func(b clr.Body) bool {
			i, _ := slices.BinarySearch(wanted, uint64(b.Addr))
			return i == len(wanted) || b.Size > 0 && wanted[i]-uint64(b.Addr) >= uint64(b.Size)
		})
	}
	syms, strs := make([]byte, t.ent, t.ent*(len(bodies)+1)), make([]byte, 1, 96*len(bodies)+1)
	const global, function, section = 1 << 4, 2, 1
	var text bytes.Buffer
	for i := range bodies {
		b := &bodies[i]
		text.Reset()
		f.managed.WriteName(&text, b)
		name := text.Bytes()
		if len(name) == 0 || len(strs)+len(name) > maxMethodNames {
			continue
		}
		var s [24]byte
		binary.LittleEndian.PutUint32(s[0:], uint32(len(strs)))
		s[4], s[6] = global|function, section
		binary.LittleEndian.PutUint64(s[8:], uint64(b.Addr))
		binary.LittleEndian.PutUint64(s[16:], uint64(b.Size))
		syms, strs = append(syms, s[:]...), append(append(strs, name...), 0)
	}
	t.syms, t.strs = syms, strs
	return t
}

// IsMethod tells whether a symbol's name is that of a .NET method: "Ns.Type::Method(int,string)".
func IsMethod(name string) bool {
	return strings.HasSuffix(name, ")") && strings.Contains(name, "::") && !IsMangled(name)
}

// NamesMethod tells whether a pattern may be for a .NET method: with a type in front.
func NamesMethod(pattern string) bool { return strings.Contains(pattern, "::") }

// MethodBare is the name of a .NET method without its parameters.
func MethodBare(name string) string {
	if !IsMethod(name) {
		return name
	}
	// Parentheses are in no name; in types of parameters there are none.
	return name[:strings.IndexByte(name, '(')]
}

// Method tells whether the query fits the full name of a .NET method.
func (q *Query) Method(name string) bool { return q.readable.text != "" && q.matchMethod(name) }

// matchMethod tells whether the pattern fits a .NET method: with the types of its parameters or without, with the
// arguments of generic types and methods or without.
func (q *Query) matchMethod(name string) bool {
	if q.params {
		return q.readable.match(name)
	}
	bare := MethodBare(name)
	return q.readable.match(bare) || q.noTArgs && strings.Contains(bare, "<") && q.readable.match(dropTemplateArgs(bare))
}
