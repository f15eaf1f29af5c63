package kernel

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"trocar/internal/process/probe"
	"trocar/internal/process/tracefs"
)

// attachment is a live link: descriptors which keep a program attached, closed in this order.
type attachment struct {
	fds   []int
	watch *probe.Point        // the watchpoint or method that it is of, nil: another point
	event *unix.PerfEventAttr // of watch
	ends  bool                // calls end there
	plain bool                // taking it off writes to no program's memory
	idle  bool                // it is switched on later
}

func (a *attachment) close() {
	for _, fd := range a.fds {
		if a.plain {
			unix.Close(fd)
		} else {
			closeApart(fd)
		}
	}
	a.fds = nil
}

// closers is how many descriptors are closed at once. The kernel waits some 40 ms (for RCU) in each close of a uprobe
// link: 100 of them one after another take 4.7 s, together 0.13 s.
const closers = 64

// Attach attaches all programs to their points. Points that cannot be attached are returned, and the others stay
// attached; an error means that nothing more can come of it (no rights, a feature is missing, ctx ended). progress, if
// not nil, is told how many points of all have been dealt with.
//
// Timers come last, so that the first tick sees everything attached.
func (l *Loaded) Attach(ctx context.Context, progress func(done, total int)) ([]AttachError, error) {
	a := &attacher{Loaded: l, ctx: ctx, progress: progress}
	defer a.close()
	for _, p := range l.programs {
		if !p.Type.RunByUs() {
			a.total += len(p.Points)
		}
	}
	for _, p := range attachOrder(l.programs) {
		if err := a.attach(p); err != nil {
			return a.failed, err
		}
	}
	if len(l.threaded) > 0 {
		time.Sleep(inTheMaking)
		l.rejoin()
	}
	return a.failed, nil
}

// attachOrder puts timers last, and behind them what takes the debug registers that others have left. Of several
// programs at one place the kernel runs that first which came last (consumers are put in front of the list,
// uprobe_register), and scripts expect theirs to run in the order they are written.
func attachOrder(programs []*loadedProgram) []*loadedProgram {
	var probes, others, timers, rest []*loadedProgram
	for _, p := range programs {
		switch {
		case p.Type == probe.UprobeProgram, p.Type == probe.KprobeProgram:
			probes = append(probes, p)
		case len(p.Points) > 0 && p.Points[0].Next != 0:
			rest = append(rest, p)
		case p.Type == probe.PerfProgram:
			timers = append(timers, p)
		default:
			others = append(others, p)
		}
	}
	slices.Reverse(probes)
	return slices.Concat(probes, others, timers, rest)
}

// attacher is one run of Attach.
type attacher struct {
	*Loaded
	ctx      context.Context
	progress func(done, total int)

	mu          sync.Mutex
	failed      []AttachError
	done, total int
	collects    bool          // what was attached is wanted
	made        []*attachment // that was, while it collects

	tracefs *tracefs.FS       // nil until something needs it
	pmu     map[string]uint32 // types of perf's dynamic event sources
}

func (a *attacher) close() {
	if a.tracefs != nil {
		a.tracefs.Close()
	}
}

func (a *attacher) attach(p *loadedProgram) error {
	if err := a.ctx.Err(); err != nil {
		return err
	}
	if p.Cookies != nil && len(p.Cookies) != len(p.Points) {
		return fmt.Errorf("program %s: %d cookies for %d points", p.Name, len(p.Cookies), len(p.Points))
	}
	place, err := attachWay(p.Type)
	if err != nil {
		return err
	}
	if place.all != nil {
		return place.all(a, p)
	}
	for i, point := range p.Points {
		if err := a.ctx.Err(); err != nil {
			return err
		}
		if err := a.outcome(p, point, place.one(a, p, i)); err != nil {
			return err
		}
		a.advance(1)
	}
	return nil
}

// way is how programs of a type are attached: to all of their points at once, or to one by one.
type way struct {
	all func(*attacher, *loadedProgram) error
	one func(a *attacher, p *loadedProgram, point int) error
}

