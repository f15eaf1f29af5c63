package main

import "fmt"

// start: from exec to the first line that a uprobe's printf has written, and memory at that moment.
func start(s *stage) ([]row, error) {
	path, err := s.build("start", "bench/fixtures/hits.c")
	if err != nil {
		return nil, err
	}
	t, err := launch(path)
	if err != nil {
		return nil, err
	}
	if err := t.tell("tick f_push"); err != nil {
		return nil, err
	}
	first := row{what: "exec to first event, one uprobe", unit: "ms", budget: "0.100 of bpftrace"}
	memory := row{what: "memory then", unit: "MB", budget: "0.250 of bpftrace, 20 MB"}
	for _, tracer := range s.tracers {
		elapsed, used := value{none: true}, value{none: true}
		for range s.rounds {
			milliseconds, megabytes, err := firstEvent(tracer, path)
			if err != nil {
				return nil, err
			}
			elapsed, used = elapsed.best(milliseconds), used.best(megabytes)
		}
		first.values = append(first.values, elapsed)
		memory.values = append(memory.values, used)
	}
	return []row{first, memory}, t.end()
}

func firstEvent(t tracer, path string) (milliseconds, megabytes float64, err error) {
	session, err := t.trace("-e", fmt.Sprintf(`uprobe:%s:f_push { printf("%%d\n", arg0); }`, path))
	if err != nil {
		return 0, 0, err
	}
	select {
	case <-session.firstLine:
	case <-session.read:
		return 0, 0, fmt.Errorf("%s saw no event: %s", t.name, session.stderr.String())
	}
	milliseconds = float64(session.first) / 1e6
	if megabytes, err = peak(session.cmd.Process.Pid); err != nil {
		return 0, 0, err
	}
	_, err = session.end()
	return milliseconds, megabytes, err
}
