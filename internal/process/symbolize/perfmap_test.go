package symbolize

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"trocar/result"
)

// mapOf is a perf map as read from a file.
func mapOf(text string) *perfMap {
	p := &perfMap{}
	p.updateFrom(strings.NewReader(text), int64(len(text)))
	return p
}

func (p *perfMap) nameAt(at uint64) string {
	e := p.entry(at)
	if e == nil {
		return ""
	}
	f := result.Frame{Addr: at}
	p.find(&f, at)
	return fmt.Sprintf("%s+%d", f.Symbol, f.Offset)
}

func TestPerfMap(t *testing.T) {
	p := mapOf("100 10 a\n0x200 0x10 b c\nnonsense\n300 zz d\n400 0 nothing\n 500 10 e\n600 10\n" +
		"100 8 a2\nFFFFFFFFFFFFFFF0 20 wraps\n10000000000000000 1 long\n700 10 " + strings.Repeat("n", 70000) +
		"\n800 10 after\r\n900 10 " + strings.Repeat("m", 5000) + "\n")
	for _, c := range []struct {
		at   uint64
		want string
	}{
		{0xff, ""},
		{0x100, "a2+0"},
		{0x107, "a2+7"},
		{0x108, "a+8"},
		{0x10f, "a+15"},
		{0x110, ""},
		{0x20f, "b c+15"},
		{0x300, ""},
		{0x400, ""},
		{0x500, ""},
		{0x600, ""},
		{0x700, ""},
		{0x800, "after+0"},
		{0x900, strings.Repeat("m", maxJITName) + "+0"},
		{0xfffffffffffffff8, ""},
	} {
		if got := p.nameAt(c.at); got != c.want {
			t.Errorf("%#x: %.40q, want %.40q", c.at, got, c.want)
		}
	}
}

// Whatever the order of arrival, the entry that came last counts.
func TestPerfMapOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	p := &perfMap{}
	last := map[uint64]string{}
	for range 50 {
		old := len(p.entries)
		for range r.IntN(20) {
			start, size := uint64(r.IntN(200))*16, uint64(1+r.IntN(3))*16
			name := fmt.Sprintf("f%d", len(p.entries))
			p.add(fmt.Appendf(nil, "%x %x %s\n", start, size, name))
			for a := start; a < start+size; a += 16 {
				last[a] = name
			}
		}
		p.order(old)
	}
	for a, want := range last {
		e := p.entry(a)
		if e == nil {
			t.Fatalf("%#x: nothing, want %s", a, want)
		}
		if got := string(p.names[e.name : e.name+uint32(e.length)]); got != want {
			t.Errorf("%#x: %s, want %s", a, got, want)
		}
	}
}

func FuzzPerfMap(f *testing.F) {
	f.Add([]byte("100 10 a\n0x200 0x10 b c\n"), []byte("300 5 x\n"))
	f.Add([]byte("100 10 a"), []byte("\n100 10 b\n"))
	f.Fuzz(func(t *testing.T, one, two []byte) {
		text := string(one) + string(two)
		p := mapOf(string(one))
		p.updateFrom(strings.NewReader(text), int64(len(text)))
		whole := mapOf(text)
		if len(p.entries) != len(whole.entries) {
			t.Errorf("%d entries in two steps, %d in one", len(p.entries), len(whole.entries))
		}
		for i, e := range p.entries {
			if i > 0 && e.start < p.entries[i-1].start || e.size == 0 || uint64(e.name)+uint64(e.length) > uint64(len(p.names)) {
				t.Errorf("entry %d: %+v", i, e)
			}
			if p.nameAt(e.start) == "" {
				t.Errorf("entry %d is not found", i)
			}
		}
	})
}
