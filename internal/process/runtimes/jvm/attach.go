package jvm

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"trocar/internal/process/target"
)

// patience is how long the virtual machine may take for a command, the time to begin to listen included.
const patience = 2 * time.Second

// made is a perf map that was not there before.
type made struct {
	dir  *os.File // its folder, which outlives the process's
	name string
	id   target.FileID
}

// Names has the perf map written.
func (p *process) Names() error {
	if p.err != nil {
		return p.err
	}
	if p.err = p.refusal(); p.err == nil {
		p.err = p.write()
	}
	return p.err
}

// Close removes the perf map if it is still the one that was made.
func (p *process) Close() error {
	m := p.made
	if m == nil {
		return nil
	}
	p.made = nil
	defer m.dir.Close()
	var st unix.Stat_t
	if p.asked { // in vain, as it seems
		_ = unix.Unlinkat(int(m.dir.Fd()), triggerName(p.inner), 0)
	}
	err := unix.Fstatat(int(m.dir.Fd()), m.name, &st, unix.AT_SYMLINK_NOFOLLOW)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case target.FileID{Dev: st.Dev, Inode: st.Ino} != m.id:
		return nil // somebody else's
	}
	return unix.Unlinkat(int(m.dir.Fd()), m.name, 0)
}

func (p *process) write() error {
	end := time.Now().Add(patience)
	// By the handle, the signal cannot meet another process that has taken the id.
	handle, err := unix.PidfdOpen(int(p.pid), 0)
	if err != nil {
		return fmt.Errorf("process %d: %w", p.pid, err)
	}
	defer unix.Close(handle)
	st, err := readStatus(p.pid)
	if err != nil {
		return err
	}
	if own := os.Geteuid(); own != 0 && own != st.uid {
		return errors.New("the virtual machine answers its own user and root only")
	}
	dir, err := p.pid.Folder("/tmp")
	if err != nil {
		return fmt.Errorf("/tmp of process %d: %w", p.pid, err)
	}
	defer func() {
		if p.made != nil && p.made.dir == dir {
			return
		}
		if p.asked {
			p.asked = false
			_ = unix.Unlinkat(int(dir.Fd()), triggerName(p.inner), 0)
		}
		dir.Close()
	}()
	a := attempt{process: p, st: st, handle: handle, dir: dir, end: end}
	return as(st, a.run)
}

// as runs a function with the effective user and group of the virtual machine, on a thread of its own: the machine
// answers nobody else, and what is created in its /tmp must belong to it.
func as(st status, f func() error) error {
	uid, gid := os.Geteuid(), os.Getegid()
	if uid == st.uid && gid == st.gid || uid != 0 {
		return f()
	}
	done := make(chan error)
	go func() {
		// A thread whose rights could not be restored stays locked, and so ends with this goroutine.
		runtime.LockOSThread()
		err := become(st.uid, st.gid)
		if err == nil {
			err = f()
		}
		if become(uid, gid) == nil {
			runtime.UnlockOSThread()
		}
		done <- err
	}()
	return <-done
}

// become sets the effective user and group of this thread alone; the real and saved ones permit the way back. The user
// is given up last and taken back first.
func become(uid, gid int) error {
	const keep = ^uintptr(0)
	set := func(call, id uintptr) error {
		if _, _, e := unix.RawSyscall(call, keep, id, keep); e != 0 {
			return fmt.Errorf("its user's rights cannot be taken: %w", e)
		}
		return nil
	}
	if uid == 0 {
		return errors.Join(set(unix.SYS_SETRESUID, uintptr(uid)), set(unix.SYS_SETRESGID, uintptr(gid)))
	}
	if err := set(unix.SYS_SETRESGID, uintptr(gid)); err != nil {
		return err
	}
	return set(unix.SYS_SETRESUID, uintptr(uid))
}

// attempt is one command.
type attempt struct {
	*process
	st     status
	handle int
	dir    *os.File
	end    time.Time
}

