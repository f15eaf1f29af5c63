package kernel

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"trocar/internal/process/probe"
	"trocar/internal/process/tracefs"
)

// trace is tracefs, opened once for a run.
func (a *attacher) trace() (*tracefs.FS, error) {
	if a.tracefs == nil {
		t, err := tracefs.Open()
		if errors.Is(err, tracefs.ErrNone) {
			return nil, &LacksError{Feature: "tracefs (CONFIG_TRACING)"}
		} else if err != nil {
			return nil, explain("open tracefs", err)
		}
		a.tracefs = t
	}
	return a.tracefs, nil
}

// eventID is the number by which perf knows a tracepoint.
func (a *attacher) eventID(point *probe.Point) (uint64, error) {
	files, err := a.trace()
	if err != nil {
		return 0, err
	}
	if !plainName(point.Category) || !plainName(point.Event) {
		return 0, fmt.Errorf("no tracepoint %q", point.Category+":"+point.Event)
	}
	text, err := files.ReadFile("events/" + point.Category + "/" + point.Event + "/id")
	switch {
	case errors.Is(err, os.ErrNotExist):
		return 0, fmt.Errorf("this kernel has no tracepoint %s:%s", point.Category, point.Event)
	case err != nil:
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
}

func plainName(s string) bool {
	return s != "" && s != "." && s != ".." && !strings.ContainsAny(s, "/\x00")
}

// tracepoint attaches by a perf event on one CPU: programs run whatever the CPU.
func (a *attacher) tracepoint(p *loadedProgram, i int) error {
	point := p.Points[i]
	id, err := a.eventID(point)
	if err != nil {
		return err
	}
	attr := &unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Config: id, Sample: 1}
	event, err := openPerf(attr, -1, 0)
	if err != nil {
		return err
	}
	if err := a.setBPF(event, p.prog.FD(), 0); err != nil {
		unix.Close(event)
		if errors.Is(err, unix.EACCES) {
			return fmt.Errorf("the program reads beyond the record of tracepoint %s:%s", point.Category, point.Event)
		}
		return err
	}
	return nil
}

func (a *attacher) rawTracepoint(p *loadedProgram, i int) error {
	name := target(p.Points[i])
	link, err := bpf(cmdRawTracepointOpen, &attrRawTracepoint{name: pointer(cString(name)), progFD: uint32(p.prog.FD())})
	runtime.KeepAlive(p)
	switch {
	case errors.Is(err, unix.ENOENT):
		return fmt.Errorf("this kernel has no raw tracepoint %q", name)
	case errors.Is(err, unix.EINVAL):
		return fmt.Errorf("the program uses more arguments than the raw tracepoint %s has", name)
	case err != nil:
		return err
	}
	a.keep(link)
	return nil
}

// kprobe attaches to a kernel function by a perf event.
func (a *attacher) kprobe(p *loadedProgram, i int) error {
	point := p.Points[i]
	pmu, err := a.pmuType("kprobe")
	if err != nil {
		return err
	}
	name := cString(target(point))
	attr := &unix.PerfEventAttr{Type: pmu, Ext1: uint64(uintptr(pointer(name))), Ext2: point.Offset}
	if target(point) == "" { // by address
		attr.Ext1, attr.Ext2 = 0, point.Addr
	}
	if p.Return {
		attr.Config |= 1
	}
	event, err := openPerf(attr, -1, 0)
	runtime.KeepAlive(name)
	if err != nil {
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("the kernel has no function %q that can be probed", target(point))
		}
		return err
	}
	if err := a.setBPF(event, p.prog.FD(), cookie(p, i)); err != nil {
		unix.Close(event)
		return err
	}
	return nil
}
