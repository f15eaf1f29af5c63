package debuginfo

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"trocar/internal/binary/types"
)

// TestGlobals finds variables by the names that mean them, and none that is in a function or only declared.
func TestGlobals(t *testing.T) {
	t.Parallel()
	source := filepath.Join(t.TempDir(), "vars.cc")
	if err := os.WriteFile(source, []byte(`
namespace ns { long depth = 1; struct Shelf { static int count; }; namespace { char hidden = 'h'; } }
int ns::Shelf::count = 2;
extern int elsewhere;
static thread_local short mine = 3;
static int depth = 4;
int main() { static int inside = 5; return inside++ + mine++ + depth++ + ns::depth++ + ns::Shelf::count++ + ns::hidden++; }
`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, compiler := range []string{"g++ -O0 -g", "clang++ -O0 -g", "g++ -O2 -g -gdwarf-4 -no-pie"} {
		in := open(t, build(t, compiler+" -o $OUT "+source))
		for name, want := range map[string][]string{
			"ns::depth": {"long int", "long"}, "::depth": nil, "ns::Shelf::count": {"int"}, "Shelf::count": {"int"},
			"count": {"int"}, "hidden": {"char"}, "mine": {"short int", "short"}, "elsewhere": nil, "inside": nil, "ns": nil,
			"": nil, "elf::count": nil,
		} {
			all, err := in.Globals(name)
			if want == nil {
				if !errors.Is(err, ErrNotFound) {
					t.Errorf("%s: %s: %d, %v", compiler, name, len(all), err)
				}
				continue
			}
			if err != nil || len(all) != 1 {
				t.Errorf("%s: %s: %d, %v", compiler, name, len(all), err)
				continue
			}
			g := &all[0]
			fits := false
			for _, w := range want {
				fits = fits || g.Type.String() == w
			}
			if !fits || g.Place.Kind != types.InMemory || len(g.Place.Ops) == 0 || filepath.Base(g.File) != "vars.cc" {
				t.Errorf("%s: %s: %s at %+v of %s", compiler, name, g.Type, g.Place, g.File)
			}
		}
		both, err := in.Globals("depth")
		if err != nil || len(both) != 2 {
			t.Errorf("%s: depth: %d, %v", compiler, len(both), err)
		}
	}
}
