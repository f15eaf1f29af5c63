package session

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"trocar/internal/process/probe"
	"trocar/internal/process/target"
	"trocar/result"
)

// Probes that are attached and can never be hit look like a program that does nothing. Two mistakes make them: a
// program was upgraded, and processes still run the former file; or the traced process has not loaded the library.

// findIdle finds them and sends what is to be said. Reading all processes' mappings takes too long for the way of the
// first event, so it runs beside. before is what the process (0: all are traced) executed when it was attached to.
func findIdle(
	ctx context.Context, background *sync.WaitGroup, points []*probe.Point, pid target.PID, before program,
	detached func() bool,
) <-chan *result.Notice {
	files := probedFiles(points)
	if len(files) == 0 {
		return nil
	}
	found := make(chan *result.Notice, 4*len(files)) // some for a file: nobody need wait
	background.Go(func() {
		defer close(found)
		if pid != 0 {
			unmapped(files, pid, found)
			unprobed(files, pid, detached, found)
		} else {
			replaced(ctx, files, found)
		}
		watch(ctx, files, pid, before, found)
	})
	return found
}

// probedFile is a file that has points.
type probedFile struct {
	path   string
	dev    uint64
	inode  uint64
	points []*probe.Point
	pids   []string // that run its former file
	all    int      // their number
}

// maxNamed is how many processes a message names.
const maxNamed = 3

func probedFiles(points []*probe.Point) (files []*probedFile) {
	seen := map[string]*probedFile{}
	for _, p := range points {
		if p.Path == "" || strings.Contains(p.Path, "!/") {
			continue // a library in an archive is mapped as the archive
		}
		if f, ok := seen[p.Path]; ok {
			if f != nil && breakpoint(p) && len(f.points) < mostChecked {
				f.points = append(f.points, p)
			}
			continue
		}
		seen[p.Path] = nil
		st, err := os.Stat(p.Path)
		if err != nil {
			continue
		}
		f := &probedFile{path: p.Path}
		seen[p.Path] = f
		if breakpoint(p) {
			f.points = append(f.points, p)
		}
		if abs, err := filepath.Abs(p.Path); err == nil {
			f.path = abs
		}
		if real, err := filepath.EvalSymlinks(f.path); err == nil {
			f.path = real // as mappings have it
		}
		if sys, ok := st.Sys().(*syscall.Stat_t); ok {
			f.dev, f.inode = sys.Dev, sys.Ino
		}
		files = append(files, f)
	}
	return files
}

// unmapped tells of files that the traced process has not mapped.
func unmapped(files []*probedFile, pid target.PID, found chan<- *result.Notice) {
	for _, f := range notMapped(files, pid) {
		tell(found, &result.Notice{Diagnostic: result.Diagnostic{
			Severity: result.Warning,
			Text:     result.Messagef("process %d has not loaded %s: no events until it does", pid, f.path),
			Hints:    []string{fmt.Sprintf("`grep .so /proc/%d/maps` lists what it has loaded", pid)},
		}})
	}
}

// usualMaps is enough for the text of most processes' mappings: memory for it is asked for once, and used as far as the
// largest goes.
const usualMaps = 64 << 10

// replaced tells of processes that run what a file was before it was replaced.
func replaced(ctx context.Context, files []*probedFile, found chan<- *result.Notice) {
	files = slices.DeleteFunc(slices.Clone(files), func(f *probedFile) bool { return strings.HasPrefix(f.path, "/proc/") })
	pids, err := target.All()
	if err != nil || len(files) == 0 {
		return
	}
	var maps []target.Mapping
	buf := make([]byte, 0, usualMaps)
	for _, pid := range pids {
		if ctx.Err() != nil {
			return
		}
		maps, buf, err = pid.AppendGone(maps[:0], buf)
		if err != nil {
			continue // it has ended, is the kernel's, or not ours to look at
		}
		for _, f := range files {
			if slices.ContainsFunc(maps, func(m target.Mapping) bool {
				return m.Perm&target.Exec != 0 && m.Path == f.path
			}) {
				f.add(pid)
			}
		}
	}
	for _, f := range files {
		if f.all == 0 {
			continue
		}
		who, s := "process", "s"
		if f.all > 1 {
			who, s = "processes", ""
		}
		list := strings.Join(f.pids, ", ")
		if f.all > len(f.pids) {
			list += fmt.Sprintf(" and %d more", f.all-len(f.pids))
		}
		found <- &result.Notice{Blind: true, Diagnostic: result.Diagnostic{
			Severity: result.Warning,
			Text: result.Messagef("%s %s still run%s a former file of %s, which was replaced: no events from there",
				who, list, s, f.path),
			Hints: []string{"-p PID traces the file that the process runs"},
		}}
	}
}

func (f *probedFile) add(pid target.PID) {
	f.all++
	if len(f.pids) == maxNamed {
		return
	}
	who := fmt.Sprint(pid)
	if comm, err := pid.Comm(); err == nil {
		who += " (" + comm + ")"
	}
	f.pids = append(f.pids, who)
}

// tellIdle passes on what has been found of probes that cannot be hit, or cost much.
func (s *Session) tellIdle() error {
	for _, found := range []*<-chan *result.Notice{&s.idleProbes, &s.costly, &s.renewing} {
		for more := true; more; {
			select {
			case e, ok := <-*found:
				if !ok {
					*found, more = nil, false
					continue
				}
				if err := s.emit(e); err != nil {
					return err
				}
			default:
				more = false
			}
		}
	}
	return nil
}
