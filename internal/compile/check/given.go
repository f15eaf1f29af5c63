package check

import (
	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
	"trocar/internal/compile/record"
	"trocar/internal/process/probe"
	"trocar/internal/script/syntax"
)

// Given is how the arguments, or the result, of many functions are kept by one program: the registers in which values
// are passed, as they are, and texts that some of them point to (record.GivenOf). What the registers mean differs from
// function to function, and is found out when one has been called.
type Given struct {
	Type *types.Type
	Regs []int // the registers by DWARF numbers
	Text *types.Type
}

// givenKey tells what is given at the points of a probe: one type serves all, however they are grouped.
type givenKey struct {
	probe *syntax.Probe
	what  builtin.ID
}

// given is what funcargs, funcretval or funcreturn is in an action.
func (c *checker) given(act *action, what builtin.ID) *Given {
	key := givenKey{act.probe, what}
	g := c.givens[key]
	if g == nil {
		g = c.makeGiven(c.pointsOf[act.probe], what)
		c.givens[key] = g
	}
	return g
}

func (c *checker) makeGiven(points []*probe.Point, what builtin.ID) *Given {
	texts, owned := 0, false
	for _, p := range points {
		texts = max(texts, p.Texts.Count())
		owned = owned || p.Call != nil
	}
	all, args, result := c.in.Arch.Passing()
	g := &Given{Regs: all, Text: record.CStringOf(c.cfg.Capture().Strlen)}
	name := record.ArgumentsType
	if what != builtin.FuncArgs {
		name = ""
	}
	if what == builtin.FuncReturn {
		name = record.ReturnType
	}
	switch {
	case owned:
	case what == builtin.FuncArgs:
		g.Regs = all[:args]
	default:
		g.Regs = all[:result]
	}
	g.Type = record.GivenOf(name, len(g.Regs), texts, g.Text)
	return g
}
