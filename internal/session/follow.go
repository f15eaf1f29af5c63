package session

import (
	"context"
	"slices"

	"trocar/internal/compile/record"
	"trocar/internal/kernel"
	"trocar/internal/process/probe"
	"trocar/internal/process/target"
	"trocar/result"
)

// follow begins to follow the process or command and what it starts. It comes before the probes, so that all are
// known that may hit one.
func (s *Session) follow() error {
	pid := s.in.PID
	if s.command != nil {
		pid = int(s.command.PID())
	}
	if s.command == nil && pid != 0 {
		s.before, _ = target.PID(pid).Stat()
	}
	if !s.in.Follow || pid == 0 {
		return nil
	}
	var first *kernel.Namespaced
	if ns := s.in.Namespace; ns != nil {
		first = &kernel.Namespaced{Dev: ns.Dev, Ino: ns.Ino, PID: pid}
	}
	var err error
	if s.descendants, err = s.kernel.Programs.Follow(record.FollowName, first); err != nil {
		return err
	}
	if first != nil {
		if s.command == nil {
			return s.notice(result.Info,
				"in this PID namespace, processes that process %d started before are not followed", pid)
		}
		return nil
	}
	s.descendants.Add(pid)
	if s.command == nil {
		s.seed()
	}
	return nil
}

// seed adds what the process had started before. What is started meanwhile is added by the kernel if its parent has
// been, so the list is read again until it brings nothing new.
func (s *Session) seed() {
	for found := true; found; {
		found = false
		all, err := target.All()
		if err != nil {
			return
		}
		for _, pid := range all {
			if s.descendants.Has(int(pid)) {
				continue
			}
			before, err := pid.Stat()
			if err != nil || before.Dead() || !s.descendants.Has(before.PPID) {
				continue
			}
			s.descendants.Add(int(pid))
			found = true
			s.names.lives(int(pid))
			if after, err := pid.Stat(); err != nil || after.Start != before.Start {
				s.descendants.Remove(int(pid)) // the id became another's meanwhile
			}
		}
	}
}

// waitDescendants returns when no process that is followed is left, or ctx is done.
func (s *Session) waitDescendants(ctx context.Context) {
	if s.descendants == nil || s.in.Namespace != nil {
		return // the ids of the others are not known here
	}
	for ctx.Err() == nil {
		all, err := target.All()
		if err != nil {
			return
		}
		alive := target.PID(0)
		for _, pid := range all {
			if !s.descendants.Has(int(pid)) {
				continue
			}
			if now, err := pid.Stat(); err == nil && !now.Dead() {
				alive = pid
				break
			}
		}
		if alive == 0 {
			return
		}
		h := target.Hold(alive)
		h.Wait(ctx)
		h.Close()
	}
}

// unfollowed tells of processes that were started and are not traced. It comes while the process's id is its own.
func (s *Session) unfollowed() error {
	pid, forked := s.in.PID, false
	python := slices.ContainsFunc(s.in.Points, func(p *probe.Point) bool { return p.Interpreted != nil })
	switch {
	case s.in.Follow && !python && s.made == nil, len(s.in.Others) > 0:
		return nil
	case s.command != nil:
		pid = int(s.command.PID())
		select {
		case <-s.command.Done():
			forked = s.command.Exit().Forked
		default:
			forked = s.command.PID().Started(target.Stat{})
		}
	case pid != 0:
		forked = target.PID(pid).Started(s.before)
	}
	if !forked {
		return nil
	}
	if s.in.Follow && !python {
		return s.notice(result.Warning, "methods that are compiled at run time were traced in process %d only, not in its "+
			"child processes: name these with -p", pid)
	}
	if s.in.Follow {
		return s.notice(result.Info, "Python functions of child processes were traced in those that are forks of "+
			"process %d, not in those that run Python anew (subprocess, multiprocessing's spawn and forkserver): "+
			"name these with -p", pid)
	}
	return s.notice(result.Info,
		"only process %d was traced, not its child processes: --follow traces them too", pid)
}

// hold holds on to the processes that are traced. It comes before they can be told that they are: from then on they may
// end at any moment, and be gone.
func (s *Session) hold() {
	if s.in.PID == 0 {
		return
	}
	for _, pid := range append([]int{s.in.PID}, s.in.Others...) {
		s.held = append(s.held, target.Hold(target.PID(pid)))
	}
}

// endWithTarget ends the run with the command or the process, and with what they started if that is followed.
func (s *Session) endWithTarget(ctx context.Context, cancel func()) {
	if s.command != nil {
		done := s.command.Done()
		s.background.Go(func() {
			select {
			case <-done:
				s.waitDescendants(ctx)
				cancel()
			case <-ctx.Done():
			}
		})
	}
	if len(s.held) > 0 {
		s.background.Go(func() {
			for _, h := range s.held {
				h.Wait(ctx)
			}
			s.waitDescendants(ctx)
			cancel()
		})
	}
}