// attachWay tells how programs of a type are attached.
func attachWay(t probe.ProgramType) (way, error) {
	switch t {
	case probe.UprobeProgram:
		return way{all: (*attacher).uprobes}, nil
	case probe.RunProgram, probe.BenchProgram:
		return way{all: (*attacher).signals}, nil
	case probe.IterProgram, probe.BreakProgram:
		return way{all: (*attacher).later}, nil
	case probe.PerfProgram:
		return way{one: (*attacher).perfEvent}, nil
	case probe.TracepointProgram:
		return way{one: (*attacher).tracepoint}, nil
	case probe.RawTracepointProgram:
		return way{one: (*attacher).rawTracepoint}, nil
	case probe.KprobeProgram:
		return way{one: (*attacher).kprobe}, nil
	case probe.FentryProgram, probe.FexitProgram:
		return way{one: (*attacher).fentry}, nil
	case probe.NoProgram:
	}
	return way{}, fmt.Errorf("programs of type %q cannot be attached", t)
}

// later leaves a program alone: an iterator runs when asked (Loaded.Iterate), and code that is made at run time is
// found then (Loaded.Break).
func (a *attacher) later(p *loadedProgram) error {
	a.advance(len(p.Points))
	return nil
}

// outcome keeps the failure of one point, and passes on what would fail for all.
func (a *attacher) outcome(p *loadedProgram, point *probe.Point, err error) error {
	if err == nil {
		return nil
	}
	var known *PermissionError // of this point alone
	if !errors.As(err, &known) && (errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) ||
		errors.Is(err, unix.EMFILE)) {
		return explain("attach "+point.Name, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failed = append(a.failed, AttachError{Program: p.Name, Point: point, Err: err})
	return nil
}

func (a *attacher) advance(n int) {
	a.mu.Lock()
	a.done += n
	done := a.done
	a.mu.Unlock()
	if a.progress != nil {
		a.progress(done, a.total)
	}
}

func (a *attacher) keep(fds ...int) { a.add(&attachment{fds: fds}) }

// keepOf keeps a link of a program.
func (a *attacher) keepOf(p *loadedProgram, link int) {
	a.add(&attachment{fds: []int{link}, ends: len(p.Points) > 0 && p.Points[0].Kind == probe.Uretprobe})
}

func (a *attacher) add(link *attachment) {
	a.Loaded.mu.Lock()
	a.links = append(a.links, link)
	a.Loaded.mu.Unlock()
	if a.collects {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.made = append(a.made, link)
	}
}

// collected does something that attaches, and gives what it has attached. Others may attach and detach meanwhile.
func (a *attacher) collected(do func() error) ([]*attachment, error) {
	a.collects = true
	err := do()
	a.collects = false
	made := a.made
	a.made = nil
	return made, err
}

// Move has the breakpoints of a method at another address; 0: nowhere. Those that threads have inherited follow
// (perf_event_modify_attr). Nothing that is executed at either address meanwhile is missed for longer than the move
// takes in its thread.
func (l *Loaded) Move(point *probe.Point, addr uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var failed error
	for _, link := range l.links {
		if link.watch != point {
			continue
		}
		event := *link.event
		event.Ext1 = breakpointAt(addr)
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(link.fds[len(link.fds)-1]),
			unix.PERF_EVENT_IOC_MODIFY_ATTRIBUTES, uintptr(unsafe.Pointer(&event))); errno != 0 && errno != unix.ESRCH {
			failed = errno
		}
	}
	return failed
}

// Unwatch ends the watchpoints at an address and returns how many links that were: one for each CPU or thread.
func (l *Loaded) Unwatch(addr uint64) int {
	return l.unlink(func(link *attachment) bool {
		return link.watch != nil && link.watch.Kind == probe.Watchpoint && link.watch.Addr == addr
	})
}

