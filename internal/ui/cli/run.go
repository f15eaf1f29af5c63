package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"trocar"
	"trocar/internal/ui/output"
	"trocar/result"
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
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if a.name != "bpftrace" {
			return a.wrongFlag(cmd, err)
		}
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
		return a.info(cmd.Context(), a.out)
	case cmd.Flags().NFlag() == 0 && len(args) == 0:
		a.usage(a.err)
		return &statusError{status: exitUsage}
	}
	if err := s.check(); err != nil {
		return err
	}
	a.missingFolders(s)
	given := cmd.Flags().Changed("execute")
	if s.list && !given {
		return a.list(cmd.Context(), s, args)
	}
	p, err := a.script(s, given, args)
	if err != nil {
		return err
	}
	switch {
	case s.list:
		return a.listScript(cmd.Context(), s, p)
	case s.mode == "format":
		return a.format(s, p)
	}
	return a.trace(cmd.Context(), s, p)
}

// hasControls tells whether a script's text has control characters: as such, or as the escapes of string literals.
func hasControls(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text) && strings.IndexByte("01234567abefrvx", text[i+1]) >= 0:
			return true
		case c < ' ' && c != '\t' && c != '\n' || c == 0x7f:
			return true
		}
	}
	return false
}

// trace runs a script as the flags say.
func (a *app) trace(ctx context.Context, s *settings, p *script) error {
	s.controls = hasControls(p.text)
	r := trocar.Request{
		Script: p.text, Name: p.name, Params: p.positional, Options: p.named, Settings: environmentSettings(),
		Target: s.target(), Files: s.files(), Filter: s.filter, NoInlined: s.noInlined,
		Unsafe: s.unsafe, Failures: s.warnings > 0, DryRun: s.dryRun, Disable: s.noFeatures,
	}
	if s.mode == "test" || s.mode == "bench" {
		r.Mode = trocar.Mode(s.mode)
	}
	if s.ahead != "" {
		return a.writeAhead(ctx, s, r)
	}
	if s.mode == "compiler-bench" {
		return a.timeCompiling(ctx, s, r)
	}
	return a.traceWith(ctx, s, r)
}

// target says which processes are traced.
func (s *settings) target() trocar.Target {
	return trocar.Target{PID: s.process, Others: s.others, Thread: s.thread, Command: s.words, Follow: s.follow}
}

// traceWith compiles a script and runs it, or shows what the flags ask for instead. Notices are reported first.
func (a *app) traceWith(ctx context.Context, s *settings, r trocar.Request, notices ...string) error {
	sink, err := a.sink(s)
	if err != nil {
		return err
	}
	for _, n := range notices {
		sink.diagnostic(trocar.Diagnostic{Severity: result.Info, Text: result.ShownLine(n)})
	}
	compiled := a.waiting(s, "compiling …")
	program, command, err := a.compile(ctx, r, s.started)
	compiled()
	if err != nil {
		return sink.failed(err)
	}
	s.compiled, sink.program = true, program
	defer program.Close()
	if command != nil {
		defer command.Close()
	}
	warnings := program.Warnings()
	if s.made && !s.verbose {
		warnings = byReason(warnings)
	}
	for _, d := range warnings {
		sink.diagnostic(d)
	}
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
	exit, err := program.Run(ctx, command, sink, a.hooks(s))
	if err != nil && !output.Closed(err) {
		err = sink.failure(err)
	} else {
		err = nil
	}
	if err == nil && s.made && !s.dryRun {
		sink.silent(program)
		sink.tellCut()
		sink.others()
	}
	if closed := sink.close(); err == nil {
		err = closed
	}
	if err == nil && a.exitStatus(exit) != exitDone {
		err = &statusError{status: a.exitStatus(exit)}
	}
	return err
}

// mostWarnings is how many warnings about a command's script are shown one by one.
const mostWarnings = 6

// byReason makes one of warnings that say the same of different functions, if there are many: of each kind the first,
// with the number of the others. The reason is what stands behind the last colon.
func byReason(all []trocar.Diagnostic) []trocar.Diagnostic {
	if len(all) <= mostWarnings {
		return all
	}
	reason := func(d *trocar.Diagnostic) string {
		if i := strings.LastIndex(d.Text, ": "); i >= 0 && !strings.ContainsAny(d.Text[i:], "0123456789") {
			return d.Text[i:]
		}
		words := strings.Fields(d.Text)
		return strings.Join(words[:min(len(words), 3)], " ")
	}
	var out []trocar.Diagnostic
	first, more := map[string]int{}, map[string]int{}
	for i := range all {
		key := reason(&all[i])
		if _, ok := first[key]; ok {
			more[key]++
			continue
		}
		first[key] = len(out)
		out = append(out, all[i])
	}
	for key, n := range more {
		d := &out[first[key]]
		d.Text += fmt.Sprintf(" (%d more like this; -v prints each)", n)
	}
	return out
}

func (a *app) hooks(s *settings) (h trocar.Hooks) {
	h.Errors, h.Keeper = a.err, []string{"/proc/self/exe", keepPrograms}
	if h.EachFailure = "-k prints each with its location"; s.made {
		h.EachFailure, h.Asked = "-v prints each", true
	}
	h.InParts = s.drawn != nil
	if slices.Contains(s.stages, "verifier") {
		h.VerifierLog = func(program, text string) { fmt.Fprintf(a.out, "%s:\n%s\n", program, text) }
	}
	if !s.quiet && isTerminal(a.err) {
		h.Progress = progress(a.err)
	}
	return h
}

// exitStatus: exit(N) of the script counts most, then the command's status. bpftrace does not pass on the latter.
func (a *app) exitStatus(e trocar.Exit) int {
	if e.Code == 0 && e.Command != nil && a.name != "bpftrace" {
		return e.Command.Status()
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
			return &statusError{exitUsage, a.noScript(path, err)}
		}
		defer f.Close()
		from, p.name = f, path
	}
	text, err := io.ReadAll(io.LimitReader(from, maxScript+1))
	if err != nil {
		return &statusError{exitUsage, fmt.Errorf("failed to read '%s': %s", path, reason(err))}
	}
	if len(text) > maxScript {
		return &statusError{exitUsage, fmt.Errorf("'%s' is too long for a script (maximum %d MB)", path, maxScript>>20)}
	}
	p.text = string(text)
	return nil
}
