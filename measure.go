package trocar

import (
	"strings"
	"time"

	"trocar/internal/compile/codegen"
	"trocar/internal/process/probe"
	"trocar/result"
)

// benchTime is how long a bench probe is run at least.
const benchTime = 40 * time.Millisecond

// measure runs the bench or test probes instead of attaching anything.
func (r *run) measure(mode string) error {
	kind := probe.Test
	if mode == "bench" {
		kind = probe.Bench
	}
	var programs []*codegen.Program
	for _, p := range r.code.Programs {
		if p.Type.RunByUs() && p.Points[0].Kind == kind {
			programs = append(programs, p)
		}
	}
	if err := r.emit(&result.Attached{Probes: r.Probes()}); err != nil {
		return err
	}
	if err := r.read(); err != nil {
		return err
	}
	failed := false
	for i, p := range programs {
		name := p.Points[0].Name
		if _, after, ok := strings.Cut(name, ":"); ok {
			name = after
		}
		var e result.Event
		var err error
		if mode == "test" {
			test := &result.Test{Name: name, Index: i, Total: len(programs)}
			err = r.test(test, p)
			e, failed = test, failed || !test.Passed
		} else {
			bench := &result.Bench{Name: name, Index: i, Total: len(programs)}
			e, err = bench, r.bench(bench, p)
		}
		if err != nil {
			return err
		}
		if err := r.read(); err != nil {
			return err
		}
		if err := r.emit(e); err != nil {
			return err
		}
	}
	if failed && r.exit.Code == 0 {
		r.exit.Code = 1
	}
	return r.finish()
}

// test runs a test probe once.
func (r *run) test(e *result.Test, p *codegen.Program) error {
	start := time.Now()
	code, err := r.loaded.Run(p.Name)
	e.Took, e.Passed = time.Since(start), code == 0
	return err
}

// bench runs a bench probe as often as it takes to know its duration.
func (r *run) bench(e *result.Bench, p *codegen.Program) error {
	for n := uint32(1000); ; n *= 4 {
		_, average, err := r.loaded.RunMany(p.Name, n)
		if err != nil {
			return err
		}
		if time.Duration(n)*average >= benchTime || n >= 1<<26 {
			e.Average, e.Runs = average, uint64(n)
			return nil
		}
	}
}
