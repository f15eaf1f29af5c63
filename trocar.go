package trocar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"trocar/internal/compile/builtin"
	"trocar/internal/compile/check"
	"trocar/internal/compile/codegen"
	"trocar/internal/kernel"
	"trocar/internal/process/match"
	"trocar/internal/process/probe"
	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
	"trocar/result"
)

// Program is a compiled script, not yet in the kernel.
type Program struct {
	req      Request
	machine  *Machine
	filter   func(string) bool
	warnings []Diagnostic
	pythonic bool // it was told that stacks lack functions of Python
	file     *syntax.File
	config   check.Config
	typed    *check.Program
	code     *codegen.Output
	features *kernel.Features
	ns       *codegen.Namespace
	probes   int
	images   images
	matched  *match.Result
}

// Diagnostic is a message about a script: severity, text, position, notes and hints.
type Diagnostic = result.Diagnostic

// Position is a place in a script.
type Position = result.Position

// CompileError holds what is wrong with a script.
type CompileError struct {
	// Diagnostics are the errors, and what else there is to say, in the order in which it was found.
	Diagnostics []Diagnostic
	// NoMatch: the script is fine, but nothing was found to attach to.
	NoMatch bool

	points [][]string // that each of Diagnostics is about
	err    error
}

func (e *CompileError) Error() string {
	if e.err != nil {
		return e.err.Error()
	}
	var lines []string
	for i := range e.Diagnostics {
		if e.Diagnostics[i].Severity == result.Error {
			lines = append(lines, e.Diagnostics[i].Text)
		}
	}
	return strings.Join(lines, "\n")
}

// Unwrap is ErrNoProbes, or nil.
func (e *CompileError) Unwrap() error { return e.err }

func compileError(diags *diag.List, noMatch bool) *CompileError {
	e := &CompileError{Diagnostics: public(diags, false), NoMatch: noMatch}
	for _, d := range diags.All {
		e.points = append(e.points, d.Points)
	}
	return e
}

// public are diagnostics as they leave this package.
func public(diags *diag.List, warnings bool) (out []Diagnostic) {
	for _, d := range diags.All {
		if !warnings || d.Severity != diag.Error {
			out = append(out, d.Public())
		}
	}
	return out
}

// ErrNoProbes is in a CompileError: all probes of a script were left out, as it or the filter wanted.
var ErrNoProbes = errors.New("no probes to attach")

// Compile makes a program of a request for a machine. It changes nothing, starts nothing, and needs no more rights
// than to read the traced files; if the request is for a command, this has been started (see Start) and Target.Held
// is set. Ctx ends what may take long: waiting for servers of debug files and matching patterns in large files; the
// error is then ctx.Err (wrapped). Other errors are *CompileError; ErrRequest (wrapped); *AmbiguousError, ErrNotFound
// and ErrNoContainer (wrapped) for what the target names; or say what the kernel lacks (see Unavailable).
func Compile(ctx context.Context, r Request, m *Machine) (p *Program, err error) {
	p = &Program{machine: m}
	defer func() {
		if err != nil {
			p.Close()
			p = nil
		}
	}()
	// The files stay open after ctx, for the run.
	p.images = r.Files.images(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, p.images.interrupt)()
	if err := p.resolve(ctx, r); err != nil {
		return p, err
	}
	var diags diag.List
	if p.file, err = parse(&p.req, m, &diags); err != nil {
		return p, err
	}
	if err := p.match(ctx, &diags); err != nil {
		return p, err
	}
	p.typed = check.Check(p.file, p.matched.Matches, p.input(), &diags)
	if err := p.failed(&diags, false); err != nil {
		return p, err
	}
	p.code = codegen.Compile(p.typed, p.codegenOptions(), &diags)
	if err := p.failed(&diags, false); err != nil {
		return p, err
	}
	for _, d := range public(&diags, true) {
		if slices.ContainsFunc(p.warnings, func(w Diagnostic) bool { return w.Text == d.Text }) {
			continue // the functions of a pattern are often those of two clauses
		}
		p.warnings = append(p.warnings, d)
	}
	return p, ctx.Err()
}

