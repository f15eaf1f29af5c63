package session

import (
	"context"
	"fmt"
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
	had    []bool                 // those that had code once
	copied map[string]bool        // those that were told to be inlined
	steps  map[uint64]bool        // methods whose calls are seen that are interpreted
	looked time.Time              // when it was looked last where code is
	gaps   map[string][]gap       // in which new code of methods was not probed yet
	done   chan struct{}          // closed when none is looked after any more
	stop   func()
}

// gap is a time in which calls may have been missed.
type gap struct {
	end  time.Time
	long time.Duration
}

// lookEvery is how often it is looked where code is. What is called meanwhile at a new place is not seen.
// Of methods whose interpreted calls are seen less is missed, as long as they are sure to be compiled anew.
const (
	lookEvery = 10 * time.Millisecond
	lookSoon  = 2 * time.Millisecond
)

// placeBodies puts the probes where the code is by now, and looks after them from then on.
func (s *Session) placeBodies(ctx context.Context, failed []kernel.AttachError) error {
	is := func(p *probe.Point) bool { return p.Kind.OfMethod() }
	if s.in.Bodies == nil || !slices.ContainsFunc(s.in.Points, is) {
		return nil
	}
	b := &bodies{
		failed: map[*probe.Point]bool{}, lost: map[*probe.Point]error{}, copied: map[string]bool{}, done: make(chan struct{}),
		steps: map[uint64]bool{}, gaps: map[string][]gap{}, looked: time.Now(),
	}
	for _, f := range failed {
		b.failed[f.Point] = true
	}
	for _, p := range s.in.Points {
		if is(p) {
			b.at = append(b.at, probe.Body{Point: p, Addr: p.Addr, State: "not compiled"})
			b.had = append(b.had, p.Addr != 0)
			if p.Next != 0 && !b.failed[p] {
				b.steps[p.Start] = true
			}
		}
	}
	if err := s.withoutReturns(b, failed); err != nil {
		return err
	}
	s.look(b)
	clear(b.gaps)
	s.bodies = b
	if err := s.tellInlined("is"); err != nil {
		return err
	}
	told := map[string]bool{}
	for _, of := range b.at {
		if of.Addr == 0 && !of.Idle && !b.failed[of.Point] {
			if told[of.Point.Func+of.State] {
				continue
			}
			told[of.Point.Func+of.State] = true
			if err := s.blind(nil, "%s is %s: its calls are seen once it is compiled", of.Point.Func, of.State); err != nil {
				return err
			}
		}
	}
	ctx, b.stop = context.WithCancel(ctx)
	s.background.Go(func() {
		defer close(b.done)
		every := lookSoon
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-time.After(every):
				every = lookEvery
				s.look(b)
				if slices.ContainsFunc(b.at, func(p probe.Body) bool { return b.steps[p.Point.Start] && !p.Final }) {
					every = lookSoon
				}
			}
		}
	})
	return nil
}

