package check

import (
	"reflect"
	"testing"

	"trocar/internal/compile/builtin"
)

// TestMeanings: check knows something of each builtin, and what it knows makes a call of it, or something else.
func TestMeanings(t *testing.T) {
	for id, m := range newMeanings() {
		f := builtin.Get(builtin.ID(id))
		if f == nil {
			continue
		}
		if reflect.ValueOf(m).IsZero() {
			t.Errorf("%v: nothing is known", f.ID)
			continue
		}
		gone := m.elsewhere != "" || m.literal != nil || f.CompileTime || m.short != nil
		if !gone && m.typed == nil && f.Result == nil {
			t.Errorf("%v has no type", f.ID)
		}
		if m.plain && (f.Max != 0 || f.Result == nil) {
			t.Errorf("%v is plain, but takes arguments or has no type in the table", f.ID)
		}
		if !gone && f.Max != 0 && m.fill == nil && m.value == nil {
			t.Errorf("%v: nothing is known of its arguments", f.ID)
		}
		if m.elsewhere != "" && (m.fill != nil || m.value != nil || m.plain) {
			t.Errorf("%v is made something else of, but has a call", f.ID)
		}
	}
}
