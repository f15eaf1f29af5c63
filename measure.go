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
		if p.Class == codegen.Test && p.Points[0].Kind == kind {
			programs = append(programs, p)
		}
	}
	if r.opts.Attached != nil {
		r.opts.Attached()
	}
	if err := r.emit(&result.Event{Kind: result.EvAttached, N: uint64(r.Probes())}); err != nil {
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
		e := &result.Event{Text: name, Action: i, Total: len(programs)}
		if err := r.one(e, p, mode); err != nil {
			return err
		}
		failed = failed || e.Kind == result.EvTest && e.Code != 0
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

// one runs a test probe once, a bench probe as often as it takes to know its duration.
func (r *run) one(e *result.Event, p *codegen.Program, mode string) error {
	if mode == "test" {
		e.Kind = result.EvTest
		start := time.Now()
		code, err := r.loaded.Run(p.Name)
		e.Code, e.N = int64(code), uint64(time.Since(start))
		return err
	}
	e.Kind = result.EvBench
	for n := uint32(1000); ; n *= 4 {
		_, average, err := r.loaded.RunMany(p.Name, n)
		if err != nil {
			return err
		}
		if time.Duration(n)*average >= benchTime || n >= 1<<26 {
			e.Code, e.N = int64(average), uint64(n)
			return nil
		}
	}
}
