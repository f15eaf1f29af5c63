package syntax

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"trocar/internal/script/diag"
)

func TestSmoke(t *testing.T) {
	files, _ := filepath.Glob("/tmp/bt/tests/runtime/*")
	n, bad := 0, 0
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		for _, line := range strings.Split(string(data), "\n") {
			prog, ok := strings.CutPrefix(line, "PROG ")
			if !ok {
				continue
			}
			n++
			check(t, f, prog, &bad)
		}
	}
	for _, g := range []string{"/tmp/bttools/tools/*.bt", "/tmp/bt/tests/runtime/scripts/*.bt"} {
		files, _ = filepath.Glob(g)
		for _, f := range files {
			data, _ := os.ReadFile(f)
			n++
			check(t, f, string(data), &bad)
		}
	}
	t.Logf("%d programs, %d bad", n, bad)
}

func check(t *testing.T, f, prog string, bad *int) {
	var diags diag.List
	file := Parse(&diag.Source{Name: "stdin", Text: prog}, ParseOptions{}, &diags)
	if diags.Errors() > 0 {
		*bad++
		t.Errorf("%s: %s\n%s", f, prog[:min(len(prog), 300)], diags.All[0])
		return
	}
	text := Print(file)
	file = Parse(&diag.Source{Name: "printed", Text: text}, ParseOptions{}, &diags)
	if diags.Errors() > 0 || Print(file) != text {
		*bad++
		t.Errorf("%s: %s\nprinted:\n%s\n%v\nagain:\n%s", f, prog[:min(len(prog), 300)], text, diags.All, Print(file))
	}
}
