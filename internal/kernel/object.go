package kernel

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"trocar/internal/process/probe"
)

// ProgramType says how a program is attached, which also decides what its context is.
type ProgramType uint8

// Program types, with the context that the program finds in R1.
const (
	Uprobe        ProgramType = iota // struct pt_regs; also uretprobe (Return) and USDT
	Kprobe                           // struct pt_regs; also kretprobe (Return)
	PerfEvent                        // struct bpf_perf_event_data; interval, profile, software, hardware, watchpoint
	Tracepoint                       // the record of the tracepoint
	RawTracepoint                    // struct bpf_raw_tracepoint_args
	Fentry                           // array of the arguments
	Fexit                            // array of the arguments, then the result
	Iter                             // struct bpf_iter__NAME
	Run                              // never attached, run by Loaded.Run: begin, end, self, test; a raw tracepoint program
	Bench                            // never attached, run many times by Loaded.RunMany; an XDP program
)

// Program is a program and the points to run it at.
type Program struct {
	Name  string
	Type  ProgramType
	Insns asm.Instructions // maps and functions by Reference
	// Sleepable programs may read pages that are not in memory. Uprobe and Iter only; needs SleepableUprobe.
	Sleepable bool
	Return    bool // run at the return (uretprobe, kretprobe)
	// Session programs run at entry and at return; needs UprobeSession.
	Session bool
	Points  []*probe.Point
	// Cookies, one for each point, are what bpf_get_attach_cookie gives; nil: none. They need AttachCookie.
	Cookies []uint64
	License string // "" : GPL
}

// Object is all that a script needs in the kernel. Instructions refer to maps by their spec's names.
type Object struct {
	Maps     []*ebpf.MapSpec
	Programs []*Program
}

// Options of Load.
type Options struct {
	Features *Features // nil: new ones
	// LogLevel is passed to the verifier (1: what it does, 2: every state, 4: statistics); Log gets its text, also of
	// programs that are accepted.
	LogLevel uint32
	Log      func(program, text string)
	// RingMap names the map that is the ring buffer; "": the first of that type.
	RingMap string
}

// Loaded is an object in the kernel. Keep it reachable: maps and programs are closed when they are collected.
type Loaded struct {
	features *Features
	maps     map[string]*Map
	programs []*loadedProgram
	ring     *Ring

	mu     sync.Mutex
	links  []*attachment
	selves []*selfSignal
}

type loadedProgram struct {
	*Program
	insns asm.Instructions // with the maps put in
	prog  *ebpf.Program
	multi bool // loaded for uprobe_multi links
	// Fentry and Fexit: one program for each point.
	each []*ebpf.Program
}

