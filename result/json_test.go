package result

import (
	"encoding/json"
	"testing"
	"unicode/utf8"
)

func FuzzJSONString(f *testing.F) {
	for _, s := range []string{
		"", "abc", "\"\\\n\r\t\x00\x1f\x7f",
		"\xff\xc3\x28", "\u2028\U0001F600", "\xed\xa0\x80", "\xf4\x90\x80\x80",
		"\uef80 \uefff \uef7f \uf000", "\u009b2J \u202e \u200e \u061c \u2066",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := AppendJSONString(nil, s)
		for i, r := range string(out) {
			if r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x202e || r == 0x200e {
				t.Errorf("%q: a terminal obeys %q at %d of %q", s, r, i, out)
			}
		}
		var back string
		if err := json.Unmarshal(out, &back); err != nil {
			t.Fatalf("%q: %q: %v", s, out, err)
		}
		var text []byte
		for _, r := range back {
			if r >= 0xef80 && r <= 0xefff {
				text = append(text, byte(r-0xef00))
			} else {
				text = utf8.AppendRune(text, r)
			}
		}
		if string(text) != s {
			t.Errorf("%q: reads back as %q", s, text)
		}
	})
}

// TestEveryKind: each kind of value has its text and its JSON, and one that there is not is said to be unknown.
func TestEveryKind(t *testing.T) {
	for k := None; k <= Times+1; k++ {
		v := Value{Kind: k, Hist: &Hist{}, Series: &SeriesData{}}
		text, js := v.String(), v.AppendJSON(nil)
		unknown := "a value of unknown kind 24"
		if (text == "<"+unknown+">") != (k > Times) || (string(js) == `{"unavailable": "`+unknown+`"}`) != (k > Times) {
			t.Errorf("kind %d: %s, %s", k, text, js)
		}
		if !json.Valid(js) {
			t.Errorf("kind %d: %s is no JSON", k, js)
		}
	}
}
