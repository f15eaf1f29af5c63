package golang

import (
	"testing"

	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/types"
)

// Up to Go 1.19 the dictionary is the first argument, also of methods, and methods that the compiler makes have no
// receiver in the debug information.
func TestOlderCompilers(t *testing.T) {
	for _, c := range []struct {
		name  string
		minor int
		at    int
	}{
		{"main.(*Pair[go.shape.int]).Get", 26, 1},
		{"main.(*Pair[go.shape.int]).Get", 20, 1},
		{"main.(*Pair[go.shape.int_0]).Get", 19, 0},
		{"main.(*Pair[go.shape.int_0]).Get", 18, 0},
		{"main.Sum[go.shape.int]", 26, 0},
		{"main.Sum[go.shape.int_0]", 19, 0},
		{"main.(*Pair[go.shape.int]).Get", 0, 1},
	} {
		p := &Program{minor: c.minor}
		if at := dictionaryAt(c.name, 2, p.dictionaryFirst()); at != c.at {
			t.Errorf("%s, 1.%d: %d", c.name, c.minor, at)
		}
	}
	named := func(name string) *types.Type { return &types.Type{Kind: types.Struct, Name: name} }
	own := []debuginfo.Var{{Name: "t", Type: &types.Type{Kind: types.Pointer, Size: 8, Elem: named("a.b/c.T")}}}
	value := []debuginfo.Var{{Name: "t", Type: named("gopkg.in/yaml.v3.T")}}
	other := []debuginfo.Var{{Name: "k", Type: types.TUint64}}
	for _, c := range []struct {
		name   string
		params []debuginfo.Var
		want   bool
	}{
		{"a.b/c.(*T).Do", own, false},
		{"a.b/c.(*T).Do", other, true},
		{"a.b/c.(*T).Do", nil, true},
		{"a.b/c.(*U).Do", own, true},
		{"a.b/c.(*T).Do.func1", other, false},
		{"a.b/c.(*T).Do-fm", other, false},
		{"gopkg.in/yaml%2ev3.T.Do", value, false},
		{"gopkg.in/yaml%2ev3.T.Do", other, true},
		{"main.run", other, false},
		{"main.run.func1", other, false},
		{"main.(*Pair[go.shape.int_0]).Get", other, false},
	} {
		if got := receiverMissing(c.name, c.params); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
