package result

import (
	"testing"
	"time"
)

func TestDurations(t *testing.T) {
	for _, c := range []struct {
		ns   uint64
		want string
	}{
		{0, "0 ns"},
		{999, "999 ns"},
		{1000, "1.00 us"},
		{12345, "12.3 us"},
		{999_999, "1000 us"},
		{1_500_000, "1.50 ms"},
		{2_000_000_000, "2.00 s"},
		{90_000_000_000, "90.0 s"},
		{3_600_000_000_000, "3600 s"},
	} {
		if got := string(AppendDuration(nil, c.ns)); got != c.want {
			t.Errorf("%d: %q, not %q", c.ns, got, c.want)
		}
	}
}

// timesFor counts values in as a program does.
func timesFor(values ...uint64) Value {
	const k = 2
	counts := make([]uint64, 200)
	var total, longest uint64
	for _, v := range values {
		i := 0
		for log2Bound(i+1, k) <= v {
			i++
		}
		counts[1+i]++
		total += v
		longest = max(longest, v)
	}
	return TimesOf(Log2Hist(counts, k), total, longest)
}

func TestTimes(t *testing.T) {
	one := timesFor(10_015)
	for i := timesTotal; i < timesElems; i++ {
		if one.Elems[i].Num != 10_015 {
			t.Errorf("%s of one value: %d", timesNames[i], one.Elems[i].Num)
		}
	}
	var values []uint64
	for i := range uint64(1000) {
		values = append(values, (i+1)*1000)
	}
	v := timesFor(values...)
	for i, want := range map[int]uint64{
		timesCount: 1000, timesTotal: 500_500_000, timesMean: 500_500,
		timesMax: 1_000_000,
	} {
		if v.Elems[i].Num != want {
			t.Errorf("%s: %d, not %d", timesNames[i], v.Elems[i].Num, want)
		}
	}
	for i, want := range map[int]float64{timesP50: 500e3, timesP90: 900e3, timesP99: 990e3} {
		if got := float64(v.Elems[i].Num); got < want*0.95 || got > want*1.05 {
			t.Errorf("%s: %g, not %g", timesNames[i], got, want)
		}
	}
	if none := timesFor(); none.Elems[timesP99].Num != 0 || none.Elems[timesMean].Num != 0 {
		t.Errorf("of no values: %+v", none.Elems)
	}
}

func TestTables(t *testing.T) {
	key := func(function, who string) *Value {
		k := &Value{
			Kind: Record, Names: []string{"function", "who"}, Elems: []Value{
				{Kind: String, Text: function},
				{Kind: String, Text: who},
			},
		}
		return k
	}
	num := func(n uint64) Value { return Value{Kind: Uint, Size: 8, Num: n} }
	stack := &Value{
		Kind: Record, Names: []string{"function", "stack"}, Elems: []Value{
			{Kind: String, Text: "f"},
			{Kind: Stack, Frames: []Frame{{Addr: 1, Symbol: "f"}, {Addr: 2, Symbol: "main", Offset: 5}}},
		},
	}
	for _, c := range []struct {
		name string
		m    Map
		top  int
		span time.Duration
		hist bool
		want string
	}{
		{"counts", Map{Name: "@calls", Keyed: true, Entries: []Entry{
			{key("read", "x"), num(3)}, {key("write", "long"), num(12)},
		}}, 0, 2 * time.Second, false, `calls  calls/s  function  who
   12      6.0  write     long
    3      1.5  read      x
   15      7.5  total
`},
		{"the largest", Map{Name: "@calls", Keyed: true, Entries: []Entry{
			{key("a", "x"), num(1)}, {key("b", "x"), num(2)}, {key("c", "y"), num(1000)},
		}}, 1, time.Second, false, `calls  calls/s  function  who
 1000     1000  c         y
and 2 more
 1003     1003  total
`},
		{"one", Map{Name: "@n", Keyed: true, Entries: []Entry{{&Value{Kind: String, Text: "k"}, num(1)}}}, 0, 0, false, `n
1  k
`},
		{"stacks", Map{Name: "@calls", Keyed: true, Entries: []Entry{{stack, num(2)}}}, 0, 0, false, `calls  function  stack
    2  f
        f+0
        main+5
`},
		{"times", Map{Name: "@latency", Kind: TimesMap, Keyed: true, Entries: []Entry{
			{key("f", "x"), timesFor(100, 300)}, {key("g", "x"), timesFor(2000)},
		}}, 0, time.Second, false, `calls  calls/s      sum     mean      p50      p90      p99      max  function  who
    1      1.0  2.00 us  2.00 us  2.00 us  2.00 us  2.00 us  2.00 us  g         x
    2      2.0   400 ns   200 ns   104 ns   300 ns   300 ns   300 ns  f         x
    3      3.0  2.40 us                                               total
`},
		{
			"histograms",
			Map{Name: "@latency", Kind: TimesMap, Entries: []Entry{{nil, timesFor(100, 110, 120, 300)}}},
			0, 0, true,
			`calls     sum    mean     p50     p90     p99     max
    4  630 ns  157 ns  108 ns  300 ns  300 ns  300 ns
  [96 ns, 128 ns)          3 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
  [128 ns, 256 ns)         0 |                                                |
  [256 ns, 320 ns)         1 |@@@@@@@@@@@@@@@@                                |
`,
		},
	} {
		if !c.m.Tabulate(c.top, c.span) {
			t.Errorf("%s: no table", c.name)
			continue
		}
		c.m.Table.Histograms = c.hist
		if got := string(c.m.AppendText(nil)); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
	for _, m := range []Map{
		{Name: "@", Entries: []Entry{{nil, num(1)}}},
		{Name: "@", Keyed: true},
		{Name: "@", Keyed: true, Entries: []Entry{{key("a", "b"), Value{Kind: String}}}},
	} {
		if m.Tabulate(0, 0) {
			t.Errorf("%+v is a table", m)
		}
	}
}