// Load creates the maps and loads the programs. Nothing runs yet.
func Load(obj *Object, opts Options) (*Loaded, error) {
	l := &Loaded{features: opts.Features, maps: map[string]*Map{}}
	if l.features == nil {
		l.features = NewFeatures()
	}
	if err := l.load(obj, opts); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

func (l *Loaded) load(obj *Object, opts Options) error {
	for _, spec := range obj.Maps {
		m, err := newMap(spec)
		if err != nil {
			return l.explainMap(spec, err)
		}
		l.maps[spec.Name] = m
		if spec.Type == ebpf.RingBuf && (opts.RingMap == spec.Name || opts.RingMap == "" && l.ring == nil) {
			if l.ring, err = openRing(m.m); err != nil {
				return fmt.Errorf("cannot read the ring buffer %s: %w", spec.Name, err)
			}
		}
	}
	l.programs = make([]*loadedProgram, len(obj.Programs))
	for i, p := range obj.Programs {
		insns, err := l.link(p.Insns)
		if err != nil {
			return fmt.Errorf("program %s: %w", p.Name, err)
		}
		l.programs[i] = &loadedProgram{Program: p, insns: insns}
	}
	return inParallel(len(l.programs), func(i int) error { return l.loadProgram(l.programs[i], opts) })
}

// newMap creates a map. Before 5.11 kernels count maps against RLIMIT_MEMLOCK and answer EPERM: then the limit is raised.
func newMap(spec *ebpf.MapSpec) (*Map, error) {
	m, err := ebpf.NewMap(spec)
	if errors.Is(err, unix.EPERM) && raiseMemlock() == nil {
		m, err = ebpf.NewMap(spec)
	}
	if err != nil {
		return nil, err
	}
	return wrapMap(m), nil
}

func raiseMemlock() error {
	all := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
	return unix.Setrlimit(unix.RLIMIT_MEMLOCK, &all)
}

func (l *Loaded) explainMap(spec *ebpf.MapSpec, err error) error {
	switch {
	case errors.Is(err, unix.ENOMEM):
		return fmt.Errorf("no memory for the map %s (%d entries of %d bytes): make it smaller", spec.Name, spec.MaxEntries, spec.KeySize+spec.ValueSize)
	case errors.Is(err, unix.E2BIG):
		return fmt.Errorf("map %s is too large for the kernel (%d entries, keys of %d bytes, values of %d bytes)", spec.Name, spec.MaxEntries, spec.KeySize, spec.ValueSize)
	case spec.Type == ebpf.RingBuf && errors.Is(err, unix.EINVAL):
		if err := l.features.Need(RingBuf, ""); err != nil {
			return err
		}
	}
	return explain("create the map "+spec.Name, err)
}

// link puts the maps into a copy of the instructions.
func (l *Loaded) link(insns asm.Instructions) (asm.Instructions, error) {
	linked := slices.Clone(insns)
	for i := range linked {
		ins := &linked[i]
		if !ins.IsLoadFromMap() || ins.Reference() == "" {
			continue
		}
		m, ok := l.maps[ins.Reference()]
		if !ok {
			return nil, fmt.Errorf("no map %q", ins.Reference())
		}
		if err := ins.AssociateMap(m.m); err != nil {
			return nil, err
		}
	}
	return linked, nil
}

func (l *Loaded) loadProgram(p *loadedProgram, opts Options) error {
	spec := &ebpf.ProgramSpec{Name: p.Name, Instructions: p.insns, License: p.License}
	if spec.License == "" {
		spec.License = "GPL"
	}
	if p.Sleepable {
		spec.Flags |= progSleepable
	}
	switch p.Type {
	case Uprobe:
		spec.Type = ebpf.Kprobe
		if p.Sleepable {
			if err := l.features.Need(SleepableUprobe, ""); err != nil {
				return err
			}
		}
		switch {
		case p.Session:
			if err := l.features.Need(UprobeSession, ""); err != nil {
				return err
			}
			p.multi = true
			spec.AttachType = attachUprobeSession
		case l.features.Has(UprobeMulti):
			p.multi = true
			spec.AttachType = attachUprobeMulti
		default:
			if err := l.needCookies(p); err != nil {
				return err
			}
		}
	case Kprobe:
		spec.Type = ebpf.Kprobe
		if err := l.needCookies(p); err != nil {
			return err
		}
	case PerfEvent:
		spec.Type = ebpf.PerfEvent
	case Tracepoint:
		spec.Type = ebpf.TracePoint
	case RawTracepoint, Run:
		spec.Type = ebpf.RawTracepoint
	case Bench:
		spec.Type = ebpf.XDP
	case Iter:
		spec.Type = ebpf.Tracing
		spec.AttachType = ebpf.AttachTraceIter
		if len(p.Points) != 1 {
			return fmt.Errorf("program %s: an iterator has one point, not %d", p.Name, len(p.Points))
		}
		spec.AttachTo = target(p.Points[0])
	case Fentry, Fexit:
		spec.Type = ebpf.Tracing
		spec.AttachType = ebpf.AttachTraceFEntry
		if p.Type == Fexit {
			spec.AttachType = ebpf.AttachTraceFExit
		}
		for _, point := range p.Points {
			one := *spec
			one.AttachTo = target(point)
			prog, err := loadSpec(&one, p.Name, opts)
			if err != nil {
				return err
			}
			p.each = append(p.each, prog)
		}
		return nil
	}
	var err error
	p.prog, err = loadSpec(spec, p.Name, opts)
	return err
}

// needCookies: perf events carry cookies from 5.15 on.
func (l *Loaded) needCookies(p *loadedProgram) error {
	for _, c := range p.Cookies {
		if c != 0 {
			return l.features.Need(AttachCookie, "")
		}
	}
	return nil
}

func loadSpec(spec *ebpf.ProgramSpec, name string, opts Options) (*ebpf.Program, error) {
	prog, err := ebpf.NewProgramWithOptions(spec, ebpf.ProgramOptions{LogLevel: ebpf.LogLevel(opts.LogLevel)})
	if err == nil {
		if opts.Log != nil && prog.VerifierLog != "" {
			opts.Log(name, prog.VerifierLog)
		}
		return prog, nil
	}
	var refused *ebpf.VerifierError
	if errors.As(err, &refused) && len(refused.Log) > 0 {
		v := &VerifierError{Program: name, Err: err, Log: strings.Join(refused.Log, "\n") + "\n"}
		v.Reason = lastWords(v.Log)
		if opts.Log != nil {
			opts.Log(name, v.Log)
		}
		return nil, v
	}
	switch {
	case errors.Is(err, unix.E2BIG):
		return nil, fmt.Errorf("the program of %s is too large for the kernel: %w", name, err)
	case errors.Is(err, unix.EFAULT):
		// The answer of recent verifiers to more than 8192 branches that are still to be followed (push_stack, 6.18). The
		// library takes it for a bug of the verifier and drops the log.
		return nil, fmt.Errorf("the program of %s has too many branches for the kernel to check: put fewer conditions into its loops, or make it several probes: %w", name, unix.EFAULT)
	case spec.Type == ebpf.Tracing && errors.Is(err, ebpf.ErrNotSupported):
		return nil, &LacksError{Feature: fmt.Sprintf("%s %q", spec.AttachType, spec.AttachTo), Way: "see trocar doctor"}
	}
	return nil, explain("load the program of "+name, err)
}

// Map is the map of that name, nil if there is none.
func (l *Loaded) Map(name string) *Map { return l.maps[name] }

// Ring is the reader of the object's ring buffer, nil if it has none.
func (l *Loaded) Ring() *Ring { return l.ring }

// Features are those that the object was loaded with.
func (l *Loaded) Features() *Features { return l.features }

// Close detaches everything and frees what was loaded.
func (l *Loaded) Close() {
	l.Detach()
	for _, p := range l.programs {
		if p == nil {
			continue
		}
		p.prog.Close()
		for _, prog := range p.each {
			prog.Close()
		}
	}
	l.programs = nil
	if l.ring != nil {
		l.ring.close()
		l.ring = nil
	}
	for _, m := range l.maps {
		m.close()
	}
	l.maps = nil
}

// program finds a program by name.
func (l *Loaded) program(name string) *loadedProgram {
	for _, p := range l.programs {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// inParallel does n things on a few goroutines, and gives the first error by number.
func inParallel(n int, do func(int) error) error {
	workers := min(runtime.GOMAXPROCS(0), n)
	if n < 4 {
		workers = min(n, 1)
	}
	errs := make([]error, n)
	next := make(chan int)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := range next {
				errs[i] = do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
