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
	one := row{what: "arguments of one function, much C++", unit: "ms", budget: "25 ms"}
	memory := row{what: "memory for that", unit: "MB", budget: "30 MB"}
	all := row{what: "arguments of all functions", unit: "ms", budget: "2000 ms"}
	if !s.wants(one.what, memory.what, all.what) {
		return nil, nil
	}
	if s.big == "" {
		return nil, errors.New("needs a program: build it with bench/bigcxx/build.sh OUT and give it as -big OUT")
	}
	function, err := methodOf(s.big)
	if err != nil {
		return nil, err
	}
	s.each(one.what, func(tracer *tracer) error {
		elapsed, used, whole := value{none: true}, value{none: true}, value{none: true}
		defer func() {
			one.values, memory.values = append(one.values, elapsed), append(memory.values, used)
			all.values = append(all.values, whole)
		}()
		for range s.rounds {
			ms, mb, err := listed(tracer, s.big, function)
			if err != nil {
				return err
			}
			elapsed, used = elapsed.best(ms), used.best(mb)
			if ms, _, err = listed(tracer, s.big, "*"); err != nil {
				return fmt.Errorf("all functions: %w", err)
			}
			whole = whole.best(ms)
		}
		return nil
	})
	return s.keep(one, memory, all), nil
}

// methodOf picks a function of a program's own with several arguments, by its mangled name.
func methodOf(path string) (string, error) {
	out, err := exec.Command("nm", path).Output()
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue
		}
		name := fields[2]
		if strings.HasPrefix(name, "_ZN") && strings.Contains(name, "Store5") && strings.Contains(name, "3add") {
			return name, nil
		}
	}
	return "", fmt.Errorf("%s was not built by bench/bigcxx/build.sh", path)
}

// listed lists functions with their arguments.
func listed(t *tracer, path, function string) (milliseconds, megabytes float64, err error) {
	if err := t.tried(); err != nil {
		return 0, 0, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), listPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, t.path, "-lv", "uprobe:"+path+":"+function)
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	err = cmd.Run()
	elapsed := time.Since(start)
	switch {
	case ctx.Err() != nil:
		return 0, 0, t.tooLate("did not list %s within %v", function, listPatience)
	case err != nil:
		return 0, 0, fmt.Errorf("%w: %s", err, tail(&stderr))
	case stdout.Len() == 0:
		return 0, 0, errors.New("listed nothing: " + tail(&stderr))
	}
	use := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return float64(elapsed) / 1e6, float64(use.Maxrss) / 1024, nil
}
