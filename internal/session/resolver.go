package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"trocar/internal/binary/image"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
	"trocar/internal/compile/record"
	"trocar/internal/process/probe"
	"trocar/internal/process/runtimes"
	"trocar/internal/process/runtimes/native"
	"trocar/internal/process/symbolize"
	"trocar/internal/process/target"
	"trocar/result"
)

// resolver gives names to the numbers in records (record.Resolver).
type resolver struct {
	points  []*probe.Point
	formats []string // of times, and filters of cgroup paths
	mode    types.StackMode
	sources bool // stacks show inlined functions and lines
	user    bool // records or maps hold addresses of user space, or of the kernel
	kernel  bool
	pid     int   // the only process, 0: any
	others  []int // beside it
	command int   // the command's process
	wall    result.Wall
	clocks  record.Control

	symbols   *symbolize.Symbolizer
	watching  bool // what processes map
	users     target.Users
	cgroups   target.Cgroups
	files     map[string]*symbolize.File // probed ones
	images    *image.Set
	runtimes  []runtimes.Runtime
	probed    map[string]*image.Image    // files of points whose types were asked for; nil: cannot be read
	dynamic   map[dynamicKey]*types.Type // nil: it is not known
	objects   map[uint32]runtimes.Types  // of processes; nil: they cannot be read
	stacks    storedStacks
	room      []result.Frame // used again for the stacks of the next entry, if reuses
	reuses    bool
	made      []generated     // runtimes at work in the processes that are traced
	given     map[int]givenTo // by points
	asksGiven func(p *probe.Point) ([]record.Given, bool)

	// background are goroutines that look at what will be asked for; stop ends them.
	background sync.WaitGroup

	pythonic bool                         // stacks may have frames of Python functions
	pythons  map[uint64]record.PythonCode // code of those

	asking bool // what is to be named is only asked for, and not shown
	stop   func()
}

func newResolver(in *Input, wall result.Wall) *resolver {
	n := &resolver{
		points: in.Points, formats: in.Script.Formats, mode: in.Config.StackMode,
		sources: in.Config.StackSources, pid: in.PID, others: in.Others, wall: wall,
		stop: func() {}, pythonic: in.Script.Pythons, pythons: map[uint64]record.PythonCode{},
		files: map[string]*symbolize.File{}, images: in.Images, runtimes: in.Runtimes, probed: map[string]*image.Image{},
		objects: map[uint32]runtimes.Types{},
		dynamic: map[dynamicKey]*types.Type{}, given: map[int]givenTo{}, asksGiven: in.Given,
	}
	opts := symbolize.Options{Mangled: in.Config.Mangled, Images: in.Images, Readable: readable(in.Runtimes)}
	if n.pythonic {
		opts.Interpreted = n.pythonFrame
	}
	n.symbols = symbolize.New(opts)
	n.user, n.kernel = in.Script.Names()
	if in.Command != nil {
		n.command = int(in.Command.PID())
	}
	boot, tai := clock(unix.CLOCK_BOOTTIME), clock(unix.CLOCK_TAI)
	n.clocks = record.Control{Start: uint64(boot), TAI: uint64(tai - boot)}
	return n
}

func clock(id int32) int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(id, &ts); err != nil {
		return 0
	}
	return ts.Nano()
}

func (n *resolver) close() {
	n.stop()
	n.background.Wait()
	_ = n.takeBack(nil) // a run that has come to its end has told
	n.symbols.Close()
	for _, t := range n.objects {
		if t != nil {
			_ = t.Close() // it was only read
		}
	}
	for _, im := range n.probed {
		if im != nil {
			_ = im.Close() // it was only read
		}
	}
}

// hit says where a point was hit, so that the file is found also in a process that has ended.
func (n *resolver) hit(tgid uint32, point int, ip uint64) symbolize.Hit {
	h := symbolize.Hit{PID: int(tgid)}
	if point < 0 || point >= len(n.points) {
		return h
	}
	p := n.points[point]
	if p.Kind != probe.Uprobe && p.Kind != probe.USDT && !p.AtReturn {
		return h
	}
	f := n.file(p)
	h.File, h.Offset, h.IP = f, p.Offset, ip
	return h
}

