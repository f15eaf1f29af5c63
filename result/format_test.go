package result

import (
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// What bpftrace 0.27.1 printed, where C has nothing to say or bpftrace has conversions of its own.
func TestFormatAsBpftrace(t *testing.T) {
	buf := func(s string) Value { return Value{Kind: Buffer, Text: s} }
	char := Value{Kind: String, Type: CharType, Size: 4, Num: 0xe9, Text: "é"}
	charArgs := []Value{char, char, char, char, char}
	tests := []struct {
		format string
		args   []Value
		want   string
	}{
		{"hello\n", nil, "hello\n"},
		{"%d-%s|%%|%c", []Value{num(1), str("a"), num('Z')}, "1-a|%|Z"},
		{"%d %x %u", []Value{num(math.MaxUint32), num(-1), num(-1)}, "-1 ffffffff 4294967295"},
		{
			"%ld %lx %llu %hhx %hx",
			[]Value{num(math.MaxUint32), num(-1), num(-1), num(-1), num(-1)},
			"4294967295 ffffffffffffffff 18446744073709551615 ff ffff",
		},
		{
			"%hhx %hx %x %jx",
			[]Value{num(0x12345678abcdef), num(0x12345678abcdef), num(0x12345678abcdef), num(0x12345678abcdef)},
			"ef cdef 78abcdef 12345678abcdef",
		},
		{
			"[%p][%20p][%-20p][%p]",
			[]Value{num(0x1234), num(0x1234), num(0x1234), num(0)},
			"[0x1234][              0x1234][0x1234              ][0]",
		},
		{"[%s][%10s][%-10s][%s]", []Value{boolean(1), boolean(0), boolean(1), num(5)}, "[true][     false][true      ][5]"},
		{"%d %x %u", []Value{boolean(1), boolean(0), boolean(1)}, "1 0 1"},
		{"%d %x %c %s %+s", charArgs, "233 e9 é é 'é'"},
		{"%+s %+s %+6s", []Value{str("a\"b"), {Kind: None, Text: "NULL"}, str("x")}, `"a\"b" NULL    "x"`},
		{"[%5s] %04x", []Value{str("ba"), num(2)}, "[   ba] 0002"},
		{"[%05s]", []Value{str("ab")}, "[000ab]"},
		{"%s %s", []Value{tuple(num(1), num(2)), tuple(num(1), tuple(num(2), num(3)))}, "(1, 2) (1, (2, 3))"},
		{
			"[%r][%rx][%rh][%20r][%-20rx][%s]",
			[]Value{buf("ab\x01\xff"), buf("ab\x01"), buf("ab\x01"), buf("ab\x01"), buf("ab\x01"), buf("ab\x01")},
			`[ab\x01\xff][\x61\x62\x01][61 62 01][              ab\x01][\x61\x62\x01        ][ab\x01]`,
		},
		{"%rh", []Value{buf("")}, ""},
		{"%d %s", []Value{enum("ONE", 1), enum("ONE", 1)}, "1 ONE"},
		{"%-5s %5s|", []Value{enum("A", 0), enum("B", 1)}, "A         B|"},
		{"%s %d %x", []Value{address(0x123), address(0x123), address(0x123456789ab)}, "0x123 291 456789ab"},
		{"%gr", []Value{num(1)}, "GFP_DMA"},
		{
			"%gr|%gr|%gr|%gr",
			[]Value{num(0), num(0xcc0), num(0xdc0), num(1 << 40)},
			"0|GFP_KERNEL|GFP_KERNEL|__GFP_ZERO|0x10000000000",
		},
		{"[%s]", []Value{stack(ModeBpftrace, Frame{Symbol: "f", Offset: 3})}, "[\n        f+3\n]"},
		{"%-8s|", []Value{{Kind: Symbol, Num: 0x1234}}, "0x1234  |"},

		// A percent sign that begins nothing stands for itself; a blank is a flag.
		{"% processes %d %", []Value{num(5), num(6)}, "0x5rocesses 6 %"},
		{"%5", nil, "%5"},
		{"%b %y %", nil, "%b %y %"},
		{"%%d", nil, "%d"},

		// C's own, where bpftrace 0.27 differs.
		{"[%.3s][%10.3s]", []Value{str("abcdef"), str("abcdef")}, "[abc][       abc]"},
		{"[%05d][%-05d]", []Value{num(-42), num(42)}, "[-0042][42   ]"},
		{
			"[%*d][%-*d][%.*s][%*.*f]",
			[]Value{num(5), num(42), num(-5), num(42), num(2), str("abc"), num(6), num(1), float(2.25, 8)},
			"[   42][42   ][ab][   2.2]",
		},

		// What doesn't fit is shown, never dropped.
		{"%d|%5x", []Value{str("abc"), str("abc")}, "abc|  abc"},
		{"%d", []Value{{Kind: Unavailable, Text: "optimized out"}}, "<optimized out>"},
		{"%d %s", []Value{num(1)}, "1 %s"},
		{"%rx", []Value{num(1)}, "1"},
		{"%f %.1f %d", []Value{num(2), float(1.25, 8), float(-3.9, 8)}, "2.000000 1.2 -3"},
	}
	for _, tt := range tests {
		f, err := ParseFormat(tt.format)
		if err != nil {
			t.Errorf("%q: %v", tt.format, err)
			continue
		}
		if got := string(f.Append(nil, tt.args)); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.format, got, tt.want)
		}
	}
}

