package kernel

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
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
	prog  *ebpf.Program
	link  *attachment
	state []byte // mapping: see feedAsked
	event int    // see keepSwitched
	l     *Loaded
	cpus  [2]int // on which it is answered
	mu    sync.Mutex
	seq   uint64 // of the line that was handed over last
}

// MostHeld is how long a thread waits at most.
const MostHeld = 20 * time.Millisecond

// In the memory that the program shares with us.
const (
	feedAsked = 0  // how many lines were handed over
	feedDone  = 8  // how many of those are done with
	feedLate  = 16 // how often nobody was done in time
	feedSize  = 24

	feedLine = 512 // so much of a line is looked at
	feedText = 16  // in a record, behind the number of the line and its length

	// MostFeedWords is for how many words are looked.
	MostFeedWords = 8
)

// Feed begins to hand over lines. write is the entry of the function write of the process's C library.
func (l *Loaded) Feed(write *probe.Point, fd int, words []string) (f *Feed, err error) {
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
	cpus, err := ourCPUs()
	if err != nil {
		return nil, err
	}
	if len(cpus) < 2 {
		return nil, errors.New("it takes two CPUs")
	}
	f = &Feed{l: l, event: -1, cpus: [2]int{cpus[0], cpus[len(cpus)-1]}}
	defer func() {
		if err != nil {
			f.Close()
			f = nil
		}
	}()
	for _, spec := range []*ebpf.MapSpec{
		{Name: "feed_ring", Type: ebpf.RingBuf, MaxEntries: 64 << 10},
		{Name: "feed_state", Type: ebpf.Array, KeySize: 4, ValueSize: feedSize, MaxEntries: 1, Flags: 1 << 10}, // MMAPABLE
	} {
		m, err := newMap(spec)
		if err != nil {
			return f, err
		}
		f.maps = append(f.maps, m.m)
	}
	if f.ring, err = openRing(f.maps[0]); err != nil {
		return f, err
	}
	if f.state, err = unix.Mmap(f.maps[1].FD(), 0, feedSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return f, err
	}
	var at [3]int16
	for i := range at {
		off, _ := host.Offset(host.C.Args[i])
		at[i] = int16(off)
	}
	p := &loadedProgram{
		Program: &Program{Name: "feed", Type: probe.UprobeProgram, Points: []*probe.Point{write}},
		insns:   feedProgram(f.maps[0].FD(), f.maps[1].FD(), at, fd, words),
	}
	spec := &ebpf.ProgramSpec{Name: "feed", Instructions: p.insns, License: "GPL"}
	spec.Type, spec.AttachType, _ = bpfType(p.Type)
	if err = l.uprobeSpec(p, spec); err != nil {
		return f, err
	}
	if err = f.keepSwitched(); err != nil {
		return f, err
	}
	if f.prog, err = loadSpec(spec, "feed", Options{}); err != nil {
		return f, err
	}
	p.prog = f.prog
	before := l.linked()
	a := &attacher{Loaded: l, ctx: context.Background()}
	defer a.close()
	if err = a.uprobes(p); err != nil {
		return f, err
	}
	if len(a.failed) > 0 || l.linked() == before {
		return f, fmt.Errorf("the write function of the process cannot be probed")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	f.link = l.links[len(l.links)-1]
	l.links = l.links[:len(l.links)-1]
	return f, nil
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

// Run gives each line to fn, until ctx ends. Its thread waits until fn returns. While it waits the kernel of many
// machines lets nobody else run on its CPU, so that there are two of us, on different CPUs, before whom others step
// back.
func (f *Feed) Run(ctx context.Context, fn func(line string)) {
	var both sync.WaitGroup
	for _, cpu := range f.cpus {
		both.Go(func() { f.wait(ctx, cpu, fn) })
	}
	both.Wait()
}

// wait is one of the two.
func (f *Feed) wait(ctx context.Context, cpu int, fn func(line string)) {
	runtime.LockOSThread() // and never given back: it is of no use to others
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return
	}
	defer unix.Close(epoll)
	ring := f.maps[0].FD()
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: int32(ring)}
	if unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, ring, &event) != nil {
		return
	}
	// Without these it may take longer, which is told.
	var set unix.CPUSet
	set.Set(cpu)
	_ = unix.SchedSetaffinity(0, &set)
	_ = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}, 0)
	const look = 100 // ms
	for ctx.Err() == nil {
		_, _ = unix.EpollWait(epoll, make([]unix.EpollEvent, 1), look)
		f.read(fn)
	}
}

func (f *Feed) read(fn func(line string)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, _ = f.ring.Read(func(rec []byte) error {
		n := binary.NativeEndian.Uint64(rec[8:])
		fn(string(rec[feedText : feedText+min(n, feedLine)]))
		f.seq = max(f.seq, binary.NativeEndian.Uint64(rec))
		atomic.StoreUint64(f.word(feedDone), f.seq)
		return nil
	})
}

