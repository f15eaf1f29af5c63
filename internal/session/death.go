package session

import (
	"fmt"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"trocar/internal/process/target"
	"trocar/result"
)

// faults are the signals by which a program ends that has gone wrong.
func faults() []syscall.Signal {
	return []syscall.Signal{
		unix.SIGTRAP, unix.SIGILL, unix.SIGSEGV, unix.SIGBUS, unix.SIGFPE, unix.SIGABRT, unix.SIGSYS,
	}
}

// tellDeath reports a signal that ended the process or the command while it was traced, with what the kernel's log says
// of it. It comes before the command is ended by us.
func (s *Session) tellDeath() error {
	pid := target.PID(s.in.PID)
	var exit *target.Exit
	who := fmt.Sprintf("process %d", pid)
	if s.command != nil {
		pid = s.command.PID()
		who = fmt.Sprintf("the command, process %d,", pid)
		select {
		case <-s.command.Done():
			e := s.command.Exit()
			exit = &e
		default:
		}
	}
	if len(s.held) == 1 { // of several, nobody could tell whose it is
		if e, ok := s.held[0].Exit(); ok {
			exit = &e
		}
	}
	if exit == nil || exit.Signal == 0 {
		return nil
	}
	fault := slices.Contains(faults(), exit.Signal)
	if !fault && s.caller.Err() != nil {
		return nil // who ends us by a key ends the command as well
	}
	d := result.Diagnostic{Severity: result.Info}
	d.Text = who + " was ended by " + unix.SignalName(exit.Signal)
	if exit.Core {
		d.Text += " (core dumped)"
	}
	if fault {
		d.Severity = result.Warning
		if place := target.LastFault(pid, s.began); place != "" {
			d.Text += ": " + place
		}
	}
	if exit.Signal == unix.SIGTRAP || exit.Signal == unix.SIGILL {
		d.Hints = []string{
			"code that a program copies and executes elsewhere takes the breakpoints of probes along; " +
				"docs/hazards.md says more of what probes can do to a program",
		}
	}
	return s.emit(&result.Notice{Diagnostic: d})
}