func TestFormatSpecs(t *testing.T) {
	f, err := ParseFormat("%-5lld %rx %*.*s %gr%%")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range f.Specs {
		got = append(got, s.Text+" "+s.Verb)
	}
	if want := "%-5lld d,%rx rx,%*.*s s,%gr gr"; strings.Join(got, ",") != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if f.NumArgs() != 6 {
		t.Errorf("got %d arguments, want 6", f.NumArgs())
	}
	for _, s := range []string{"%99999d", "%.99999d", "%99999999999999999999999s"} {
		if _, err := ParseFormat(s); err == nil {
			t.Errorf("%s was accepted", s)
		}
	}
}

func FuzzFormat(f *testing.F) {
	for _, s := range []string{"%d %s", "%-*.*lld", "%rx%gr", "%#012.3x", "%a %g", "%", "%65536d", "%+ 0-#5.0X"} {
		f.Add(s, int64(-1), "text")
	}
	f.Fuzz(func(t *testing.T, format string, n int64, text string) {
		if len(format) > 200 {
			return
		}
		p, err := ParseFormat(format)
		if err != nil {
			return
		}
		args := []Value{
			num(n), str(text),
			{Kind: Buffer, Text: text},
			float(math.Float64frombits(uint64(n)), 8),
			enum(text, n),
		}
		for len(args) < p.NumArgs() {
			args = append(args, args[:5]...)
		}
		out := p.Append([]byte("x"), args)
		if out[0] != 'x' {
			t.Errorf("%q changed what was there", format)
		}
		if len(p.Specs) == 0 && strings.Count(format, "%") < 2 && string(out[1:]) != format {
			t.Errorf("%q without conversions: got %q", format, out[1:])
		}
	})
}

func FuzzTime(f *testing.F) {
	for _, s := range []string{"%H:%M:%S.%f", "%c", "%-d %_d %^a %#Z %10Y", "%E", "%", "%65535Y%65535Y"} {
		f.Add(s, int64(1700000000))
	}
	f.Fuzz(func(t *testing.T, format string, sec int64) {
		if len(format) > 100 || !utf8.ValidString(format) {
			return
		}
		AppendStrftime(nil, format, time.Unix(sec, sec&0xfffff))
	})
}

func BenchmarkFormat(b *testing.B) {
	for _, bb := range []struct {
		name, format string
		args         []Value
	}{
		{"two integers", "%d %d\n", []Value{num(123456), num(-7)}},
		{"columns", "%-6d %-16s %4d %s\n", []Value{
			num(123456), str("comm"), num(3),
			str("/usr/lib/x86_64-linux-gnu/libc.so.6"),
		}},
		{"hexadecimal", "%x %#lx %08x\n", []Value{num(123456), num(1 << 40), num(255)}},
		{"tuple", "%s\n", []Value{tuple(num(1), str("abc"), boolean(1))}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			f, err := ParseFormat(bb.format)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			dst := make([]byte, 0, 1<<10)
			for b.Loop() {
				dst = f.Append(dst[:0], bb.args)
			}
		})
	}
}
