package syntax

import "testing"

func TestQuoteWord(t *testing.T) {
	for text, want := range map[string]string{
		"malloc": "malloc", "./a-b/c.d": "./a-b/c.d", "": `""`, "a b": `"a b"`, "0x10": `"0x10"`, `a"b\c`: `"a\"b\\c"`,
		"ns::f": `"ns::f"`, "main.(*T).F": `"main.(*T).F"`, "f*": `"f*"`,
	} {
		if got := QuoteWord(text); got != want {
			t.Errorf("%s: %s, not %s", text, got, want)
		}
	}
}