// Late is how often a thread went on before its line was done with.
func (f *Feed) Late() uint64 { return atomic.LoadUint64(f.word(feedLate)) }

// Close ends it. Nobody waits any more.
func (f *Feed) Close() {
	if f.state != nil {
		atomic.StoreUint64(f.word(feedDone), 1<<62)
	}
	if f.link != nil {
		f.link.close()
	}
	if f.prog != nil {
		f.prog.Close()
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
	f.maps, f.state = nil, nil
}

// step is an instruction of the program: as in bpf.h, with the name of its place and that of where it jumps to.
type step struct {
	at       string
	op       asm.OpCode
	dst, src asm.Register
	off      int16
	imm      int32
	to       string
}

// Operations (include/uapi/linux/bpf.h).
const (
	opLoad, opStore        asm.OpCode = 0x79, 0x7b // of 64 bits
	opSet, opMove          asm.OpCode = 0xb7, 0xbf
	opAdd, opAddReg, opAnd asm.OpCode = 0x07, 0x0f, 0x5f
	opShl, opShr           asm.OpCode = 0x67, 0x77
	opJump, opIfNot        asm.OpCode = 0x05, 0x55
	opIfNotReg             asm.OpCode = 0x5d
	opIfZero               asm.OpCode = 0x15
	opIfLess, opIfAtMost   asm.OpCode = 0xa5, 0xb5
	opIfLessReg            asm.OpCode = 0xad
	opIfLeast, opIfMost    asm.OpCode = 0x35, 0x3d // >= a number, >= a register
	opIfMoreReg            asm.OpCode = 0x2d
	opCall, opReturn       asm.OpCode = 0x85, 0x95
	opAtomic, opConst      asm.OpCode = 0xdb, 0x18
	atomicFetch            int32      = 0x01 // of opAtomic
	atomicAdd              int32      = 0x00

	// Constants that are put in.
	theRing, theState, theCallback = "ring", "state", "held"
)

// feedProgram is the program at write(fd, text, size).
func feedProgram(ring, state int, at [3]int16, fd int, words []string) asm.Instructions {
	const (
		ctx, r1, r2, r3, r4, r5 = asm.R1, asm.R1, asm.R2, asm.R3, asm.R4, asm.R5
		r0, i, n, text, rec, fp = asm.R0, asm.R6, asm.R7, asm.R8, asm.R9, asm.R10
		shared                  = asm.R8
	)
	call := func(f asm.BuiltinFunc) step { return step{op: opCall, imm: int32(f)} }
	steps := []step{
		{op: opLoad, dst: n, src: ctx, off: at[0]},
		{op: opShl, dst: n, imm: 32},
		{op: opShr, dst: n, imm: 32},
		{op: opIfNot, dst: n, imm: int32(fd), to: "exit"},
		{op: opLoad, dst: text, src: ctx, off: at[1]},
		{op: opLoad, dst: n, src: ctx, off: at[2]},
		{op: opIfLess, dst: n, imm: 2, to: "exit"},
		{op: opIfAtMost, dst: n, imm: feedLine, to: "short"},
		{op: opSet, dst: n, imm: feedLine},
		{at: "short", op: opConst, dst: r1, to: theRing},
		{op: opSet, dst: r2, imm: feedText + feedLine + 16},
		{op: opSet, dst: r3},
		call(asm.FnRingbufReserve),
		{op: opIfZero, dst: r0, to: "exit"},
		{op: opMove, dst: rec, src: r0},
		{op: opStore, dst: rec, src: n, off: 8},
		{op: opMove, dst: r1, src: rec},
		{op: opAdd, dst: r1, imm: feedText},
		{op: opMove, dst: r2, src: n},
		{op: opMove, dst: r3, src: text},
		call(asm.FnProbeReadUser),
		{op: opIfNot, dst: r0, to: "other"},
	}
	if len(words) > 0 {
		steps = append(steps, []step{
			{op: opSet, dst: i}, // where it is looked at
			{at: "next", op: opMove, dst: r1, src: rec},
			{op: opAddReg, dst: r1, src: i},
			{op: opLoad, dst: r2, src: r1, off: feedText},
			{op: opLoad, dst: r3, src: r1, off: feedText + 8},
		}...)
	}
	for w, word := range words {
		next := fmt.Sprintf("word%d", w)
		var want, mask [16]byte
		for j := range min(len(word), len(want)) {
			want[j], mask[j] = word[j], 0xff
		}
		for half, reg := range []asm.Register{r2, r3} {
			if mask[8*half] == 0 {
				continue
			}
			steps = append(steps,
				step{op: opConst, dst: r4, to: string(mask[8*half : 8*half+8])},
				step{op: opAnd, dst: r4, src: reg},
				step{op: opConst, dst: r5, to: string(want[8*half : 8*half+8])},
				step{op: opIfNotReg, dst: r4, src: r5, to: next},
			)
		}
		steps = append(steps, step{op: opJump, to: "found"}, step{at: next, op: opMove, dst: r0, src: rec})
	}
	if len(words) > 0 {
		steps = append(steps, []step{
			{op: opAdd, dst: i, imm: 1},
			{op: opIfLeast, dst: i, imm: feedLine, to: "other"},
			{op: opIfLessReg, dst: i, src: n, to: "next"},
		}...)
	} else {
		steps = append(steps, step{op: opJump, to: "found"})
	}
	steps = append(steps, []step{
		{at: "other", op: opMove, dst: r1, src: rec},
		{op: opSet, dst: r2},
		call(asm.FnRingbufDiscard),
		{op: opJump, to: "exit"},

		{at: "found", op: opConst, dst: shared, to: theState},
		{op: opSet, dst: n, imm: 1},
		{op: opAtomic, dst: shared, src: n, off: feedAsked, imm: atomicFetch},
		{op: opAdd, dst: n, imm: 1},
		{op: opStore, dst: rec, src: n},
		{op: opStore, dst: fp, src: n, off: -16},
		{op: opMove, dst: r1, src: rec},
		{op: opSet, dst: r2, imm: 2}, // BPF_RB_FORCE_WAKEUP
		call(asm.FnRingbufSubmit),
		call(asm.FnKtimeGetNs),
		{op: opAdd, dst: r0, imm: int32(MostHeld)},
		{op: opStore, dst: fp, src: r0, off: -8},
		{op: opSet, dst: r1, imm: 1 << 20}, // rounds, of some 30 ns
		{op: opConst, dst: r2, to: theCallback},
		{op: opMove, dst: r3, src: fp},
		{op: opAdd, dst: r3, imm: -16},
		{op: opSet, dst: r4},
		call(asm.FnLoop),
		{op: opLoad, dst: r1, src: shared, off: feedDone},
		{op: opIfMost, dst: r1, src: n, to: "exit"},
		{op: opSet, dst: r1, imm: 1},
		{op: opAtomic, dst: shared, src: r1, off: feedLate, imm: atomicAdd},
		{at: "exit", op: opSet, dst: r0},
		{op: opReturn},

		// held(round, [line, deadline]) ends the waiting with 1.
		{at: theCallback, op: opMove, dst: i, src: r2},
		{op: opConst, dst: r1, to: theState},
		{op: opLoad, dst: r1, src: r1, off: feedDone},
		{op: opLoad, dst: r2, src: i},
		{op: opIfMost, dst: r1, src: r2, to: "go"},
		call(asm.FnKtimeGetNs),
		{op: opLoad, dst: r1, src: i, off: 8},
		{op: opIfMoreReg, dst: r0, src: r1, to: "go"},
		{op: opSet, dst: r0},
		{op: opReturn},
		{at: "go", op: opSet, dst: r0, imm: 1},
		{op: opReturn},
	}...)
	return assemble(steps, ring, state)
}

// assemble makes instructions of steps.
func assemble(steps []step, ring, state int) asm.Instructions {
	insns := make(asm.Instructions, len(steps))
	// The verifier wants to know what functions take where one is given to a helper.
	long := &btf.Int{Name: "long", Size: 8, Encoding: btf.Signed}
	proto := &btf.FuncProto{Return: long, Params: []btf.FuncParam{
		{Name: "ctx", Type: &btf.Pointer{Target: &btf.Void{}}},
	}}
	for i, s := range steps {
		in := asm.Instruction{OpCode: s.op, Dst: s.dst, Src: s.src, Offset: s.off, Constant: int64(s.imm)}
		switch {
		case s.op != opConst && s.to != "":
			in.Offset = -1 // until it is known where that is
			in = in.WithReference(s.to)
		case s.op == opAtomic:
			// cilium/ebpf 0.22 encodes the constant before it computes it.
			in = asm.AtomicOp(asm.AddAtomic|asm.AtomicOp(s.imm)<<8).Mem(s.dst, s.src, asm.DWord, s.off)
			in.Constant = int64(s.imm)
		case s.op != opConst:
		case s.to == theRing:
			in = asm.LoadMapPtr(s.dst, ring)
		case s.to == theState:
			in = asm.LoadMapValue(s.dst, state, 0)
		case s.to == theCallback:
			in.Src, in.Constant = asm.PseudoFunc, -1
			in = in.WithReference(s.to)
		default:
			in.Constant = int64(binary.NativeEndian.Uint64([]byte(s.to)))
		}
		switch {
		case i == 0:
			in = btf.WithFuncMetadata(in.WithSymbol("feed"), &btf.Func{Name: "feed", Linkage: btf.GlobalFunc, Type: proto})
		case s.at == theCallback:
			held := &btf.FuncProto{Return: long, Params: []btf.FuncParam{{Name: "round", Type: long}, proto.Params[0]}}
			in = btf.WithFuncMetadata(in.WithSymbol(s.at), &btf.Func{Name: s.at, Type: held})
		case s.at != "":
			in = in.WithSymbol(s.at)
		}
		insns[i] = in
	}
	return insns
}