// resolve puts what the request says of this machine in the program's terms: processes, features, the script of a
// question.
func (p *Program) resolve(ctx context.Context, r Request) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	if p.filter, err = r.check(); err != nil {
		return err
	}
	if err := r.Target.resolve(); err != nil {
		return err
	}
	if err := p.machine.check(); err != nil {
		return err
	}
	if p.features, err = p.machine.featuresWithout(r.Disable); err != nil {
		return err
	}
	if ns := p.machine.PIDNamespace; ns != nil {
		p.ns = &codegen.Namespace{Dev: ns.Dev, Ino: ns.Ino}
	}
	t := &r.Target
	if !p.machine.running && (t.PID != 0 || t.Held != 0) {
		return fmt.Errorf("%w: a process is one of the running machine", ErrMachine)
	}
	if err := t.exists(); err != nil {
		return err
	}
	if r.Question != nil {
		script, err := ask(ctx, r, p.images.Set, offers{
			arch:           p.machine.arch(),
			vectorsStepped: p.features.VectorsStepped, floats: floatRegisters(p.features),
			filteredReturns: p.machine.filteredReturns(),
			threadEnds:      p.features.Types().Available(),
			wrong:           func(text string) []wrong { return p.machine.wrong(ctx, r, text) },
		})
		if err != nil {
			return err
		}
		r.Script, r.Totals, r.Asked, r.Question = script.Text, script.Totals, r.Question.Functions, nil
		settings := script.Settings
		maps.Copy(settings, r.Settings)
		r.Settings = settings
		for _, n := range script.Notices {
			p.warnings = append(p.warnings, Diagnostic{Severity: result.Info, Text: result.ShownLine(n)})
		}
	}
	if r.Name == "" {
		r.Name = "script"
	}
	p.req = r
	return nil
}

// parse reads a script and its imports and expands macros.
func parse(r *Request, m *Machine, diags *diag.List) (*syntax.File, error) {
	src := &diag.Source{Name: r.Name, Text: r.Script}
	file := syntax.Load(src, syntax.ParseOptions{
		Params: r.Params,
		Include: syntax.IncludeOptions{
			Dirs: r.Files.IncludeDirs, Files: r.Files.Includes, CPU: m.headers(),
			System:  syntax.SystemIncludeDirs(m.headers(), m.Release),
			HaveBTF: m.offers().Types().Available(),
		},
	}, diags)
	if diags.Errors() == 0 {
		file = syntax.Expand(file, func(name string) bool { return builtin.Lookup(name) != nil }, diags)
	}
	if diags.Errors() > 0 {
		return nil, compileError(diags, false)
	}
	return file, nil
}

