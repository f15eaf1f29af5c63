package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"trocar"
	"trocar/internal/script/diag"
	"trocar/internal/ui/output"
)

// newRun is the default command: run a script, or list what one would attach to.
func newRun(a *app) *cobra.Command {
	s := &settings{}
	cmd := &cobra.Command{
		Use:                   a.name,
		Short:                 "Trace user-space programs",
		SilenceErrors:         true,
		SilenceUsage:          true,
		DisableFlagsInUseLine: true,
		Args:                  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.run(cmd, s, args)
		},
	}
	s.register(cmd.Flags())
	cmd.Flags().SortFlags = false
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		fmt.Fprintf(a.err, "ERROR: %v\n\n", err)
		a.usage(a.err)
		return &statusError{status: exitUsage}
	})
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		if cmd.HasParent() {
			text := cmd.Long
			if text == "" {
				text = cmd.Short
			}
			fmt.Fprintf(a.out, "%s\n\n%s", strings.TrimSpace(text), cmd.UsageString())
			return
		}
		a.usage(a.out)
	})
	return cmd
}

func (a *app) run(cmd *cobra.Command, s *settings, args []string) error {
	switch {
	case s.help:
		a.usage(a.out)
		return nil
	case s.version:
		a.version(a.out)
		return nil
	case s.info:
		a.info(a.out)
		return nil
	case cmd.Flags().NFlag() == 0 && len(args) == 0:
		a.usage(a.err)
		return &statusError{status: exitUsage}
	}
	if err := s.check(); err != nil {
		return err
	}
	given := cmd.Flags().Changed("execute")
	if s.list && !given {
		return a.list(s, args)
	}
	p, err := a.script(s, given, args)
	if err != nil {
		return err
	}
	switch {
	case s.list:
		return a.listScript(s, p)
	case s.mode == "format":
		return a.format(s, p)
	}
	return a.trace(cmd.Context(), s, p)
}

// trace runs a script as the flags say.
func (a *app) trace(ctx context.Context, s *settings, p *script) error {
	o := trocar.Options{
		Script: p.text, ScriptName: p.name, Params: p.positional, Named: p.named,
		PID: s.process, Command: s.command, Follow: s.follow, UnwindPIDs: s.unwind, Unsafe: s.unsafe, HelperErrors: s.warnings > 0,
		IncludeDirs: s.includeDirs, Includes: s.includes, Env: os.LookupEnv, Disable: s.noFeatures, TraceableFunctions: s.traceable, DebugDirs: s.debugDirs(), NoInlined: s.noInlined,
	}
	if s.mode == "test" || s.mode == "bench" {
		o.Mode = s.mode
	}
	if s.filter != "" {
		filter, err := regexp.Compile(s.filter)
		if err != nil {
			return usageErrorf("Invalid --probe-filter regex '%s': %v", s.filter, err)
		}
		o.Filter = filter.MatchString
	}
	if s.ahead != "" {
		return a.writeAhead(ctx, s, o)
	}
	if s.mode == "compiler-bench" {
		return a.timeCompiling(ctx, s, o)
	}
	return a.traceWith(ctx, s, o)
}

// compilations is how often the script is compiled to see how long that takes.
const compilations = 21

// timeCompiling is the mode compiler-bench: the script is compiled and not run.
func (a *app) timeCompiling(ctx context.Context, s *settings, o trocar.Options) error {
	if s.command != "" {
		return usageErrorf("USAGE: --mode compiler-bench runs nothing, so -c cannot be used with it")
	}
	var took []time.Duration
	for range compilations {
		begin := time.Now()
		program, err := trocar.Compile(ctx, o)
		if err != nil {
			return a.fail(s, err)
		}
		took = append(took, time.Since(begin))
		program.Close()
	}
	slices.Sort(took)
	fmt.Fprintf(a.out, "compiled %d times: %v at least, %v at the middle, %v at most\n", compilations, took[0], took[compilations/2], took[compilations-1])
	return nil
}

// traceWith compiles a script and runs it, or shows what the flags ask for instead. Notices are told first.
func (a *app) traceWith(ctx context.Context, s *settings, o trocar.Options, notices ...string) error {
	sink, err := a.sink(s)
	if err != nil {
		return err
	}
	for _, n := range notices {
		sink.diagnostic(&diag.Diagnostic{Severity: diag.Info, Text: n})
	}
	o.Warn = sink.diagnostic
	program, err := trocar.Compile(ctx, o)
	if err != nil {
		return errors.Join(sink.failure(err), sink.close())
	}
	defer program.Close()
	if s.verbose {
		sink.points(program.Points())
	}
	for _, stage := range s.stages {
		if stage == "verifier" {
			continue // shown when it runs
		}
		if err := program.Dump(stage, a.out); err != nil {
			return &statusError{exitFailed, err}
		}
	}
	if s.mode == "codegen" {
		return sink.close()
	}
	exit, err := program.Run(ctx, sink, a.runOptions(s))
	if err != nil && !output.Closed(err) {
		err = sink.failure(err)
	} else {
		err = nil
	}
	if closed := sink.close(); err == nil {
		err = closed
	}
	if err == nil && a.exitStatus(exit) != exitDone {
		err = &statusError{status: a.exitStatus(exit)}
	}
	return err
}

func (a *app) runOptions(s *settings) trocar.RunOptions {
	o := trocar.RunOptions{DryRun: s.dryRun, Tally: s.tally}
	if slices.Contains(s.stages, "verifier") {
		o.VerifierLog = func(program, text string) { fmt.Fprintf(a.out, "%s:\n%s\n", program, text) }
	}
	if !s.quiet && isTerminal(a.err) {
		o.Progress = progress(a.err)
	}
	return o
}

// exitStatus: exit(N) of the script counts most, then the command's status. bpftrace does not pass on the latter.
func (a *app) exitStatus(e trocar.Exit) int {
	if e.Code == 0 && e.Child != nil && a.name != "bpftrace" {
		return e.Child.Status()
	}
	return e.Code
}

// script is a program and its parameters.
type script struct {
	name, text string
	positional []string
	named      []string // without the leading dashes
}

// script finds the program's text, and parts the other words into its positional and named parameters.
func (a *app) script(s *settings, given bool, args []string) (*script, error) {
	p := &script{name: "stdin", text: s.program}
	if !given {
		if len(args) == 0 {
			return nil, usageErrorf("USAGE: filename or -e 'program' required.")
		}
		if err := a.read(p, args[0]); err != nil {
			return nil, err
		}
		args = args[1:]
	}
	for _, arg := range args {
		if name, ok := strings.CutPrefix(arg, "--"); ok {
			p.named = append(p.named, name)
		} else {
			p.positional = append(p.positional, arg)
		}
	}
	return p, nil
}

// maxScript bounds what is read as a script; the longest of bpftrace's own tools has 20 KB.
const maxScript = 16 << 20

func (a *app) read(p *script, path string) error {
	from := a.in
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return &statusError{exitUsage, fmt.Errorf("failed to open file '%s': %s", path, reason(err))}
		}
		defer f.Close()
		from, p.name = f, path
	}
	text, err := io.ReadAll(io.LimitReader(from, maxScript+1))
	if err != nil {
		return &statusError{exitUsage, fmt.Errorf("failed to read '%s': %s", path, reason(err))}
	}
	if len(text) > maxScript {
		return &statusError{exitUsage, fmt.Errorf("'%s' is longer than a script may be (%d MB)", path, maxScript>>20)}
	}
	p.text = string(text)
	return nil
}
