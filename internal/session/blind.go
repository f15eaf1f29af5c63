package session

import (
	"bytes"
	"context"
	"io"
	"os"
	"slices"
	"syscall"
	"time"

	"trocar/internal/binary/opener"
	"trocar/internal/process/probe"
	"trocar/internal/process/target"
	"trocar/result"
)

// Probes are in a file. A process may not run that file, though it has one of this name: an overlay file system gives a
// file that is written to another body (copy-up), and the process still maps the first. Or it comes to run another one:
// the file is replaced, the process executes a program. Then there are no events, which looks like a program that does
// nothing.

// watchEvery is how often it is looked whether what is traced has changed.
const watchEvery = time.Second

// mostChecked is how many probes of a file are looked for in the memory of a process.
const mostChecked = 4

// probeBytes is how much of the code at a probe is compared: a breakpoint has at most so many bytes.
const probeBytes = 4

// unprobed tells of files that the process maps without their probes: the memory is as in the file, where it should
// have a breakpoint. It has none once probes are detached: detached is asked after looking.
func unprobed(files []*probedFile, pid target.PID, detached func() bool, found chan<- *result.Notice) {
	maps, err := pid.Maps()
	if err != nil {
		return
	}
	mem, err := pid.Memory()
	if err != nil {
		return // not ours to look at
	}
	defer mem.Close()
	for _, f := range files {
		if f.unprobedIn(maps, mem) && !detached() {
			tell(found, &result.Notice{Blind: true, Diagnostic: result.Diagnostic{
				Severity: result.Warning,
				Text: result.Messagef("process %d runs another copy of %s, in which the probes are not: no events from there",
					pid, f.path),
				Hints: []string{"the file was written to or replaced since the process started, for example on an overlay file " +
					"system (in a container): restart the process"},
			}})
		}
	}
}

// unprobedIn tells whether none of the probes that are looked for is in the memory.
func (f *probedFile) unprobedIn(maps []target.Mapping, mem io.ReaderAt) bool {
	file, err := opener.Root{}.Open(f.path)
	if err != nil {
		return false
	}
	defer file.Close()
	checked := 0
	var there, plain [probeBytes]byte
	for _, p := range f.points[:min(mostChecked, len(f.points))] {
		if n, err := file.ReadAt(plain[:], int64(p.Offset)); n < probeBytes || err != nil {
			continue
		}
		for i := range maps {
			m := &maps[i]
			if m.Inode != f.inode && m.Path != f.path || m.Perm&target.Exec == 0 ||
				p.Offset < m.Offset || p.Offset-m.Offset+probeBytes > m.End-m.Start {
				continue
			}
			if n, _ := mem.ReadAt(there[:], int64(m.Start+p.Offset-m.Offset)); n < probeBytes {
				continue
			}
			if !bytes.Equal(there[:], plain[:]) {
				return false
			}
			checked++
		}
	}
	return checked > 0
}

// program tells one that a process executes from the next: where its code and its stack begin.
type program struct{ code, stack uint64 }

// programOf is what a process executes; zero: it cannot be told.
func programOf(pid target.PID) (p program) {
	if pid == 0 {
		return p
	}
	if st, err := pid.Living().Stat(); err == nil && !st.Dead() {
		p = program{st.StartCode, st.StartStack}
	}
	return p
}

// watch looks now and then whether files are replaced (all processes are traced), or the traced process executes
// another program than before.
func watch(ctx context.Context, files []*probedFile, pid target.PID, before program, found chan<- *result.Notice) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if pid == 0 {
			files = slices.DeleteFunc(files, func(f *probedFile) bool { return f.replaced(found) })
			if len(files) == 0 {
				return
			}
			continue
		}
		now := programOf(pid)
		if now == (program{}) {
			return // it has ended
		}
		if now == before {
			continue
		}
		before = now
		if gone := notMapped(files, pid); len(gone) > 0 {
			program, _, err := pid.Program()
			if err != nil {
				return
			}
			for _, f := range gone {
				tell(found, &result.Notice{Diagnostic: result.Diagnostic{
					Severity: result.Warning,
					Text: result.Messagef("process %d has executed %s, which has not loaded %s: no events until it does",
						pid, program, f.path),
				}})
			}
		}
	}
}

// notMapped are the files that a process has not mapped.
func notMapped(files []*probedFile, pid target.PID) (gone []*probedFile) {
	maps, err := pid.Maps()
	if err != nil {
		return nil
	}
	for _, f := range files {
		// Of some file systems the numbers of devices differ between stat and maps: the inode's must do.
		if !slices.ContainsFunc(maps, func(m target.Mapping) bool { return m.Inode == f.inode }) {
			gone = append(gone, f)
		}
	}
	return gone
}

// replaced tells of a file in whose place there is another.
func (f *probedFile) replaced(found chan<- *result.Notice) bool {
	st, err := os.Stat(f.path)
	if err != nil {
		return false // being replaced, or gone: nothing new can run it
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok || sys.Dev == f.dev && sys.Ino == f.inode {
		return false
	}
	tell(found, &result.Notice{Blind: true, Diagnostic: result.Diagnostic{
		Severity: result.Warning,
		Text:     result.Messagef("%s was replaced: no events from processes that are started from now on", f.path),
		Hints:    []string{"start the trace again"},
	}})
	return true
}

// tell gives a notice to whoever takes it. Nobody waits: what finds no room has been said often enough.
func tell(found chan<- *result.Notice, n *result.Notice) {
	select {
	case found <- n:
	default:
	}
}

// breakpoint tells whether a point is a place in a program at which it is stopped.
func breakpoint(p *probe.Point) bool {
	return p.Path != "" && p.Program() == probe.UprobeProgram
}
