package session_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"trocar/internal/binary/types"
	"trocar/internal/session"
)

// TestLargeMaps: maps with many entries come in parts, in the order of small ones: by value, equals by key.
func TestLargeMaps(t *testing.T) {
	const n = 10_000
	type entry struct {
		number int64
		text   string
		value  int64
	}
	var entries []entry
	for i := range int64(n) {
		x := i * 7919 % n // each once
		entries = append(entries, entry{
			number: x - n/2, text: fmt.Sprintf("%.*s%05d", x%11, "same-begin", x),
			value: x%7 - 3,
		})
	}
	tuple := types.TupleOf(types.TInt64, types.TInt64)
	for _, c := range []struct {
		name string
		key  *types.Type
		made func(e entry) []byte
		show func(e entry) string
		by   func(a, b entry) int
	}{
		{
			"numbers", types.TInt64,
			func(e entry) []byte { return le(e.number) },
			func(e entry) string { return fmt.Sprint(e.number) },
			func(a, b entry) int { return cmp.Compare(a.number, b.number) },
		},
		{
			"texts", types.StringOf(24),
			func(e entry) []byte { return append([]byte(e.text), make([]byte, 24-len(e.text))...) },
			func(e entry) string { return e.text },
			func(a, b entry) int { return strings.Compare(a.text, b.text) },
		},
		{
			"pairs", tuple,
			func(e entry) []byte { return le(e.number/100, e.number) },
			func(e entry) string { return fmt.Sprintf("(%d, %d)", e.number/100, e.number) },
			func(a, b entry) int {
				return cmp.Or(cmp.Compare(a.number/100, b.number/100), cmp.Compare(a.number, b.number))
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, s := newFake(), newScript()
			st := s.storage(f, "@m", c.key, types.AggOf(types.Sum, true))
			for _, e := range entries {
				f.set(st.Name, c.made(e), le(e.value-5, 2, 3)) // of three CPUs
			}
			s.points = nil
			o := start(t, t.Context(), s, f, func(in *session.Input, _ *sink) {})
			sorted := slices.Clone(entries)
			slices.SortFunc(sorted, func(a, b entry) int { return cmp.Or(cmp.Compare(a.value, b.value), c.by(a, b)) })
			var want []string
			for _, e := range sorted {
				want = append(want, fmt.Sprintf("%s=%d", c.show(e), e.value))
			}
			var got []string
			parts := 0
			for _, line := range o.sink.lines {
				if entries, ok := strings.CutPrefix(line, "map @m: "); ok {
					got = append(got, entries)
					parts++
				}
			}
			if parts < 2 || parts > 4 {
				t.Errorf("%d parts", parts)
			}
			if all := strings.Join(got, " "); all != strings.Join(want, " ") {
				t.Errorf("in another order: %.300s\nwant %.300s", all, strings.Join(want, " "))
			}
		})
	}
}
