package target

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"trocar/internal/binary/abi"
)

// ErrEnded tells that a command has ended before it was where it should be held.
var ErrEnded = errors.New("the command has ended before")

// Advance has a held process go on, and holds it where it executes the instruction at an address and here, which is
// given the first argument of the function that begins there, says so. at finds the address in what is mapped; it is
// asked when the program's libraries are there, and of each program that the process executes. Nothing is written into
// its memory: a debug register has it stop.
func (c *Child) Advance(at func() (uint64, bool), here func(arg uint64) bool) error {
	host, err := abi.Host()
	if err != nil {
		return err
	}
	if host.Watch.Debug == 0 {
		return fmt.Errorf("on %s commands cannot be held where they are under way", host)
	}
	return c.order(func() error { return c.advance(host, at, here) })
}

// order has something done by the thread that has started the process.
func (c *Child) order(do func() error) error {
	done := make(chan error)
	select {
	case c.orders <- func() { done <- do() }:
		return <-done
	case <-c.detached:
		return ErrEnded
	}
}

// AdvanceMapped has a held process go on, and holds it when its first thread has mapped a file of which here says so,
// by the name that the process has it by. It stops for each system call until then.
func (c *Child) AdvanceMapped(here func(file string) bool) error {
	return c.order(func() error { return c.advanceMapped(here) })
}

// callStop is the bit of the signal by which a stop for a system call is told (PTRACE_O_TRACESYSGOOD).
const callStop = 0x80

// call is the kernel's struct ptrace_syscall_info where a system call begins.
type call struct {
	op     uint8
	_      [3]byte
	_      uint32
	_      [2]uint64
	number uint64
	args   [6]uint64
}

func (c *Child) advanceMapped(here func(file string) bool) error {
	const begins, ends, fd = 1, 2, 4
	if err := unix.PtraceSetOptions(int(c.pid), unix.PTRACE_O_EXITKILL|unix.PTRACE_O_TRACESYSGOOD); err != nil {
		return err
	}
	file := "" // that is being mapped
	for signal := 0; ; {
		ws, err := c.next(unix.PTRACE_SYSCALL, signal)
		if err != nil {
			return err
		}
		if signal = int(ws.StopSignal()); signal == int(unix.SIGTRAP) {
			signal = 0
		}
		if signal != int(unix.SIGTRAP)|callStop {
			continue
		}
		signal = 0
		var at call
		_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(c.pid), unsafe.Sizeof(at),
			uintptr(unsafe.Pointer(&at)), 0, 0)
		switch {
		case errno != 0:
			return errno
		case at.op == begins && at.number == unix.SYS_MMAP && int32(at.args[fd]) >= 0:
			file, _ = os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", c.pid, int32(at.args[fd])))
		case at.op == ends && file != "" && here(file):
			return nil
		case at.op == ends:
			file = ""
		}
	}
}

// next lets the process go on, with a signal or 0, until it stops. One that somebody stops stays so until it is
// continued.
func (c *Child) next(request, signal int) (ws syscall.WaitStatus, err error) {
	const pause = 10 * time.Millisecond
	for {
		if ws, err = c.resume(request, signal); err != nil || !c.stoppedBySignal(ws) {
			return ws, err
		}
		for signal = 0; !c.continued(); time.Sleep(pause) {
			if c.hasEnded(unix.WNOHANG) {
				return 0, ErrEnded
			}
		}
	}
}

// stoppedBySignal tells whether a stop is that of the whole process, not that of a signal on its way (ptrace(2),
// "Group-stop").
func (c *Child) stoppedBySignal(ws syscall.WaitStatus) bool {
	switch ws.StopSignal() {
	case unix.SIGSTOP, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU:
	default:
		return false
	}
	var info unix.Siginfo
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_GETSIGINFO, uintptr(c.pid), 0,
		uintptr(unsafe.Pointer(&info)), 0, 0)
	return errno == unix.EINVAL
}

// continued tells whether a signal waits for a stopped process that has it go on, or ends it.
func (c *Child) continued() bool {
	for _, name := range []string{"SigPnd", "ShdPnd"} {
		text, err := c.pid.status(name)
		if set, _ := strconv.ParseUint(text, 16, 64); err != nil || set&(1<<(unix.SIGCONT-1)|1<<(unix.SIGKILL-1)) != 0 {
			return true
		}
	}
	return false
}

