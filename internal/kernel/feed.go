package kernel

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"trocar/internal/binary/abi"
	"trocar/internal/compile/feature"
	"trocar/internal/process/probe"
)

// Feed hands over lines that a process writes to one of its files, before they are written: those that have a word of a
// few in them. The thread that writes waits until Done, for MostHeld at most, in the kernel: whatever becomes of this
// process, it goes on.
type Feed struct {
	ring  *Ring
	maps  []*ebpf.Map
	progs []*ebpf.Program
	// sources is the map of what is looked for.
	sources *ebpf.Map
	links   []*attachment
	state   []byte // mapping: see feedAsked
	event   int    // see keepSwitched
	l       *Loaded
	cpus    []int // on which it is answered
	polls   []int // with which they wait, one each
	mu      sync.Mutex
	// most is how many threads are held at a time; 0: any number, since those that are held let others run.
	most int
}

// MostHeld is how long a thread waits at most.
const MostHeld = 20 * time.Millisecond

// In the memory that the program shares with us.
const (
	feedAsked = 0  // how many lines were handed over: their numbers begin with 1
	feedLate  = 8  // how often nobody was done in time
	feedHeld  = 16 // how many threads are held, where that is limited
	feedDone  = 24 // numbers of lines that are done with, each in the place of its lowest bits
	feedSize  = feedDone + 8*feedSlots

	feedSlots = 256
	feedEnded = 1<<64 - 1 // in those places: no line is waited for any more

	feedLine = 512 // so much of a line is looked at
	feedText = 16  // in a record, behind the number of the line and its length
	// feedCompiled, in place of a length: what is compiled, its code and the size of that.
	feedCompiled = 1<<64 - 1

	// MostFeedWords is for how many words are looked.
	MostFeedWords = 8
)

// Feed begins to hand over lines. write is the entry of the function write of the process's C library.
func (l *Loaded) Feed(write *probe.Point, fd int, words []string) (f *Feed, err error) {
	f, err = l.newFeed(write, fd, words, true)
	if err != nil && !errors.Is(err, errOneCPU) {
		if held, err := l.newFeed(write, fd, words, false); err == nil {
			return held, nil
		}
	}
	return f, err
}

var errOneCPU = errors.New("it takes two CPUs")

// newFeed makes one. yields: the threads that are held let others run, for which the kernel must be 6.0 at least.
func (l *Loaded) newFeed(write *probe.Point, fd int, words []string, yields bool) (f *Feed, err error) {
	host, err := abi.Host()
	if err != nil {
		return nil, err
	}
	if len(words) > MostFeedWords {
		return nil, fmt.Errorf("more than %d words", MostFeedWords)
	}
	if err := l.features.Need(feature.Loop, ""); err != nil {
		return nil, err
	}
	f = &Feed{l: l, event: -1}
	defer func() {
		if err != nil {
			f.Close()
			f = nil
		}
	}()
	if err = f.chooseCPUs(yields); err != nil {
		return f, err
	}
	for _, spec := range []*ebpf.MapSpec{
		{Name: "feed_ring", Type: ebpf.RingBuf, MaxEntries: 64 << 10},
		{Name: "feed_state", Type: ebpf.Array, KeySize: 4, ValueSize: feedSize, MaxEntries: 1, Flags: 1 << 10}, // MMAPABLE
		// Lines are written one after another: no thread has the room of another that is set aside.
		{Name: "feed_room", Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: feedText + feedLine + 16, MaxEntries: 1},
	} {
		if _, err := f.newMap(spec); err != nil {
			return f, err
		}
	}
	if f.ring, err = openRing(f.maps[0]); err != nil {
		return f, err
	}
	if f.state, err = unix.Mmap(f.maps[1].FD(), 0, feedSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return f, err
	}
	if err = f.openPolls(); err != nil {
		return f, err
	}
	if err = f.keepSwitched(); err != nil {
		return f, err
	}
	return f, f.run(feedProgram(host, fd, words)+held(feedText+feedLine, f.most), f.most == 0, []*probe.Point{write}, nil)
}

