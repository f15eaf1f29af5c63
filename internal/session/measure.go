package session

import (
	"strings"
	"time"

	"trocar/internal/process/probe"
	"trocar/result"
)

// benchTime is how long a bench probe is run at least.
const benchTime = 40 * time.Millisecond

// measure runs the bench or test probes instead of attaching anything.
func (s *Session) measure() error {
	kind := probe.Test
	if s.in.Mode == Bench {
		kind = probe.Bench
	}
	var programs []Program
	for _, p := range s.in.Programs {
		if p.Type.RunByUs() && p.Point.Kind == kind {
			programs = append(programs, p)
		}
	}
	if err := s.emit(&result.Attached{Probes: s.in.Probes}); err != nil {
		return err
	}
	if err := s.read(); err != nil {
		return err
	}
	failed := false
	for i, p := range programs {
		name := p.Point.Name
		if _, after, ok := strings.Cut(name, ":"); ok {
			name = after
		}
		var e result.Event
		var err error
		if s.in.Mode == Test {
			test := &result.Test{Name: name, Index: i, Total: len(programs)}
			err = s.test(test, p)
			e, failed = test, failed || !test.Passed
		} else {
			bench := &result.Bench{Name: name, Index: i, Total: len(programs)}
			e, err = bench, s.bench(bench, p)
		}
		if err != nil {
			return err
		}
		if err := s.read(); err != nil {
			return err
		}
		if err := s.emit(e); err != nil {
			return err
		}
	}
	if failed && s.exit.Code == 0 {
		s.exit.Code = 1
	}
	return s.finish()
}

// test runs a test probe once.
func (s *Session) test(e *result.Test, p Program) error {
	start := time.Now()
	code, err := s.kernel.Programs.Run(p.Name)
	e.Took, e.Passed = time.Since(start), code == 0
	return err
}

// bench runs a bench probe as often as it takes to know its duration.
func (s *Session) bench(e *result.Bench, p Program) error {
	for n := uint32(1000); ; n *= 4 {
		_, average, err := s.kernel.Programs.RunMany(p.Name, n)
		if err != nil {
			return err
		}
		if time.Duration(n)*average >= benchTime || n >= 1<<26 {
			e.Average, e.Runs = average, uint64(n)
			return nil
		}
	}
}
