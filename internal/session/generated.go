package session

import (
	"errors"
	"time"

	"trocar/internal/process/runtimes"
	"trocar/result"
)

// generated is a runtime at work in a process, whose code has names that the runtime must be asked for.
type generated struct {
	pid   int
	at    runtimes.Process
	asked time.Time
	mute  bool // it was asked in vain
}

// running is the process in which runtimes are at work by now, and may be asked; 0: there is none in particular.
func (s *Session) running() int { return max(s.in.PID, s.in.Advanced) }

// runtimesAtWork looks for runtimes in the processes that are traced, and says what call stacks will lack of their
// functions. Only processes that were named are asked for anything.
func (s *Session) runtimesAtWork() error {
	n := s.names
	if !n.user || s.in.DryRun || s.in.Mode != Trace || s.running() == 0 {
		return nil
	}
	for _, pid := range append([]int{s.running()}, s.in.Others...) {
		for _, r := range n.runtimes {
			if r.Inside == nil {
				continue
			}
			at := r.Inside(pid)
			if at == nil {
				continue
			}
			g := generated{pid: pid, at: at, asked: time.Now()}
			if err := at.Names(); err != nil {
				g.mute = true
				if err := s.notice(result.Warning, "process %d: %s functions have no names in call stacks: %v",
					pid, r.Name, err); err != nil {
					return err
				}
			}
			n.made = append(n.made, g)
			if why := at.About().Stacks; why != "" && s.in.Script.Stacks() {
				if err := s.notice(result.Info, "process %d: %s", pid, why); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// rename asks for the names of what was made since. What goes wrong now was told at the beginning, or the process is at
// its end: then the names are those of before.
func (n *resolver) rename() {
	for i := range n.made {
		n.renew(&n.made[i])
	}
}

func (n *resolver) renew(g *generated) {
	if g.mute {
		return
	}
	g.asked = time.Now()
	if g.at.Names() != nil {
		g.mute = true
		return
	}
	n.symbols.Renamed(g.pid)
}

// renewEvery is how often a runtime is asked at most for names that are missing while the run lasts.
const renewEvery = time.Second

// nameless asks for names if a stack of a process lacks some; true: it did.
func (n *resolver) nameless(pid int, frames []result.Frame) bool {
	for i := range n.made {
		g := &n.made[i]
		if g.pid != pid || g.mute || time.Since(g.asked) < renewEvery {
			continue
		}
		for j := range frames {
			if f := &frames[j]; f.Symbol == "" && f.Module == "" {
				n.renew(g)
				return true
			}
		}
	}
	return false
}

// takeBack removes what runtimes have written for us, and has them stop.
func (n *resolver) takeBack(tell func(pid int, err error) error) error {
	made := n.made
	n.made = nil
	var errs []error
	for _, g := range made {
		if err := g.at.Close(); err != nil && tell != nil {
			errs = append(errs, tell(g.pid, err))
		}
	}
	return errors.Join(errs...)
}

// leaveRuntimes takes back what the runtimes do for us, and tells what they still do.
func (s *Session) leaveRuntimes() error {
	return s.names.takeBack(func(pid int, err error) error {
		return s.notice(result.Warning, "process %d: %v", pid, err)
	})
}

// readable is what people read of a name in a perf map, whichever runtime has written it.
func readable(all []runtimes.Runtime) func(string) string {
	return func(name string) string {
		for i := range all {
			if all[i].Readable == nil {
				continue
			}
			if text, ok := all[i].Readable(name); ok {
				return text
			}
		}
		return name
	}
}