// chooseCPUs chooses on which it is answered. Where threads that are held keep their CPUs, one of those is left free.
func (f *Feed) chooseCPUs(yields bool) error {
	all, err := ourCPUs()
	if err != nil {
		return err
	}
	const more = 4
	n := min(len(all), 2)
	if !yields {
		if len(all) < 2 {
			return errOneCPU
		}
		n = min(len(all), more)
		f.most = n - 1
	}
	for i := range n {
		f.cpus = append(f.cpus, all[i*(len(all)-1)/max(n-1, 1)])
	}
	return nil
}

// openPolls makes what is waited with: two that wait with the same one would not both be woken.
func (f *Feed) openPolls() error {
	ring := f.maps[0].FD()
	for range f.cpus {
		epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
		if errors.Is(err, unix.EMFILE) && raiseFiles() {
			epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC)
		}
		if err != nil {
			return fmt.Errorf("wait for what a process writes: %w", err)
		}
		f.polls = append(f.polls, epoll)
		event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: int32(ring)}
		if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, ring, &event); err != nil {
			return fmt.Errorf("wait for what a process writes: %w", err)
		}
	}
	return nil
}

// run has a program run at points, which may sleep or not. more are the maps that it uses besides those of all.
func (f *Feed) run(text string, sleeps bool, points []*probe.Point, more map[string]int) error {
	maps := map[string]int{theRing: f.maps[0].FD(), theState: f.maps[1].FD(), theRoom: f.maps[2].FD()}
	for name, fd := range more {
		maps[name] = fd
	}
	p := &loadedProgram{
		Program: &Program{Name: "feed", Type: probe.UprobeProgram, Points: points, Sleepable: sleeps},
		insns:   assemble(text, maps),
	}
	spec := &ebpf.ProgramSpec{Name: "feed", Instructions: p.insns, License: "GPL"}
	if sleeps {
		spec.Flags |= progSleepable
	}
	spec.Type, spec.AttachType, _ = bpfType(p.Type)
	err := f.l.uprobeSpec(p, spec)
	if err != nil {
		return err
	}
	if p.prog, err = loadSpec(spec, "feed", Options{}); err != nil {
		return err
	}
	f.progs = append(f.progs, p.prog)
	a := &attacher{Loaded: f.l, ctx: context.Background()}
	defer a.close()
	links, err := a.collected(func() error { return a.uprobes(p) })
	f.l.mu.Lock()
	f.l.links = slices.DeleteFunc(f.l.links, func(l *attachment) bool { return slices.Contains(links, l) })
	f.l.mu.Unlock()
	f.links = append(f.links, links...)
	if err == nil && (len(a.failed) > 0 || len(links) == 0) {
		err = errors.New("the function cannot be probed")
	}
	return err
}

// newMap makes a map of the feed's own.
func (f *Feed) newMap(spec *ebpf.MapSpec) (*ebpf.Map, error) {
	m, err := newMap(spec)
	if err != nil {
		return nil, err
	}
	f.maps = append(f.maps, m.m)
	return m.m, nil
}

// ourCPUs are those on which this process may run.
func ourCPUs() (cpus []int, err error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, err
	}
	for cpu := range 8 * int(unsafe.Sizeof(set)) {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// keepSwitched has an event of a thread open. With the first one in the machine the kernel waits for all who read under
// RCU (perf_event.c, account_event), as the threads do that are held: it must not be a breakpoint for which they are.
func (f *Feed) keepSwitched() (err error) {
	f.event, err = openPerf(&unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_DUMMY}, 0, -1)
	return err
}

func (f *Feed) word(at int) *uint64 { return (*uint64)(unsafe.Pointer(&f.state[at])) }

// FeedTo is who is told.
type FeedTo struct {
	Line     func(text string)
	Compiled func(source, addr, size uint64)
	// Look is called now and then, by a thread that goes before others as those do that tell: whoever has a lock that
	// they need must not wait for a CPU.
	Look func()
}

