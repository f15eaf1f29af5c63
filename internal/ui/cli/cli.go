// Package cli is the command line: one file per command, flags, help, exit statuses.
//
// The default command runs a script and takes bpftrace's flags. It is a command without the others below it, so that
// neither a script file called "list" nor a script's argument is ever taken for a command, and a run does not pay for
// them: the tree is built only if the first word names a command.
//
// It is more than 4,000 lines because each command has a file here, with its help: what they do is in other packages.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"trocar"
	"trocar/internal/stackroom"
	"trocar/result"
)

// Exit statuses. A script's exit(N) and a traced command's status are passed on instead.
const (
	exitDone         = 0
	exitFailed       = 1 // while tracing
	exitUsage        = 2 // usage or script error
	exitNoMatch      = 3 // nothing matched
	exitNotPermitted = 4 // not permitted, or the kernel lacks it
)

// statusError ends the program with a status. A nil err has been shown already, or is none.
type statusError struct {
	status int
	err    error
}

func (e *statusError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.status)
	}
	return e.err.Error()
}

func (e *statusError) Unwrap() error { return e.err }

func usageErrorf(format string, args ...any) error {
	return &statusError{exitUsage, errors.New(result.Messagef(format, args...))}
}

// app is what all commands share.
type app struct {
	args     []string
	name     string // as which we were called: "trocar", or "bpftrace" through a link of that name
	in       io.Reader
	out, err io.Writer
}

// named is a command below the default one.
type named struct {
	name string
	make func(*app) *cobra.Command
}

func commands() []named {
	return []named{
		{"trace", newTrace},
		{"count", newCount},
		{"latency", newLatency},
		{"dist", newDist},
		{"stack", newStack},
		{"syscalls", newSyscalls},
		{"profile", newProfile},
		{"locks", newLocks},
		{"offcpu", newOffCPU},
		{"leaks", newLeaks},
		{"info", newInfo},
		{"list", newList},
		{"offsets", newOffsets},
		{"perf-map", newPerfMap},
		{"demo", newDemo},
		{"doctor", newDoctor},
		{"man", newMan},
		{"version", newVersion},
	}
}

// keepPrograms as the first of two arguments makes this process the keeper of another one's BPF programs, of which the
// second is the number.
const keepPrograms = "--keep-programs"

// Main runs the command line and returns the exit status. args[0] is the name we were called by.
func Main(ctx context.Context, args []string) int {
	stackroom.Make()
	if len(args) == 3 && args[1] == keepPrograms {
		if n, err := strconv.Atoi(args[2]); err == nil {
			trocar.Keep(n)
			return exitDone
		}
	}
	a := &app{name: filepath.Base(args[0]), in: os.Stdin, out: os.Stdout, err: os.Stderr}
	return a.main(ctx, args[1:])
}

func (a *app) main(ctx context.Context, args []string) int {
	a.args = args
	root := newRun(a)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return checkFlags(cmd) }
	if a.name != "bpftrace" {
		args = a.commandFirst(root, args)
	}
	if len(args) > 0 && a.name != "bpftrace" && isCommand(args[0]) {
		for _, c := range commands() {
			root.AddCommand(c.make(a))
		}
	}
	root.SetArgs(args)
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	return a.status(root.ExecuteContext(ctx))
}

// status shows an error that has not been shown and gives its exit status.
func (a *app) status(err error) int {
	if err == nil {
		return exitDone
	}
	status := exitUsage // what cobra finds wrong by itself
	var s *statusError
	if errors.As(err, &s) {
		status = s.status
		if s.err == nil {
			return status
		}
	}
	text := result.Shown(err.Error()) // of arguments only: line breaks are cobra's own, or of usageErrorf
	if list := (*trocar.AmbiguousError)(nil); status != exitUsage && !errors.As(err, &list) {
		text = result.ShownLine(text)
	}
	w := a.said(true)
	fmt.Fprintf(w, "ERROR: %s\n", text)
	if h := (*hinted)(nil); errors.As(err, &h) {
		fmt.Fprintf(w, "HINT: %s\n", result.ShownLine(h.hint))
	}
	return status
}

func isCommand(word string) bool {
	switch word { // cobra's own
	case "completion", "help", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd:
		return true
	}
	for _, c := range commands() {
		if c.name == word {
			return true
		}
	}
	return false
}
