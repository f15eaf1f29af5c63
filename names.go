package trocar

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
	"trocar/internal/compile/record"
	"trocar/internal/process/probe"
	"trocar/internal/process/runtimes/golang"
	"trocar/internal/process/symbolize"
	"trocar/internal/process/target"
	"trocar/result"
)

func duration(ns uint64) time.Duration { return time.Duration(ns) }

func byName(all []record.Storage) []record.Storage {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b record.Storage) int { return cmp.Compare(a.Map.Name, b.Map.Name) })
	return sorted
}

// names gives names to the numbers in records (record.Resolver).
type names struct {
	r        *run
	symbols  *symbolize.Symbolizer
	users    target.Users
	cgroups  target.Cgroups
	files    map[string]*symbolize.File        // probed ones
	programs map[*objfile.File]*golang.Program // of goFiles
	goFiles  map[string]*objfile.File          // probed ones whose types were asked for; nil: cannot be read
	debug    map[string]*debuginfo.Info        // of probed files whose virtual tables were asked for; nil: there is none
	opened   []*objfile.File                   // that debug is of
	dynamic  map[dynamicKey]*types.Type        // nil: it is not known
	watching bool
	start    uint64 // boot clock when the run began
	tai      uint64 // TAI minus the boot clock
}

func newNames(r *run) *names {
	n := &names{
		r: r, files: map[string]*symbolize.File{}, goFiles: map[string]*objfile.File{}, programs: map[*objfile.File]*golang.Program{}, debug: map[string]*debuginfo.Info{},
		dynamic: map[dynamicKey]*types.Type{},
	}
	n.symbols = symbolize.New(symbolize.Options{Mangled: !r.typed.Config.CPPDemangle})
	boot, tai := clock(unix.CLOCK_BOOTTIME), clock(unix.CLOCK_TAI)
	n.start, n.tai = uint64(boot), uint64(tai-boot)
	return n
}

func clock(id int32) int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(id, &ts); err != nil {
		return 0
	}
	return ts.Nano()
}

func (n *names) close() {
	n.symbols.Close()
	for _, info := range n.debug {
		if info != nil {
			info.Close()
		}
	}
	for _, f := range n.opened {
		f.Close()
	}
	for _, f := range n.goFiles {
		if f != nil {
			f.Close()
		}
	}
}

// hit says where a point was hit, so that the file is found also in a process that has ended.
func (n *names) hit(tgid uint32, point int, ip uint64) symbolize.Hit {
	h := symbolize.Hit{PID: int(tgid)}
	if point < 0 || point >= len(n.r.code.Points) {
		return h
	}
	p := n.r.code.Points[point]
	if p.Kind != probe.Uprobe && p.Kind != probe.USDT && !p.AtReturn {
		return h
	}
	f := n.file(p)
	h.File, h.Offset, h.IP = f, p.Offset, ip
	return h
}

// file is the probed file of a point.
func (n *names) file(p *probe.Point) *symbolize.File {
	f := n.files[p.Path]
	if f == nil {
		f = n.symbols.Probed(p.Path)
		n.files[p.Path] = f
	}
	return f
}

// prepare looks at what names will be needed of, while it is there: probed files may be gone at the end, and so may the
// processes. An error is one of the watch: then processes that end soon have poorer names.
func (n *names) prepare(ctx context.Context) error {
	user, kern := n.r.code.Names()
	if kern {
		go n.symbols.LoadKernel()
	}
	if !user {
		return nil
	}
	var files []*symbolize.File
	for _, p := range n.r.code.Points {
		if p.Kind == probe.Uprobe || p.Kind == probe.Uretprobe || p.Kind == probe.USDT {
			if n.files[p.Path] == nil {
				files = append(files, n.file(p))
			}
		}
	}
	if pid := n.r.Program.opts.PID; pid != 0 {
		// Without mappings there are no names; who asked for a process that is gone was told already.
		_ = n.symbols.Snapshot(pid)
		return nil
	}
	n.watching = true
	if err := n.symbols.Watch(); err != nil {
		n.watching = false
		return err
	}
	if n.r.child == nil {
		go n.symbols.SnapshotRunning(ctx, files...)
		return nil
	}
	// Its program was mapped before the watch began.
	_ = n.symbols.Snapshot(int(n.r.child.PID()))
	return nil
}

// poll takes note of what processes have mapped since the last time.
func (n *names) poll() {
	if n.watching {
		n.symbols.Poll()
	}
}

// UserStack names a stack, with the caller put in where the walk by frame pointers missed it.
func (n *names) UserStack(tgid uint32, point int, caller uint64, addrs []uint64, mode types.StackMode) []result.Frame {
	if len(addrs) == 0 {
		return nil
	}
	h := n.hit(tgid, point, addrs[0])
	if caller != 0 && (len(addrs) < 2 || addrs[1] != caller) {
		addrs = slices.Insert(addrs, 1, caller)
	}
	if point >= 0 && point < len(n.r.code.Points) {
		// The instruction that is probed may lie a few bytes behind the function's first.
		addrs[0] -= uint64(n.r.code.Points[point].Skip)
		h.IP = addrs[0] + uint64(n.r.code.Points[point].Skip)
	}
	return n.symbols.Stack(nil, h, plausible(addrs))
}

