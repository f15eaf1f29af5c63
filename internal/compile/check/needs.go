package check

import (
	"trocar/internal/compile/builtin"
	"trocar/internal/script/syntax"
)

// Needs is what the code of a probe asks of its points. It is told from the names alone, before anything is matched.
type Needs struct {
	Args   bool // args: from debug information, or the kernel
	Vars   bool // vars: local variables
	ArgN   bool // arg0, arg1 …
	Retval bool // retval, which has a type in some probe kinds
	Name   bool // probe or func
	// Duration: the entries of the functions are needed too.
	Duration bool
	// Goroutine: goid or goframe, which only Go code has.
	Goroutine bool
}

// NeedsOf looks through a probe whose macros are expanded.
func NeedsOf(p *syntax.Probe) Needs {
	var n Needs
	note := func(name string) {
		f := builtin.Lookup(name)
		if f == nil {
			return
		}
		switch f.ID {
		case "args":
			n.Args = true
		case "vars":
			n.Args, n.Vars = true, true
		case "argN":
			n.ArgN = true
		case "goid", "goframe":
			n.Goroutine = true
		case "retval":
			n.Retval = true
		case "duration":
			n.Duration = true
		case "probe", "func":
			n.Name = true
		}
	}
	syntax.Inspect(p, func(x syntax.Node) bool {
		switch x := x.(type) {
		case *syntax.Ident:
			note(x.Name)
		case *syntax.Call:
			note(x.Name)
		}
		return true
	})
	return n
}
