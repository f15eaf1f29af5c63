package trocar

import (
	"slices"

	"trocar/internal/binary/types"
	"trocar/internal/compile/record"
	"trocar/internal/process/probe"
)

// given is what the function of a point is given, or gives back, in the terms of records.
func (p *Program) given(pt *probe.Point) (list []record.Given, known bool) {
	vars, known := p.matched.Signature(pt)
	registers, _, _ := p.machine.arch().Passing()
	for i := range vars {
		v := &vars[i]
		g := record.Given{Name: v.Name}
		if v.Type == nil {
			g.Why = "its type is not known"
			if v.Place.Why != "" {
				g.Why = v.Place.Why
			}
			list = append(list, g)
			continue
		}
		g.Type = v.Type.Complete()
		if why, missing := v.Place.Missing(v.Type.Extent()); missing {
			g.Why = why
		} else if g.Parts = givenParts(registers, v.Place, g.Type.Size); g.Parts == nil {
			g.Why = "it is not in registers"
		}
		list = append(list, g)
	}
	return list, known
}

// givenParts are the parts of a value of a size that is in registers; nil: it is not, or not in these.
func givenParts(registers []int, p types.Place, size int) (parts []record.GivenPart) {
	switch {
	case p.Kind == types.InRegister && p.Offset == 0 && size <= 8:
		if n := slices.Index(registers, p.Reg); n >= 0 {
			return []record.GivenPart{{Size: size, Register: n}}
		}
	case p.Kind == types.InPieces:
		for i := range p.Pieces {
			piece := &p.Pieces[i]
			if piece.Place.Kind == types.Constant && len(parts) > 0 { // between members
				parts = append(parts, record.GivenPart{Size: piece.Size, Register: -1})
				continue
			}
			one := givenParts(registers, piece.Place, piece.Size)
			if one == nil {
				return nil
			}
			parts = append(parts, one...)
		}
	}
	return parts
}
