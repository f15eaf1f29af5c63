package trocar

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cilium/ebpf"

	"trocar/internal/compile/codegen"
	"trocar/internal/compile/feature"
	"trocar/internal/compile/record"
	"trocar/internal/kernel"
	"trocar/internal/process/match"
	"trocar/internal/process/probe"
	"trocar/internal/script/diag"
	"trocar/internal/session"
	"trocar/result"
)

// run loads the program and gives it to a session.
func (p *Program) run(ctx context.Context, c *Command, sink result.Sink, h Hooks) (Exit, error) {
	defer context.AfterFunc(ctx, p.images.interrupt)()
	// What only the question or the matching looked at is not needed any more.
	if err := p.images.Trim(); err != nil {
		return Exit{}, err
	}
	loaded, err := p.load(sink, h)
	if err != nil {
		return Exit{}, err
	}
	defer loaded.Close()
	p.features.Types().Forget()
	if cpus := loaded.Barred(); len(cpus) > 0 {
		text := fmt.Sprintf("floating-point values of threads on CPU %s are not known: trocar may not run there (cpuset)",
			strings.Trim(fmt.Sprint(cpus), "[]"))
		notice := &result.Notice{Diagnostic: result.Diagnostic{Severity: result.Warning, Text: text}}
		if err := sink.Event(notice); err != nil {
			return Exit{}, err
		}
	}
	in := p.sessionInput(c, h)
	in.Images = p.images.Set
	s, err := session.New(in, sink)
	if err != nil {
		return Exit{}, err
	}
	defer s.Close()
	exit, err := s.Run(ctx, session.Loaded(loaded))
	return Exit{Code: exit.Code, Command: (*ExitStatus)(exit.Command)}, err
}

// load loads the program. If the kernel refuses it and stacks are walked by tables, that may be the reason, of a kernel
// that nobody has tried: then they are walked by frame pointers.
func (p *Program) load(sink result.Sink, h Hooks) (*kernel.Loaded, error) {
	o := kernel.Options{
		Features: p.features, Log: h.VerifierLog, RingMap: record.RingName,
		MaxPrograms: p.typed.Config.MaxBPFProgs, Keeper: h.Keeper,
	}
	if h.VerifierLog != nil {
		o.LogLevel = 1
	}
	loaded, err := kernel.Load(p.object(), o)
	var refused *kernel.VerifierError
	if p.code.FileKeys == nil || !errors.As(err, &refused) {
		return loaded, err
	}
	code := p.code
	o.Features = p.features.Without(feature.StackTables)
	p.features = o.Features
	var diags diag.List
	if p.code = codegen.Compile(p.typed, p.codegenOptions(), &diags); p.code == nil {
		p.code = code
		return nil, err
	}
	simple, serr := kernel.Load(p.object(), o)
	if serr != nil {
		return nil, err
	}
	text := result.Messagef("call stacks are walked by frame pointers, since the kernel refuses the other way: %s",
		refused.Reason)
	notice := &result.Notice{Diagnostic: result.Diagnostic{Severity: result.Warning, Text: text}}
	if err := sink.Event(notice); err != nil {
		simple.Close()
		return nil, err
	}
	return simple, nil
}

// sessionInput is the program in the terms of a run.
func (p *Program) sessionInput(c *Command, h Hooks) session.Input {
	config := &p.typed.Config
	in := session.Input{
		Script: &p.code.Script, Points: p.code.Points, Probes: p.probes, PID: p.req.Target.PID, Follow: p.req.Target.Follow,
		Others: p.req.Target.Others, Runtimes: match.Runtimes(), Given: p.given, Late: p.matched.Late, Write: p.matched.Write,
		Bodies: p.matched.Bodies,
		DryRun: p.req.DryRun, EachFailure: h.EachFailure, Asked: h.Asked,
		InParts: h.InParts, Errors: h.Errors, Progress: h.Progress, Totals: p.totals,
		Config: session.Config{
			Trailer: config.StrTruncTrailer, Quad: !p.machine.arch().Extended, StackMode: config.StackMode,
			StackSources: config.ShowDebugInfo,
			Mangled:      !config.CPPDemangle, MaxCatBytes: config.MaxCatBytes, PrintMapsOnExit: config.PrintMapsOnExit,
			MissingProbes: config.MissingProbes,
			SeriesTime:    p.timeMap() != nil,
			MapTables:     config.MapTables,
			MapHistograms: config.MapHistograms,
		},
	}
	switch p.req.Mode {
	case ModeTest:
		in.Mode = session.Test
	case ModeBench:
		in.Mode = session.Bench
	}
	if c != nil {
		in.Command = c.child
		in.Advanced = p.req.Target.running()
	}
	if p.ns != nil {
		in.Namespace = &kernel.Namespaced{Dev: p.ns.Dev, Ino: p.ns.Ino}
	}
	for _, prog := range p.code.Programs {
		in.Programs = append(in.Programs, session.Program{Name: prog.Name, Type: prog.Type, Point: prog.Points[0]})
	}
	return in
}

// object is the compiled script in the loader's terms.
func (p *Program) object() *kernel.Object {
	obj := &kernel.Object{Maps: p.code.Maps}
	for _, m := range obj.Maps {
		if m.Type == ebpf.RingBuf {
			m.MaxEntries = kernel.DefaultRingSize(uint64(p.typed.Config.PerfRBPages))
		}
	}
	for _, prog := range p.code.Programs {
		k := &kernel.Program{
			Name: prog.Name, Type: prog.Type, Insns: prog.Insns, Sleepable: prog.Sleepable, Return: prog.Return,
			Session: prog.Session, Waits: prog.Waits, Points: prog.Points, License: p.typed.Config.License,
		}
		if prog.Cookied && !prog.Type.RunByUs() || prog.Type == probe.BreakProgram {
			k.Cookies = prog.Cookies
		}
		obj.Programs = append(obj.Programs, k)
	}
	if p.code.FileKeys != nil {
		obj.Programs = append(obj.Programs, &kernel.Program{
			Name: record.UnwindFile, Type: probe.RunProgram, Insns: p.code.FileKeys, License: p.typed.Config.License,
		})
	}
	return obj
}

// clearPIDs makes points of one process those of all: which processes count is then found out where they are hit. A
// hardware breakpoint stays with its process, whose addresses it goes by, and those that this makes inherit it.
func clearPIDs(points []*probe.Point, named bool) error {
	for _, p := range points {
		switch {
		case !p.Kind.Breaks() && (p.Interpreted == nil || !named):
			p.PID = 0
		case named: // functions of Python lie elsewhere in each
			return fmt.Errorf("%w: %s is traced in one process: name that alone with -p", ErrRequest, p.Name)
		}
	}
	return nil
}