// file is the probed file of a point.
func (n *resolver) file(p *probe.Point) *symbolize.File {
	f := n.files[p.Path]
	if f == nil {
		f = n.symbols.Probed(p.Path)
		n.files[p.Path] = f
	}
	return f
}

// prepare looks at what names will be needed of, while it is there: probed files may be gone at the end, and so may the
// processes. An error is one of the watch: then processes that end soon have poorer names.
func (n *resolver) prepare(ctx context.Context, records Records) error {
	// The kernel's names are still wanted when ctx is done.
	var load context.Context
	load, n.stop = context.WithCancel(context.WithoutCancel(ctx))
	if n.kernel {
		// What goes wrong is found again where a name is asked for.
		n.background.Go(func() { _ = n.symbols.LoadKernel(load) })
	}
	if !n.user {
		return nil
	}
	var probed []*symbolize.File
	for _, p := range n.points {
		if p.Kind == probe.Uprobe || p.Kind == probe.Uretprobe || p.Kind == probe.USDT {
			if n.files[p.Path] == nil {
				probed = append(probed, n.file(p))
			}
		}
	}
	files, err := n.symbols.Watch()
	n.watching = err == nil
	for _, fd := range files {
		err = errors.Join(err, records.Also(fd))
	}
	if n.pid != 0 {
		// Without mappings there are no names; who asked for a process that is gone was told already. It lives, so that what
		// it has mapped can be looked up also where it cannot be watched.
		for _, pid := range append([]int{n.pid}, n.others...) {
			n.lives(pid)
		}
		return nil
	}
	if err != nil {
		return err
	}
	if n.command == 0 {
		running, stop := context.WithCancel(ctx)
		context.AfterFunc(load, stop)
		n.background.Go(func() { n.symbols.SnapshotRunning(running, probed...) })
		return nil
	}
	n.lives(n.command) // its program was mapped before the watch began
	return nil
}

// lives looks up what a process has mapped that is traced: its names are wanted when it has ended, too.
func (n *resolver) lives(pid int) {
	if n.user {
		_ = n.symbols.Snapshot(pid)
	}
}

// poll takes note of what processes have mapped since the last time.
func (n *resolver) poll() {
	if n.watching {
		n.symbols.Poll()
	}
}

// UserStack names a stack, with the caller put in where the walk by frame pointers missed it.
func (n *resolver) UserStack(
	tgid uint32, point int, caller, time uint64, addrs []uint64, mode types.StackMode,
) []result.Frame {
	if len(addrs) == 0 {
		return nil
	}
	first := addrs[0]
	if n.pythonic && first&symbolize.Interpreted != 0 {
		first, point, caller = 0, -1, 0
	}
	h := n.hit(tgid, point, first)
	h.Time = time
	if caller != 0 && (len(addrs) < 2 || addrs[1] != caller) {
		addrs = slices.Insert(addrs, 1, caller)
	}
	if point >= 0 && point < len(n.points) {
		// The instruction that is probed may lie a few bytes behind the function's first.
		addrs[0] -= uint64(n.points[point].Skip)
		h.IP = addrs[0] + uint64(n.points[point].Skip)
	}
	shown := n.StackMode(mode)
	h.Sources = n.sources && (shown == result.ModeBpftrace || shown == result.ModePerf)
	if n.asking {
		n.symbols.Ask(h, n.plausible(addrs))
		return nil
	}
	start := len(n.room)
	frames := n.symbols.Stack(n.room, h, n.plausible(addrs))
	if len(n.made) > 0 && n.nameless(int(tgid), frames[start:]) {
		frames = n.symbols.Stack(frames[:start], h, n.plausible(addrs))
	}
	return n.roomFor(frames)
}