// plausible leaves out what can't be code: in programs without frame pointers the kernel's walk goes on into data. The first
// page is never mapped, and no user address has more than 47 bits (56 with five-level paging, which must be asked for).
func plausible(addrs []uint64) []uint64 {
	for i, a := range addrs {
		if i > 0 && (a < 4096 || a >= 1<<47) {
			return addrs[:i]
		}
	}
	return addrs
}

// KernelStack names kernel frames.
func (n *names) KernelStack(addrs []uint64) []result.Frame { return n.symbols.KernelStack(nil, addrs) }

// UserSymbol names a function by its address, or by the point that was hit.
func (n *names) UserSymbol(tgid uint32, addr uint64, point int) string {
	if point >= 0 && point < len(n.r.code.Points) {
		if f := n.r.code.Points[point].Func; f != "" {
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
func (n *names) KernelSymbol(addr uint64) string {
	f := n.symbols.KernelSymbol(addr)
	if f.Symbol == "" {
		return "0x" + strconv.FormatUint(addr, 16)
	}
	return f.Symbol
}

// Username is a user's name, or the number.
func (n *names) Username(uid uint64) string {
	if name, ok := n.users.Name(uint32(uid)); ok {
		return name
	}
	return strconv.FormatUint(uid, 10)
}

// goFile is the file of a point and the point's address, if the file can be read.
func (n *names) goFile(point int) (f *objfile.File, addr uint64) {
	if point < 0 || point >= len(n.r.code.Points) {
		return nil, 0
	}
	p := n.r.code.Points[point]
	f, ok := n.goFiles[p.Path]
	if !ok {
		if opened, err := objfile.Open(p.Path); err == nil {
			f = opened
		}
		n.goFiles[p.Path] = f
	}
	return f, p.Addr
}

// DynamicType is the type that a value has at run time, which a Go program tells by the address of its description and one in
// Rust by that of a virtual table.
func (n *names) DynamicType(point int, delta uint64) (*types.Type, bool) {
	f, addr := n.goFile(point)
	if f == nil {
		return nil, false
	}
	key := dynamicKey{f, addr + delta}
	t, ok := n.dynamic[key]
	if !ok {
		if len(n.dynamic) > 4096 { // of a hostile program
			clear(n.dynamic)
		}
		if in, _ := f.GoCode(addr); in {
			if n.programs[f] == nil {
				n.programs[f] = golang.Open(f)
			}
			t, _ = n.programs[f].Dynamic(key.addr)
		} else if name, ok := n.traitObject(n.r.code.Points[point].Path, key.addr); ok {
			t = &types.Type{Name: name}
		}
		n.dynamic[key] = t
	}
	return t, t != nil
}

type dynamicKey struct {
	f    *objfile.File
	addr uint64
}

// Function names the function of a Go program whose code is at a distance from a probe point.
func (n *names) Function(point int, delta uint64) string {
	f, addr := n.goFile(point)
	if f != nil {
		if s, ok := f.Lookup(addr + delta); ok && s.Addr == addr+delta {
			return s.Name
		}
	}
	return "code outside of the program's file"
}

// traitObject names the type of a Rust program that has a virtual table at an address.
func (n *names) traitObject(path string, addr uint64) (string, bool) {
	info, ok := n.debug[path]
	if !ok {
		if f, err := objfile.Open(path); err == nil {
			f.SearchDebug(n.r.Program.opts.DebugDirs...)
			if info, err = debuginfo.Open(f); err != nil {
				info = nil
			}
			n.opened = append(n.opened, f)
		}
		n.debug[path] = info
	}
	if info == nil {
		return "", false
	}
	all, err := info.VTable(addr)
	if err != nil {
		return "", false
	}
	return strings.Join(all, " or "), true
}

// CgroupPath is the path of a cgroup; filter numbers a glob on the hierarchy's name, -1: none.
func (n *names) CgroupPath(id uint64, filter int) string {
	glob := ""
	if filter >= 0 && filter < len(n.r.code.Formats) {
		glob = n.r.code.Formats[filter]
	}
	text, err := n.cgroups.Text(id, glob)
	if err != nil {
		return fmt.Sprintf("[cgroup %d: %v]", id, err)
	}
	return text
}

// Time formats a kernel time.
func (n *names) Time(ns uint64, of types.Clock, format int) string {
	f := ""
	if format >= 0 && format < len(n.r.code.Formats) {
		f = n.r.code.Formats[format]
	}
	var t time.Time
	switch of {
	case types.ClockTAI, types.ClockSwTAI:
		// TAI runs ahead of UTC by the leap seconds.
		t = time.Unix(0, int64(ns)).Add(-leapSeconds())
	case types.ClockMonotonic:
		t = n.r.wall.Time(ns + uint64(clock(unix.CLOCK_BOOTTIME)-clock(unix.CLOCK_MONOTONIC)))
	default:
		t = n.r.wall.Time(ns)
	}
	return string(result.AppendStrftime(nil, f, t))
}

func leapSeconds() time.Duration {
	return time.Duration(clock(unix.CLOCK_TAI) - clock(unix.CLOCK_REALTIME)).Round(time.Second)
}

// StackMode is how a stack is shown: as said at the place, else as configured.
func (n *names) StackMode(m types.StackMode) result.StackMode {
	if m == types.StackDefault {
		m = n.r.typed.Config.StackMode
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
