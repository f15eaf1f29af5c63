package target

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// PID is a process, by its id in our own PID namespace. Its methods read /proc anew at each call; errors wrap ErrGone
// when the process does not exist.
type PID int

// path is the path of a file in the process's /proc folder.
func (p PID) path(name string) string {
	return "/proc/" + strconv.Itoa(int(p)) + "/" + name
}

// Exists tells whether there is such a process (or thread), even one that has exited but is not reaped yet.
func (p PID) Exists() bool {
	if p <= 0 {
		return false
	}
	err := syscall.Kill(int(p), 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// Living is a thread under whose id /proc has the process's files: its first thread, unless that has ended before
// others. Of such a thread /proc shows no mappings, no program and no root.
func (p PID) Living() PID {
	if st, err := p.Stat(); err != nil || !st.Dead() {
		return p
	}
	threads, err := p.Threads()
	if err != nil {
		return p
	}
	for _, tid := range threads {
		if st, err := PID(tid).Stat(); err == nil && !st.Dead() {
			return PID(tid)
		}
	}
	return p
}

// Exe is the path of the process's program as its own root shows it, and whether that file has been deleted or replaced
// since.
func (p PID) Exe() (path string, deleted bool, err error) {
	path, err = os.Readlink(p.path("exe"))
	if errors.Is(err, fs.ErrNotExist) {
		if t := p.Living(); t != p {
			path, err = os.Readlink(t.path("exe"))
		}
	}
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) && p.Exists() {
			return "", false, fmt.Errorf("process %d: %w", p, ErrNoMemory)
		}
		return "", false, procError(p, "program", err)
	}
	path, deleted = strings.CutSuffix(path, deletedMark)
	return path, deleted, nil
}

// Comm is the name of the process's main thread, at most 15 bytes.
func (p PID) Comm() (string, error) {
	b, err := p.read("comm", 4096)
	return strings.TrimSuffix(string(b), "\n"), err
}

// Args is the command line, its first word included, as the process has it now.
func (p PID) Args() ([]string, error) {
	b, err := p.Living().read("cmdline", 1<<22)
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00"), nil
}

// Env is the value of a variable in the environment that the process was started with.
func (p PID) Env(name string) (string, bool, error) {
	b, err := p.Living().read("environ", 1<<22)
	if err != nil {
		return "", false, err
	}
	for len(b) > 0 {
		var kv []byte
		kv, b, _ = bytes.Cut(b, []byte{0})
		if len(kv) > len(name) && kv[len(name)] == '=' && string(kv[:len(name)]) == name {
			return string(kv[len(name)+1:]), true, nil
		}
	}
	return "", false, nil
}

// NSPIDs are the ids of the process in each PID namespace it is in, ours first, its own innermost one last.
func (p PID) NSPIDs() ([]int, error) {
	v, err := p.status("NSpid")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, f := range strings.Fields(v) {
		n, err := strconv.Atoi(f)
		if err != nil {
			return nil, fmt.Errorf("process %d: NSpid %q in its status is not a number", p, f)
		}
		pids = append(pids, n)
	}
	if len(pids) == 0 { // a kernel without PID namespaces
		pids = []int{int(p)}
	}
	return pids, nil
}

// UID is the effective user id.
func (p PID) UID() (uint32, error) {
	v, err := p.status("Uid") // real, effective, saved, file system
	if err != nil {
		return 0, err
	}
	f := strings.Fields(v)
	if len(f) < 2 {
		return 0, fmt.Errorf("process %d: no Uid in its status", p)
	}
	n, err := strconv.ParseUint(f[1], 10, 32)
	return uint32(n), err
}

// Leader is the process that a thread is of, by its first thread; of a process it is the process itself.
func (p PID) Leader() (PID, error) {
	v, err := p.status("Tgid")
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(v)
	return PID(n), err
}

// Filtered tells whether a seccomp filter decides about the process's system calls.
func (p PID) Filtered() (bool, error) {
	v, err := p.status("Seccomp")
	return v != "" && v != "0", err
}

// Tracer is the process that debugs it; 0: none.
func (p PID) Tracer() (int, error) {
	v, err := p.status("TracerPid")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(v)
}

// status is a line of /proc/PID/status, "" if there is none of this name.
func (p PID) status(name string) (string, error) {
	b, err := p.read("status", 1<<16)
	if err != nil {
		return "", err
	}
	for len(b) > 0 {
		var line []byte
		line, b, _ = bytes.Cut(b, []byte{'\n'})
		if k, v, ok := bytes.Cut(line, []byte{':'}); ok && string(k) == name {
			return string(bytes.TrimSpace(v)), nil
		}
	}
	return "", nil
}

// Threads are the ids of the process's threads, ascending.
func (p PID) Threads() ([]int, error) {
	ids, err := numbers(p.path("task"))
	if err != nil {
		return nil, procError(p, "threads", err)
	}
	return ids, nil
}

// Children are the processes that the process, any thread of it, has started and not waited for.
func (p PID) Children() ([]PID, error) {
	threads, err := p.Threads()
	if err != nil {
		return nil, err
	}
	var children []PID
	for _, tid := range threads {
		b, err := p.read("task/"+strconv.Itoa(tid)+"/children", 1<<24)
		if err != nil {
			continue // it ended meanwhile, or the kernel does not have the list (CONFIG_PROC_CHILDREN)
		}
		for _, f := range strings.Fields(string(b)) {
			if n, err := strconv.Atoi(f); err == nil && n > 0 {
				children = append(children, PID(n))
			}
		}
	}
	return children, nil
}

