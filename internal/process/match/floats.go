package match

import (
	"slices"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
)

// floats gives values in floating-point registers, which BPF cannot read, the places where the kernel has what these
// hold of a thread that does not run.
func (m *matcher) floats(points []*probe.Point) []*probe.Point {
	if m.opts.FloatRegisters == nil {
		return points
	}
	// Most points have the scope of others.
	var from, to *probe.Scope
	for _, p := range points {
		if p.Scope == nil || p.Kind.Breaks() || p.Path == "" || !inFloats(p.Scope) {
			continue
		}
		found, needs := m.opts.FloatRegisters()
		if !found && needs == "" {
			continue
		}
		b := m.files.byPath(p.Path)
		if b == nil || b.obj.Arch() == nil || b.obj.Arch().Floats == nil {
			continue
		}
		arch := b.obj.Arch()
		if p.Scope != from {
			from, to = p.Scope, p.Scope.Clone()
			to.Args = slices.Clone(to.Args)
			for i := range to.Args {
				v := &to.Args[i]
				v.Place = kept(arch, v.Place, v.Type.Extent(), needs)
			}
			if v := to.Retval; v != nil {
				one := *v
				one.Place = kept(arch, one.Place, one.Type.Extent(), needs)
				to.Retval = &one
			}
		}
		p.Scope = to
	}
	return points
}

// inFloats tells whether something is in floating-point registers.
func inFloats(s *probe.Scope) bool {
	return s.Retval != nil && vectors(s.Retval.Place) > 0 ||
		slices.ContainsFunc(s.Args, func(v probe.Var) bool { return vectors(v.Place) > 0 })
}

// kept is the place of a value with the parts of it that are in floating-point registers, or the right that they need.
func kept(arch *abi.Arch, p types.Place, size int, needs string) types.Place {
	switch {
	case p.Kind == types.InPieces:
		p.Pieces = slices.Clone(p.Pieces)
		for i := range p.Pieces {
			p.Pieces[i].Place = kept(arch, p.Pieces[i].Place, p.Pieces[i].Size, needs)
		}
	case p.Vector > 0 && needs != "":
		p.Why += ": trocar needs " + needs
	case p.Vector > 0:
		reg := arch.Floats.First + p.Vector - 1
		if area, _, ok := arch.Floats.Find(reg); ok && size <= area.Size {
			return types.Place{Kind: types.InMemory, Ops: []types.PlaceOp{{Code: types.PushFloat, Reg: reg}}}
		}
	}
	return p
}
