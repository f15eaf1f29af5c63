package kernel

import (
	"context"
	"fmt"
	"testing"
	"time"

	"trocar/internal/compile/feature"
	"trocar/internal/need"
	"trocar/internal/process/probe"
)

// TestHits: of the points where the kernel steps over the instruction, those that are hit are found, also among
// others of a program, whose hits are summed up.
func TestHits(t *testing.T) {
	need.Root(t)
	path := build(t, "target", targetSource)
	syms := symbols(t, path)
	for _, way := range ways {
		for _, alone := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/alone=%v", way.name, alone), func(t *testing.T) {
				f := NewFeatures()
				f.Disable(way.without...)
				if !alone && !f.Has(feature.AttachCookie) {
					t.Skip("points of a program are told apart by cookies") // from 5.15 on
				}
				hit, rare := point(path, syms["other"], 0), point(path, syms["main"], 0)
				hit.Stepped, rare.Stepped = true, true
				p := &Program{
					Name: "p", Type: probe.UprobeProgram, Insns: returnZero(),
					Points: []*probe.Point{point(path, syms["work"], 0), rare, hit},
				}
				if alone {
					p.Points = p.Points[2:]
				}
				l := load(t, Options{Features: f}, p)
				attachAll(t, l)
				c := start(t, path)
				done := make(chan struct{})
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					defer close(done)
					for ctx.Err() == nil {
						c.ask("call 100")
						c.ask("other 1000")
					}
				}()
				h, err := l.Hits(t.Context(), 50*time.Millisecond, 1)
				cancel()
				<-done
				if err != nil || len(h.Often) != 1 || h.Often[0].Point != hit {
					t.Errorf("%+v %v", h, err)
				}
				if several := h.Together > 0 && h.Running > 0 && h.Stepped > 0; several == alone {
					t.Errorf("%+v", h)
				}
				if h, err := l.Hits(t.Context(), time.Millisecond, 1); err != nil || len(h.Often) > 0 || h.Together > 0 {
					t.Errorf("where nothing is hit: %+v %v", h, err)
				}
			})
		}
	}
}

// TestHitsOfPrograms: programs of one point each are summed up as the points of one are, and two runs of a session's
// are one hit.
func TestHitsOfPrograms(t *testing.T) {
	need.Root(t)
	path := build(t, "target", targetSource)
	syms := symbols(t, path)
	for _, session := range []bool{false, true} {
		t.Run(fmt.Sprintf("session=%v", session), func(t *testing.T) {
			f := NewFeatures()
			if session && !f.Has(feature.UprobeSession) {
				t.Skip(f.Need(feature.UprobeSession, ""))
			}
			var programs []*Program
			for _, fn := range []string{"other", "work"} {
				programs = append(programs, &Program{
					Name: fn, Type: probe.UprobeProgram, Session: session, Insns: returnZero(),
					Points: []*probe.Point{point(path, syms[fn], 0)},
				})
			}
			l := load(t, Options{Features: f}, programs...)
			attachAll(t, l)
			c := start(t, path)
			calls := 0
			done := make(chan struct{})
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				defer close(done)
				for ctx.Err() == nil {
					calls += 1000
					c.ask("other 1000")
				}
			}()
			h, err := l.Hits(t.Context(), 50*time.Millisecond, 1)
			cancel()
			<-done
			most := float64(calls) / 0.05 // all of them within the window
			if err != nil || h.Together <= 0 || h.Together > most || h.Running <= 0 {
				t.Errorf("%+v %v; %d calls", h, err, calls)
			}
		})
	}
}

// TestStepCost: a hit costs something, and where the kernel steps over the instruction it costs more.
func TestStepCost(t *testing.T) {
	need.Root(t)
	stepped, emulated, err := StepCost()
	if err != nil || emulated <= 0 || stepped <= emulated {
		t.Errorf("%v, %v: %v", stepped, emulated, err)
	}
}