// Started tells whether the process has started others, as far as that can still be seen: they live, or were waited for
// since then, which is what Stat said.
func (p PID) Started(then Stat) bool {
	if s, err := p.Stat(); err == nil && s.ChildFaults > then.ChildFaults {
		return true
	}
	children, err := p.Children()
	return err == nil && len(children) > 0
}

// All are the processes that /proc shows, ascending.
func All() ([]PID, error) {
	ids, err := numbers("/proc")
	if err != nil {
		return nil, fmt.Errorf("reading the list of processes: %w", err)
	}
	pids := make([]PID, len(ids))
	for i, id := range ids {
		pids[i] = PID(id)
	}
	return pids, nil
}

// numbers are the names in a folder that are numbers.
func numbers(dir string) ([]int, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	ids := make([]int, 0, len(names))
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil && n > 0 {
			ids = append(ids, n)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// Stat is what we use of /proc/PID/stat (proc(5)).
type Stat struct {
	State byte // R S D Z T t X …
	PPID  int  // parent
	// ChildFaults are the page faults of children that ended and were waited for: each has some.
	ChildFaults uint64
	Start       uint64 // clock ticks after boot; with the id it names a process for good, whatever it executes
	// Where the program's text and the stack begin; exec gives both anew (randomly, with ASLR). 0 or 1 without the right
	// to trace the process.
	StartCode, StartStack uint64
}

// Dead tells whether the process has exited and waits for its parent.
func (s Stat) Dead() bool { return s.State == 'Z' || s.State == 'X' || s.State == 'x' }

// Stopped tells whether it waits for a signal or a debugger to go on.
func (s Stat) Stopped() bool { return s.State == 'T' || s.State == 't' }

// Stat reads /proc/PID/stat.
func (p PID) Stat() (Stat, error) {
	var room [maxStat]byte // it is asked of every process, and often
	n, err := readOnce(p.path("stat"), room[:])
	if err != nil {
		return Stat{}, procError(p, "stat", err)
	}
	s, ok := parseStat(room[:n])
	if !ok {
		return Stat{}, fmt.Errorf("process %d: its stat has an unknown form", p)
	}
	return s, nil
}

// parseStat reads the fields after the name, which is in parentheses and may contain anything, parentheses too.
func parseStat(b []byte) (Stat, bool) {
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return Stat{}, false
	}
	var s Stat
	field := 3 // by proc(5), which counts from 1
	for b = b[i+1:]; ; {
		var text []byte
		text, b = nextField(b)
		if len(text) == 0 {
			return Stat{}, false
		}
		n, err := uint64(0), error(nil)
		switch field {
		case 4, 11, 22, 26, 28:
			n, err = strconv.ParseUint(string(text), 10, 64)
		}
		if err != nil {
			return Stat{}, false
		}
		switch field {
		case 3:
			s.State = text[0]
		case 4:
			s.PPID = int(n)
		case 11:
			s.ChildFaults = n
		case 22:
			s.Start = n
		case 26:
			s.StartCode = n
		case 28:
			s.StartStack = n
			return s, true
		}
		field++
	}
}

// nextField gives the next word of b and what follows. Other than with bytes.FieldsSeq, what b is of may stay on the
// caller's stack.
func nextField(b []byte) (field, rest []byte) {
	b = bytes.TrimLeft(b, " \n")
	n := bytes.IndexAny(b, " \n")
	if n < 0 {
		n = len(b)
	}
	return b[:n], b[n:]
}

// read reads a whole file of the process's /proc folder.
func (p PID) read(name string, limit int) ([]byte, error) {
	b, err := readLimited(p.path(name), nil, limit)
	if err != nil {
		return nil, procError(p, name, err)
	}
	return b, nil
}

// maxStat is more than /proc/PID/stat has: 52 numbers of up to 20 digits, and a name.
const maxStat = 2048

// readOnce reads what one read of a file gives.
func readOnce(path string, b []byte) (int, error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer syscall.Close(fd)
	for {
		n, err := syscall.Read(fd, b)
		switch err {
		case nil:
			return n, nil
		case syscall.EINTR:
		default:
			return 0, &fs.PathError{Op: "read", Path: path, Err: err}
		}
	}
}

// readLimited appends a file's content to buf: for files of /proc, whose size is not known before. More than limit
// bytes are an error.
func readLimited(path string, buf []byte, limit int) ([]byte, error) {
	// Not os.Open: it would try to register each file with the poller.
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer syscall.Close(fd)
	return appendAll(fd, path, buf, limit)
}

func appendAll(fd int, path string, buf []byte, limit int) ([]byte, error) {
	start := len(buf)
	for {
		if cap(buf)-len(buf) < 4096 {
			buf = slices.Grow(buf, max(4096, len(buf)))
		}
		n, err := syscall.Read(fd, buf[len(buf):cap(buf)])
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return nil, &fs.PathError{Op: "read", Path: path, Err: err}
		case n <= 0:
			return buf, nil
		}
		if buf = buf[:len(buf)+n]; len(buf)-start > limit {
			return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("more than %d bytes: %w", limit,
				io.ErrShortBuffer)}
		}
	}
}