// plausible leaves out what can't be code: in programs without frame pointers the kernel's walk goes on into data.
// The first page is never mapped, and no user address has more than 47 bits (56 with five-level paging, which must be
// asked for).
func (n *resolver) plausible(addrs []uint64) []uint64 {
	for i, a := range addrs {
		if n.pythonic && a>>62 == symbolize.Interpreted>>62 && a&(1<<record.PythonIndexShift-1) >= 4096 {
			continue
		}
		if a &^= symbolize.Exact; i > 0 && (a < 4096 || a >= 1<<47) {
			return addrs[:i]
		}
	}
	return addrs
}

// Stack gives the frames of a stored stack, and when and in which process it was first seen.
func (n *resolver) Stack(id [16]byte) (frames []uint64, time uint64, tgid uint32) {
	s := n.stacks.find(id)
	return s.frames, s.time, s.tgid
}

// KernelStack names kernel frames.
func (n *resolver) KernelStack(addrs []uint64) []result.Frame {
	if n.asking {
		n.symbols.AskKernel(addrs)
		return nil
	}
	return n.roomFor(n.symbols.KernelStack(n.room, addrs))
}

// roomFor gives what was appended to the room for frames, and keeps the rest of it for the next stack.
func (n *resolver) roomFor(frames []result.Frame) []result.Frame {
	start := len(n.room)
	if n.reuses {
		n.room = frames
	}
	return slices.Clip(frames[start:])
}

// UserSymbol names a function by its address, or by the point that was hit.
func (n *resolver) UserSymbol(tgid uint32, addr uint64, point int) string {
	if point >= 0 && point < len(n.points) {
		if f := n.points[point].Func; f != "" {
			return f
		}
	}
	f := n.symbols.Symbol(n.hit(tgid, -1, 0), addr)
	if f.Symbol == "" && addr != 0 && n.watching {
		n.poll() // the record may have come before the word of what the process has mapped
		f = n.symbols.Symbol(n.hit(tgid, -1, 0), addr)
	}
	if f.Symbol == "" {
		return "0x" + strconv.FormatUint(addr, 16)
	}
	return f.Symbol
}

// KernelSymbol names a kernel address.
func (n *resolver) KernelSymbol(addr uint64) string {
	f := n.symbols.KernelSymbol(addr)
	if f.Symbol == "" {
		return "0x" + strconv.FormatUint(addr, 16)
	}
	return f.Symbol
}

// Username is a user's name, or the number.
func (n *resolver) Username(uid uint64) string {
	if name, ok := n.users.Name(uint32(uid)); ok {
		return name
	}
	return strconv.FormatUint(uid, 10)
}

// binary is the file of a point and the point's address, if the file can be read.
func (n *resolver) binary(point int) (im *image.Image, addr uint64) {
	if point < 0 || point >= len(n.points) {
		return nil, 0
	}
	p := n.points[point]
	im, ok := n.probed[p.Path]
	if !ok {
		if n.images == nil {
			return nil, 0
		}
		if opened, err := n.images.Open(p.Path); err == nil {
			im = opened
			im.FetchDebug()
		}
		n.probed[p.Path] = im
	}
	return im, p.Addr
}

// DynamicType is the type that a value has at run time, which programs of a runtime tell by the address of its
// description and those in Rust and C++ by that of a virtual table.
func (n *resolver) DynamicType(point int, delta uint64) (*types.Type, bool) {
	im, addr := n.binary(point)
	if im == nil {
		return nil, false
	}
	key := dynamicKey{im, addr + delta}
	t, ok := n.dynamic[key]
	if !ok {
		if len(n.dynamic) > 4096 { // of a hostile program
			clear(n.dynamic)
		}
		if code := n.codeAt(im, addr); code != nil {
			t, _ = code.Dynamic(key.addr)
		} else if class, ok := native.Class(im, key.addr); ok {
			t = class
		} else if name, ok := native.TraitObject(im, key.addr); ok {
			t = &types.Type{Name: name}
		}
		n.dynamic[key] = t
	}
	return t, t != nil
}

