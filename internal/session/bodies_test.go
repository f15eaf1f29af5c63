package session_test

import (
	"fmt"
	"regexp"
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
	stuck, goes := method("stuck", 0x50), method("goes", 0x70)
	s.points = append(s.points, moves, stays, waits, left, stuck, goes)
	f.failed = []kernel.AttachError{{Point: left, Err: fmt.Errorf("no debug register is left")}}
	looks, copies := 0, 0
	o := start(t, t.Context(), s, f, func(in *session.Input, _ *sink) {
		in.Bodies = func(inlined bool) []probe.Body {
			now := []probe.Body{
				{Point: goes, Addr: 0x70 * uint64(max(0, 1-looks)), State: "interpreted"},
				{Point: stays, Addr: 0x20},
				{Point: waits, State: "interpreted"},
				{Point: left, Addr: 0x40},
			}
			if inlined {
				copies++
				now[1].Inlined, now[1].Kept = []string{"a", "b", "c", "d"}, "--flag"
				if copies > 1 {
					now[1].Inlined = append(now[1].Inlined, "e") // it was told already
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
	want := []string{"moves 0x100", "stuck 0x60", "moves 0x200", "goes 0x0"}
	if !slices.Equal(f.moves, want) {
		t.Errorf("%q, want %q", f.moves, want)
	}
	untimed(o)
	expect(t, o,
		"notice WARNING cannot attach method:left: no debug register is left",
		"notice WARNING stays is inlined into the code of a, b, c and 1 more: calls by it are not seen",
		"notice WARNING whether moves is inlined is not known: no table",
		"notice WARNING waits is interpreted: its calls are seen once it is compiled",
		"attached 0",
		"notice WARNING stuck: its breakpoint could not follow the code, and later calls were not seen: refused",
		"notice WARNING moves: compiled, or redefined by an agent, during the trace; calls of the new code may be missing "+
			"in the N ms before TIME, and "+
			"calls that were interpreted were not seen",
		"notice WARNING later calls were not seen of goes (interpreted)",
		"notice WARNING calls were not seen of waits (interpreted)",
		"end")
}

// TestBodiesEnded: of a process that has ended, what was known last is told.
func TestBodiesEnded(t *testing.T) {
	f, s := newFake(), newScript()
	moves := &probe.Point{Kind: probe.Method, Name: "method:moves", Func: "moves"}
	s.points = append(s.points, moves)
	looks := 0
	o := start(t, t.Context(), s, f, func(in *session.Input, _ *sink) {
		in.Bodies = func(inlined bool) []probe.Body {
			switch looks++; {
			case looks <= 2: // at the start
				return []probe.Body{{Point: moves, State: "interpreted"}}
			case looks == 3:
				return []probe.Body{{Point: moves, Addr: 0x100}}
			case looks == 4:
				f.send(rec(s.exitLayout(), 0))
			}
			return nil
		}
	})
	if want := []string{"moves 0x100"}; !slices.Equal(f.moves, want) {
		t.Errorf("%q, want %q", f.moves, want)
	}
	untimed(o)
	expect(t, o,
		"notice WARNING moves is interpreted: its calls are seen once it is compiled",
		"attached 1",
		"notice INFO the process ended before it could be looked whether methods were inlined into code that was compiled "+
			"during the trace: calls by such code were not seen",
		"notice WARNING moves: compiled, or redefined by an agent, during the trace; calls of the new code may be missing "+
			"in the N ms before TIME, and "+
			"calls that were interpreted were not seen",
		"end")
}

// untimed puts words in the place of times.
func untimed(o outcome) {
	times := regexp.MustCompile(`[0-9.]+ ms before [0-9:.]+`)
	for i, line := range o.sink.lines {
		o.sink.lines[i] = times.ReplaceAllString(line, "N ms before TIME")
	}
}
