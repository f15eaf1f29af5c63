package dotnet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"trocar/internal/process/runtimes"
	"trocar/internal/process/target"
)

// A perf map is switched on in the running process, which appends to the file as long as it is on. Whatever happens to
// us, the file must not stay, and the next one to come must know that it was us: so it is made before the runtime opens
// it, with a bit in its mode that means nothing to files (the sticky bit), and its name is removed as soon as the
// runtime has it open. Who uses one holds a lock on it, and the last one has it switched off.

// ours is the mark of a perf map that we have had made.
const ours = unix.S_ISVTX

// quiet is how old a process has to be before it is asked for a perf map: asked while it starts, runtimes that lack the
// fix of dotnet/runtime issue 123226 may crash.
const quiet = 500 * time.Millisecond

func (p *process) mapName() string { return "perf-" + strconv.Itoa(p.inner) + ".map" }

func (p *process) mapPath() string { return p.maps + "/" + p.mapName() }

// Names has the runtime keep up a perf map.
func (p *process) Names() error {
	if p.live || p.err != nil {
		return p.err
	}
	if p.err = p.mapRefusal(); p.err == nil && !p.env.perfMap {
		p.err = p.switchOn()
	}
	p.live = p.err == nil
	return p.err
}

// errBusy is that another one is just switching the perf map on or off.
var errBusy = errors.New("another tracer is just switching its perf map on or off")

func (p *process) switchOn() error {
	if err := p.refusal(); err != nil {
		return err
	}
	thread, _ := p.pid.Tracer()
	if by, err := target.PID(thread).Leader(); err != nil || int(by) != os.Getpid() { // else it is held behind its start
		time.Sleep(quiet - p.age())
	}
	dir, err := p.pid.Folder(p.maps)
	if err != nil {
		return fmt.Errorf("%s of process %d: %w", p.maps, p.pid, err)
	}
	defer dir.Close()
	const pause = 5 * time.Millisecond
	for end := time.Now().Add(p.patience); ; time.Sleep(pause) {
		if err := p.joinOrBegin(dir); !errors.Is(err, errBusy) || time.Now().After(end) {
			return err
		}
	}
}

// joinOrBegin uses the perf map that is on, or has one switched on.
func (p *process) joinOrBegin(dir *os.File) error {
	switch f, st, err := p.open(); {
	case err != nil:
		return err
	case f != nil && st.Mode&ours != 0: // of one that was killed, or still works
		if err := lock(f, unix.F_RDLCK); err != nil {
			f.Close()
			return errBusy
		}
		p.held = f
		return unlinkIf(dir, p.mapName(), st) // who was killed may not have come to it
	case f != nil:
		f.Close()
		return nil // somebody else's, to whom it is left
	}
	f, st, err := p.create(dir)
	if err != nil {
		return err
	}
	_, err = p.ask(enablePerfMap, perfMapOnly)
	if errors.Is(err, errUnknown) {
		err = errors.New("it takes .NET 8 or later, or a start with DOTNET_PerfMapEnabled=3")
	}
	if err == nil && !p.pid.HasOpen(target.FileID{Dev: st.Dev, Inode: st.Ino}) {
		_, _ = p.ask(disablePerfMap) // what it writes to, nobody reads
		err = errors.New("the runtime has not written its perf map to " + p.maps)
	}
	if err = errors.Join(err, unlinkIf(dir, p.mapName(), st)); err != nil {
		f.Close()
		return err
	}
	p.held = f
	return nil
}

// age is how long the process has run.
func (p *process) age() time.Duration {
	const tick = 10 * time.Millisecond // USER_HZ is 100 on all CPUs
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return 0
	}
	return time.Duration(now.Nano()) - time.Duration(p.start)*tick
}

// create makes the file that the runtime is to write to, in place of one that an ended process has left.
func (p *process) create(dir *os.File) (*os.File, *unix.Stat_t, error) {
	fd := int(dir.Fd())
	if err := p.clear(dir); err != nil {
		return nil, nil, err
	}
	at, err := unix.Openat(fd, p.mapName(), unix.O_CREAT|unix.O_EXCL|unix.O_RDWR|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, nil, errBusy
	case err != nil:
		return nil, nil, fmt.Errorf("%s cannot be created: %w", p.mapPath(), err)
	}
	var st unix.Stat_t
	f := os.NewFile(uintptr(at), p.mapPath())
	err = lock(f, unix.F_RDLCK)
	if err == nil && int(p.uid) != os.Geteuid() {
		err = unix.Fchown(at, int(p.uid), -1)
	}
	if err == nil {
		err = unix.Fchmod(at, 0o600|ours)
	}
	if err == nil {
		err = unix.Fstat(at, &st)
	}
	if err != nil {
		_ = unix.Unlinkat(fd, p.mapName(), 0)
		f.Close()
		return nil, nil, fmt.Errorf("%s: %w", p.mapPath(), err)
	}
	return f, &st, nil
}

