package target

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"syscall"
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
	done := make(chan error)
	select {
	case c.orders <- func() { done <- c.advance(host, at, here) }:
		return <-done
	case <-c.detached:
		return ErrEnded
	}
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
		if err := unix.PtraceCont(int(c.pid), signal); err != nil && err != unix.ESRCH {
			return 0, err
		}
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, int(c.pid), &info, unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT, nil)
		if err != nil && err != unix.EINTR {
			return 0, err
		}
		const exited, killed, dumped = 1, 2, 3
		if info.Code == exited || info.Code == killed || info.Code == dumped {
			return 0, ErrEnded
		}
		var ws syscall.WaitStatus
		if err := wait(int(c.pid), &ws, 0); err != nil {
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
