package result

import (
	"strings"
	"testing"
)

func TestTop(t *testing.T) {
	h := func(n uint64) Value { return histogram(Log2Hist(counts(65, 2, n, 4, n), 0)) }
	tests := []struct {
		name string
		m    Map
		top  int
		div  uint64
		want string
	}{
		{
			"by value, equals by key",
			Map{Entries: []Entry{
				keyed(str("b"), num(3)), keyed(str("c"), num(-1)), keyed(str("a"), num(3)), keyed(str("d"), num(2)),
			}},
			0, 0,
			"@[c]: -1 @[d]: 2 @[a]: 3 @[b]: 3",
		},
		{
			"unsigned",
			Map{Entries: []Entry{keyed(num(1), unum(1<<63)), keyed(num(2), unum(5))}},
			0, 0,
			"@[2]: 5 @[1]: 9223372036854775808",
		},
		{
			"the largest",
			Map{Entries: []Entry{keyed(num(1), num(10)), keyed(num(2), num(30)), keyed(num(3), num(20))}},
			2, 10,
			"@[3]: 2 @[2]: 3",
		},
		{"top beyond the size", Map{Entries: []Entry{keyed(num(1), num(10))}}, 5, 0, "@[1]: 10"},
		{
			"strings by key",
			Map{Entries: []Entry{keyed(num(10), str("a")), keyed(num(-9), str("b")), keyed(num(2), str("c"))}},
			0, 2,
			"@[-9]: b @[2]: c @[10]: a",
		},
		{
			"keys of several parts",
			Map{Entries: []Entry{
				keyed(tuple(num(2), str("a")), str("")), keyed(tuple(num(1), str("b")), str("")),
				keyed(tuple(num(1), str("a")), str("")),
			}},
			0, 0,
			"@[1, a]:  @[1, b]:  @[2, a]: ",
		},
		{
			"by average",
			Map{Kind: StatsMap, Entries: []Entry{keyed(num(1), stats(1, 9, 9)), keyed(num(2), stats(4, 2, 8))}},
			0, 2,
			"@[2]: { .count = 4, .average = 1, .total = 8 } @[1]: { .count = 1, .average = 4, .total = 9 }",
		},
		{
			"tuples are divided, not sorted by",
			Map{Entries: []Entry{keyed(num(1), tuple(num(9), boolean(1))), keyed(num(2), tuple(num(8), str("x")))}},
			0, 4,
			"@[1]: (2, true) @[2]: (2, x)",
		},
		{"negative quotients", Map{Entries: []Entry{{Value: num(-7)}}}, 0, 2, "@: -3"},
		{
			"enumerators",
			Map{Entries: []Entry{keyed(num(1), enum("TWO", 2)), keyed(num(2), enum("ONE", 1))}},
			0, 0,
			"@[2]: ONE @[1]: TWO",
		},
	}
	for _, tt := range tests {
		tt.m.Name = "@"
		tt.m.Top(tt.top)
		tt.m.Divide(tt.div)
		got := strings.ReplaceAll(strings.TrimSuffix(string(tt.m.AppendText(nil)), "\n"), "\n", " ")
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}

	m := Map{Kind: HistMap, Entries: []Entry{keyed(num(3), h(2)), keyed(num(1), h(6)), keyed(num(2), h(4))}}
	m.Top(2)
	m.Divide(4)
	var order []int64
	for _, e := range m.Entries {
		order = append(order, int64(e.Key.Num), int64(e.Value.Hist.Buckets[0].Count))
	}
	if len(order) != 4 || order[0] != 2 || order[1] != 1 || order[2] != 1 || order[3] != 1 {
		t.Errorf("histograms: got key and divided count %v", order)
	}
}

func TestCompare(t *testing.T) {
	ascending := [][]Value{
		{num(-2), num(-1), num(0), num(5)},
		{unum(0), unum(5), unum(1 << 63)},
		{boolean(0), boolean(1)},
		{address(1), address(1 << 63)},
		{float(-1, 8), float(0.5, 8)},
		{enum("B", -1), enum("A", 1)},
		{str(""), str("a"), str("ab"), str("b")},
		{tuple(num(1)), tuple(num(1), num(2)), tuple(num(2))},
		{stack(ModeRaw), stack(ModeRaw, Frame{Addr: 1}), stack(ModeRaw, Frame{Addr: 2})},
		{{Kind: Symbol, Text: "a"}, {Kind: Symbol, Text: "b"}},
	}
	for _, vs := range ascending {
		for i := range vs {
			for j := range vs {
				want := 0
				if i < j {
					want = -1
				} else if i > j {
					want = 1
				}
				if got := vs[i].Compare(&vs[j]); got != want {
					t.Errorf("%s against %s: got %d, want %d", &vs[i], &vs[j], got, want)
				}
			}
		}
	}
}

func BenchmarkSort(b *testing.B) {
	const n = 10_000
	entries := make([]Entry, n)
	keys := make([]Value, n)
	for i := range entries {
		keys[i] = num(int64(i*7919) % n)
		entries[i] = Entry{Key: &keys[i], Value: num(int64(i*31) % 100)}
	}
	m := Map{Entries: make([]Entry, n)}
	b.ReportAllocs()
	for b.Loop() {
		copy(m.Entries, entries)
		m.Sort()
	}
}
