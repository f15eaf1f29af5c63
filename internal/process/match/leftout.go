package match

import (
	"iter"
	"maps"
	"slices"

	"trocar/internal/process/probe"
)

// leftOut has the names of functions that a pattern found and that cannot be probed, by the reason.
type leftOut map[string][]string

func (l leftOut) add(r *probe.Refusal, name string) { l[r.Reason] = append(l[r.Reason], name) }

// each goes through the reasons, in order.
func (l leftOut) each() iter.Seq2[string, []string] {
	return func(yield func(string, []string) bool) {
		for _, why := range slices.Sorted(maps.Keys(l)) {
			if !yield(why, l[why]) {
				return
			}
		}
	}
}

// tellLeftOut says which functions of an attach point are left out.
func (m *matcher) tellLeftOut(s *spec, l leftOut) {
	for why, names := range l.each() {
		if len(names) == 1 {
			m.diags.Warnf(s.ap.Span, "1 of the functions is left out, %s: %s", names[0], why)
			continue
		}
		m.diags.Warnf(s.ap.Span, "%d of the functions are left out, like %s: %s", len(names), names[0], why)
	}
}
