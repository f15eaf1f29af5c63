package syntax

import (
	"strings"
	"testing"

	"trocar/internal/script/diag"
)

// parse reads a script and fails the test if it has errors.
func parse(t *testing.T, text string) *File {
	t.Helper()
	var diags diag.List
	f := Parse(&diag.Source{Name: "stdin", Text: text}, ParseOptions{Params: []string{"one", "two:three"}}, &diags)
	if len(diags.All) > 0 {
		var b strings.Builder
		_ = diags.Format(&b, false)
		t.Fatalf("parse %q:\n%s", text, b.String())
	}
	return f
}

// expectPrinted checks the canonical form of a script, and that it parses to itself.
func expectPrinted(t *testing.T, text, want string) {
	t.Helper()
	got := Print(parse(t, text))
	if got != want {
		t.Errorf("%s\ngot:\n%s\nwant:\n%s", text, got, want)
	}
	if again := Print(parse(t, got)); again != got {
		t.Errorf("%s\nprinted:\n%s\nprinted again:\n%s", text, got, again)
	}
}

// expectBody checks the canonical form of the statements of a probe, one a line.
func expectBody(t *testing.T, body, want string) {
	t.Helper()
	got := Print(parse(t, "begin { "+body+" }"))
	lines := strings.Split(strings.TrimSpace(got), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	if g := strings.Join(lines[1:len(lines)-1], " "); g != want {
		t.Errorf("%s\ngot:  %s\nwant: %s", body, g, want)
	}
	if again := Print(parse(t, got)); again != got {
		t.Errorf("%s\nprinted:\n%s\nprinted again:\n%s", body, got, again)
	}
}

func TestTmp(t *testing.T) {
	expectBody(t, "$x = 1 + 2 * 3; $y = (1+2)*3; print(-(-1), - $x)", "$x = 1 + 2 * 3; $y = (1 + 2) * 3; print(-(-1), -$x);")
	expectPrinted(t, "begin,end/pid==1/{ @x[1,2]++ }", "begin,\nend /pid == 1/ {\n  @x[1, 2]++;\n}\n")
}
