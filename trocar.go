// Package trocar traces running programs: it compiles scripts in the bpftrace language to BPF programs, attaches them to
// functions of user-space programs, and hands what they tell to a sink.
//
// This package is the only one that knows all stages; the command line is one of its clients. Compile changes nothing in
// the kernel; Program.Run does, and takes it all back.
package trocar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"

	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
	"trocar/internal/compile/check"
	"trocar/internal/compile/codegen"
	"trocar/internal/kernel"
	"trocar/internal/process/match"
	"trocar/internal/process/probe"
	"trocar/internal/process/target"
	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// Options say what to trace and how.
type Options struct {
	Script     string   // the text
	ScriptName string   // as shown in messages: a path, or "stdin"
	Params     []string // positional parameters: $1 …
	Named      []string // named parameters, "name" or "name=value"

	PID     int    // only this process; the run ends with it
	Command string // a command to start, held until all is attached; the run ends with it
	// Argv is the same in words, for arguments that have blanks.
	Argv []string

	// Follow traces the processes that PID or the command starts as well, and those that these start, whatever they execute. The
	// run ends with the last of them.
	Follow bool

	// UnwindPIDs are processes whose stacks dw_ustack is to unwind, besides PID and the command.
	UnwindPIDs []int

	Unsafe       bool
	HelperErrors bool // tell of each failed read of memory
	IncludeDirs  []string
	Includes     []string                    // headers to read first
	Env          func(string) (string, bool) // settings (BPFTRACE_…); nil: none
	// Filter leaves out probe points by their names; begin and end always stay. Nil: all are taken.
	Filter func(name string) bool
	// TraceableFunctions is a file with the kernel's functions, in place of tracefs' available_filter_functions.
	TraceableFunctions string
	// DebugDirs are folders in which debug files are looked for first.
	DebugDirs []string
	// NoInlined leaves out the places where functions were inlined: only their own code is probed.
	NoInlined bool
	// Mode "": all probes; "test" or "bench": only the test or bench probes.
	Mode string
	// Disable names kernel features to do without (as in KernelFeatures), to see what older kernels would do.
	Disable []string
	// Warn is given warnings about the script; nil: they are dropped.
	Warn func(*diag.Diagnostic)
}

// Program is a compiled script, not yet in the kernel.
type Program struct {
	opts     Options
	file     *syntax.File
	typed    *check.Program
	code     *codegen.Output
	features *kernel.Features
	child    *target.Child
	ns       *codegen.Namespace
	probes   int
	matched  *match.Result
}

// CompileError holds what is wrong with a script.
type CompileError struct {
	Diags []*diag.Diagnostic
	// NoMatch: the script is fine, but nothing was found to attach to.
	NoMatch bool
}

func (e *CompileError) Error() string {
	var lines []string
	for _, d := range e.Diags {
		if d.Severity == diag.Error {
			lines = append(lines, d.Text)
		}
	}
	return strings.Join(lines, "\n")
}

// Format writes the errors with their places, as they are shown to people.
func (e *CompileError) Format(w io.Writer, color bool) {
	for _, d := range e.Diags {
		if d.Severity == diag.Error {
			d.Format(w, color)
		}
	}
}

// Compile makes a program of a script. With a command it is started, held at its first instruction; Close ends it if the
// program is never run. Errors are *CompileError, *target.LaunchError, or say what the kernel refuses.
func Compile(ctx context.Context, o Options) (p *Program, err error) {
	p = &Program{opts: o, features: kernel.NewFeatures()}
	defer func() {
		if err != nil {
			p.Close()
			p = nil
		}
	}()
	if err := p.disable(o.Disable); err != nil {
		return p, err
	}
	var diags diag.List
	file, err := p.parse(&diags)
	if err != nil {
		return p, err
	}
	p.file = file
	if ns, err := target.OwnPIDNamespace(); err == nil && !ns.Initial {
		p.ns = &codegen.Namespace{Dev: ns.Dev, Ino: ns.Inode}
	}
	if o.PID != 0 && !target.PID(o.PID).Exists() {
		return p, fmt.Errorf("process %d: %w", o.PID, target.ErrGone)
	}
	childPID := 0
	if len(o.Argv) == 0 {
		o.Argv = target.SplitCommand(o.Command)
	}
	if len(o.Argv) > 0 {
		if p.child, err = target.Launch(o.Argv); err != nil {
			return p, err
		}
		childPID = int(p.child.PID())
	}
	for _, pid := range o.UnwindPIDs {
		if !target.PID(pid).Exists() {
			return p, fmt.Errorf("process %d, whose stacks are to be unwound: %w", pid, target.ErrGone)
		}
	}
	needs := make([]probe.Needs, len(file.Probes))
	for i, pr := range file.Probes {
		needs[i] = check.NeedsOf(pr)
	}
	demangle := p.setting("cpp_demangle")
	matched := match.All(file.Probes, match.Options{
		PID: o.PID, ChildPID: childPID, Unsafe: o.Unsafe, Missing: p.setting("missing_probes"), MaxProbes: p.limit("max_probes"),
		Needs: needs, Filter: o.Filter, TraceableFunctions: o.TraceableFunctions, DebugDirs: o.DebugDirs, OutOfLine: o.NoInlined,
		KernelType: p.features.Types().Type, Prototype: prototype(p.features.Types()), Demangle: demangle != "0" && demangle != "false",
	})
	p.matched, p.probes = matched, matched.Count()
	if o.Follow {
		everywhere(matched)
	}
	noMatch := diags.Errors() == 0 && matched.Diags.Errors() > 0
	diags.Append(&matched.Diags)
	if err := p.failed(&diags, noMatch); err != nil {
		return p, err
	}
	if p.probes == 0 {
		p.warn(&diags)
		return p, ErrNoProbes
	}
	p.typed = check.Check(file, matched.Matches, p.input(childPID), &diags)
	if err := p.failed(&diags, false); err != nil {
		return p, err
	}
	pid := o.PID
	if childPID != 0 {
		pid = childPID
	}
	p.code = codegen.Compile(p.typed, codegen.Options{
		Features: kernelFeatures{p.features}, TimeMap: p.timeMap(), Arch: arch(), PID: pid, Follow: o.Follow && pid != 0, Namespace: p.ns, CPUs: kernel.PossibleCPUs(), HelperErrors: o.HelperErrors,
		Session: p.session,
	}, &diags)
	if err := p.failed(&diags, false); err != nil {
		return p, err
	}
	p.warn(&diags)
	return p, nil
}