// Run tells of lines and of what is compiled, until ctx ends. Its thread waits until that is done. While it waits the
// kernels before 6.0 let nobody else run on its CPU, so that there are several of us, on different CPUs, before whom
// others step back.
func (f *Feed) Run(ctx context.Context, to FeedTo) {
	var all sync.WaitGroup
	for i := range f.cpus {
		all.Go(func() { f.wait(ctx, i, to) })
	}
	all.Wait()
}

// wait is one of those.
func (f *Feed) wait(ctx context.Context, i int, to FeedTo) {
	runtime.LockOSThread() // and never given back: it is of no use to others
	// Without these it may take longer, which is told.
	var set unix.CPUSet
	set.Set(f.cpus[i])
	_ = unix.SchedSetaffinity(0, &set)
	_ = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}, 0)
	const look = 25 // ms
	next := time.Now()
	for ctx.Err() == nil {
		_, _ = unix.EpollWait(f.polls[i], make([]unix.EpollEvent, 1), look)
		f.read(to)
		if i == 0 && !time.Now().Before(next) {
			to.Look()
			next = time.Now().Add(look * time.Millisecond)
		}
	}
}

func (f *Feed) read(to FeedTo) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, _ = f.ring.Read(func(rec []byte) error {
		n := binary.NativeEndian.Uint64(rec[8:])
		if word := func(i int) uint64 { return binary.NativeEndian.Uint64(rec[feedText+8*i:]) }; n == feedCompiled {
			to.Compiled(word(0), word(1), word(2))
		} else {
			to.Line(string(rec[feedText : feedText+min(n, feedLine)]))
		}
		// Records of threads that write at once are not in the order of their numbers.
		seq := binary.NativeEndian.Uint64(rec)
		atomic.StoreUint64(f.word(feedDone+8*int(seq%feedSlots)), seq)
		return nil
	})
}

// Late is how often a thread went on before its line was done with.
func (f *Feed) Late() uint64 { return atomic.LoadUint64(f.word(feedLate)) }

// Close ends it. Nobody waits any more.
func (f *Feed) Close() {
	if f.state != nil {
		for i := range feedSlots {
			atomic.StoreUint64(f.word(feedDone+8*i), feedEnded)
		}
	}
	closeAll(f.links)
	for _, p := range f.progs {
		p.Close()
	}
	for _, fd := range f.polls {
		unix.Close(fd)
	}
	if f.event >= 0 {
		unix.Close(f.event)
	}
	if f.ring != nil {
		f.ring.close()
	}
	if f.state != nil {
		unix.Munmap(f.state)
	}
	for _, m := range f.maps {
		m.Close()
	}
	f.maps, f.state, f.links, f.progs, f.polls = nil, nil, nil, nil, nil
}

// Compiler has what a runtime compiles handed over, too, before the program knows of it.
func (f *Feed) Compiler(c *probe.Compiler) error {
	host, err := abi.Host()
	if err != nil {
		return err
	}
	const most = 1 << 12 // threads that compile at a time, and what exceptions have left; sources
	sources, err := f.newMap(&ebpf.MapSpec{
		Name: "feed_sources", Type: ebpf.Hash, KeySize: 8, ValueSize: 8, MaxEntries: most, Flags: 1, // BPF_F_NO_PREALLOC
	})
	if err != nil {
		return err
	}
	calls, err := f.newMap(&ebpf.MapSpec{
		Name: "feed_calls", Type: ebpf.Hash, KeySize: 16, ValueSize: 24, MaxEntries: most,
	})
	if err != nil {
		return err
	}
	maps := map[string]int{theSources: sources.FD(), theCalls: calls.FD()}
	if err := f.run(compiledProgram(host)+held(feedText+3*8, f.most), f.most == 0, c.Returns, maps); err != nil {
		return err
	}
	f.sources = sources
	return f.run(compilingProgram(host, c), false, []*probe.Point{c.Entry}, maps)
}

// Source adds one to what is looked for where things are compiled: the address that the compiler is given.
func (f *Feed) Source(addr uint64) error { return f.sources.Put(addr, addr) }
