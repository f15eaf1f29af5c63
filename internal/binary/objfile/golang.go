package objfile

import (
	"encoding/binary"
	"strings"
)

// GoVersion is the version of Go that the program was built with ("go1.26.1"), "" if it doesn't tell. Its build
// information has it in text from 1.18 on (debug/buildinfo of the Go source).
func (f *File) GoVersion() (version string) {
	var err error
	defer Guard(&err)()
	s := f.section(".go.buildinfo")
	if s == nil {
		return ""
	}
	d := f.sectionBytes(s)
	const header, inline = 32, 2
	if len(d) < header || string(d[:14]) != "\xff Go buildinf:" || d[15]&inline == 0 {
		return ""
	}
	n, width := binary.Uvarint(d[header:])
	if width <= 0 || n > 256 || n > uint64(len(d)-header-width) {
		return ""
	}
	return strings.Clone(string(d[header+width : header+width+int(n)]))
}

// GoCode tells whether an address is in a function of Go's table, which C code in a Go program is not, and whether that
// was written in assembly.
func (f *File) GoCode(addr uint64) (in, assembly bool) {
	var err error
	defer Guard(&err)()
	t := f.funcTable()
	if t == nil {
		return false, false
	}
	i, _, _, ok := t.index(addr)
	if !ok {
		return false, false
	}
	// _func.flag, FuncFlagAsm (runtime/symtab.go, internal/abi/symtab.go).
	at := t.fieldAt(2*i+1) + uint64(t.flagFld)
	return true, t.flagFld == 0 || at >= uint64(len(t.funcs)) || t.funcs[at]&flagAssembly != 0
}

// tabled tells whether functions have names without a symbol table.
func (f *File) tabled() bool { return f.IsGo() }

// GoModule is the address of Go's description of the program (runtime.moduledata), 0 if it is not found.
func (f *File) GoModule() (addr uint64) {
	var err error
	defer Guard(&err)()
	return f.goModule()
}

// Pointer is the value that a pointer in the file has once the file is loaded at its linked address. Like Bytes it is
// to be used under Guard.
func (f *File) Pointer(addr uint64) uint64 { return f.PointerAt(addr) }

// goShape begins the type arguments in the names of Go's generic functions that have the code: main.max[go.shape.int].
// Those with the types themselves only call them.
const goShape = "[go.shape."

// isShared tells the name of such a function.
func isShared(name string) bool { return strings.Contains(name, goShape) }

// matchShared tells whether a pattern is the name of a generic function of Go, with "[...]" for its type arguments, as
// Go's own stacks have it, or without.
func (q *Query) matchShared(name string) bool {
	if strings.HasPrefix(name, "type:") || q.raw.wild() {
		return false
	}
	i, j := strings.Index(name, goShape), strings.LastIndexByte(name, ']')
	if j < i {
		return false
	}
	return q.Pattern == name[:i]+name[j+1:] || q.Pattern == name[:i]+"[...]"+name[j+1:]
}

// linkerNote is the owner of the notes that Go's linker writes.
const linkerNote = "Go"

// aroundShape is what stands around the types of a function's code that several of them share.
func aroundShape(name string) (before, behind string, ok bool) {
	i, j := strings.Index(name, goShape), strings.LastIndexByte(name, ']')
	if j <= i || i < 0 {
		return "", "", false
	}
	return name[:i], name[j+1:], true
}
