package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// listPatience is how long a tracer may take to list all functions: one that takes longer has no figure.
const listPatience = 60 * time.Second

// debugInfo: listing the arguments of one function, and of all, in a C++ program with much debug info. The program is
// built beforehand, which takes minutes: bench/bigcxx/build.sh.
func debugInfo(s *stage) ([]row, error) {
	if s.big == "" {
		return nil, errors.New("needs a program: build it with bench/bigcxx/build.sh OUT and give it as -big OUT")
	}
	function, err := methodOf(s.big)
	if err != nil {
		return nil, err
	}
	one := row{what: "arguments of one function, much C++", unit: "ms", budget: "25 ms"}
	memory := row{what: "memory for that", unit: "MB", budget: "30 MB"}
	all := row{what: "arguments of all functions", unit: "ms", budget: "2000 ms"}
	for _, tracer := range s.tracers {
		elapsed, used, whole := value{none: true}, value{none: true}, value{none: true}
		for round := range s.rounds {
			ms, mb, ok, err := listed(tracer, s.big, function)
			if err != nil {
				return nil, err
			}
			if ok {
				elapsed, used = elapsed.best(ms), used.best(mb)
			}
			if round > 0 && whole.none {
				continue // it took too long
			}
			if ms, _, ok, err = listed(tracer, s.big, "*"); err != nil {
				return nil, err
			} else if ok {
				whole = whole.best(ms)
			}
		}
		one.values, memory.values, all.values = append(one.values, elapsed), append(memory.values, used), append(all.values, whole)
	}
	return []row{one, memory, all}, nil
}

// methodOf picks a function of a program's own with several arguments, by its mangled name.
func methodOf(path string) (string, error) {
	out, err := exec.Command("nm", path).Output()
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) == 3 && strings.Contains(fields[2], "Store5") && strings.Contains(fields[2], "3add") && strings.HasPrefix(fields[2], "_ZN") {
			return fields[2], nil
		}
	}
	return "", fmt.Errorf("%s was not built by bench/bigcxx/build.sh", path)
}

// listed lists functions with their arguments. ok is false if it took too long.
func listed(t tracer, path, function string) (milliseconds, megabytes float64, ok bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), listPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, t.path, "-lv", "uprobe:"+path+":"+function)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	err = cmd.Run()
	elapsed := time.Since(start)
	switch {
	case ctx.Err() != nil:
		return 0, 0, false, nil
	case err != nil:
		return 0, 0, false, fmt.Errorf("%s: %w: %s", t.name, err, stderr.String())
	case stdout.Len() == 0:
		return 0, 0, false, nil
	}
	use := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return float64(elapsed) / 1e6, float64(use.Maxrss) / 1024, true, nil
}
