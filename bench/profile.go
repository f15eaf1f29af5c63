package main

import (
	"fmt"
	"syscall"
	"time"
)

// profiled is for how long the machine is looked at.
const profiled = 30 * time.Second

// profile: what it costs to look at all CPUs of the machine 99 times a second, from exec to the end, names included.
// What else the machine does meanwhile counts, too.
func profile(s *stage) ([]row, error) {
	cost := row{what: "profile of all processes, 99 Hz, 30 s", unit: "% of a core", budget: "1 %"}
	memory := row{what: "its memory", unit: "MB", budget: "40 MB"}
	if !s.wants(cost.what, memory.what) {
		return nil, nil
	}
	path, err := s.build("profile", "bench/fixtures/hits.c")
	if err != nil {
		return nil, err
	}
	busy, err := launch(path)
	if err != nil {
		return nil, err
	}
	defer busy.kill()
	if err := busy.tell("f_deep 1000000000"); err != nil {
		return nil, err
	}
	s.each(cost.what, func(t *tracer) error {
		share, most := value{none: true}, value{none: true}
		defer func() {
			cost.values, memory.values = append(cost.values, share), append(memory.values, most)
		}()
		args := []string{"profile"}
		if t != s.tracers[0] {
			args = []string{"-e", "profile:hz:99 { @[comm, ustack, kstack] = count(); }"}
		}
		for range min(s.rounds, 2) {
			percent, megabytes, err := looked(t, args)
			if err != nil {
				return err
			}
			share, most = share.best(percent), most.best(megabytes)
		}
		return nil
	})
	return s.keep(cost, memory), nil
}

// looked is what a tracer took that has run for a while.
func looked(t *tracer, args []string) (percent, megabytes float64, err error) {
	session, err := t.trace(patience, args...)
	if err != nil {
		return 0, 0, err
	}
	defer session.kill()
	time.Sleep(profiled)
	if _, err := session.end(); err != nil {
		return 0, 0, err
	}
	state := session.cmd.ProcessState
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, 0, fmt.Errorf("the system does not tell what %s took", t.path)
	}
	cpu := state.UserTime() + state.SystemTime()
	return 100 * cpu.Seconds() / time.Since(session.begin).Seconds(), float64(usage.Maxrss) / 1024, nil
}
