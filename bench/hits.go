package main

import (
	"fmt"
	"strconv"
)

// hits: what one hit costs the traced program in CPU time, by what the script does and by the function's first
// instruction. The call itself costs 1 to 2 ns and is not taken off.
func hits(s *stage) ([]row, error) {
	const (
		count   = `uprobe:%[1]s:%[2]s { @ = count(); }`
		print2  = `uprobe:%[1]s:%[2]s { printf("%%d %%d\n", arg0, arg1); }`
		latency = `uprobe:%[1]s:%[2]s { @start[tid] = nsecs; } ` +
			`uretprobe:%[1]s:%[2]s /@start[tid]/ { @ = hist(nsecs - @start[tid]); delete(@start, tid); }`
		stack    = `uprobe:%[1]s:%[2]s { @[ustack] = count(); }`
		tables   = `uprobe:%[1]s:%[2]s { @[dw_ustack] = count(); }`
		duration = `uretprobe:%[1]s:%[2]s { @ = hist(duration); }` // ours alone
	)
	var rows []row
	var path string
	for _, c := range []struct {
		what, script, function, budget string
		ours                           string // the same question in a better way; "": script
		process                        bool   // the tracer has to be told which process it is
	}{
		{"count(), function starts with push", count, "f_push", "0.95", "", false},
		{"printf of two integers, push", print2, "f_push", "0.95", "", false},
		{"count(), function starts with endbr64", count, "f_endbr", "0.100", "", false},
		{"printf of two integers, endbr64", print2, "f_endbr", "0.100", "", false},
		{"count(), single-stepped first instruction", count, "f_step", "0.200", "", false},
		{"printf of two integers, single-stepped", print2, "f_step", "0.200", "", false},
		{"histogram of durations, by a map in the script", latency, "f_push", "", "", false},
		{"histogram of durations, as trocar latency does", latency, "f_push", "0.75", duration, false},
		{"stack of 27 frames as map key", stack, "f_deep", "0.75", "", false},
		{"the same, walked by tables", tables, "f_deep", "0.15", "", true},
	} {
		r := row{what: c.what, unit: "ns/hit", budget: c.budget}
		if !s.wants(r.what) {
			continue
		}
		if path == "" {
			var err error
			if path, err = s.build("hits", "bench/fixtures/hits.c"); err != nil {
				return nil, err
			}
		}
		s.each(r.what, func(t *tracer) error {
			script := c.script
			if t == s.tracers[0] && c.ours != "" {
				script = c.ours
			}
			best, err := s.hitCost(t, path, c.function, script, c.process)
			r.values = append(r.values, best)
			return err
		})
		rows = append(rows, r)
	}
	return rows, nil
}

// hitCost measures one script on one function, and marks a tracer that missed hits meanwhile.
func (s *stage) hitCost(t *tracer, path, function, script string, process bool) (value, error) {
	const calls = 100_000
	none := value{none: true}
	program, err := launch(path)
	if err != nil {
		return none, err
	}
	defer program.kill()
	args := []string{"-q", "-e", fmt.Sprintf(script, path, function)}
	if process {
		args = append(args, "-p", strconv.Itoa(program.cmd.Process.Pid))
	}
	session, err := t.trace(patience, args...)
	if err != nil {
		return none, err
	}
	defer session.kill()
	best := none
	for range s.rounds {
		cost, err := program.call(function, calls)
		if err != nil {
			return none, err
		}
		best = best.best(cost)
	}
	if err := program.end(); err != nil {
		return none, err
	}
	if _, err := session.end(); err != nil {
		return none, err
	}
	best.lost = session.events+session.counted() != calls*s.rounds
	return best, nil
}