// clear removes the perf map that an ended process of the same id has left.
func (p *process) clear(dir *os.File) error {
	at, err := unix.Openat(int(dir.Fd()), p.mapName(), unix.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var st unix.Stat_t
	if err == nil {
		f := os.NewFile(uintptr(at), p.mapPath())
		defer f.Close()
		if err = unix.Fstat(at, &st); err == nil && lock(f, unix.F_WRLCK) != nil {
			return errBusy
		}
	}
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Uid != p.uid && st.Uid != uint32(os.Geteuid()) {
		return fmt.Errorf("%s is in the way, which is not a file of the process's user: remove it", p.mapPath())
	}
	return unlinkIf(dir, p.mapName(), &st)
}

// open opens the perf map that the process has open, also without a name; nil: it has none.
func (p *process) open() (*os.File, *unix.Stat_t, error) {
	folder := fmt.Sprintf("/proc/%d/fd", p.pid)
	list, err := os.ReadDir(folder)
	if err != nil {
		return nil, nil, fmt.Errorf("what files process %d has open: %w", p.pid, err)
	}
	for _, e := range list {
		at := folder + "/" + e.Name()
		name, err := os.Readlink(at)
		if err != nil || !strings.HasSuffix(strings.TrimSuffix(name, " (deleted)"), "/"+p.mapName()) {
			continue
		}
		if st, err := os.Stat(at); err != nil || !st.Mode().IsRegular() {
			continue // opening another thing might do something
		}
		f, err := os.OpenFile(at, os.O_RDWR, 0)
		if err != nil {
			return nil, nil, fmt.Errorf("the perf map of process %d: %w", p.pid, err)
		}
		var st unix.Stat_t
		if err := unix.Fstat(int(f.Fd()), &st); err == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && st.Uid == p.uid {
			return f, &st, nil
		}
		f.Close()
	}
	return nil, nil, nil
}

// Close has the perf map switched off, unless others use it.
func (p *process) Close() error {
	if p.notes.f != nil {
		p.notes.f.Close()
		p.notes = notes{}
	}
	f := p.held
	if f == nil {
		return nil
	}
	p.held = nil
	defer f.Close()
	if lock(f, unix.F_WRLCK) != nil {
		return nil // the last one does it
	}
	if stat, err := p.pid.Stat(); err != nil || stat.Dead() || stat.Start != p.start {
		return nil
	}
	err := p.refusal()
	if err == nil {
		_, err = p.ask(disablePerfMap)
	}
	if err != nil {
		return fmt.Errorf("the perf map that it was asked for is still written, to a file without a name, until it ends or "+
			"the next run: %w", err)
	}
	return nil
}

// lock takes a lock of a file that belongs to what is open, not to a process, and is gone with it.
func lock(f *os.File, kind int16) error {
	return unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: kind, Whence: 0})
}

// unlinkIf removes a name if it is still that of a file.
func unlinkIf(dir *os.File, name string, want *unix.Stat_t) error {
	var st unix.Stat_t
	err := unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case st.Dev != want.Dev || st.Ino != want.Ino:
		return nil
	}
	return unix.Unlinkat(int(dir.Fd()), name, 0)
}

// notes is how far the perf map has been read.
type notes struct {
	f    *os.File
	at   int64
	rest []byte // of a line that is not whole yet
}

// maxNotes bounds what is read of the perf map at once, and maxLine a line.
const (
	maxNotes = 256 << 20
	maxLine  = 64 << 10
)

// Notes gives what the runtime has written to the perf map since.
func (p *process) Notes(fn func(runtimes.Note)) error {
	n := &p.notes
	if n.f == nil {
		f, _, err := p.open()
		if err != nil {
			return err
		}
		if f == nil {
			return errors.New("the runtime does not write its perf map")
		}
		n.f = f
	}
	room := make([]byte, 64<<10)
	for n.at < maxNotes {
		got, err := n.f.ReadAt(room, n.at)
		n.at += int64(got)
		for text := append(n.rest, room[:got]...); ; {
			line, rest, ok := bytes.Cut(text, []byte{'\n'})
			if !ok {
				n.rest = bytes.Clone(line[:min(len(line), maxLine)])
				break
			}
			if b, ok := note(string(line)); ok {
				fn(b)
			}
			text = rest
		}
		switch {
		case err == nil && got > 0:
		case err == nil, errors.Is(err, io.EOF):
			return nil // its end, for now
		default:
			return fmt.Errorf("its perf map cannot be read: %w", err)
		}
	}
	return fmt.Errorf("its perf map is larger than %d MB", maxNotes>>20)
}

// Note reads a line.
func (p *process) Note(line string) (runtimes.Note, bool) { return note(line) }

// Writes is the number of the perf map's file in the process.
func (p *process) Writes() (fd int, ok bool) {
	var st unix.Stat_t
	if p.notes.f == nil || unix.Fstat(int(p.notes.f.Fd()), &st) != nil {
		return 0, false
	}
	return p.pid.Descriptor(target.FileID{Dev: st.Dev, Inode: st.Ino})
}