func (a *attempt) run() error {
	if live, err := a.prepareMap(); live || err != nil {
		return err
	}
	conn, err := a.connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("1\x00jcmd\x00Compiler.perfmap\x00\x00\x00")); err != nil {
		return stalled(err)
	}
	reply, err := io.ReadAll(io.LimitReader(conn, maxReply))
	if err != nil {
		return stalled(err)
	}
	return parseReply(reply)
}

func stalled(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("the virtual machine did not answer within %v: is the process stopped?", patience)
	}
	return err
}

// prepareMap makes an empty perf map, so that the virtual machine writes to no file of others. live: the process has
// one open, so that it is kept up by an agent.
func (a *attempt) prepareMap() (live bool, err error) {
	name := "perf-" + strconv.Itoa(a.inner) + ".map"
	fd, err := unix.Openat(int(a.dir.Fd()), name,
		unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	var st unix.Stat_t
	if err == nil {
		defer unix.Close(fd)
		if err := unix.Fstat(fd, &st); err != nil {
			return false, err
		}
		a.made = &made{dir: a.dir, name: name, id: target.FileID{Dev: st.Dev, Inode: st.Ino}}
		return false, nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return false, fmt.Errorf("/tmp/%s cannot be created: %w", name, err)
	}
	if err := unix.Fstatat(int(a.dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return false, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || int(st.Uid) != a.st.uid {
		return false, fmt.Errorf("/tmp/%s is in the way, which is not a file of the process's user: remove it", name)
	}
	return a.pid.HasOpen(target.FileID{Dev: st.Dev, Inode: st.Ino}), nil
}

// connect has the virtual machine listen, if it does not yet.
func (a *attempt) connect() (net.Conn, error) {
	conn, err := a.dial()
	if !errors.Is(err, fs.ErrNotExist) {
		return conn, err
	}
	if !a.st.catchesQuit { // it would end by it
		return nil, errors.New("the virtual machine does not catch SIGQUIT, by which it is asked to listen: " +
			"is it just starting?")
	}
	name := triggerName(a.inner)
	fd, err := unix.Openat(int(a.dir.Fd()), name,
		unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	switch {
	case err == nil:
		unix.Close(fd)
		a.asked = true
	case !errors.Is(err, fs.ErrExist): // another tool attaches at the same time
		return nil, fmt.Errorf("/tmp/%s cannot be created: %w", name, err)
	}
	if err := unix.PidfdSendSignal(a.handle, unix.SIGQUIT, nil, 0); err != nil {
		return nil, fmt.Errorf("the virtual machine cannot be signalled: %w", err)
	}
	for {
		if conn, err = a.dial(); !errors.Is(err, fs.ErrNotExist) {
			if a.asked {
				a.asked = false
				_ = unix.Unlinkat(int(a.dir.Fd()), name, 0) // it may be gone
			}
			return conn, err
		}
		// The file stays until Close: without it, a virtual machine that gets to the signal late would print all threads.
		if time.Now().After(a.end) {
			return nil, stalled(os.ErrDeadlineExceeded)
		}
		time.Sleep(pause)
	}
}

func triggerName(inner int) string { return ".attach_pid" + strconv.Itoa(inner) }

// pause is between looks for the socket.
const pause = 2 * time.Millisecond

func (a *attempt) dial() (net.Conn, error) {
	conn, err := target.DialIn(a.dir, ".java_pid"+strconv.Itoa(a.inner), uint32(a.st.uid), a.end)
	return conn, stalled(err)
}

const maxReply = 64 << 10

// parseReply takes the status line and what was said behind it.
func parseReply(reply []byte) error {
	first, text, ok := bytes.Cut(reply, []byte("\n"))
	if !ok {
		return fmt.Errorf("the virtual machine gave no answer to Compiler.perfmap")
	}
	if string(first) == "0" {
		return nil
	}
	text, _, _ = bytes.Cut(text, []byte("\n"))
	return fmt.Errorf("the virtual machine refuses Compiler.perfmap with status %.20q: %.200q", first, text)
}