// unlink ends some of the links, and returns how many.
func (l *Loaded) unlink(which func(*attachment) bool) int {
	l.mu.Lock()
	var gone []*attachment
	l.links = slices.DeleteFunc(l.links, func(link *attachment) bool {
		if !which(link) {
			return false
		}
		gone = append(gone, link)
		return true
	})
	for _, t := range l.threaded {
		if which(&t.like) {
			t.until = time.Time{}
		}
	}
	l.mu.Unlock()
	closeAll(gone)
	return len(gone)
}

// Detach ends all attachments, and returns when no program can run any more. What is in the ring buffer stays readable.
func (l *Loaded) Detach() {
	l.rejoining.Lock()
	defer l.rejoining.Unlock()
	l.mu.Lock()
	links, selves := l.links, l.selves
	l.links, l.selves, l.threaded = nil, nil, nil
	l.mu.Unlock()
	for _, s := range selves {
		s.stop()
	}
	// Where calls end it is looked to the last: else calls would seem to be left by exceptions.
	last := slices.DeleteFunc(slices.Clone(links), func(a *attachment) bool { return !a.ends })
	closeAll(slices.DeleteFunc(links, func(a *attachment) bool { return a.ends }))
	closeAll(last)
}

func closeAll(links []*attachment) {
	next := make(chan *attachment, len(links))
	for _, link := range links {
		next <- link
	}
	close(next)
	var wg sync.WaitGroup
	for range min(closers, len(links)) {
		wg.Go(func() {
			for link := range next {
				link.close()
			}
		})
	}
	wg.Wait()
}

func cookie(p *loadedProgram, i int) uint64 {
	if p.Cookies == nil {
		return 0
	}
	return p.Cookies[i]
}

// target is the name in points that have one.
func target(p *probe.Point) string {
	if p.Event != "" {
		return p.Event
	}
	return p.Func
}

// setBPF makes a program run at a perf event.
func (a *attacher) setBPF(event, prog int, cookie uint64) error {
	fds, err := a.runAt(event, prog, cookie)
	if err == nil {
		a.keep(fds...)
	}
	return err
}

// runAt makes a program run at a perf event; from 5.15 on by a link, which carries a cookie. It gives what is to be
// closed.
func (a *attacher) runAt(event, prog int, cookie uint64) ([]int, error) {
	defer runtime.KeepAlive(a.Loaded)
	if cookie == 0 {
		err := unix.IoctlSetInt(event, unix.PERF_EVENT_IOC_SET_BPF, prog)
		if err == nil {
			err = unix.IoctlSetInt(event, unix.PERF_EVENT_IOC_ENABLE, 0)
		}
		return []int{event}, err
	}
	link, err := bpf(cmdLinkCreate, &attrLinkPerf{
		progFD: uint32(prog), targetFD: uint32(event), attachType: attachPerfEvent, cookie: cookie,
	})
	if err != nil {
		return nil, err
	}
	if err := unix.IoctlSetInt(event, unix.PERF_EVENT_IOC_ENABLE, 0); err != nil {
		unix.Close(link)
		return nil, err
	}
	return []int{link, event}, nil
}

// openPerf opens a perf event. Each point takes a descriptor or two, so the limit is raised when it is reached.
func openPerf(attr *unix.PerfEventAttr, pid, cpu int) (int, error) {
	attr.Size = uint32(unsafe.Sizeof(*attr)) // older kernels take a newer size if what they don't know is zero
	fd, err := unix.PerfEventOpen(attr, pid, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if errors.Is(err, unix.EMFILE) && raiseFiles() {
		fd, err = unix.PerfEventOpen(attr, pid, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	}
	return fd, err
}

// raiseFiles raises the limit of open files as far as it goes.
func raiseFiles() bool {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return false
	}
	want := l
	want.Cur = 1 << 20 // fs.nr_open's default
	want.Max = max(want.Max, want.Cur)
	if unix.Setrlimit(unix.RLIMIT_NOFILE, &want) == nil {
		return l.Cur < want.Cur
	}
	want = unix.Rlimit{Cur: l.Max, Max: l.Max}
	return l.Cur < l.Max && unix.Setrlimit(unix.RLIMIT_NOFILE, &want) == nil
}
