package result

import (
	"math"
	"strings"
	"testing"
	"time"
)

func num(n int64) Value                   { return Value{Kind: Int, Size: 8, Num: uint64(n)} }
func unum(n uint64) Value                 { return Value{Kind: Uint, Size: 8, Num: n} }
func str(s string) Value                  { return Value{Kind: String, Text: s} }
func buffer(s string) Value               { return Value{Kind: Buffer, Text: s} }
func tuple(v ...Value) Value              { return Value{Kind: Tuple, Elems: v} }
func record(n []string, v ...Value) Value { return Value{Kind: Record, Names: n, Elems: v} }
func stack(m StackMode, f ...Frame) Value { return Value{Kind: Stack, Mode: m, Frames: f} }
func enum(name string, n int64) Value {
	return Value{Kind: Enum, Text: name, Num: uint64(n), Signed: true}
}
func address(a uint64) Value { return Value{Kind: Pointer, Size: 8, Num: a} }
func stats(count, avg, total int64) Value {
	return Value{Kind: Stats, Elems: []Value{num(count), num(avg), num(total)}}
}
func histogram(h *Hist) Value { return Value{Kind: Histogram, Hist: h} }
func float(f float64, size int) Value {
	return Value{Kind: Float, Size: size, Num: math.Float64bits(f)}
}
func boolean(b uint64) Value              { return Value{Kind: Bool, Size: 1, Num: b} }
func keyed(key, value Value) Entry        { return Entry{Key: &key, Value: value} }
func lines(l ...string) string            { return strings.Join(l, "\n") }
func counts(n int, at ...uint64) []uint64 { return countsAt(n, at) }
func countsAt(n int, at []uint64) []uint64 {
	c := make([]uint64, n)
	for i := 0; i+1 < len(at); i += 2 {
		c[at[i]] = at[i+1]
	}
	return c
}

