package check

import (
	"os"
	"strings"
	"testing"
)

// FuzzCheck gives whatever parses to the checker: it must answer, not crash.
func FuzzCheck(f *testing.F) {
	for _, file := range []string{"testdata/language.bt", "testdata/memory.bt", "testdata/points.bt"} {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, script := range strings.Split(string(src), "\n---\n") {
			f.Add(script)
		}
	}
	f.Fuzz(func(t *testing.T, src string) {
		p, diags := compile(t, src, Input{Unsafe: true, Params: []string{"1", "x"}})
		switch {
		case p == nil && diags.Errors() == 0:
			t.Error("no program and no error")
		case p != nil && diags.Errors() != 0:
			t.Error("a program in spite of an error")
		case p != nil:
			verify(t, p)
			dump(t, p)
		}
	})
}
