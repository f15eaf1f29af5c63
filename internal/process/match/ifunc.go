package match

import (
	"fmt"
	"strings"

	"trocar/internal/binary/objfile"
	"trocar/internal/script/diag"
)

// indirect gives the implementations of an indirect function, and says so.
func (m *matcher) indirect(s *spec, b *binary, q *objfile.Query, fn *objfile.Func) []objfile.Func {
	impls, err := b.obj.Implementations(fn)
	switch {
	case err == nil && len(impls) > 0 && !s.hasOff:
		if !q.Wildcard() {
			m.diags.Add(diag.Info, s.ap.Span, "%s is an indirect function (IFUNC); probing its %d implementations, of which "+
				"the CPU's "+
				"features choose one: %s", fn.Name, len(impls), strings.Join(implNames(impls), ", "))
		}
		return impls
	case q.Wildcard():
		return nil
	}
	d := m.diags.Errorf(s.ap.Span, "%s is an indirect function (IFUNC): its symbol is the resolver, which runs once, "+
		"when the "+
		"program is loaded, and chooses the function that is called", fn.Name)
	switch {
	case err != nil:
		d.Note(diag.Span{}, "%s", err)
	case len(impls) == 0:
		d.Note(diag.Span{}, "its implementations could not be determined")
	default:
		d.Hint("probe one of the implementations: %s", strings.Join(implNames(impls), ", "))
	}
	return nil
}

func implNames(impls []objfile.Func) (names []string) {
	for i := range impls {
		if n := impls[i].Name; n != impls[i].Indirect {
			names = append(names, n)
		} else {
			names = append(names, fmt.Sprintf("%#x", impls[i].Addr))
		}
	}
	return names
}