// ObjectType names the type of an object, while its process lives.
func (n *resolver) ObjectType(tgid uint32, table uint64) (string, bool) {
	t, ok := n.objects[tgid]
	if !ok {
		for _, r := range n.runtimes {
			if t == nil && r.Types != nil {
				t = r.Types(int(tgid))
			}
		}
		n.objects[tgid] = t
	}
	if t == nil {
		return "", false
	}
	return t.Name(table)
}

// givenTo is what a function is given, or gives back, if that is known.
type givenTo struct {
	list  []record.Given
	known bool
}

// Given is what the function of a point is given, or gives back, found out when it is first called.
func (n *resolver) Given(point int) ([]record.Given, bool) {
	if n.asksGiven == nil || point < 0 || point >= len(n.points) {
		return nil, false
	}
	g, ok := n.given[point]
	if !ok {
		g.list, g.known = n.asksGiven(n.points[point])
		n.given[point] = g
	}
	return g.list, g.known
}

// codeAt is the code of the runtime whose an address in an image is; nil: it is native.
func (n *resolver) codeAt(im *image.Image, addr uint64) runtimes.Code {
	codes, err := image.Tell(im, func(f *objfile.File) (codes []runtimes.Code) {
		for _, r := range n.runtimes {
			if c := r.Open(runtimes.File{Name: f.Path(), Object: f, Debug: im.Info}); c != nil {
				codes = append(codes, c)
			}
		}
		return codes
	})
	i := slices.IndexFunc(codes, func(c runtimes.Code) bool { return c.Owns(addr) })
	if err != nil || i < 0 {
		return nil
	}
	return codes[i]
}

type dynamicKey struct {
	im   *image.Image
	addr uint64
}

// Function names the function whose code is at a distance from a probe point.
func (n *resolver) Function(point int, delta uint64) string {
	im, addr := n.binary(point)
	if im != nil {
		if s, ok := im.File().Lookup(addr + delta); ok && s.Addr == addr+delta {
			return s.Name
		}
	}
	return "code outside of the program's file"
}

// CgroupPath is the path of a cgroup; filter numbers a glob on the hierarchy's name, -1: none.
func (n *resolver) CgroupPath(id uint64, filter int) string {
	glob := ""
	if filter >= 0 && filter < len(n.formats) {
		glob = n.formats[filter]
	}
	text, err := n.cgroups.Text(id, glob)
	if err != nil {
		return fmt.Sprintf("[cgroup %d: %v]", id, err)
	}
	return text
}

// Time formats a kernel time.
func (n *resolver) Time(ns uint64, of types.Clock, format int) string {
	f := ""
	if format >= 0 && format < len(n.formats) {
		f = n.formats[format]
	}
	var t time.Time
	switch of {
	case types.ClockTAI, types.ClockSwTAI:
		// TAI runs ahead of UTC by the leap seconds.
		t = time.Unix(0, int64(ns)).Add(-leapSeconds())
	case types.ClockMonotonic:
		t = n.wall.Time(ns + uint64(clock(unix.CLOCK_BOOTTIME)-clock(unix.CLOCK_MONOTONIC)))
	default:
		t = n.wall.Time(ns)
	}
	return string(result.AppendStrftime(nil, f, t))
}

func leapSeconds() time.Duration {
	return time.Duration(clock(unix.CLOCK_TAI) - clock(unix.CLOCK_REALTIME)).Round(time.Second)
}

// StackMode is how a stack is shown: as said at the place, else as configured.
func (n *resolver) StackMode(m types.StackMode) result.StackMode {
	if m == types.StackDefault {
		m = n.mode
	}
	switch m {
	case types.StackPerf:
		return result.ModePerf
	case types.StackRaw:
		return result.ModeRaw
	case types.StackBuildID:
		return result.ModeBuildID
	}
	return result.ModeBpftrace
}
