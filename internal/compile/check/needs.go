package check

import (
	"trocar/internal/compile/builtin"
	"trocar/internal/process/probe"
	"trocar/internal/script/syntax"
)

// NeedsOf tells what the code of a probe, whose macros are expanded, asks of its points. It is told from the names
// alone, before anything is matched.
func NeedsOf(p *syntax.Probe) probe.Needs {
	var n probe.Needs
	note := func(name string) {
		f := builtin.Lookup(name)
		if f == nil {
			return
		}
		switch f.ID {
		case builtin.Args, builtin.SyscallArgs:
			n.Args = true
		case builtin.Vars:
			n.Args, n.Vars = true, true
		case builtin.ArgN:
			n.ArgN = true
		case builtin.RoutineID, builtin.RoutineFrame:
			n.Routine = true
		case builtin.RetVal:
			n.Retval = true
		case builtin.FuncArgs, builtin.FuncRetVal, builtin.FuncReturn:
			n.Given = true
		case builtin.Duration:
			n.Duration = true
		case builtin.Probe, builtin.FuncName:
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
