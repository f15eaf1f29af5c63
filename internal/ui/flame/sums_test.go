package flame

import (
	"testing"

	"trocar/result"
)

// TestBlocks: sums of stats() are weights, and stacks that differ by lines stay apart.
func TestBlocks(t *testing.T) {
	number := func(n uint64) result.Value { return result.Value{Kind: result.Uint, Num: n} }
	entry := func(line int, n, sum uint64) result.Entry {
		f := frame("f", 1)
		f.Line = line
		return result.Entry{
			Key:   &result.Value{Kind: result.Stack, Frames: []result.Frame{*f, {Symbol: "g", Module: "/lib/x.so"}}},
			Value: result.Value{Kind: result.Stats, Elems: []result.Value{number(n), number(sum / n), number(sum)}},
		}
	}
	c := &Collector{}
	m := &result.Map{Entries: []result.Entry{entry(1, 2, 20), entry(2, 1, 30), entry(1, 1, 5)}}
	if err := c.Event(&result.PrintMap{Map: m}); err != nil {
		t.Fatal(err)
	}
	want := `55 bytes in 4 blocks, 2 stacks

30 bytes in 1 block
        f  a.c:2
        g  x.so

and 1 more stack
`
	if got := string(c.Profile.AppendBlocks(nil, 1)); got != want {
		t.Errorf("%s", got)
	}
}
