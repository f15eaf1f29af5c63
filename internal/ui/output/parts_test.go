package output

import (
	"bytes"
	"testing"

	"trocar/result"
)

// TestParts: a map that comes in parts looks as one that comes at once.
func TestParts(t *testing.T) {
	var entries []result.Entry
	for i := range uint64(10) {
		entries = append(entries, result.Entry{
			Key: &result.Value{Kind: result.Uint, Num: i, Size: 8}, Value: result.Value{Kind: result.Uint, Num: 2 * i, Size: 8},
		})
	}
	part := func(from, to int) *result.PrintMap {
		m := &result.Map{Name: "@", Keyed: true, Entries: entries[from:to]}
		return &result.PrintMap{Map: m, Continued: from > 0, More: to < len(entries)}
	}
	for _, f := range formats() {
		write := func(events ...result.Event) string {
			var b bytes.Buffer
			sink := f.New(Options{Out: &b})
			for _, e := range events {
				if err := sink.Event(e); err != nil {
					t.Fatal(err)
				}
			}
			if err := sink.Flush(); err != nil {
				t.Fatal(err)
			}
			return b.String()
		}
		end := &result.Printf{Text: "behind\n"}
		whole, parts := write(part(0, 10), end), write(part(0, 4), part(4, 9), part(9, 10), end)
		if whole != parts || whole == "" {
			t.Errorf("%s: in parts %q, at once %q", f.Name, parts, whole)
		}
	}
}
