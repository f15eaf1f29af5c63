package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// besides are other tools, and how many of the samples that each takes of a process have a stack that goes down to
// where a thread begins. That needs no witness, and is to be had of code that gdb knows nothing of.
var besides = []struct {
	name string
	take func(c *comparer, pid int) (whole, all int, err error)
}{
	{"ours", func(c *comparer, pid int) (int, int, error) { return c.maps(c.tracer, pid, "ustack") }},
	{"perf dwarf", (*comparer).perf},
	{"bt ustack", func(c *comparer, pid int) (int, int, error) { return c.maps(c.bpftrace, pid, "ustack") }},
	{"bt dw_ustack", func(c *comparer, pid int) (int, int, error) { return c.maps(c.bpftrace, pid, "dw_ustack") }},
}

const besideFor = 4 * time.Second

// beside gives the shares of all tools, in per cent.
func (c *comparer) beside(pid int) (cells []any) {
	for _, tool := range besides {
		whole, all, err := tool.take(c, pid)
		if err != nil || all == 0 {
			cells = append(cells, "-")
			if c.verbose {
				fmt.Println(tool.name, all, err)
			}
			continue
		}
		cells = append(cells, fmt.Sprintf("%.1f of %d", 100*float64(whole)/float64(all), all))
	}
	return cells
}

// maps has a script count stacks by a tool that understands bpftrace's language.
func (c *comparer) maps(tool string, pid int, builtin string) (whole, all int, err error) {
	if tool == "" {
		return 0, 0, exec.ErrNotFound
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out := filepath.Join(c.dir, "beside")
	script := fmt.Sprintf("profile:hz:99 /pid == %d/ { @[%s] = count(); } interval:s:%d { exit(); }", pid, builtin,
		int(besideFor.Seconds()))
	cmd := exec.CommandContext(ctx, tool, "-q", "-o", out, "-p", strconv.Itoa(pid), "-e", script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if text, err := cmd.CombinedOutput(); err != nil {
		return 0, 0, fmt.Errorf("%w: %s", err, text)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		return 0, 0, err
	}
	for _, m := range counted.FindAllStringSubmatch(string(text), -1) {
		n, _ := strconv.Atoi(m[2])
		if all += n; ends(m[1]) {
			whole += n
		} else if c.verbose && tool == c.tracer {
			fmt.Printf("not whole:\n%s\n", m[1])
		}
	}
	return whole, all, nil
}

// counted is an entry of a map of stacks.
var counted = regexp.MustCompile(`(?s)@\[(.*?)\]: (\d+)\n`)

// perf samples with copies of the stack, which are unwound afterwards.
func (c *comparer) perf(pid int) (whole, all int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	data := filepath.Join(c.dir, "perf.data")
	record := exec.CommandContext(ctx, "perf", "record", "-q", "-e", "cpu-clock", "-F", "99", "--call-graph", "dwarf",
		"-o", data, "-p", strconv.Itoa(pid), "--", "sleep", strconv.Itoa(int(besideFor.Seconds())))
	if text, err := record.CombinedOutput(); err != nil {
		return 0, 0, fmt.Errorf("%w: %s", err, text)
	}
	text, err := exec.CommandContext(ctx, "perf", "script", "-i", data, "-F", "comm,ip,sym", "--no-inline").Output()
	if err != nil {
		return 0, 0, err
	}
	for block := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		if all++; ends(block) {
			whole++
		}
	}
	return whole, all, nil
}

// ends tells whether a stack ends where a thread begins: with the program's first function, the C library's, or that of
// a thread or goroutine. Of programs without symbols it is the C library that calls main.
func ends(stack string) bool {
	lines := strings.Split(strings.TrimSpace(stack), "\n")
	return begins.MatchString(strings.Join(lines[max(0, len(lines)-3):], "\n"))
}

var begins = regexp.MustCompile(`\b(_start|__libc_start_\w+|_dl_start_user|(__)?clone3?|start_thread|thread_start|` +
	`runtime\.(goexit|mstart|rt0_go|mcall|morestack)\S*|_rt0_\w+|crosscall\w*)\b`)