func TestText(t *testing.T) {
	frames := []Frame{
		{Addr: 0x401136, Symbol: "leaf(int, int)", Offset: 4, Module: "/bin/x", ModuleOffset: 0x1136, BuildID: "00ff"},
		{Addr: 0x401140, Symbol: "mid", Inlined: true, File: "/src/a.c", Line: 7, Module: "/bin/x"},
		{Addr: 0x401150, Symbol: "main", Offset: 16, File: "a.c", Line: 12, ModuleOffset: 5, BuildID: "00ff"},
		{Addr: 0x7f0000000010},
	}
	tests := []struct {
		v    Value
		want string
	}{
		{Value{}, "null"},
		{num(-5), "-5"},
		{unum(math.MaxUint64), "18446744073709551615"},
		{boolean(1), "true"},
		{boolean(0), "false"},
		{address(0), "0x0"},
		{address(0x7ffc1234), "0x7ffc1234"},
		{enum("ONE", 1), "ONE"},
		{enum("", -3), "-3"},
		{Value{Kind: Enum, Num: math.MaxUint64}, "18446744073709551615"},
		{float(0.1, 8), "0.1"},
		{float(float64(float32(0.1)), 4), "0.1"},
		{float(math.Inf(-1), 8), "-inf"},
		{str("a b\n"), "a b\n"},
		{Value{Kind: Buffer, Text: "ab\x01\xff~\x7f"}, `ab\x01\xff~\x7f`},
		{Value{Kind: Array, Elems: []Value{num(1), num(2)}}, "[1,2]"},
		{Value{Kind: Array}, "[]"},
		{tuple(num(1), str("x y"), tuple(num(2), boolean(1))), "(1, x y, (2, true))"},
		{tuple(num(1), Value{Kind: Array, Elems: []Value{num(1), num(2)}}), "(1, [1,2])"},
		{Value{Kind: Tuple, Type: "(&str,)", Elems: []Value{str(`a"b`)}}, `("a\"b")`},
		{tuple(num(1), Value{Kind: Array, Elems: []Value{str("a,b"), str("c\n")}}), `(1, ["a,b","c\n"])`},
		{Value{Kind: Struct, Names: []string{"s", "t", "c"}, Elems: []Value{
			{Kind: String, Text: "long..", Cut: true},
			{Kind: String, Type: "variant", Text: "None"},
			{Kind: String, Type: CharType, Text: "'"},
		}}, `{ .s = "long".., .t = None, .c = '\'' }`},
		{Value{Kind: Array, Elems: []Value{{Kind: Buffer, Type: "[]uint8", Text: "a\"\xff"}}}, `["a\"\xff"]`},
		{record([]string{"a", "b"}, num(1), record([]string{"c"}, str("x"))), "{ .a = 1, .b = { .c = x } }"},
		{Value{Kind: Struct}, "{}"},
		{Value{Kind: Struct, Names: []string{"f"}, Elems: []Value{{}}}, "{ .f = null }"},
		{stats(3, 2, 6), "{ .count = 3, .average = 2, .total = 6 }"},
		{Value{Kind: Symbol, Text: "main", Num: 1}, "main"},
		{Value{Kind: Symbol, Num: 0x1234}, "0x1234"},
		{Value{Kind: Address, Text: "127.0.0.1"}, "127.0.0.1"},
		{Value{Kind: Timestamp, Text: "23:59"}, "23:59"},
		{Value{Kind: Unavailable, Text: "optimized out"}, "<optimized out>"},
		{Value{Kind: Unavailable}, "<unavailable>"},
		{stack(ModeBpftrace), "\n"},
		{stack(ModeBpftrace, frames...), lines("",
			"        leaf(int, int)+4", "        [inlined] mid@/src/a.c:7", "        main+16@a.c:12", "        0x7f0000000010",
			"")},
		{stack(ModePerf, frames...), lines("",
			"\t401136 leaf(int, int)+4 (/bin/x)", "\t401140 mid (inlined)", "\t401150 main+16 ([unknown])",
			"\t7f0000000010 0x7f0000000010 ([unknown])", "")},
		{stack(ModeBpftrace, Frame{Addr: 0x7f00000021f0, Offset: 0x21f0, Module: "/usr/lib/libz.so.1"}), lines("",
			"        libz.so.1+0x21f0", "")},
		{stack(ModePerf, Frame{Addr: 0x7f00000021f0, Offset: 0x21f0, Module: "/usr/lib/libz.so.1"}), lines("",
			"\t7f00000021f0 0x7f00000021f0 (/usr/lib/libz.so.1)", "")},
		{stack(ModeRaw, frames[2:]...), lines("", "401150", "7f0000000010", "")},
		{stack(ModeBuildID, frames[0], frames[2], frames[3]), lines("", "00ff 0x1136", "00ff 0x05", "7f0000000010", "")},
	}
	for _, tt := range tests {
		if got := tt.v.String(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestKeys(t *testing.T) {
	tests := []struct {
		v             Value
		text, compact string
	}{
		{num(1), "1", "1"},
		{str("(a b)"), "(a b)", "(a b)"},
		{tuple(num(1), str("a b"), tuple(num(2), num(3))), "1, a b, (2, 3)", "1,a b,(2,3)"},
		{tuple(str("a,b"), str("c")), "a,b, c", `"a,b",c`},
		{tuple(str("a"), str("b,c")), "a, b,c", `a,"b,c"`},
		{tuple(num(1), str("std::swap(int*)")), "1, std::swap(int*)", "1,std::swap(int*)"},
		{tuple(str(`"a`), tuple(str(`b)`), str(`\"`))), `"a, (b), \")`, `"\"a",("b)",\")`},
		{tuple(buffer("a,b"), buffer("c")), "a,b, c", `"a,b",c`},
		{tuple(buffer("a"), buffer("b,\xff")), `a, b,\xff`, `a,"b,\\xff"`},
		{buffer("a\xff\\d"), `a\xff\d`, `a\xff\d`},
		{buffer(`a\xff`), `a\x5cxff`, `a\x5cxff`}, // not those of the one before
		{record([]string{"a", "b"}, num(1), num(2)), "{ .a = 1, .b = 2 }", "{.a=1,.b=2}"},
		{stack(ModeBpftrace, Frame{Symbol: "f", Offset: 1}), "\n        f+1\n", "\nf+1\n"},
	}
	for _, tt := range tests {
		if got := string(tt.v.AppendKey(nil)); got != tt.text {
			t.Errorf("got %q, want %q", got, tt.text)
		}
		if got := string(tt.v.AppendCompactKey(nil)); got != tt.compact {
			t.Errorf("compact: got %q, want %q", got, tt.compact)
		}
	}
}

// The expected bars are what bpftrace 0.27.1 printed for the same values.
func TestHistText(t *testing.T) {
	const full = "|@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|"
	const half = "|@@@@@@@@@@@@@@@@@@@@@@@@@@                          |"
	const none = "|                                                    |"
	tests := []struct {
		name string
		h    *Hist
		want string
	}{
		{"empty", Log2Hist(make([]uint64, 65), 0), ""},
		{"log2", Log2Hist(counts(65, 0, 1, 3, 2, 4, 1, 6, 1), 0), lines(
			"(..., 0)               1 "+half,
			"[0]                    0 "+none,
			"[1]                    0 "+none,
			"[2, 4)                 2 "+full,
			"[4, 8)                 1 "+half,
			"[8, 16)                0 "+none,
			"[16, 32)               1 "+half, "")},
		{"units", Log2Hist(counts(65, 11, 1, 12, 1), 0), lines(
			"[512, 1K)              1 "+full,
			"[1K, 2K)               1 "+full, "")},
		{"largest", Log2Hist(counts(66, 64, 1, 65, 1), 0), lines(
			"[4E, 8E)               1 "+full,
			"[8E, ...)              1 "+full, "")},
		{"linear", LinearHist(counts(7, 0, 1, 2, 2, 4, 1, 6, 1), 0, 10, 2), lines(
			"(..., 0)               1 "+half,
			"[0, 2)                 0 "+none,
			"[2, 4)                 2 "+full,
			"[4, 6)                 0 "+none,
			"[6, 8)                 1 "+half,
			"[8, 10)                0 "+none,
			"[10, ...)              1 "+half, "")},
		{"steps of one", LinearHist(counts(12, 6, 1), 0, 10, 1), "[5]                    1 " + full + "\n"},
		{"steps that don't end at the maximum", LinearHist(counts(5, 3, 1, 4, 1), 0, 10, 3), lines(
			"[6, 9)                 1 "+full,
			"[9, ...)               1 "+full, "")},
		{"linear units", LinearHist(counts(6, 1, 1, 3, 1, 5, 1), -1024, 1<<20, 1024), lines(
			"[-1K, 0)               1 "+full,
			"[0, 1K)                0 "+none,
			"[1K, 2K)               1 "+full,
			"[2K, 3K)               0 "+none,
			"[3K, ...)              1 "+full, "")},
		{"wide count", LinearHist(counts(4, 1, 123456789), 0, 10, 5), "[0, 5)          123456789 " + full + "\n"},
	}
	for _, tt := range tests {
		if got := string(tt.h.AppendText(nil)); got != tt.want {
			t.Errorf("%s: got\n%swant\n%s", tt.name, got, tt.want)
		}
	}
}

func TestHistLabels(t *testing.T) {
	tests := []struct {
		k    int
		v    uint64
		want string
	}{
		{2, 0, "[0]"},
		{2, 3, "[3]"},
		{2, 7, "[7]"},
		{2, 8, "[8, 10)"},
		{2, 15, "[14, 16)"},
		{2, 1024, "[1024, 1280)"},
		{2, 3600, "[3584, 4K)"},
		{2, 5 * 1024, "[5K, 6K)"},
		{2, 16000, "[14K, 16K)"},
		{5, 31, "[31]"},
		{5, 63, "[63]"},
		{5, 64, "[64, 66)"},
		{5, 1 << 62, "[4096P, 4224P)"},
		{0, 1023, "[512, 1K)"},
		{0, 1 << 20, "[1M, 2M)"},
		{0, 1 << 62, "[4E, 8E)"},
	}
	for _, tt := range tests {
		c := make([]uint64, 1+(65-tt.k)<<tt.k)
		found := ""
		for i := range c {
			clear(c)
			c[i] = 1
			h := Log2Hist(c, tt.k)
			if b := h.Buckets[0]; !b.LoInf && uint64(b.Lo) <= tt.v && (b.HiInf || tt.v < uint64(b.Hi)) {
				found += string(h.appendRange(nil, &b))
			}
		}
		if found != tt.want {
			t.Errorf("k=%d: %d is in %q, want %q", tt.k, tt.v, found, tt.want)
		}
	}
}

func TestSeriesText(t *testing.T) {
	start := time.Date(2024, 1, 1, 0, 0, 0, 0, time.Local)
	series := func(step time.Duration, unsigned bool, values ...any) *SeriesData {
		s := &SeriesData{Interval: step, Unsigned: unsigned}
		for i, v := range values {
			p := SeriesPoint{Start: start.Add(time.Duration(i) * step)}
			if n, ok := v.(int); ok {
				p.Value, p.Set = int64(n), true
			}
			s.Points = append(s.Points, p)
		}
		return s
	}
	tests := []struct {
		s    *SeriesData
		want string
	}{
		{series(time.Second, false), "<no data>"},
		{series(100*time.Millisecond, true, 0, 5, nil), `             0                                                   5
hh:mm:ss.ms  |___________________________________________________|
00:00:00.000 *                                                   | 0
00:00:00.100 |                                                   * 5
00:00:00.200 |                                                   | -
             v___________________________________________________v
             0                                                   5
`},
		{series(time.Second, false, -5, 0, 2, 5), `         -5                                                  5
hh:mm:ss |___________________________________________________|
00:00:00 *                         .                         | -5
00:00:01 |                         *                         | 0
00:00:02 |                         .         *               | 2
00:00:03 |                         .                         * 5
         v___________________________________________________v
         -5                                                  5
`},
		{series(time.Second, true, 0), `                   0                                                   1
hh:mm:ss.ns        |___________________________________________________|
00:00:00.000000000 *                                                   | 0
                   v___________________________________________________v
                   0                                                   1
`},
		{series(time.Second, false, -5), `                   -6                                                 -4
hh:mm:ss.ns        |___________________________________________________|
00:00:00.000000000 |                         *                         | -5
                   v___________________________________________________v
                   -6                                                 -4
`},
		{
			series(time.Second, false, math.MinInt64, math.MaxInt64),
			`         -9223372036854775808              9223372036854775807
hh:mm:ss |___________________________________________________|
00:00:00 *                         .                         | -9223372036854775808
00:00:01 |                         .                         * 9223372036854775807
         v___________________________________________________v
         -9223372036854775808              9223372036854775807
`,
		},
	}
	for _, tt := range tests {
		if got := string(tt.s.AppendText(nil)); got != tt.want {
			t.Errorf("got\n%swant\n%s", got, tt.want)
		}
	}
}

func TestMapText(t *testing.T) {
	h := Log2Hist(counts(65, 2, 1), 0)
	tests := []struct {
		m    Map
		want string
	}{
		{Map{Name: "@x", Entries: []Entry{{Value: num(5)}}}, "@x: 5\n"},
		{Map{Name: "@x", Keyed: true}, ""},
		{Map{Name: "@", Keyed: true, Entries: []Entry{keyed(tuple(num(1), str("a")), num(2))}}, "@[1, a]: 2\n"},
		{
			Map{Name: "@h", Kind: HistMap, Entries: []Entry{{Value: histogram(h)}}},
			"@h:\n" + string(h.AppendText(nil)) + "\n",
		},
		{Map{Name: "@h", Kind: HistMap, Entries: []Entry{{Value: histogram(&Hist{})}}}, "@h:\n\n"},
		{
			Map{Name: "@h", Kind: HistMap, Entries: []Entry{keyed(num(1), histogram(h)), keyed(num(2), histogram(h))}},
			"@h[1]:\n" + string(h.AppendText(nil)) + "\n@h[2]:\n" + string(h.AppendText(nil)) + "\n",
		},
		{
			Map{Name: "@s", Entries: []Entry{keyed(stack(ModeBpftrace, Frame{Symbol: "f"}), num(1))}},
			"@s[\n        f+0\n]: 1\n",
		},
		{
			Map{Name: "@z", Kind: SeriesMap, Entries: []Entry{{Value: Value{Kind: Series, Series: &SeriesData{}}}}},
			"@z:\n<no data>\n",
		},
	}
	for _, tt := range tests {
		if got := string(tt.m.AppendText(nil)); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
