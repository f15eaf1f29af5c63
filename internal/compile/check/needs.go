package check

import (
	"trocar/internal/compile/builtin"
	"trocar/internal/process/probe"
	"trocar/internal/script/syntax"
)

// NeedsOf tells what the code of a probe, whose macros are expanded, asks of its points. It is told from the names alone,
// before anything is matched.
func NeedsOf(p *syntax.Probe) probe.Needs {
	var n probe.Needs
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
