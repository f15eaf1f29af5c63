package kernel

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"trocar/internal/binary/abi"
	"trocar/internal/process/probe"
)

// perfEvent attaches a point that is one of perf's own events: timers, software and hardware events, breakpoints.
func (a *attacher) perfEvent(p *loadedProgram, i int) error {
	point := p.Points[i]
	attr, err := perfAttr(point)
	if err != nil {
		return err
	}
	breaks := point.Kind.Breaks()
	if breaks {
		// A breakpoint that opens and never fires would be a silent gap. What the kernel refuses is explained below.
		if fires, err := BreakpointsFire(); err == nil && !fires {
			return silentBreakpoints
		}
	}
	if !breaks {
		return explainPerf(point, a.openEverywhere(p, point, attr, attachment{}))
	}
	err = a.openEverywhere(p, point, attr, attachment{watch: point, event: attr})
	if err != nil {
		a.unlink(func(link *attachment) bool { return link.watch == point }) // not on some of the threads
	}
	return explainPerf(point, err)
}

// perfAttr describes the event of a point.
func perfAttr(point *probe.Point) (*unix.PerfEventAttr, error) {
	attr := &unix.PerfEventAttr{}
	switch point.Kind {
	case probe.Interval, probe.Profile:
		attr.Type = unix.PERF_TYPE_SOFTWARE
		attr.Config = unix.PERF_COUNT_SW_CPU_CLOCK
		attr.Sample = point.Period
		if point.Freq != 0 {
			attr.Sample = point.Freq
			attr.Bits |= unix.PerfBitFreq
		}
		if attr.Sample == 0 {
			return nil, errors.New("a period of 0")
		}
	case probe.Software, probe.Hardware:
		attr.Type = unix.PERF_TYPE_SOFTWARE
		if point.Kind == probe.Hardware {
			attr.Type = unix.PERF_TYPE_HARDWARE
		}
		attr.Config = point.Config
		attr.Sample = max(point.Period, 1)
	case probe.Watchpoint, probe.Method, probe.MethodReturn:
		if err := breakpoint(attr, point); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("%s probes are no perf events", point.Kind)
	}
	return attr, nil
}

// breakpoint describes a hardware breakpoint. The CPU's rules (debug registers of 1, 2, 4, 8 bytes, aligned, of which
// some cannot watch only reads) are checked here, because the kernel only says EINVAL.
func breakpoint(attr *unix.PerfEventAttr, point *probe.Point) error {
	const read, write, execute = 1, 2, 4 // HW_BREAKPOINT_*
	attr.Type = unix.PERF_TYPE_BREAKPOINT
	attr.Sample = 1
	mode := point.WatchMode
	if point.Kind.OfMethod() && mode == "" {
		mode = "x"
	}
	for _, c := range mode {
		switch c {
		case 'r':
			attr.Bp_type |= read
		case 'w':
			attr.Bp_type |= write
		case 'x':
			attr.Bp_type |= execute
		default:
			return fmt.Errorf("unknown watchpoint mode %q: use r, w, x", c)
		}
	}
	host, err := abi.Host()
	if err != nil {
		return err
	}
	length := uint64(point.WatchLen)
	switch {
	case attr.Bp_type == 0:
		return errors.New("a watchpoint needs a mode: r, w, x")
	case attr.Bp_type&execute != 0 && attr.Bp_type != execute:
		return errors.New("a watchpoint for execution cannot watch data as well: use x alone")
	case attr.Bp_type == read && !host.Watch.ReadAlone:
		return errors.New("this CPU cannot watch only reads: use rw")
	case attr.Bp_type == execute:
		length = host.Watch.Exec
	case length != 1 && length != 2 && length != 4 && length != 8:
		return fmt.Errorf("a watchpoint covers 1, 2, 4 or 8 bytes, not %d", length)
	case point.Addr%length != 0:
		return fmt.Errorf("a watchpoint of %d bytes must be aligned to %d bytes, which %#x is not", length, length,
			point.Addr)
	}
	attr.Ext1 = breakpointAt(point.Addr)
	attr.Ext2 = length
	return nil
}

// breakpointAt is where a breakpoint is put that is wanted at an address: nothing is ever executed at the lowest ones.
func breakpointAt(addr uint64) uint64 {
	const nowhere = 8
	if addr == 0 {
		return nowhere
	}
	return addr
}

// openEverywhere opens an event where it is wanted: an interval on one CPU, events of a process on each of its threads
// (children that these make inherit it), all else on each CPU.
// The links are like one that is given.
func (a *attacher) openEverywhere(
	p *loadedProgram, point *probe.Point, attr *unix.PerfEventAttr, like attachment,
) error {
	if point.PID != 0 && point.Kind != probe.Interval {
		return a.openThreads(p, point.PID, attr, like)
	}
	cpus, err := onlineCPUs()
	if err != nil {
		return err
	}
	if point.Kind == probe.Interval {
		cpus = cpus[:1]
	}
	var links int
	for _, cpu := range cpus {
		_, err = a.openOne(p, attr, -1, cpu, like)
		if errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENXIO) {
			continue // went offline meanwhile
		}
		if err != nil {
			return err
		}
		links++
	}
	if links == 0 {
		return err
	}
	return nil
}

func (a *attacher) openOne(
	p *loadedProgram, attr *unix.PerfEventAttr, pid, cpu int, like attachment,
) (*attachment, error) {
	event, err := openPerf(attr, pid, cpu)
	if err != nil {
		return nil, err
	}
	link := like
	if like.idle {
		link.fds, err = []int{event}, unix.IoctlSetInt(event, unix.PERF_EVENT_IOC_SET_BPF, p.prog.FD())
	} else {
		link.fds, err = a.runAt(event, p.prog.FD(), 0)
	}
	if err != nil {
		unix.Close(event)
		return nil, err
	}
	a.add(&link)
	return &link, nil
}

func explainPerf(point *probe.Point, err error) error {
	var errno unix.Errno
	if err == nil || !errors.As(err, &errno) {
		return err
	}
	breaks := point.Kind.Breaks()
	switch {
	case errno == unix.ESRCH:
		return fmt.Errorf("process %d has ended", point.PID)
	case breaks && errno == unix.ENOSPC:
		return errors.New("no debug register is left: the CPU has four, shared with debuggers and perf")
	case point.Kind == probe.Watchpoint && errno == unix.EINVAL:
		return fmt.Errorf("the kernel refused a watchpoint of %d bytes, mode %s, at %#x", point.WatchLen, point.WatchMode,
			point.Addr)
	case breaks && (errno == unix.EOPNOTSUPP || errno == unix.ENODEV || errno == unix.ENOENT):
		return &LacksError{Feature: "hardware breakpoints", Way: "the CPU or the virtual machine has none"}
	case point.Kind == probe.Hardware && (errno == unix.ENOENT || errno == unix.EOPNOTSUPP || errno == unix.ENODEV):
		return &LacksError{Feature: "this hardware counter", Way: "the CPU or the virtual machine does not have it; " +
			"software:cpu-clock works everywhere"}
	case point.Freq != 0 && errno == unix.EINVAL:
		if limit := maxSampleRate(); limit != 0 && point.Freq > limit {
			return fmt.Errorf("%d hertz are more than the kernel allows (%d); raise it with sysctl "+
				"kernel.perf_event_max_sample_rate=%d", point.Freq, limit, point.Freq)
		}
	}
	return err
}

func maxSampleRate() uint64 {
	text, err := os.ReadFile("/proc/sys/kernel/perf_event_max_sample_rate")
	if err != nil {
		return 0
	}
	n, _ := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	return n
}
