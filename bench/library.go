package main

import (
	"fmt"
	"strings"
)

// library: from exec until a script is attached to functions of the C library in all processes, whose debug
// information is installed (libc6-dbg). Its arguments have types then, and copies of its functions that are inlined
// elsewhere are looked for.
func library(s *stage) ([]row, error) {
	const what = "start of a script on libc with debug info: "
	fixture, err := s.build("library", "bench/fixtures/hits.c")
	if err != nil {
		return nil, err
	}
	mapping, err := launch(fixture)
	if err != nil {
		return nil, err
	}
	defer mapping.kill()
	path, err := cLibrary(mapping.cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, q := range []struct{ what, script string }{
		{"an argument by name", `uprobe:LIBC:malloc { @ = sum(args.bytes); }`},
		{"what is not freed", `uprobe:LIBC:malloc { @size[tid] = arg0; } ` +
			`uretprobe:LIBC:malloc /@size[tid]/ { @mem[retval] = @size[tid]; delete(@size[tid]); } ` +
			`uprobe:LIBC:free { delete(@mem[arg0]); }`},
		{"the same by stack", `uretprobe:LIBC:malloc { @mem[retval] = ustack; } uprobe:LIBC:free { delete(@mem[arg0]); }`},
	} {
		r := row{what: what + q.what, unit: "ms", budget: "60 ms"}
		if !s.wants(r.what) {
			continue
		}
		script := strings.ReplaceAll(q.script, "LIBC", path)
		s.each(r.what, func(t *tracer) error {
			best := value{none: true}
			defer func() { r.values = append(r.values, best) }()
			for range s.rounds {
				session, err := t.trace(patience, "-e", script)
				if err != nil {
					return err
				}
				best = best.best(float64(session.attached) / 1e6)
				_, err = session.end()
				session.kill()
				if err != nil {
					return fmt.Errorf("ending it: %w", err)
				}
			}
			return nil
		})
		rows = append(rows, r)
	}
	return rows, nil
}
