package match

import (
	"strconv"

	"trocar/internal/process/probe"
)

// Begin, end, self, test and bench: probes that we run ourselves.

func parseSpecial(m *matcher, s *spec) bool {
	if len(s.parts) == 1 && s.parts[0] == "*" {
		return true
	}
	if len(s.parts) != 0 {
		return m.argCount(s, 0)
	}
	return true
}

// signals are those of `self:signal`.
var signals = []string{"SIGUSR1"}

func parseSelf(m *matcher, s *spec) bool {
	if len(s.parts) != 2 {
		return m.argCount(s, 2)
	}
	s.target, s.fn = s.parts[0], s.parts[1]
	if m.listing {
		return true
	}
	if s.target != "signal" {
		m.diags.Errorf(s.ap.Span, "%s is not a supported trigger", s.target).Hint("the form is %s", form(probe.Self))
		return false
	}
	for _, name := range signals {
		if s.fn == name {
			return true
		}
	}
	m.diags.Errorf(s.ap.Span, "%s is not a supported signal", s.fn).Hint("supported: %s", orList(signals))
	return false
}

func parseNamed(m *matcher, s *spec) bool {
	if len(s.parts) != 1 {
		return m.argCount(s, 1)
	}
	s.target = s.parts[0]
	if s.target == "" {
		m.diags.Errorf(s.ap.Span, "%s probes must have a name", s.kind.name)
		return false
	}
	key := s.kind.name + ":" + s.target
	if other, ok := m.named[key]; ok {
		word := "TEST"
		if s.kind.kind == probe.Bench {
			word = "BENCH"
		}
		m.diags.Errorf(s.ap.Span, "%q was used as the name for more than one %s probe", s.target, word).
			Note(other, "this is the other instance")
		return false
	}
	m.named[key] = s.ap.Span
	return true
}

// matchOne makes the one point of kinds that need no search.
func matchOne(m *matcher, s *spec) []*probe.Point {
	p := &probe.Point{Kind: s.kind.kind, Name: s.kind.name, PID: m.pid()}
	switch p.Kind {
	case probe.Begin, probe.End:
		p.PID = 0
	case probe.Self:
		p.Name += ":" + s.target + ":" + s.fn
		p.Event, p.PID = s.fn, 0
	case probe.Test, probe.Bench:
		p.Name += ":" + s.target
		p.Event, p.PID = s.target, 0
	case probe.Interval, probe.Profile:
		p.Name += ":" + s.target + ":" + strconv.FormatUint(s.freq, 10)
		if s.target == "hz" {
			p.Freq = s.freq
		} else {
			p.Period = s.freq * unitNS(s.target)
		}
		if p.Kind == probe.Interval {
			p.PID = 0
		}
	case probe.Watchpoint:
		p.Addr, p.WatchLen, p.WatchMode = s.addr, int(s.length), s.mode
		p.Name += ":" + strconv.FormatUint(s.addr, 10) + ":" + strconv.FormatUint(s.length, 10) + ":" + s.mode
	}
	return []*probe.Point{p}
}
