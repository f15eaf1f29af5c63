package syntax

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"trocar/internal/script/diag"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden compares, for each testdata/*.bt, the canonical text, the tree and the expanded tree with what is kept in
// the files beside it.
func TestGolden(t *testing.T) {
	scripts, err := filepath.Glob("testdata/*.bt")
	if err != nil || len(scripts) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, path := range scripts {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var diags diag.List
			src := &diag.Source{Name: path, Text: string(text)}
			f := Load(src, ParseOptions{Params: []string{"/bin/true"}}, &diags)
			var b strings.Builder
			b.WriteString("-- printed --\n" + Print(f) + "-- tree --\n" + Dump(f))
			if diags.Errors() == 0 {
				expanded := Expand(f, isTestBuiltin, &diags)
				if len(f.Macros) > 0 {
					b.WriteString("-- expanded --\n" + Print(expanded))
				}
			}
			if len(diags.All) > 0 {
				b.WriteString("-- diagnostics --\n" + format(&diags))
			}
			golden := strings.TrimSuffix(path, ".bt") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if b.String() != string(want) {
				t.Errorf("got:\n%s\nwant:\n%s\n(go test -update writes it anew)", b.String(), want)
			}
		})
	}
}
