package kernel

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/code"
	"trocar/internal/compile/feature"
	"trocar/internal/process/probe"
)

// Rate is how often a point is hit in a second.
type Rate struct {
	Point     *probe.Point
	PerSecond float64
}

// mostCounted is of how many points of a program it is found out which of them are hit.
const mostCounted = 4096

// Hits tells how often points are hit.
type Hits struct {
	Often []Rate // of those at which the kernel steps over the instruction: that are hit so often at least
	// Of several points: how often all are hit in a second, and those where it steps over the instruction; and how many
	// seconds in each their programs run.
	Together, Stepped, Running float64
}

// Hits tells how often points are hit, by the hits within a time; a rate is of interest from perSecond on. Programs
// count nothing for this: for that time the kernel counts how often each runs, which takes it some 20 ns, and only
// where one with several points, or that runs twice for a hit, runs often enough do those at which it steps over the
// instruction get a program that counts, for as long again. It tells nothing where the kernel doesn't count (before
// 5.8, or without the right to). With an error, it tells of those points that could be counted.
func (l *Loaded) Hits(ctx context.Context, window time.Duration, perSecond float64) (h Hits, err error) {
	var programs []*loadedProgram
	points, stepped := 0, false
	for _, p := range l.programs {
		if p.Type == probe.UprobeProgram && p.prog != nil {
			programs = append(programs, p)
			points += len(p.Points)
			stepped = stepped || slices.ContainsFunc(p.Points, steppedAt)
		}
	}
	several := points > 1
	if !several && !stepped {
		return h, nil
	}
	rates := runRates(ctx, programs, window)
	var errs []error
	for i, p := range programs {
		if i >= len(rates) {
			break
		}
		if several {
			hits := rates[i].perSecond
			if p.Session { // it runs twice for a hit
				hits /= 2
			}
			h.Together += hits
			if !p.Waits {
				h.Running += rates[i].running
			}
		}
		one := len(p.Points) == 1 && !p.Session
		if several && one && steppedAt(p.Points[0]) {
			h.Stepped += rates[i].perSecond
		}
		switch {
		case rates[i].perSecond < perSecond || !slices.ContainsFunc(p.Points, steppedAt):
		case one:
			h.Often = append(h.Often, Rate{p.Points[0], rates[i].perSecond})
		default:
			of, err := l.pointRates(ctx, p, window)
			if err != nil {
				errs = append(errs, err)
			}
			for _, r := range of {
				if several {
					h.Stepped += r.PerSecond
				}
				if r.PerSecond >= perSecond {
					h.Often = append(h.Often, r)
				}
			}
		}
	}
	return h, errors.Join(errs...)
}

func steppedAt(p *probe.Point) bool { return p.Stepped }

// runRate is how often a program runs in a second, and for how many seconds in each.
type runRate struct{ perSecond, running float64 }

// runRates are those of programs, nil if the kernel doesn't tell.
func runRates(ctx context.Context, programs []*loadedProgram, window time.Duration) []runRate {
	counting, err := ebpf.EnableStats(unix.BPF_STATS_RUN_TIME)
	if err != nil {
		return nil
	}
	defer counting.Close()
	counts := func() (n []*ebpf.ProgramStats) {
		for _, p := range programs {
			if s, err := p.prog.Stats(); err == nil {
				n = append(n, s)
			}
		}
		return n
	}
	before, took := counts(), await(ctx, window)
	after := counts()
	if len(before) != len(programs) || len(after) != len(programs) || took <= 0 {
		return nil
	}
	rates := make([]runRate, len(programs))
	for i := range rates {
		rates[i].perSecond = float64(after[i].RunCount-before[i].RunCount) / took.Seconds()
		rates[i].running = float64(after[i].Runtime-before[i].Runtime) / float64(took)
	}
	return rates
}

// await waits, and gives how long it was.
func await(ctx context.Context, window time.Duration) time.Duration {
	start := time.Now()
	select {
	case <-ctx.Done():
	case <-time.After(window):
	}
	return time.Since(start)
}

