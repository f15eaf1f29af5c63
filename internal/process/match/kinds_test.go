package match

import (
	"testing"

	"trocar/internal/process/probe"
)

// TestKinds: every kind of probe has one row, with a grammar and a way to find its points.
func TestKinds(t *testing.T) {
	rows := map[probe.Kind]int{}
	for _, k := range kinds() {
		rows[k.kind]++
		if k.parse == nil || k.match == nil || k.name != k.kind.String() || k.form == "" {
			t.Errorf("the row of %s is not whole", k.kind)
		}
		if k.among != probe.NoSide && k.list == nil {
			t.Errorf("a pattern for several kinds means %s, of which there is no list", k.kind)
		}
	}
	for _, k := range probe.Kinds() {
		if rows[k] != 1 {
			t.Errorf("%s has %d rows", k, rows[k])
		}
	}
}
