package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"trocar/internal/binary/abi"
	"trocar/internal/process/probe"
)

// BreakpointSlots is how many breakpoints the CPUs that have them have at least: four on x86-64.
const BreakpointSlots = 4

// ErrNoSlot tells that all of the CPU's breakpoints are in use.
var ErrNoSlot = errors.New("no debug register is left")

// Breakpoint is a point on code that was made at run time.
type Breakpoint struct {
	l     *Loaded
	addr  uint64
	parts []*threaded
}

// Break puts a point on an instruction in the memory of a process, for all of its threads and those of later. It waits
// for nothing but the CPUs: threads may be held until it is done (see Feed). What is each CPU's, and not a thread's,
// would wait for all who read under RCU, as they do.
func (l *Loaded) Break(point *probe.Point, pid int, addr uint64) (*Breakpoint, error) {
	if fires, err := BreakpointsFire(); err == nil && !fires {
		return nil, silentBreakpoints
	}
	host, err := abi.Host()
	if err != nil {
		return nil, err
	}
	const execute = 4 // HW_BREAKPOINT_X
	attr := &unix.PerfEventAttr{
		Type: unix.PERF_TYPE_BREAKPOINT, Sample: 1, Bp_type: execute, Ext1: addr, Ext2: host.Watch.Exec,
		Bits: unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv,
	}
	b := &Breakpoint{l: l, addr: addr}
	a := &attacher{Loaded: l}
	for _, p := range l.programs {
		i := slices.Index(p.Points, point)
		if p.Type != probe.BreakProgram || i < 0 {
			continue
		}
		if m := l.Map(probe.BreaksName(p.Name)); m != nil {
			key, value := make([]byte, 8), make([]byte, 16)
			binary.NativeEndian.PutUint64(key, addr)
			binary.NativeEndian.PutUint64(value, cookie(p, i))
			if err := m.Put(key, value); err != nil {
				b.Close()
				return nil, err
			}
		}
		t, err := a.onThreads(p, pid, attr, attachment{ends: point.AtReturn, plain: true})
		if t != nil {
			b.parts = append(b.parts, t)
		}
		if err != nil {
			b.Close()
			if errors.Is(err, unix.ENOSPC) {
				return nil, ErrNoSlot
			}
			return nil, explainPerf(&probe.Point{Kind: probe.Watchpoint, WatchMode: "x", Addr: addr, PID: pid}, err)
		}
	}
	if len(b.parts) == 0 {
		return nil, fmt.Errorf("no program is loaded for %s", point.Name)
	}
	return b, nil
}

// Hits is how often it was come by so far, and lost how often without its program: a thread that was being made while
// it was opened may have it alone, and kernels that let others run meanwhile leave out programs.
func (b *Breakpoint) Hits() (n, lost uint64) {
	for _, t := range b.parts {
		fired := uint64(0)
		for _, link := range t.links {
			var count [8]byte
			if _, err := unix.Read(link.fds[len(link.fds)-1], count[:]); err == nil {
				fired += binary.NativeEndian.Uint64(count[:])
			}
		}
		n += fired
		key, value := make([]byte, 8), make([]byte, 16)
		binary.NativeEndian.PutUint64(key, b.addr)
		if m := b.l.Map(probe.BreaksName(t.p.Name)); m != nil && m.Get(key, value) == nil {
			if ran := binary.NativeEndian.Uint64(value[8:]); ran < fired {
				lost += fired - ran
			}
		}
	}
	return n, lost
}

// Close takes the breakpoint away.
func (b *Breakpoint) Close() {
	l := b.l
	l.mu.Lock()
	gone := map[*attachment]bool{}
	for _, t := range b.parts {
		t.until = time.Time{}
		for _, link := range t.links {
			gone[link] = true
		}
	}
	l.links = slices.DeleteFunc(l.links, func(a *attachment) bool { return gone[a] })
	l.mu.Unlock()
	for link := range gone {
		link.close()
	}
	b.parts = nil
}

// silentBreakpoints is the error of a machine whose breakpoints open and never fire.
var silentBreakpoints = &LacksError{
	Feature: "hardware breakpoints that fire",
	Way: "the virtual machine takes them without effect (in debuggers too): use a machine with working debug " +
		"registers",
}