// ErrNoProbes says that all probes of a script were left out, as it or the filter wanted.
var ErrNoProbes = errors.New("no probes to attach")

// parse reads the script and its imports and expands macros.
func (p *Program) parse(diags *diag.List) (*syntax.File, error) {
	src := &diag.Source{Name: p.opts.ScriptName, Text: p.opts.Script}
	file := syntax.Load(src, syntax.ParseOptions{
		Params: p.opts.Params,
		Include: syntax.IncludeOptions{
			Dirs: p.opts.IncludeDirs, Files: p.opts.Includes, System: syntax.SystemIncludeDirs(kernel.Release()), HaveBTF: p.features.Types().Available(),
		},
	}, diags)
	if err := p.failed(diags, false); err != nil {
		return nil, err
	}
	file = syntax.Expand(file, func(name string) bool { return builtin.Lookup(name) != nil }, diags)
	if err := p.failed(diags, false); err != nil {
		return nil, err
	}
	return file, nil
}

// warn passes on what is no error.
func (p *Program) warn(diags *diag.List) {
	if p.opts.Warn == nil {
		return
	}
	for _, d := range diags.All {
		if d.Severity != diag.Error {
			p.opts.Warn(d)
		}
	}
}

// failed turns errors in the list into one error.
func (p *Program) failed(diags *diag.List, noMatch bool) error {
	if diags.Errors() == 0 {
		return nil
	}
	p.warn(diags)
	return &CompileError{Diags: diags.All, NoMatch: noMatch}
}

// setting looks up a setting that matching needs before the script is checked.
func (p *Program) setting(name string) string {
	if p.opts.Env != nil {
		if v, ok := p.opts.Env("BPFTRACE_" + strings.ToUpper(name)); ok {
			return v
		}
	}
	for _, c := range p.file.Config {
		if c.Name == name {
			return strings.ToLower(c.Value)
		}
	}
	return ""
}

func (p *Program) limit(name string) int {
	n := 0
	if _, err := fmt.Sscan(p.setting(name), &n); err != nil {
		return 0
	}
	return n
}

// input is what the meaning of the script depends on besides its text.
func (p *Program) input(childPID int) check.Input {
	in := check.Input{
		Params: p.opts.Params, Env: p.opts.Env, Unsafe: p.opts.Unsafe, ChildPID: childPID, PID: p.opts.PID,
		NCPU: kernel.PossibleCPUs(), Arch: runtime.GOARCH, Lookup: p.lookup(),
	}
	in.UnwindPID = len(p.opts.UnwindPIDs) > 0
	in.Features.KFunc = p.features.Types().HasKfunc
	in.Features.TAIClock = p.features.Has(kernel.KtimeTAI)
	for _, n := range p.opts.Named {
		name, value, has := strings.Cut(n, "=")
		in.Options = append(in.Options, check.Option{Name: name, Value: value, HasValue: has})
	}
	return in
}

// timeMap is the scalar map that stands for the clock of time series: with it they can be tested, and so can scripts.
func (p *Program) timeMap() *check.Map {
	if p.opts.Env == nil {
		return nil
	}
	name, _ := p.opts.Env("BPFTRACE_DUMMY_TS_MAP")
	for _, m := range p.typed.Maps {
		if m.Name == name && m.Key == nil && m.Value.IsInteger() {
			return m
		}
	}
	return nil
}

func arch() *types.Arch {
	if runtime.GOARCH == "arm64" {
		return types.ARM64
	}
	return types.AMD64
}

// Close ends a command that was started and never released.
func (p *Program) Close() {
	if p.child != nil {
		p.child.Kill(0)
		p.child = nil
	}
	if p.matched != nil {
		p.matched.Close()
	}
}

// Probes is the number of probes as users count them: a name counts once for each attach point, however many places it has.
func (p *Program) Probes() int { return p.probes }

// Points names the places that the program will be attached to, one after another: what they are called, and where they are.
func (p *Program) Points() (texts []string) {
	for _, pt := range p.code.Points {
		text := pt.Name
		if pt.Path != "" {
			text += fmt.Sprintf(" in %s at offset %#x", pt.Path, pt.Offset)
		}
		texts = append(texts, text)
	}
	return texts
}

// ErrUnknownStage says that Dump doesn't know a stage.
var ErrUnknownStage = errors.New("unknown stage")

// Dump shows a stage of the compilation: ast, types, ir or bytecode.
func (p *Program) Dump(stage string, w io.Writer) error {
	switch stage {
	case "ast":
		_, err := io.WriteString(w, syntax.Print(p.file))
		return err
	case "types":
		check.Dump(w, p.typed)
	case "ir":
		for _, prog := range p.code.Programs {
			prog.IR.Dump(w)
		}
	case "bytecode":
		for _, prog := range p.code.Programs {
			fmt.Fprintf(w, "%s: %d instructions\n%v\n", prog.Name, len(prog.Insns), prog.Insns)
		}
	default:
		return fmt.Errorf("%w %q", ErrUnknownStage, stage)
	}
	return nil
}
