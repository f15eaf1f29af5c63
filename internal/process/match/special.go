package match

import (
	"strings"

	"trocar/internal/near"
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
	moved := len(s.parts) > 1 && s.parts[0] == "code" && s.parts[1] == probe.Moved
	if len(s.parts) != 2 && !(moved && len(s.parts) == 3) {
		return m.argCount(s, 2)
	}
	s.target, s.fn = s.parts[0], s.parts[1]
	if m.listing || moved {
		return true
	}
	if s.target != "signal" {
		m.diags.Errorf(s.ap.Span, "%s is not a supported trigger", s.target).Hint("the form is %s", s.kind.form)
		return false
	}
	for _, name := range signals {
		if s.fn == name {
			return true
		}
	}
	m.diags.Errorf(s.ap.Span, "%s is not a supported signal", s.fn).Hint("supported: %s", near.List(signals))
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

// matchSpecial makes the point of a probe that we run ourselves.
func matchSpecial(_ *matcher, s *spec) []*probe.Point {
	return []*probe.Point{{Kind: s.kind.kind, Name: s.kind.name}}
}

func matchSelf(_ *matcher, s *spec) []*probe.Point {
	p := &probe.Point{Kind: s.kind.kind, Name: s.kind.name + ":" + strings.Join(s.parts, ":"), Event: s.fn}
	if len(s.parts) > 2 {
		p.Func = s.parts[2]
	}
	return []*probe.Point{p}
}

func matchNamed(_ *matcher, s *spec) []*probe.Point {
	return []*probe.Point{{Kind: s.kind.kind, Name: s.kind.name + ":" + s.target, Event: s.target}}
}
