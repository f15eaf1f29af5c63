package golang

import (
	"sync"

	"trocar/internal/binary/code"
	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
	"trocar/internal/process/runtimes"
	"trocar/internal/process/runtimes/golang/pclntab"
)

// Runtime is Go's: the compiler gc's code and its runtime.
func Runtime() runtimes.Runtime {
	return runtimes.Runtime{
		Name: "Go", NoDebug: "build it without -ldflags=-s or -w", Functions: pclntab.Read, Open: openCode,
		Parks: "runtime.semacquire1", // runtime/sema.go, Go 1.5 to 1.26
		Waits: []runtimes.Wait{
			{Function: "runtime.lock2", Kind: "internal lock"},
			{Function: "sync.(*Mutex).*", Kind: "mutex"},
			{Function: "internal/sync.(*Mutex).*", Kind: "mutex"},
			{Function: "sync.(*RWMutex).*", Kind: "rwlock"},
			{Function: "sync.(*WaitGroup).*", Kind: "wait group"},
		},
	}
}

// Code is the Go code of a file.
type Code struct {
	name  string
	file  *objfile.File
	debug func() (*debuginfo.Info, error)
	// told is what the file tells without debug information, which is looked for when it is first asked for: it costs as
	// much as the debug information of a function.
	told            func() *Program
	call, exactCall *probe.Call
	copies          map[string]int // how often functions were inlined; nil: not counted
}

func openCode(f runtimes.File) runtimes.Code {
	if !pclntab.IsGo(f.Object) {
		return nil
	}
	return &Code{
		name: f.Name, file: f.Object, debug: f.Debug, told: sync.OnceValue(func() *Program { return Open(f.Object) }),
	}
}

// table is the program's table of functions.
func (c *Code) table() *pclntab.Table { return pclntab.Of(c.file) }

// program is what the file tells without debug information, nil for CPUs whose convention is not known.
func (c *Code) program() *Program {
	if !c.Numbered() {
		return nil
	}
	return c.told()
}

// Owns tells whether code at an address is in Go's table of functions.
func (c *Code) Owns(addr uint64) bool {
	in, _ := c.table().Code(addr)
	return in
}

// Site is behind the check of the stack, from which a function may begin anew.
func (c *Code) Site(text []byte) int { return code.CheckedEntry(c.file.Arch(), text) }

// Numbered tells whether the convention is known, by which parameters have their places.
func (c *Code) Numbered() bool { return c.file.Arch().Go() != nil }

// Dynamic is the type that is described at an address.
func (c *Code) Dynamic(addr uint64) (*types.Type, bool) { return c.told().Dynamic(addr) }

// At tells whether the code at an address is the compiler's.
func (c *Code) At(addr uint64) bool {
	in, assembly := c.table().Code(addr)
	return in && !assembly
}

// Assembly is the scope of a function in assembly: each has its arguments where it likes.
func (c *Code) Assembly(addr uint64) *probe.Scope {
	if in, assembly := c.table().Code(addr); !in || !assembly {
		return nil
	}
	return &probe.Scope{ArgN: probe.NoArgN("it is written in assembly, and only its source tells where its " +
		"arguments are: " +
		`on the stack, or in reg("ax"), reg("bx"), reg("cx") …`)}
}
