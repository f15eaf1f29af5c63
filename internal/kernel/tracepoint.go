package kernel

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"trocar/internal/process/probe"
)

// tracefs is where the kernel describes its tracepoints.
type tracefs struct {
	dir string
	fd  int // of a mount of our own, else -1
}

// openTracefs takes a mount that is there, or makes one that is attached nowhere: it is seen by this descriptor only and
// ends with it.
func openTracefs() (*tracefs, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err == nil {
		for _, dir := range tracefsMounts(string(mounts)) {
			if _, err := os.Stat(filepath.Join(dir, "events")); err == nil { // not mounted over
				return &tracefs{dir, -1}, nil
			}
		}
	}
	fd, err := mountTracefs()
	switch {
	case err == nil:
		return &tracefs{"/proc/self/fd/" + strconv.Itoa(fd), fd}, nil
	case errors.Is(err, unix.ENODEV):
		return nil, &LacksError{Feature: "tracefs (CONFIG_TRACING)"}
	}
	return nil, explain("mount tracefs", err)
}

func (t *tracefs) close() {
	if t.fd >= 0 {
		unix.Close(t.fd)
	}
}

// tracefsMounts reads mountinfo (proc_pid_mountinfo(5)): mounts of the file system's root.
func tracefsMounts(mountinfo string) []string {
	var dirs []string
	for line := range strings.Lines(mountinfo) {
		before, after, ok := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if !ok || len(fields) < 5 || fields[3] != "/" || !strings.HasPrefix(after, "tracefs ") {
			continue
		}
		dirs = append(dirs, unescapeMount(fields[4]))
	}
	return dirs
}

// unescapeMount undoes mountinfo's \ooo for blanks and backslashes.
func unescapeMount(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// mountTracefs uses the calls of 5.2 that make a mount without a place.
func mountTracefs() (int, error) {
	fs, err := unix.Fsopen("tracefs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fs)
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, err
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
}

// eventID is the number by which perf knows a tracepoint.
func (a *attacher) eventID(point *probe.Point) (uint64, error) {
	if a.tracefs == nil {
		t, err := openTracefs()
		if err != nil {
			return 0, err
		}
		a.tracefs = t
	}
	if !plainName(point.Category) || !plainName(point.Event) {
		return 0, fmt.Errorf("no tracepoint %q", point.Category+":"+point.Event)
	}
	text, err := os.ReadFile(filepath.Join(a.tracefs.dir, "events", point.Category, point.Event, "id"))
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

// fentry attaches a program that was loaded for one kernel function.
func (a *attacher) fentry(p *loadedProgram, i int) error {
	prog := p.each[i]
	link, err := bpf(cmdRawTracepointOpen, &attrRawTracepoint{progFD: uint32(prog.FD())})
	runtime.KeepAlive(prog)
	if err != nil {
		return err
	}
	a.keep(link)
	return nil
}
