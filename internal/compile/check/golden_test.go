package check

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

func contains(s, sub string) bool { return strings.Contains(s, sub) }

// TestGolden dumps the typed program of each script testdata/*.bt: it must be as in the file beside it. A script is
// several, separated by lines of dashes.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.bt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts: ", err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		for i, script := range strings.Split(string(src), "\n---\n") {
			if i > 0 {
				out.WriteString("---\n")
			}
			p, diags := compile(t, script, Input{Unsafe: true})
			if p != nil {
				verify(t, p)
				out.WriteString(dump(t, p))
			}
			out.WriteString(text(diags))
		}
		golden := strings.TrimSuffix(file, ".bt") + ".golden"
		if *update {
			if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got := out.String(); got != string(want) {
			t.Errorf("%s: the typed program differs; look at the difference, and run the test with -update if it is right\n%s",
				file, firstDiff(got, string(want)))
		}
	}
}

func firstDiff(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			wl := ""
			if i < len(w) {
				wl = w[i]
			}
			return "got:  " + g[i] + "\nwant: " + wl
		}
	}
	return "the end is missing"
}
