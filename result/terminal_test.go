package result_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"trocar/result"
)

func TestShown(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"a\tb\nc \\ \"ü\" 日本", "a\tb\nc \\ \"ü\" 日本"},
		{"x\x1b[31mred\a\x00\x7f", `x\x1b[31mred\x07\x00\x7f`},
		{"\r1\x1b]0;title\a", `\r1\x1b]0;title\x07`},
		{"c1 \u009b2J", `c1 \xc2\x9b2J`},
		{"turn \u202eback\u2066", `turn \xe2\x80\xaeback\xe2\x81\xa6`},
		{"bytes \xff\xfe\x9b", `bytes \xff\xfe\x9b`},
	} {
		if got := result.Shown(c.text); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
		if got := result.Shown(result.Shown(c.text)); got != c.want {
			t.Errorf("%q twice: %q, want %q", c.text, got, c.want)
		}
		var b bytes.Buffer
		w := result.NewShownWriter(&b)
		fmt.Fprintf(w, "%s", c.text)
		if err := w.Flush(); err != nil || b.String() != c.want {
			t.Errorf("%q written: %q %v, want %q", c.text, b.String(), err, c.want)
		}
	}
}

// TestMessage: line breaks of a message are its own, never those of a name in it.
func TestMessage(t *testing.T) {
	name := "f\nERROR: all is lost\n"
	for _, c := range []struct{ got, want string }{
		{result.Messagef("no %s\n  %d of %-3s|", "f", 2, "g"), "no f\n  2 of g  |"},
		{result.Messagef("no %s\n  %*d", name, 3, 7), `no f\nERROR: all is lost\n` + "\n    7"},
		{result.Messagef("%q %v", name, errors.New("a\nb")), `"f\nERROR: all is lost\n" a\nb`},
		{result.Messagef("%v %.3s", []string{"a\nb"}, "a\nbc"), `[a\nb] a\nb`},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// TestDiagnosticShown: names in messages are not obeyed by the terminal.
func TestDiagnosticShown(t *testing.T) {
	d := result.Diagnostic{Severity: result.Error, Text: "no \x1b[2Jfunction", Hints: []string{"try \a"}}
	if got, want := d.String(), "ERROR: no \\x1b[2Jfunction\nHINT: try \\x07\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
