package kernel

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"trocar/internal/compile/feature"
	"trocar/internal/order"
	"trocar/internal/process/probe"
	"trocar/internal/stackroom"
)

// Program is a program and the points to run it at.
type Program struct {
	Name  string
	Type  probe.ProgramType
	Insns asm.Instructions // maps and functions by Reference
	// Sleepable programs may read pages that are not in memory. Uprobe and Iter only; needs SleepableUprobe.
	Sleepable bool
	Return    bool // run at the return (uretprobe, kretprobe)
	// Session programs run at entry and at return; needs UprobeSession.
	Session bool
	Waits   bool // it has threads switched off: not all of its time is the CPU's
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
	// Keeper is a command that calls Keep with its last argument: it frees many programs if this process is killed.
	Keeper []string
	// MaxPrograms is the most programs that are loaded; 0, and more than the kernel can free at once, is that.
	MaxPrograms int
}

// Loaded is an object in the kernel. Keep it reachable: maps and programs are closed when they are collected.
type Loaded struct {
	features *Features
	maps     map[string]*Map
	programs []*loadedProgram
	ring     *Ring
	keeper   *keeper
	waits    *waits

	mu       sync.Mutex
	links    []*attachment
	selves   []*selfSignal
	threaded []*threaded
	late     map[int]bool // threads that may have begun without a breakpoint, until Rejoin gives them

	rejoining sync.Mutex // whoever opens events later, so that nothing is opened when all has been taken off
}

type loadedProgram struct {
	*Program
	insns asm.Instructions // with the maps put in
	prog  *ebpf.Program
	multi bool // loaded for uprobe_multi links
	// fentry and fexit: one program for each point.
	each []eachLoaded
}

