package result

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// FuzzShown: nothing that a terminal obeys is left of any text, and a line stays one.
func FuzzShown(f *testing.F) {
	f.Add("plain")
	f.Add("a\nERROR: b\x1b[31m\u202e\u0085\xff\r")
	f.Fuzz(func(t *testing.T, text string) {
		shown := Shown(text)
		if !utf8.ValidString(shown) {
			t.Fatalf("%q of %q is no UTF-8", shown, text)
		}
		for _, r := range shown {
			turns := r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0x61c
			if r != '\n' && r != '\t' && unicode.IsControl(r) || turns {
				t.Fatalf("%q of %q has %U", shown, text, r)
			}
		}
		if line := ShownLine(text); strings.Contains(line, "\n") {
			t.Fatalf("%q of %q has several lines", line, text)
		}
		d := Diagnostic{Text: Messagef("no %s\nfor %v", text, []string{text}), Hints: []string{Messagef("%s?", text)}}
		if lines := strings.Count(d.String(), "\n"); lines != 3 {
			t.Fatalf("a message of 3 lines with %q has %d", text, lines)
		}
	})
}
