package session_test

import (
	"fmt"
	"slices"
	"testing"

	"trocar/internal/kernel"
	"trocar/internal/process/probe"
	"trocar/internal/session"
)

// TestBodies: probes follow the code of methods, and what is not seen of them is told.
func TestBodies(t *testing.T) {
	f, s := newFake(), newScript()
	method := func(name string, addr uint64) *probe.Point {
		return &probe.Point{Kind: probe.Method, Name: "method:" + name, Func: name, Addr: addr}
	}
	moves, stays, waits, left := method("moves", 0x10), method("stays", 0x20), method("waits", 0), method("left", 0x30)
	stuck := method("stuck", 0x50)
	s.points = append(s.points, moves, stays, waits, left, stuck)
	f.failed = []kernel.AttachError{{Point: left, Err: fmt.Errorf("no debug register is left")}}
	looks, copies := 0, 0
	o := start(t, t.Context(), s, f, func(in *session.Input, _ *sink) {
		in.Bodies = func(inlined bool) []probe.Body {
			now := []probe.Body{{Point: stays, Addr: 0x20}, {Point: waits, State: "interpreted"}, {Point: left, Addr: 0x40}}
			if inlined {
				copies++
				now[0].Inlined, now[0].Kept = []string{"a", "b", "c", "d"}, "--flag"
				if copies > 1 {
					now[0].Inlined = append(now[0].Inlined, "e") // it was told already
				}
				return append(now, probe.Body{Point: moves, Unknown: fmt.Errorf("no table")})
			}
			if looks++; looks == 2 {
				f.send(rec(s.exitLayout(), 0))
			}
			return append(now, probe.Body{Point: stuck, Addr: 0x60 * uint64(min(looks, 2))},
				probe.Body{Point: moves, Addr: 0x100 * uint64(min(looks, 2))})
		}
	})
	want := []string{"moves 0x100", "stuck 0x60", "moves 0x200"}
	if !slices.Equal(f.moves, want) {
		t.Errorf("%q, want %q", f.moves, want)
	}
	expect(t, o,
		"notice WARNING cannot attach method:left: no debug register is left",
		"notice WARNING stays is inlined into the code of a, b, c and 1 more: calls by it are not seen",
		"notice WARNING whether moves is inlined is not known: no table",
		"notice WARNING waits is interpreted: its calls are seen once it is compiled",
		"attached 0",
		"notice WARNING stuck: its breakpoint could not follow the code, and later calls were not seen: refused",
		"notice WARNING moves: compiled during the trace; calls that were interpreted, or made within 10 ms of the "+
			"compilation, were not seen",
		"notice WARNING calls were not seen of waits (interpreted)",
		"end")
}
