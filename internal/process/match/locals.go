package match

import (
	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
)

// lineArgs gives a point at a line the parameters and variables of the function that it is in, or of the inlined copy.
func (m *matcher) lineArgs(s *spec, b *binary, info *debuginfo.Info, site *debuginfo.Site, p *probe.Point) {
	in := site.Chain[0]
	for in.IsInlined() && in.CallLine == site.Line.Line && in.CallFile == site.Line.File {
		in = in.Parent // the line is the one of the call
	}
	params, err := info.Params(in, p.Addr)
	if err != nil {
		m.diags.Warnf(s.ap.Span, "the arguments of %s cannot be read: %s", p.Func, err)
		return
	}
	if !in.IsInlined() && !p.Entry {
		b.outdated(in.Func, params)
	}
	if !in.IsInlined() && p.Entry && anyLate(params) {
		if moved := m.behindPrologue(s, b, info, in.Func, p, params); moved != nil {
			params = moved
		}
	}
	p.Scope = p.Scope.Clone()
	p.Scope.Args = append(argsOf(params), m.locals(s, info, in, p.Addr, site.Line.Line)...)
}

// locals are the variables that are visible at an address, if the script asks for them. line is that of the source that
// the address is the beginning of, 0: the beginning of the function. A variable of it or below is not set there, though
// it has its place already; and one that is hidden by another is left out.
func (m *matcher) locals(s *spec, info *debuginfo.Info, in *debuginfo.Instance, addr uint64,
	line int,
) (vars []probe.Var) {
	if !m.needs.Vars {
		return nil
	}
	found, err := info.Locals(in, addr)
	if err != nil {
		m.diags.Warnf(s.ap.Span, "the variables of %s cannot be read: %s", in.Func.Name, err)
		return nil
	}
	for i := range found {
		v := &found[i]
		if v.Name == "" || v.Type == nil || hasVar(vars, v.Name) {
			continue
		}
		place := v.Place
		if v.Always && (line == 0 || v.Line >= line) {
			place = types.Unknown("it is set later, at line %d", v.Line)
		}
		vars = append(vars, probe.Var{Name: v.Name, Type: v.Type, Place: place, Local: true})
	}
	return vars
}
