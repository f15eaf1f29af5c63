package probe

import (
	"slices"
	"testing"
)

// TestTraits: every kind has a whole row, and every type of program is that of a kind.
func TestTraits(t *testing.T) {
	names := map[string]Kind{}
	var used []ProgramType
	for _, k := range Kinds() {
		r := k.Traits()
		if r.Name == "" || r.Form == "" || r.Group == "" {
			t.Errorf("kind %d lacks a name, a form or a group: %+v", k, r)
		}
		for _, name := range append(slices.Clone(r.Aliases), r.Name) {
			if other, ok := names[name]; ok {
				t.Errorf("%q is %s and %s", name, other, k)
			}
			names[name] = k
		}
		if r.Program == NoProgram || int(r.Program) >= len(programTypes) {
			t.Errorf("%s has no type of program", k)
		}
		if r.Program.String() == "" || r.Program.RunByUs() != (r.Program.Context() == NoContext) {
			t.Errorf("%s: what is attached has a context, and nothing else", r.Program)
		}
		if r.Return && !r.Function {
			t.Errorf("%s returns from no function", k)
		}
		used = append(used, r.Program)
	}
	if len(names) < len(Kinds()) || len(Kinds()) != int(Iter)+1 {
		t.Errorf("%d kinds, %d names", len(Kinds()), len(names))
	}
	used = append(used, BreakProgram) // of points on code that is made at run time, whatever their kind
	for _, p := range ProgramTypes() {
		if !slices.Contains(used, p) {
			t.Errorf("no kind has programs of type %s", p)
		}
	}
	if k := Kind(200); k.Traits().Program != NoProgram || k.String() != "kind 200" {
		t.Errorf("what is no kind is %s with %s", k, k.Traits().Program)
	}
}
