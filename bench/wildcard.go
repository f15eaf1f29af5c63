package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// wildcardRounds is less than elsewhere: each round attaches thousands of probes, and their programs are freed again.
const wildcardRounds = 3

// wildcards: CPU time and memory from exec until all functions of the C library are attached in one process, by a
// command and by the script that somebody would write for the same question. A command asks for more: which of the
// functions have arguments that can be shown, and what they are called.
func wildcards(s *stage) ([]row, error) {
	type question struct {
		what, budget string
		ours         bool // a command, or a word that only ours has
		args         []string
	}
	questions := []question{
		{what: "calls of libc's functions, script", args: []string{"-e", `uprobe:LIBC:* { @ = count(); }`}},
		{what: "by function, script", ours: true, args: []string{"-e", `uprobe:LIBC:* { @[func] = count(); }`}},
		{what: "trocar count", budget: "1.5 of the script", ours: true, args: []string{"count", "-x", "LIBC", "*"}},
		{what: "durations, script", ours: true, args: []string{"-e", `uretprobe:LIBC:* { @[func] = hist(duration); }`}},
		{what: "trocar latency", budget: "1.5 of the script", ours: true, args: []string{"latency", "-x", "LIBC", "*"}},
		{what: "a line per call, script", args: []string{"-e", `uprobe:LIBC:* { printf("%d\n", tid); }`}},
		{what: "a line per return, script", ours: true, args: []string{
			"-e", `uretprobe:LIBC:* { printf("%s %d\n", func, duration); }`,
		}},
		{what: "trocar trace", budget: "1.5 of the script", ours: true, args: []string{"trace", "-x", "LIBC", "*"}},
	}
	const cpu, memory = ": CPU time until attached", ": memory then"
	var rows []row
	var traced *target
	var library string
	for _, q := range questions {
		time := row{what: q.what + cpu, unit: "ms", budget: q.budget}
		used := row{what: q.what + memory, unit: "MB", budget: q.budget}
		if !s.wants(time.what, used.what) {
			continue
		}
		if traced == nil {
			path, err := s.build("wildcard", "bench/fixtures/hits.c")
			if err != nil {
				return nil, err
			}
			if traced, err = launch(path); err != nil {
				return nil, err
			}
			defer traced.kill()
			if library, err = cLibrary(traced.cmd.Process.Pid); err != nil {
				return nil, err
			}
		}
		// A command comes first, options for the process behind it.
		var args []string
		for _, a := range q.args {
			args = append(args, strings.ReplaceAll(a, "LIBC", library))
		}
		args = append(args, "-p", strconv.Itoa(traced.cmd.Process.Pid))
		s.each(q.what, func(t *tracer) error {
			milliseconds, megabytes := value{none: true}, value{none: true}
			defer func() {
				time.values, used.values = append(time.values, milliseconds), append(used.values, megabytes)
			}()
			if q.ours && t != s.tracers[0] {
				return nil
			}
			for range min(s.rounds, wildcardRounds) {
				took, peak, err := attachCost(t, args)
				if err != nil {
					return err
				}
				milliseconds, megabytes = milliseconds.best(took), megabytes.best(peak)
			}
			return nil
		})
		rows = append(rows, time, used)
	}
	if traced != nil {
		if err := traced.end(); err != nil {
			return nil, err
		}
	}
	return s.keep(rows...), nil
}

// attachCost is what a tracer needed from exec until it was attached: CPU time in milliseconds, memory in MB.
func attachCost(t *tracer, args []string) (milliseconds, megabytes float64, err error) {
	session, err := t.trace(manyPatience, args...)
	if err != nil {
		return 0, 0, err
	}
	defer session.kill()
	pid := session.cmd.Process.Pid
	if milliseconds, err = cpuTime(pid); err != nil {
		return 0, 0, err
	}
	if megabytes, err = peak(pid); err != nil {
		return 0, 0, err
	}
	_, err = session.end()
	return milliseconds, megabytes, err
}

// cpuTime is how long the threads of a process have run, in the kernel, too. It is finer than what times(2) gives.
func cpuTime(pid int) (milliseconds float64, err error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(files) == 0 {
		return 0, fmt.Errorf("process %d has no schedstat (%w)", pid, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			continue // a thread that has ended
		}
		if err != nil {
			return 0, err
		}
		ran, _, _ := strings.Cut(string(text), " ")
		nanoseconds, err := strconv.ParseInt(ran, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
		milliseconds += float64(nanoseconds) / 1e6
	}
	return milliseconds, nil
}

// cLibrary is the path of the C library that a process has mapped.
func cLibrary(pid int) (string, error) {
	maps, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return "", err
	}
	defer maps.Close()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		if _, path, ok := strings.Cut(lines.Text(), "/"); ok && strings.HasPrefix(filepath.Base(path), "libc.so.") {
			return "/" + path, nil
		}
	}
	return "", fmt.Errorf("process %d has no libc.so", pid)
}
