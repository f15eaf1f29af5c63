package cli

import (
	"fmt"
	"strings"
	"time"

	"trocar"
	"trocar/result"
)

// A question to which nothing came is answered as well: that nothing was called, and why that may be.

// asked is what a command asked for.
type asked struct {
	filters []string // flags that leave calls out
	waits   bool     // for what other processes do, not a command of its own
}

// filters are the flags that leave out calls of the functions.
func (r *recipeFlags) filters() (flags []string) {
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"--if", r.q.If != ""}, {"--min", r.q.Min != 0}, {"--comm", r.q.Comm != ""}, {"--tid", r.thread != 0},
	} {
		if f.given {
			flags = append(flags, f.name)
		}
	}
	return flags
}

// answers tells whether an event is a part of the answer.
func answers(e result.Event) bool {
	switch e := e.(type) {
	case *result.Printf, *result.Print, *result.Join:
		return true
	case *result.PrintMap:
		return len(e.Map.Entries) > 0
	}
	return false
}

// silent says that nothing was called, after a run without an answer.
func (k *sink) silent(p *trocar.Program) {
	if k.answers > 0 || k.attached.IsZero() {
		return
	}
	took := time.Since(k.attached).Round(100 * time.Millisecond)
	d := trocar.Diagnostic{Severity: result.Info}
	n := p.Functions()
	probed := either(n == 1, "1 function was probed", fmt.Sprintf("%d functions were probed", n))
	if fits := strings.Join(k.s.asked.filters, ", "); fits != "" {
		d.Text = fmt.Sprintf("no calls in %v that fit %s: %s", took, fits, probed)
	} else {
		d.Text = fmt.Sprintf("no calls in %v: %s, none was called", took, probed)
	}
	if k.s.asked.waits && k.s.process == 0 {
		for _, path := range p.Files() {
			if n, err := trocar.Mapped(path); err == nil && n == 0 {
				d.Hints = append(d.Hints, "no running process uses "+path)
			}
		}
	}
	k.diagnostic(d)
}
