package match

import (
	"slices"
	"strings"

	"trocar/internal/near"
	"trocar/internal/process/probe"
)

// Interval, profile, software, hardware and watchpoint: what perf's events and timers give.

// units are those of interval and profile.
var units = []struct {
	name string
	ns   uint64
}{{"hz", 0}, {"ms", 1e6}, {"s", 1e9}, {"us", 1e3}}

func unitNS(name string) uint64 {
	for _, u := range units {
		if u.name == name {
			return u.ns
		}
	}
	return 0
}

func parseTimer(m *matcher, s *spec) bool {
	fail := func(format string, args ...any) bool {
		m.diags.Errorf(s.ap.Span, format, args...).Hint("the form is %s", s.kind.form)
		return false
	}
	switch len(s.parts) {
	case 1:
		if hasWildcard(s.parts[0]) {
			s.target = s.parts[0]
			if m.listing {
				return true
			}
			return fail("%s probe must have an integer frequency", s.kind.name)
		}
		n, err := parseDuration(s.parts[0])
		if err != nil {
			return fail("Invalid rate of %s probe: %s", s.kind.name, err)
		}
		if n < 1000 {
			return fail("Invalid rate of %s probe. Minimum is 1000 or 1us. Found: %d nanoseconds", s.kind.name, n)
		}
		s.target, s.freq = "us", n/1000
		return true
	case 2:
		s.target = s.parts[0]
		if m.listing && hasWildcard(s.target) {
			return true
		}
		n, err := parseUint(s.parts[1])
		if err != nil {
			return fail("Invalid rate of %s probe: %s", s.kind.name, err)
		}
		s.freq = n
	default:
		return m.argCount(s, 1, 2)
	}
	known := false
	for _, u := range units {
		known = known || u.name == s.target
	}
	if !known {
		if s.target == "" {
			return fail("%s probe must have unit of time", s.kind.name)
		}
		return fail("%s is not an accepted unit of time", s.target)
	}
	// The kernel counts nanoseconds in 63 bits.
	if s.freq == 0 || unitNS(s.target) > 0 && s.freq > 1<<62/unitNS(s.target) {
		return fail("%s frequency should be a positive integer", s.kind.name)
	}
	return true
}

// perfEvent is an event that the kernel counts (include/uapi/linux/perf_event.h, perf_sw_ids and perf_hw_id).
type perfEvent struct {
	name, alias string
	config      uint64
	period      uint64 // by default
}

var softwareEvents = []perfEvent{
	{"alignment-faults", "", 7, 1},
	{"bpf-output", "", 10, 1},
	{"context-switches", "cs", 3, 1000},
	{"cpu-clock", "cpu", 0, 1000000},
	{"cpu-migrations", "", 4, 1},
	{"dummy", "", 9, 1},
	{"emulation-faults", "", 8, 1},
	{"major-faults", "", 6, 1},
	{"minor-faults", "", 5, 100},
	{"page-faults", "faults", 2, 100},
	{"task-clock", "", 1, 1},
}

var hardwareEvents = []perfEvent{
	{"backend-stalls", "", 8, 1000000},
	{"branch-instructions", "branches", 4, 100000},
	{"branch-misses", "", 5, 100000},
	{"bus-cycles", "", 6, 100000},
	{"cache-misses", "", 3, 1000000},
	{"cache-references", "", 2, 1000000},
	{"cpu-cycles", "cycles", 0, 1000000},
	{"frontend-stalls", "", 7, 1000000},
	{"instructions", "", 1, 1000000},
	{"ref-cycles", "", 9, 1000000},
}

func perfEvents(k probe.Kind) []perfEvent {
	if k == probe.Software {
		return softwareEvents
	}
	return hardwareEvents
}

func parseEvent(m *matcher, s *spec) bool {
	if len(s.parts) != 1 && len(s.parts) != 2 {
		return m.argCount(s, 1, 2)
	}
	s.target = s.parts[0]
	if len(s.parts) == 2 && s.parts[1] != "*" && s.parts[1] != "" {
		n, err := parseUint(s.parts[1])
		if err != nil || n > 1<<62 {
			if !s.skip {
				m.diags.Errorf(s.ap.Span, "Invalid count for %s probe: invalid integer: %s", s.kind.name, s.parts[1])
			}
			return false
		}
		s.freq = n
	}
	return true
}

func matchEvent(m *matcher, s *spec) []*probe.Point {
	if s.target == "" {
		m.diags.Errorf(s.ap.Span, "%s probe must have a %s event name", s.kind.name, s.kind.name)
		return nil
	}
	if hasWildcard(s.target) {
		m.diags.Errorf(s.ap.Span, "wildcards are not allowed for %s probe type", s.kind.name)
		return nil
	}
	events := perfEvents(s.kind.kind)
	i := slices.IndexFunc(events, func(e perfEvent) bool {
		return e.name == s.target || e.alias != "" &&
			e.alias == s.target
	})
	if i < 0 {
		if s.skip {
			return nil
		}
		d := m.diags.Errorf(s.ap.Span, "%s is not a %s probe", s.target, s.kind.name)
		var names []string
		for _, e := range events {
			names = append(names, e.name)
		}
		if n := near.Names(s.target, names); len(n) > 0 {
			d.Hint("did you mean %s?", near.List(n))
		} else {
			d.Hint("the events are %s", strings.Join(names, ", "))
		}
		return nil
	}
	p := &probe.Point{
		Kind: s.kind.kind, Name: s.kind.name + ":" + s.target, Event: events[i].name, Config: events[i].config,
		Period: events[i].period, PID: m.pid(),
	}
	if s.freq != 0 {
		p.Period = s.freq
		p.Name += ":" + uintText(s.freq)
	}
	return []*probe.Point{p}
}

// matchTimer makes the point of an interval or profile probe. An interval ticks whatever runs.
func matchTimer(m *matcher, s *spec) []*probe.Point {
	p := &probe.Point{Kind: s.kind.kind, Name: s.kind.name + ":" + s.target + ":" + uintText(s.freq), PID: m.pid()}
	if s.target == "hz" {
		p.Freq = s.freq
	} else {
		p.Period = s.freq * unitNS(s.target)
	}
	if p.Kind == probe.Interval {
		p.PID = 0
	}
	return []*probe.Point{p}
}
