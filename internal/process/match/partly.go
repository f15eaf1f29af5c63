package match

import (
	"fmt"
	"slices"

	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
)

// partly gives points variables without the members that are not available, rather than none.
func (m *matcher) partly(points []*probe.Point) []*probe.Point {
	for _, p := range points {
		if p.Scope == nil {
			continue
		}
		cloned := false
		own := func() *probe.Scope {
			if !cloned {
				p.Scope, cloned = p.Scope.Clone(), true
				p.Scope.Args = slices.Clone(p.Scope.Args)
			}
			return p.Scope
		}
		for i := range p.Scope.Args {
			if t, place, ok := m.available(&p.Scope.Args[i]); ok {
				v := &own().Args[i]
				v.Type, v.Place = t, place
			}
		}
		if p.Scope.Retval == nil {
			continue
		}
		if t, place, ok := m.available(p.Scope.Retval); ok {
			v := *p.Scope.Retval
			v.Type, v.Place = t, place
			own().Retval = &v
		}
	}
	return points
}

// available is what is available of a variable of which not all is. Those that lack the same have one type, so that
// they share programs.
func (m *matcher) available(v *probe.Var) (t *types.Type, p types.Place, ok bool) {
	if t, p, ok = types.Partly(v.Type, v.Place); !ok {
		return nil, p, false
	}
	key := fmt.Sprintf("%p %s", v.Type.Complete(), t.Lacks())
	if one := m.lacking[key]; one != nil {
		return one, p, true
	}
	if m.lacking == nil {
		m.lacking = map[string]*types.Type{}
	}
	m.lacking[key] = t
	return t, p, true
}
