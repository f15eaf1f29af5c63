package match

import (
	"maps"
	"slices"

	"trocar/internal/process/probe"
)

// leftOut has the names of functions that a pattern found and that cannot be probed, by the reason.
type leftOut map[string][]string

func (l leftOut) add(r *probe.Refusal, name string) { l[r.Reason] = append(l[r.Reason], name) }

// tellLeftOut says which functions of an attach point are left out.
func (m *matcher) tellLeftOut(s *spec, l leftOut) {
	for _, why := range slices.Sorted(maps.Keys(l)) {
		m.diags.Warnf(s.ap.Span, "%d of the functions are left out, like %s: %s", len(l[why]), l[why][0], why)
	}
}
