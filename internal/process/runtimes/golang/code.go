package golang

import (
	"sync"

	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/objfile"
	"trocar/internal/process/probe"
	"trocar/internal/process/runtimes"
)

// Runtime is Go's: the compiler gc's code and its runtime.
func Runtime() runtimes.Runtime { return runtimes.Runtime{Name: "Go", Open: openCode} }

// Code is the Go code of a file.
type Code struct {
	name  string
	file  *objfile.File
	debug func() (*debuginfo.Info, error)
	// program is what the file tells without debug information, which is looked for when it is first asked for: it costs
	// as much as the debug information of a function. Nil for CPUs whose convention is not known.
	program         func() *Program
	call, exactCall *probe.Call
	copies          map[string]int // how often functions were inlined; nil: not counted
}

func openCode(f runtimes.File) runtimes.Code {
	if !f.Object.IsGo() {
		return nil
	}
	c := &Code{name: f.Name, file: f.Object, debug: f.Debug, program: func() *Program { return nil }}
	if f.Object.Arch().Go() != nil {
		c.program = sync.OnceValue(func() *Program { return Open(f.Object) })
	}
	return c
}

// At tells whether the code at an address is the compiler's.
func (c *Code) At(addr uint64) bool {
	in, assembly := c.file.GoCode(addr)
	return in && !assembly
}

// Assembly is the scope of a function in assembly: each has its arguments where it likes.
func (c *Code) Assembly(addr uint64) *probe.Scope {
	if in, assembly := c.file.GoCode(addr); !in || !assembly {
		return nil
	}
	return &probe.Scope{ArgN: probe.NoArgN("it is written in assembly, and only its source tells where its " +
		"arguments are: " +
		`on the stack, or in reg("ax"), reg("bx"), reg("cx") …`)}
}
