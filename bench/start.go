package main

import (
	"errors"
	"fmt"
	"time"
)

// start: from exec to the first line that a uprobe's printf has written, and memory at that moment.
func start(s *stage) ([]row, error) {
	first := row{what: "exec to first event, one uprobe", unit: "ms", budget: "0.100 of bpftrace"}
	memory := row{what: "memory then", unit: "MB", budget: "0.250 of bpftrace, 20 MB"}
	if !s.wants(first.what, memory.what) {
		return nil, nil
	}
	path, err := s.build("start", "bench/fixtures/hits.c")
	if err != nil {
		return nil, err
	}
	t, err := launch(path)
	if err != nil {
		return nil, err
	}
	defer t.kill()
	if err := t.tell("tick f_push"); err != nil {
		return nil, err
	}
	s.each(first.what, func(tracer *tracer) error {
		elapsed, used := value{none: true}, value{none: true}
		defer func() {
			first.values = append(first.values, elapsed)
			memory.values = append(memory.values, used)
		}()
		for range s.rounds {
			milliseconds, megabytes, err := firstEvent(tracer, path)
			if err != nil {
				return err
			}
			elapsed, used = elapsed.best(milliseconds), used.best(megabytes)
		}
		return nil
	})
	return s.keep(first, memory), t.end()
}

func firstEvent(t *tracer, path string) (milliseconds, megabytes float64, err error) {
	session, err := t.trace(patience, "-e", fmt.Sprintf(`uprobe:%s:f_push { printf("%%d\n", arg0); }`, path))
	if err != nil {
		return 0, 0, err
	}
	defer session.kill()
	select {
	case <-session.firstLine:
	case <-session.read:
		session.kill()
		return 0, 0, errors.New("saw no event: " + tail(&session.stderr))
	case <-time.After(patience):
		return 0, 0, t.tooLate("saw no event within %v", patience)
	}
	milliseconds = float64(session.first) / 1e6
	if megabytes, err = peak(session.cmd.Process.Pid); err != nil {
		return 0, 0, err
	}
	_, err = session.end()
	return milliseconds, megabytes, err
}
