package check

import (
	"fmt"
	"slices"

	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
	"trocar/internal/compile/record"
	"trocar/internal/process/probe"
	"trocar/internal/script/syntax"
)

// Given is how the arguments, or the result, of many functions are kept by one program: the registers in which values
// are passed, as they are, and texts that some of them point to. What the registers mean differs from function to
// function, and is data: each signature is a variant of one type, whose fields lie over the registers and the texts.
//
// A value is: u64 number of the signature (0: not known), the registers, then the texts (see record.CStringOf).
type Given struct {
	Type  *types.Type
	Regs  []int       // the registers by DWARF numbers
	Texts int         // how many texts are kept
	Text  *types.Type // of one

	words map[*probe.Scope]uint64
}

// TextShift parts the word of a signature: its number is below; above, for each text, a byte with the number of the
// register that points to it, from 1 on, or 0.
const TextShift = 32

// Word is what the program is told of a function: the number of its signature, and which registers point to texts.
func (g *Given) Word(s *probe.Scope) uint64 { return g.words[s] }

// TextAt is the offset of a text.
func (g *Given) TextAt(i int) int { return 8 + 8*len(g.Regs) + i*g.Text.Size }

// givenArgs is for the arguments of functions, which are passed in registers. strlen bounds a text.
func givenArgs(scopes []*probe.Scope, regs []int, strlen int) *Given {
	return signatures(scopes, regs, strlen, func(s *probe.Scope) (vars []probe.Var, ok bool) {
		_, first := s.Locals()
		return s.Args[:first], true
	}, func(fields []types.Field, size int) *types.Type {
		return &types.Type{Kind: types.Record, Name: record.ArgumentsType, Fields: fields, Size: size, Align: 8}
	})
}

// givenResult is for the results of functions.
func givenResult(scopes []*probe.Scope, reg, strlen int) *Given {
	return signatures(scopes, []int{reg}, strlen, func(s *probe.Scope) (vars []probe.Var, ok bool) {
		if s.Retval == nil {
			return nil, false
		}
		return []probe.Var{*s.Retval}, true
	}, nil)
}

// signatures numbers those of scopes. whole makes the type of one, nil: it is that of its only field.
func signatures(
	scopes []*probe.Scope, regs []int, strlen int, vars func(*probe.Scope) ([]probe.Var, bool),
	whole func(fields []types.Field, size int) *types.Type,
) *Given {
	g := &Given{Regs: regs, Text: record.CStringOf(strlen), words: map[*probe.Scope]uint64{}}
	for _, s := range scopes {
		if s == nil {
			continue
		}
		list, _ := vars(s)
		n := 0
		for i := range list {
			if text, _, ok := record.Word(list[i].Name, list[i].Type); ok && text && g.register(list[i].Place) >= 0 {
				n++
			}
		}
		g.Texts = max(g.Texts, min(n, record.MostTexts))
	}
	size := g.TextAt(g.Texts)
	unknown := types.Variant{Default: true, Type: types.Missing("the function's parameters and result are not known")}
	if whole != nil {
		unknown.Type = whole([]types.Field{{Type: unknown.Type}}, size)
	}
	all := &types.Variants{Discr: types.Field{Type: types.TUint32}, List: []types.Variant{unknown}}
	numbers := map[string]uint64{}
	for _, s := range scopes {
		if _, known := g.words[s]; s == nil || known {
			continue
		}
		list, ok := vars(s)
		if !ok {
			continue
		}
		fields, texts := g.fields(list)
		key := fmt.Sprint(texts)
		for _, f := range fields {
			key += fmt.Sprintf("\x00%s\x00%d\x00%v", f.Name, f.Offset, types.Identity(f.Type))
		}
		n, known := numbers[key]
		if !known {
			n = uint64(len(all.List))
			numbers[key] = n
			one := types.Variant{Discrs: []types.VariantRange{{Low: n, High: n}}}
			if whole != nil {
				one.Type = whole(fields, size)
			} else {
				one.Type, one.Offset = fields[0].Type, fields[0].Offset
			}
			all.List = append(all.List, one)
		}
		g.words[s] = n | texts<<TextShift
	}
	g.Type = &types.Type{
		Kind: types.Record, Name: record.ArgumentsType, Size: size, Align: 8, Source: &types.Source{Variants: all},
	}
	return g
}

// register is the number of the register among those that are kept, -1: the value is elsewhere.
func (g *Given) register(p types.Place) int {
	if p.Kind != types.InRegister || p.Offset != 0 {
		return -1
	}
	return slices.Index(g.Regs, p.Reg)
}

// fields are the values of a signature, and which registers point to texts.
func (g *Given) fields(vars []probe.Var) (fields []types.Field, texts uint64) {
	kept := 0
	for _, v := range vars {
		f := types.Field{Name: v.Name}
		reg := g.register(v.Place)
		text, more, ok := record.Word(v.Name, v.Type)
		why, missing := "its type is not known", v.Type == nil
		if !missing {
			why, missing = v.Place.Missing(v.Type.Extent())
		}
		switch {
		case missing:
			f.Type = types.Missing(why)
		case reg < 0 || !ok:
			f.Type = types.Missing("it is not one word in a register")
		case more:
			f.Type, f.Offset = types.PointerTo(types.TVoid, types.User), 8+8*reg
		case !text:
			f.Type, f.Offset = v.Type.Complete(), 8+8*reg
		case kept == g.Texts:
			f.Type = types.Missing("of one call no more texts are kept")
		default:
			f.Type, f.Offset = g.Text, g.TextAt(kept)
			texts |= uint64(reg+1) << (8 * kept)
			kept++
		}
		fields = append(fields, f)
	}
	return fields, texts
}

// givenKey tells what is given at the points of a probe: one type serves all, however they are grouped.
type givenKey struct {
	probe *syntax.Probe
	what  builtin.ID
}

// given is what funcargs or funcretval is in an action.
func (c *checker) given(act *action, what builtin.ID) *Given {
	key := givenKey{act.probe, what}
	g := c.givens[key]
	if g == nil {
		var scopes []*probe.Scope
		for _, p := range c.pointsOf[act.probe] {
			scopes = append(scopes, p.Scope)
		}
		strlen := c.cfg.Capture().Strlen
		if what == builtin.FuncRetVal {
			g = givenResult(scopes, c.in.Arch.C.Result, strlen)
		} else {
			g = givenArgs(scopes, c.in.Arch.IntegerArgs(), strlen)
		}
		c.givens[key] = g
	}
	return g
}