// withoutReturns takes the probes off methods of which not all returns could be probed: else it would seem that calls
// do not return.
func (s *Session) withoutReturns(b *bodies, failed []kernel.AttachError) error {
	for _, f := range failed {
		if f.Point.Kind != probe.MethodReturn {
			continue
		}
		for _, of := range b.at {
			if p := of.Point; p.Start == f.Point.Start && !b.failed[p] {
				b.failed[p] = true
				if err := s.kernel.Programs.Move(p, 0); err != nil {
					return err
				}
				err := s.blind(nil, "calls of %s are not seen, since not all of its returns could be probed", p.Func)
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// look moves the probes of code that is elsewhere by now. Entries are probed before returns are, and calls that began
// before that are not looked for any more: else one that began unseen could end as another one, which was left.
func (s *Session) look(b *bodies) {
	before := b.looked
	b.looked = time.Now()
	all := s.in.Bodies(false)
	moved, names := map[uint64]bool{}, map[string]bool{"": true} // methods
	place := map[*probe.Point]uint64{}
	for _, now := range all {
		for i := range b.at {
			was := &b.at[i]
			if was.Point != now.Point {
				continue
			}
			was.Final = now.Final
			was.State, was.Idle = now.State, now.Idle && (now.Point.Kind == probe.MethodReturn || b.steps[now.Point.Start])
			place[was.Point] = now.Addr
			if was.Addr != now.Addr && !b.failed[was.Point] && b.lost[was.Point] == nil {
				moved[was.Point.Start], names[was.Point.Func] = true, true
			}
		}
	}
	if len(moved) == 0 {
		return
	}
	each := func(kind probe.Kind, do func(i int, was *probe.Body) error) {
		for i := range b.at {
			was := &b.at[i]
			lost := b.failed[was.Point] || b.lost[was.Point] != nil
			if was.Point.Kind != kind || !moved[was.Point.Start] || lost {
				continue
			}
			if err := do(i, was); err != nil {
				b.lost[was.Point] = err
			}
		}
	}
	each(probe.MethodReturn, func(_ int, was *probe.Body) error {
		was.Addr = 0
		return s.kernel.Programs.Move(was.Point, 0)
	})
	anew := map[string]time.Time{}
	to := func(i int, was *probe.Body) error {
		if was.Addr == place[was.Point] {
			return nil
		}
		was.Addr = place[was.Point]
		b.had[i] = b.had[i] || was.Addr != 0
		err := s.kernel.Programs.Move(was.Point, was.Addr)
		if err == nil && was.Addr != 0 && was.Point.Kind == probe.Method {
			anew[was.Point.Func] = time.Now()
		}
		return err
	}
	each(probe.Method, to)
	for name, now := range anew {
		b.gaps[name] = append(b.gaps[name], gap{now, now.Sub(before)})
	}
	for _, p := range s.in.Programs {
		if p.Point.Kind == probe.Self && p.Point.Event == probe.Moved && names[p.Point.Func] {
			if _, err := s.kernel.Programs.Run(p.Name); err != nil {
				return // what returns is not looked at any more
			}
		}
	}
	each(probe.MethodReturn, to)
}

// tellInlined tells of methods that are inlined.
func (s *Session) tellInlined(is string) error {
	b := s.bodies
	all := s.in.Bodies(true)
	if len(all) == 0 {
		return s.emit(&result.Notice{Diagnostic: result.Diagnostic{
			Severity: result.Info, Text: result.Messagef("the process ended before it could be looked whether methods were " +
				"inlined into code that was compiled during the trace: calls by such code were not seen"),
		}})
	}
	for _, now := range all {
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
			few := "the code of " + strings.Join(now.Inlined[:min(n, maxNamed)], ", ")
			if n > maxNamed {
				few += " and " + strconv.Itoa(n-maxNamed) + " more"
			}
			if n == 1 && now.Inlined[0] == name {
				few = "itself"
			}
			err := s.blind([]string{"started with " + now.Kept + " all calls are seen"},
				"%s %s inlined into %s: calls by it are not seen", name, is, few)
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

// tellGaps tells when calls of a method may have been missed, as its code was made anew.
func (s *Session) tellGaps(p *probe.Point) error {
	gaps := s.bodies.gaps[p.Func]
	delete(s.bodies.gaps, p.Func)
	if len(gaps) == 0 {
		return nil
	}
	var when []string
	for _, g := range gaps[:min(len(gaps), maxNamed)] {
		when = append(when, fmt.Sprintf("the %.1f ms before %s", g.long.Seconds()*1e3, g.end.Format("15:04:05.000")))
	}
	if n := len(gaps) - len(when); n > 0 {
		when = append(when, fmt.Sprintf("%d times more", n))
	}
	other := "calls that were interpreted were not seen"
	if s.bodies.steps[p.Start] {
		other = "one that was just beginning may have been seen twice"
	}
	return s.blind(nil, "%s: compiled, or redefined by an agent, during the trace; calls of the new code may be missing "+
		"in %s, and %s", p.Func, strings.Join(when, ", "), other)
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
	var never, later []string
	for i, of := range b.at {
		switch {
		case b.failed[of.Point], of.Idle:
		case b.lost[of.Point] != nil:
			err := s.blind(nil, "%s: its breakpoint could not follow the code, and later calls were not seen: %v", of.Point.Func,
				b.lost[of.Point])
			if err != nil {
				return err
			}
		case of.Addr == 0:
			list := &never
			if b.had[i] {
				list = &later
			}
			if text := of.Point.Func + " (" + of.State + ")"; !slices.Contains(*list, text) {
				*list = append(*list, text)
			}
		}
	}
	for _, of := range b.at {
		if err := s.tellGaps(of.Point); err != nil {
			return err
		}
	}
	if len(later) > 0 {
		if err := s.blind(nil, "later calls were not seen of %s", strings.Join(later, ", ")); err != nil {
			return err
		}
	}
	never = slices.DeleteFunc(never, func(text string) bool { return slices.Contains(later, text) })
	if len(never) > 0 {
		return s.blind(nil, "calls were not seen of %s", strings.Join(never, ", "))
	}
	return nil
}