// match finds the points that the script's attach points mean.
func (p *Program) match(ctx context.Context, diags *diag.List) error {
	needs := make([]probe.Needs, len(p.file.Probes))
	for i, pr := range p.file.Probes {
		needs[i] = check.NeedsOf(pr)
	}
	p.config = check.ReadConfig(p.file, p.req.Settings, p.req.Target.Held != 0, diags)
	if err := p.failed(diags, false); err != nil {
		return err
	}
	p.matched = match.All(ctx, p.file.Probes, match.Options{
		PID: p.req.Target.running(), ChildPID: p.req.Target.atStart(), Loading: p.req.Target.loading(),
		Unsafe: p.req.Unsafe, Needs: needs, Filter: p.filter,
		Asked:          p.req.Asked,
		VectorsStepped: p.features.VectorsStepped, FloatRegisters: floatRegisters(p.features), Spread: p.req.Target.several(),
		FilteredReturns: p.machine.filteredReturns(),
		Missing:         p.config.MissingProbes, MaxProbes: p.config.MaxProbes, OutOfLine: p.req.NoInlined,
		TraceableFunctions: p.req.Files.TraceableFunctions, SearchPath: p.req.Files.SearchPath, Images: p.images.Set,
		KernelType: p.features.Types().Type, Prototype: prototype(p.features.Types()),
		Demangle: p.config.CPPDemangle, Bare: !p.config.CPPParams,
	})
	if err := ctx.Err(); err != nil {
		return err // what was found is not all
	}
	p.machine.foreign(p.matched)
	p.probes = p.matched.Count()
	if p.req.Target.several() {
		points := p.matched.Points()
		for _, ms := range p.matched.Matches {
			for _, m := range ms { // the entries beside returns are probed as well
				points = append(points, m.Entries...)
			}
		}
		if err := clearPIDs(points, len(p.req.Target.Others) > 0); err != nil {
			return err
		}
	}
	noMatch := diags.Errors() == 0 && p.matched.Diags.Errors() > 0
	diags.Append(&p.matched.Diags)
	if err := p.failed(diags, noMatch); err != nil {
		return err
	}
	if p.probes == 0 {
		e := compileError(diags, true)
		e.err = ErrNoProbes
		return e
	}
	return nil
}

// failed turns errors in the list into one error.
func (p *Program) failed(diags *diag.List, noMatch bool) error {
	if diags.Errors() == 0 {
		return nil
	}
	e := compileError(diags, noMatch)
	e.Diagnostics = append(p.warnings, e.Diagnostics...)
	return e
}

// input is what the meaning of the script depends on besides its text.
func (p *Program) input() check.Input {
	in := check.Input{
		Params: p.req.Params, Config: &p.config, Unsafe: p.req.Unsafe, ChildPID: p.req.Target.Held, PID: p.req.Target.PID,
		NCPU: p.machine.CPUs, Arch: p.machine.arch(), Features: p.features, Lookup: p.lookup(),
	}
	if p.machine.running {
		in.TracerPID = os.Getpid()
	}
	for _, n := range p.req.Options {
		name, value, has := strings.Cut(n, "=")
		in.Options = append(in.Options, check.Option{Name: name, Value: value, HasValue: has})
	}
	return in
}

func (p *Program) codegenOptions() codegen.Options {
	pid := p.req.Target.PID
	if p.req.Target.Held != 0 {
		pid = p.req.Target.Held
	}
	return codegen.Options{
		Features: p.features, TimeMap: p.timeMap(), Arch: p.machine.arch(), PID: pid,
		Others: p.req.Target.Others, Thread: p.req.Target.Thread,
		Follow: p.req.Target.Follow && pid != 0, Namespace: p.ns, CPUs: p.machine.CPUs, HelperErrors: p.req.Failures,
		Heads:   p.req.Heads,
		Session: p.session, ThreadPointer: p.threadPointer, ReturnDepth: p.returnDepth,
		Unwind: p.unwind, Python: p.python, Floats: p.floats,
	}
}

// timeMap is the scalar map that stands for the clock of time series: with it they can be tested, and so can scripts.
func (p *Program) timeMap() *check.Map {
	name := p.req.Settings["dummy_ts_map"]
	for _, m := range p.typed.Maps {
		if m.Name == name && m.Key == nil && m.Value.IsInteger() {
			return m
		}
	}
	return nil
}

// Close closes the files that the program was compiled from.
func (p *Program) Close() {
	if p.matched != nil {
		p.matched.Close()
	}
	p.images.done()
}

// Warnings are what is to be said of the script that is no error, in the order in which it was found.
func (p *Program) Warnings() []Diagnostic { return p.warnings }

// Probes is the number of probes as users count them: a name counts once for each attach point, however many places
// it has.
func (p *Program) Probes() int { return p.probes }

// Points names the places that the program will be attached to, one after another: what they are called, and where
// they are.
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
