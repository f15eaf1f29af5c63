package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

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
	links []*attachment
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
	b := &Breakpoint{l: l}
	a := &attacher{Loaded: l}
	for _, p := range l.programs {
		i := slices.Index(p.Points, point)
		if p.Type != probe.BreakProgram || i < 0 {
			continue
		}
		if m := l.Map(probe.BreaksName(p.Name)); m != nil {
			key, value := make([]byte, 8), make([]byte, 8)
			binary.NativeEndian.PutUint64(key, addr)
			binary.NativeEndian.PutUint64(value, cookie(p, i))
			if err := m.Put(key, value); err != nil {
				b.Close()
				return nil, err
			}
		}
		since := l.linked()
		err := a.openThreads(p, &probe.Point{Kind: probe.Watchpoint, PID: pid}, attr)
		b.own(point, since)
		if err != nil {
			b.Close()
			if errors.Is(err, unix.ENOSPC) {
				return nil, ErrNoSlot
			}
			return nil, explainPerf(&probe.Point{Kind: probe.Watchpoint, WatchMode: "x", Addr: addr, PID: pid}, err)
		}
	}
	if len(b.links) == 0 {
		return nil, fmt.Errorf("no program is loaded for %s", point.Name)
	}
	return b, nil
}

// own takes the links that were made since there were so many.
func (b *Breakpoint) own(point *probe.Point, since int) {
	b.l.mu.Lock()
	defer b.l.mu.Unlock()
	for _, link := range b.l.links[since:] {
		link.ends, link.plain = point.AtReturn, true
		b.links = append(b.links, link)
	}
}

// Close takes the breakpoint away.
func (b *Breakpoint) Close() {
	b.l.mu.Lock()
	b.l.links = slices.DeleteFunc(b.l.links, func(a *attachment) bool { return slices.Contains(b.links, a) })
	b.l.mu.Unlock()
	for _, link := range b.links {
		link.close()
	}
	b.links = nil
}

// silentBreakpoints is the error of a machine whose breakpoints open and never fire.
var silentBreakpoints = &LacksError{
	Feature: "hardware breakpoints that fire",
	Way: "the virtual machine takes them without effect (in debuggers too): use a machine with working debug " +
		"registers",
}
