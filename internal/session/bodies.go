package session

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"trocar/internal/kernel"
	"trocar/internal/process/probe"
	"trocar/result"
)

// Methods whose code a runtime makes while the process runs are probed where that code is now: when it is made anew,
// elsewhere, the probes are moved after it.

// bodies are the codes of the methods.
type bodies struct {
	at     []probe.Body
	failed map[*probe.Point]bool  // that have no probes
	lost   map[*probe.Point]error // why the probes of others are not at their code
	moved  []int                  // how often each was made anew
	copied map[string]bool        // those that were told to be inlined
	done   chan struct{}          // closed when none is looked after any more
	stop   func()
}

// lookEvery is how often it is looked where code is. What is called meanwhile at a new place is not seen.
const lookEvery = 10 * time.Millisecond

// placeBodies puts the probes where the code is by now, and looks after them from then on.
func (s *Session) placeBodies(ctx context.Context, failed []kernel.AttachError) error {
	is := func(p *probe.Point) bool { return p.Kind == probe.Method }
	if s.in.Bodies == nil || !slices.ContainsFunc(s.in.Points, is) {
		return nil
	}
	b := &bodies{
		failed: map[*probe.Point]bool{}, lost: map[*probe.Point]error{}, copied: map[string]bool{}, done: make(chan struct{}),
	}
	for _, f := range failed {
		b.failed[f.Point] = true
	}
	for _, p := range s.in.Points {
		if is(p) {
			b.at = append(b.at, probe.Body{Point: p, Addr: p.Addr})
		}
	}
	b.moved = make([]int, len(b.at))
	s.look(b)
	clear(b.moved)
	s.bodies = b
	if err := s.tellInlined("is"); err != nil {
		return err
	}
	for _, of := range b.at {
		if of.Addr == 0 && !b.failed[of.Point] {
			if err := s.blind(nil, "%s is %s: its calls are seen once it is compiled", of.Point.Func, of.State); err != nil {
				return err
			}
		}
	}
	ctx, b.stop = context.WithCancel(ctx)
	s.background.Go(func() {
		defer close(b.done)
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-time.After(lookEvery):
				s.look(b)
			}
		}
	})
	return nil
}

// look moves the probes of code that is elsewhere by now.
func (s *Session) look(b *bodies) {
	for _, now := range s.in.Bodies(false) {
		for i := range b.at {
			was := &b.at[i]
			if was.Point != now.Point {
				continue
			}
			was.State = now.State
			if was.Addr == now.Addr || b.failed[was.Point] || b.lost[was.Point] != nil {
				continue
			}
			if err := s.kernel.Programs.Move(was.Point, now.Addr); err != nil {
				b.lost[was.Point] = err
				continue
			}
			if was.Addr = now.Addr; now.Addr != 0 {
				b.moved[i]++
			}
		}
	}
}

// tellInlined tells of methods that are inlined.
func (s *Session) tellInlined(is string) error {
	b := s.bodies
	for _, now := range s.in.Bodies(true) {
		name := now.Point.Func
		if b.failed[now.Point] || b.copied[name] {
			continue
		}
		if now.Unknown != nil {
			b.copied[name] = true
			if err := s.blind(nil, "whether %s is inlined is not known: %v", name, now.Unknown); err != nil {
				return err
			}
		}
		if n := len(now.Inlined); n > 0 {
			b.copied[name] = true
			few := strings.Join(now.Inlined[:min(n, maxNamed)], ", ")
			if n > maxNamed {
				few += " and " + strconv.Itoa(n-maxNamed) + " more"
			}
			err := s.blind([]string{"started with " + now.Kept + " all calls are seen"},
				"%s %s inlined into the code of %s: calls by it are not seen", name, is, few)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// blind warns of calls that are not seen.
func (s *Session) blind(hints []string, format string, args ...any) error {
	return s.emit(&result.Notice{Blind: true, Diagnostic: result.Diagnostic{
		Severity: result.Warning, Text: result.Messagef(format, args...), Hints: hints,
	}})
}

// tellBodies tells which methods were made anew meanwhile, and which are not compiled.
func (s *Session) tellBodies() error {
	b := s.bodies
	if b == nil {
		return nil
	}
	b.stop()
	<-b.done
	if err := s.tellInlined("was"); err != nil {
		return err
	}
	var anew, never []string
	for i, of := range b.at {
		switch {
		case b.failed[of.Point]:
		case b.lost[of.Point] != nil:
			err := s.blind(nil, "%s: its breakpoint could not follow the code, and later calls were not seen: %v", of.Point.Func,
				b.lost[of.Point])
			if err != nil {
				return err
			}
		case of.Addr == 0:
			never = append(never, of.Point.Func+" ("+of.State+")")
		case b.moved[i] > 0:
			anew = append(anew, of.Point.Func)
		}
	}
	if len(anew) > 0 {
		err := s.blind(nil, "%s: compiled during the trace; calls that were interpreted, or made within 10 ms of "+
			"the compilation, were not seen", strings.Join(anew, ", "))
		if err != nil {
			return err
		}
	}
	if len(never) > 0 {
		return s.blind(nil, "calls of methods without compiled code were not seen: %s", strings.Join(never, ", "))
	}
	return nil
}