// resume is next for once.
func (c *Child) resume(request, signal int) (ws syscall.WaitStatus, err error) {
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, uintptr(request), uintptr(c.pid), 0, uintptr(signal), 0, 0)
	if errno != 0 && errno != unix.ESRCH {
		return 0, errno
	}
	var info unix.Siginfo
	err = unix.Waitid(unix.P_PID, int(c.pid), &info, unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT, nil)
	if err != nil && err != unix.EINTR {
		return 0, err
	}
	const exited, killed, dumped = 1, 2, 3
	if info.Code == exited || info.Code == killed || info.Code == dumped {
		return 0, ErrEnded
	}
	err = wait(int(c.pid), &ws, 0)
	return ws, err
}

// mostPrograms is how many programs a process executes, one after the other, that are looked at.
const mostPrograms = 16

// How a process has stopped.
type stop uint8

const (
	atPlace stop = iota
	atExec
)

// advance is Advance on the thread that has started the process.
func (c *Child) advance(host *abi.Arch, at func() (uint64, bool), here func(uint64) bool) error {
	argument, ok := host.Offset(host.C.Args[0])
	if !ok {
		return fmt.Errorf("the registers of %s are not known", host)
	}
	for range mostPrograms {
		addr, found := at()
		if !found { // the loader has not loaded the libraries yet
			entry, err := c.pid.entry()
			if err != nil {
				return err
			}
			how, err := c.runTo(host, entry)
			if err != nil {
				return err
			}
			if how == atPlace {
				addr, found = at()
			}
			if !found && how == atPlace {
				how, err = c.runTo(host, 0)
				if err != nil {
					return err
				}
			}
			if how == atExec && !found {
				continue
			}
		}
		for {
			how, err := c.runTo(host, addr)
			if err != nil {
				return err
			}
			if how == atExec {
				break
			}
			arg, err := c.peek(argument)
			if err != nil {
				return err
			}
			if here(arg) {
				return c.poke(host.Watch.Debug+8*control, 0)
			}
		}
	}
	return errors.New("the command executes too many programs one after the other")
}

// control is the number of the debug register that says what the others do.
const control = 7

// runTo lets the process go on to an address, or until it executes another program; 0: only that.
func (c *Child) runTo(host *abi.Arch, addr uint64) (stop, error) {
	enable := uint64(0)
	if addr != 0 {
		enable = 1 // the first one, for execution
	}
	if err := errors.Join(c.poke(host.Watch.Debug, addr), c.poke(host.Watch.Debug+8*control, enable)); err != nil {
		return 0, fmt.Errorf("the command cannot be held by a debug register: %w", err)
	}
	ip, ok := host.Offset(host.IP)
	if !ok {
		return 0, fmt.Errorf("the registers of %s are not known", host)
	}
	for signal := 0; ; {
		ws, err := c.next(unix.PTRACE_CONT, signal)
		if err != nil {
			return 0, err
		}
		if signal = int(ws.StopSignal()); ws.StopSignal() != unix.SIGTRAP {
			continue // its own
		}
		now, err := c.peek(ip)
		if err != nil {
			return 0, err
		}
		if addr != 0 && now == addr {
			return atPlace, nil
		}
		return atExec, nil
	}
}

// peek and poke read and write what the kernel keeps of a stopped process (struct user).
func (c *Child) peek(offset int) (uint64, error) {
	var word uint64
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_PEEKUSR, uintptr(c.pid), uintptr(offset),
		uintptr(unsafe.Pointer(&word)), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return word, nil
}

func (c *Child) poke(offset int, word uint64) error {
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_POKEUSR, uintptr(c.pid), uintptr(offset), uintptr(word), 0,
		0)
	if errno != 0 {
		return errno
	}
	return nil
}

// entry is where the program begins when its libraries are loaded.
func (p PID) entry() (uint64, error) {
	const entry = 9 // AT_ENTRY
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", p))
	if err != nil {
		return 0, err
	}
	for ; len(text) >= 16; text = text[16:] {
		if binary.NativeEndian.Uint64(text) == entry {
			return binary.NativeEndian.Uint64(text[8:]), nil
		}
	}
	return 0, fmt.Errorf("process %d has no entry point", p)
}
