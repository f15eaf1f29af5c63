package result

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestAppendLine(t *testing.T) {
	for _, c := range []struct {
		v    Value
		want string
	}{
		{str("plain"), "plain"},
		{str(""), ""},
		{str("a\nb\tc\r"), `a\nb\tc\r`},
		{str(`say "no" \ yes`), `say \"no\" \\ yes`},
		{str("esc\x1b[31m\x7f\x00"), `esc\x1b[31m\x7f\x00`},
		{str("café 🚀"), "café 🚀"},
		{str("cut \xc3"), `cut \xc3`},
		{str("next\u0085line\u2028sep\u202e"), `next\xc2\x85line\xe2\x80\xa8sep\xe2\x80\xae`},
		{num(-5), "-5"},
		{tuple(num(1), str("a\n\"b\"")), `(1, "a\n\"b\"")`},
		{
			Value{Kind: Dynamic, Type: "*errors.errorString", Elems: []Value{str("parsing \"x\"\n")}},
			`*errors.errorString("parsing \"x\"\n")`,
		},
		{
			Value{Kind: Dynamic, Type: "E\x1b", Elems: []Value{
				{Kind: Struct, Names: []string{"T\n"}, Elems: []Value{str("\t")}},
			}},
			`E\x1b{ .T\n = "\t" }`,
		},
		{Value{Kind: Pointer, Num: 16, Elems: []Value{{Kind: Buffer, Text: "\r\n"}}}, `0x10("\x0d\x0a")`},
		{Value{Kind: Mapping, Num: 3, Cut: true, Elems: []Value{str("k\n"), num(1)}}, `{ ["k\n"] = 1, … of 3 }`},
	} {
		if got := string(c.v.AppendLine(nil)); got != c.want {
			t.Errorf("%q: %s, want %s", c.v.Text, got, c.want)
		}
		f, err := ParseFormat("%#s|%#8s|%-#8s|%.2s")
		if err != nil {
			t.Fatal(err)
		}
		got := string(f.Append(nil, []Value{c.v, c.v, c.v, c.v}))
		if pad := strings.Repeat(" ", max(0, 8-len(c.want))); !strings.HasPrefix(got, c.want+"|"+pad+c.want+"|"+c.want+pad+
			"|") {
			t.Errorf("formatted: %q", got)
		}
	}
}

func TestEscape(t *testing.T) {
	v := tuple(str("a\nb"), num(3), tuple(str("\x1b")))
	v.Escape()
	if got := v.String(); got != `(a\nb, 3, (\x1b))` {
		t.Error(got)
	}
}

func FuzzAppendLine(f *testing.F) {
	f.Add("a\nb")
	f.Add("\xff\u2028\"")
	f.Fuzz(func(t *testing.T, s string) {
		v := str(s)
		line := v.AppendLine([]byte("x"))
		if line[0] != 'x' || !utf8.Valid(line) {
			t.Fatalf("%q", line)
		}
		for _, r := range string(line) {
			if unicode.IsControl(r) || r == 0x2028 || r == 0x2029 {
				t.Fatalf("%q", line)
			}
		}
	})
}
