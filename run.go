package trocar

import (
	"context"
	"fmt"

	"github.com/cilium/ebpf"

	"trocar/internal/compile/record"
	"trocar/internal/kernel"
	"trocar/internal/process/match"
	"trocar/internal/process/probe"
	"trocar/internal/session"
	"trocar/result"
)

// run loads the program and gives it to a session.
func (p *Program) run(ctx context.Context, c *Command, sink result.Sink, h Hooks) (Exit, error) {
	in := p.sessionInput(c, h)
	in.Images = p.images.Set
	defer context.AfterFunc(ctx, p.images.interrupt)()
	// What only the question or the matching looked at is not needed any more.
	if err := p.images.Trim(); err != nil {
		return Exit{}, err
	}
	s, err := session.New(in, sink)
	if err != nil {
		return Exit{}, err
	}
	defer s.Close()
	o := kernel.Options{
		Features: p.features, Log: h.VerifierLog, RingMap: record.RingName,
		MaxPrograms: p.typed.Config.MaxBPFProgs, Keeper: h.Keeper,
	}
	if h.VerifierLog != nil {
		o.LogLevel = 1
	}
	loaded, err := kernel.Load(p.object(), o)
	if err != nil {
		return Exit{}, err
	}
	defer loaded.Close()
	exit, err := s.Run(ctx, session.Loaded(loaded))
	return Exit{Code: exit.Code, Command: (*ExitStatus)(exit.Command)}, err
}

// sessionInput is the program in the terms of a run.
func (p *Program) sessionInput(c *Command, h Hooks) session.Input {
	config := &p.typed.Config
	in := session.Input{
		Script: &p.code.Script, Points: p.code.Points, Probes: p.probes, PID: p.req.Target.PID, Follow: p.req.Target.Follow,
		Others: p.req.Target.Others, Runtimes: match.Runtimes(),
		DryRun: p.req.DryRun, Errors: h.Errors, Progress: h.Progress, Totals: p.totals,
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
			Session: prog.Session, Points: prog.Points, License: p.typed.Config.License,
		}
		if prog.Cookied && !prog.Type.RunByUs() {
			k.Cookies = prog.Cookies
		}
		obj.Programs = append(obj.Programs, k)
	}
	return obj
}

// clearPIDs makes points of one process those of all: which processes count is then found out where they are hit. A
// watchpoint stays with its process, whose addresses it goes by, and those that this makes inherit it.
func clearPIDs(r *match.Result, named bool) error {
	for _, p := range r.Points() {
		switch {
		case p.Kind != probe.Watchpoint:
			p.PID = 0
		case named:
			return fmt.Errorf("%w: a watchpoint is of one process: %s", ErrRequest, p.Name)
		}
	}
	return nil
}
