package session_test

import (
	"testing"

	"trocar/internal/kernel"
	"trocar/internal/process/probe"
	"trocar/internal/session"
)

// TestCostly: of points where the kernel steps over the instruction it is said that they are hit often, once for each
// place, and of so many at most.
func TestCostly(t *testing.T) {
	f, s := newFake(), newScript()
	at := func(kind probe.Kind, name string, offset uint64, pid int) *probe.Point {
		return &probe.Point{Kind: kind, Name: name, Path: "/bin/p", Offset: offset, Stepped: true, PID: pid}
	}
	s.points = []*probe.Point{at(probe.Uprobe, "uprobe:p:f", 1, 0)}
	var rates []kernel.Rate
	for i, r := range []float64{300_400, 120_000, 300_400, 19_000, 90_000, 250_100, 110_000, 110_000, 110_000} {
		rates = append(rates, kernel.Rate{Point: at(probe.Uprobe, "uprobe:p:g", uint64(i+2), 0), PerSecond: r})
	}
	rates[0].Point = s.points[0]
	rates[1].Point = at(probe.Uretprobe, "uretprobe:p:f", 2, 7)
	rates[2].Point = at(probe.Uprobe, "uprobe:p:same", 1, 0)
	asked := 0
	f.stepped = func() []kernel.Rate {
		if asked++; asked == 2 {
			f.send(rec(s.exitLayout(), 0))
		}
		return rates[:4]
	}
	const how = " times a second, and the kernel cannot emulate the instruction there, but single-steps it: " +
		"2.0 us a hit, against 0.3 us where it can emulate it"
	expect(t, start(t, t.Context(), s, f, nil), "attached 1", "notice WARNING uprobe:p:f is hit about 300,000"+how,
		"notice WARNING uretprobe:p:f is hit about 120,000"+how, "end")

	f = newFake()
	f.stepped = func() []kernel.Rate { return rates }
	const last = "notice WARNING more probes are hit so often at such instructions: they are not named"
	o := start(t, t.Context(), s, f, func(_ *session.Input, k *sink) {
		k.fail = func(line string) error {
			if line == last {
				f.send(rec(s.exitLayout(), 0))
			}
			return nil
		}
	})
	if n := len(o.sink.lines); n != 7 || o.sink.lines[n-2] != last {
		t.Errorf("%q", o.sink.lines)
	}
}

// TestCostlyTogether: of many probes, none of which is hit often, it is said once that they are together.
func TestCostlyTogether(t *testing.T) {
	f, s := newFake(), newScript()
	for i := range 3 {
		s.points = append(s.points, &probe.Point{Kind: probe.Uprobe, Name: "uprobe:p:f", Path: "/bin/p", Offset: uint64(i)})
	}
	asked := 0
	f.stepped = func() []kernel.Rate {
		if asked++; asked == 3 {
			f.send(rec(s.exitLayout(), 0))
		}
		f.hits = kernel.Hits{Together: 230_500, Stepped: 200_000 * float64(asked-1), Running: 0.1}
		return nil
	}
	expect(t, start(t, t.Context(), s, f, nil), "attached 1",
		"notice WARNING the probes are hit about 230,000 times a second altogether, which takes about 51% of a CPU's time",
		"end")
}