// eachLoaded is a program that was loaded for one point, or why it was not.
type eachLoaded struct {
	prog *ebpf.Program
	err  error
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
	if err := limitPrograms(obj, opts.MaxPrograms, l.features); err != nil {
		return err
	}
	for _, spec := range obj.Maps {
		m, err := newMap(spec)
		if err != nil {
			return l.explainMap(spec, err)
		}
		l.maps[spec.Name] = m
		if spec.InnerMap != nil && spec.InnerMap.Type == ebpf.RingBuf {
			if l.waits, err = startWaits(m); err != nil {
				return fmt.Errorf("floating-point registers cannot be read: %w", err)
			}
		}
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
	if err := inParallel(len(l.programs), func(i int) error { return l.loadProgram(l.programs[i], opts) }); err != nil {
		return err
	}
	l.keeper = startKeeper(opts.Keeper, l.inKernel())
	return nil
}

// newMap creates a map. Before 5.11 kernels count maps against RLIMIT_MEMLOCK and answer EPERM: then the limit is
// raised.
func newMap(spec *ebpf.MapSpec) (*Map, error) {
	m, err := ebpf.NewMap(spec)
	if errors.Is(err, unix.EPERM) && raiseMemlock() == nil {
		m, err = ebpf.NewMap(spec)
	}
	if err != nil {
		return nil, err
	}
	w := wrapMap(m)
	w.inner = spec.InnerMap
	return w, nil
}

func raiseMemlock() error {
	all := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
	return unix.Setrlimit(unix.RLIMIT_MEMLOCK, &all)
}

func (l *Loaded) explainMap(spec *ebpf.MapSpec, err error) error {
	switch {
	case errors.Is(err, unix.ENOMEM):
		return fmt.Errorf("not enough memory for the map %s (%d entries of %d bytes): make it smaller",
			spec.Name, spec.MaxEntries, spec.KeySize+spec.ValueSize)
	case errors.Is(err, unix.E2BIG):
		return fmt.Errorf("map %s is too large for the kernel (%d entries, keys of %d bytes, values of %d bytes)",
			spec.Name, spec.MaxEntries, spec.KeySize, spec.ValueSize)
	case spec.Type == ebpf.RingBuf && errors.Is(err, unix.EINVAL):
		if err := l.features.Need(feature.RingBuf, ""); err != nil {
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

// bpfType is the kernel's type of a program, and how it expects it to be attached where that is told at the load.
func bpfType(t probe.ProgramType) (typ ebpf.ProgramType, attach ebpf.AttachType, err error) {
	switch t {
	case probe.UprobeProgram, probe.KprobeProgram:
		return ebpf.Kprobe, 0, nil
	case probe.PerfProgram, probe.BreakProgram:
		return ebpf.PerfEvent, 0, nil
	case probe.TracepointProgram:
		return ebpf.TracePoint, 0, nil
	case probe.RawTracepointProgram, probe.RunProgram:
		return ebpf.RawTracepoint, 0, nil
	case probe.BenchProgram:
		return ebpf.XDP, 0, nil
	case probe.IterProgram:
		return ebpf.Tracing, ebpf.AttachTraceIter, nil
	case probe.FentryProgram:
		return ebpf.Tracing, ebpf.AttachTraceFEntry, nil
	case probe.FexitProgram:
		return ebpf.Tracing, ebpf.AttachTraceFExit, nil
	case probe.NoProgram:
	}
	return 0, 0, fmt.Errorf("programs of type %q cannot be loaded", t)
}

func (l *Loaded) loadProgram(p *loadedProgram, opts Options) error {
	spec := &ebpf.ProgramSpec{Name: p.Name, Instructions: p.insns, License: p.License}
	if spec.License == "" {
		spec.License = "GPL"
	}
	if p.Sleepable {
		spec.Flags |= progSleepable
	}
	var err error
	if spec.Type, spec.AttachType, err = bpfType(p.Type); err != nil {
		return err
	}
	switch {
	case p.Type == probe.UprobeProgram:
		if err := l.uprobeSpec(p, spec); err != nil {
			return err
		}
	case p.Type == probe.KprobeProgram:
		if err := l.needCookies(p); err != nil {
			return err
		}
	case p.Type == probe.IterProgram:
		if len(p.Points) != 1 {
			return fmt.Errorf("program %s: an iterator has one point, not %d", p.Name, len(p.Points))
		}
		spec.AttachTo = target(p.Points[0])
	case spec.Type == ebpf.Tracing:
		return p.loadEach(spec, opts)
	}
	p.prog, err = loadSpec(spec, p.Name, opts)
	return err
}

// uprobeSpec chooses how a program is attached to functions of programs.
func (l *Loaded) uprobeSpec(p *loadedProgram, spec *ebpf.ProgramSpec) error {
	if p.Sleepable {
		if err := l.features.Need(feature.SleepableUprobe, ""); err != nil {
			return err
		}
	}
	switch {
	case p.Session:
		if err := l.features.Need(feature.UprobeSession, ""); err != nil {
			return err
		}
		p.multi = true
		spec.AttachType = attachUprobeSession
	case l.features.Has(feature.UprobeMulti):
		p.multi = true
		spec.AttachType = attachUprobeMulti
	default:
		return l.needCookies(p)
	}
	return nil
}

// loadEach loads a program of type fentry or fexit once for each point: the kernel checks it against what the function
// takes. Functions that it lets nobody attach to are told when they are attached.
func (p *loadedProgram) loadEach(spec *ebpf.ProgramSpec, opts Options) error {
	for _, point := range p.Points {
		one := *spec
		one.AttachTo = target(point)
		prog, err := loadSpec(&one, p.Name, opts)
		if err != nil {
			if err = explainFentry(one.AttachTo, err); Unavailable(err) {
				return err
			}
		}
		p.each = append(p.each, eachLoaded{prog, err})
	}
	return nil
}

// needCookies: perf events carry cookies from 5.15 on.
func (l *Loaded) needCookies(p *loadedProgram) error {
	for _, c := range p.Cookies {
		if c != 0 {
			return l.features.Need(feature.AttachCookie, "")
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
		return nil, fmt.Errorf("the program of %s has too many branches for the kernel to check: "+
			"put fewer conditions into its loops, or make it several probes: %w", name, unix.EFAULT)
	case spec.AttachType == ebpf.AttachTraceIter && errors.Is(err, ebpf.ErrNotSupported):
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

// Close detaches everything and frees what was loaded; of many programs it waits until the kernel has freed most.
func (l *Loaded) Close() {
	l.Detach()
	if programs := l.inKernel(); !l.keeper.free(programs) {
		free(programs)
	}
	l.programs, l.keeper = nil, nil
	if l.ring != nil {
		l.ring.close()
		l.ring = nil
	}
	l.waits.close()
	l.waits = nil
	for _, m := range l.maps {
		m.close()
	}
	l.maps = nil
}

// Missed says that the kernel did not run a program at a point, since it was running another on the same CPU, or was in
// the middle of a system call of bpf(2).
type Missed struct {
	Point *probe.Point // the first of the program's
	Count uint64
}

// Missed are the programs that were passed over, from Linux 5.12 on, those that were so most often first.
func (l *Loaded) Missed() []Missed {
	var all []Missed
	for _, p := range l.programs {
		if p.Type.RunByUs() || len(p.Points) == 0 {
			continue
		}
		n := misses(p.prog)
		for _, e := range p.each {
			n += misses(e.prog)
		}
		if n > 0 {
			all = append(all, Missed{p.Points[0], n})
		}
	}
	order.By(all, func(a, b Missed) int { return cmp.Compare(b.Count, a.Count) })
	return all
}

// misses is how often a program was passed over, as far as that is known.
func misses(p *ebpf.Program) uint64 {
	if p == nil {
		return 0
	}
	stats, err := p.Stats()
	if err != nil {
		return 0
	}
	return stats.RecursionMisses
}

// inKernel are the programs that were loaded.
func (l *Loaded) inKernel() []*ebpf.Program {
	var loaded []*ebpf.Program
	for _, p := range l.programs {
		if p == nil {
			continue
		}
		if p.prog != nil {
			loaded = append(loaded, p.prog)
		}
		for _, e := range p.each {
			if e.prog != nil {
				loaded = append(loaded, e.prog)
			}
		}
	}
	return loaded
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
			stackroom.Make()
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