// pointRates is how often points of a program are hit in a second.
func (l *Loaded) pointRates(ctx context.Context, p *loadedProgram, window time.Duration) (rates []Rate, err error) {
	counter := &loadedProgram{Program: &Program{Name: "hits", Type: p.Type, Return: p.Return}, multi: p.multi}
	for _, point := range p.Points {
		if steppedAt(point) && len(counter.Points) < mostCounted {
			counter.Points = append(counter.Points, point)
			counter.Cookies = append(counter.Cookies, uint64(len(counter.Points)))
		}
	}
	if !l.features.Has(feature.AttachCookie) {
		return nil, nil
	}
	hits, err := ebpf.NewMap(&ebpf.MapSpec{
		Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: 8, MaxEntries: uint32(len(counter.Points)) + 1,
	})
	if err != nil {
		return nil, err
	}
	defer hits.Close()
	spec := &ebpf.ProgramSpec{
		Name: counter.Name, Type: ebpf.Kprobe, License: "GPL", Instructions: countingPoints(hits.FD()),
	}
	if counter.multi {
		spec.AttachType = attachUprobeMulti
	}
	if counter.prog, err = ebpf.NewProgram(spec); err != nil {
		return nil, err
	}
	defer counter.prog.Close()
	beside := &Loaded{features: l.features, programs: []*loadedProgram{counter}}
	defer beside.Detach()
	// Points that have gone meanwhile are not hit.
	if _, err := beside.Attach(ctx, nil); err != nil {
		if ctx.Err() != nil {
			return nil, nil
		}
		return nil, err
	}
	took := await(ctx, window)
	for i, point := range counter.Points {
		var n []uint64
		if err := hits.Lookup(uint32(i)+1, &n); err != nil {
			return nil, err
		}
		sum := uint64(0)
		for _, one := range n {
			sum += one
		}
		rates = append(rates, Rate{point, float64(sum) / took.Seconds()})
	}
	return rates, nil
}

// countingPoints is a program that counts its runs in the value of an array that the cookie names.
func countingPoints(array int) asm.Instructions {
	insns := asm.Instructions{
		asm.FnGetAttachCookie.Call(),
		asm.StoreMem(asm.RFP, -4, asm.R0, asm.Word),
	}
	return append(insns, countingRuns(array)[1:]...)
}

// StepCost tells by a trial what a hit costs at an instruction that the kernel steps over, and at one that it emulates.
func StepCost() (stepped, emulated time.Duration, err error) {
	host, err := abi.Host()
	if err != nil {
		return 0, 0, err
	}
	if stepped, err = trialCost(host, true); err == nil {
		emulated, err = trialCost(host, false)
	}
	return stepped, emulated, err
}

var errNoTrial = errors.New("there is no trial for this CPU")

// trialCost is how much longer an execution of an instruction takes that is probed.
func trialCost(host *abi.Arch, stepped bool) (time.Duration, error) {
	const times = 4096
	t := code.StepTrial(host, times, stepped)
	if t == nil {
		return 0, errNoTrial
	}
	path, done, err := inMemory(t.File)
	if err != nil {
		return 0, err
	}
	defer done()
	run := func() time.Duration {
		best := time.Duration(0)
		for i := range 3 {
			state := end(path)
			if state == nil || !state.Success() {
				return 0
			}
			if took := state.SystemTime() + state.UserTime(); i == 0 || took < best {
				best = took
			}
		}
		return best
	}
	without := run()
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.Kprobe, License: "GPL", AttachType: attachUprobeMulti, Instructions: returnZero(),
	})
	if err != nil {
		return 0, err
	}
	defer prog.Close()
	link, err := bpf(cmdLinkCreate, &attrLinkMulti{
		progFD: uint32(prog.FD()), attachType: attachUprobeMulti, path: pointer(cString(path)),
		offsets: slicePointer(t.Offsets), count: uint32(len(t.Offsets)),
	})
	runtime.KeepAlive(prog)
	if err != nil {
		return 0, err
	}
	defer unix.Close(link)
	with := run()
	if without == 0 || with <= without {
		return 0, errNoTrial
	}
	return (with - without) / times, nil
}
