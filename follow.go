package trocar

import (
	"context"

	"trocar/internal/compile/record"
	"trocar/internal/kernel"
	"trocar/internal/process/match"
	"trocar/internal/process/probe"
	"trocar/internal/process/target"
	"trocar/result"
)

// everywhere makes points of one process those of all: which processes count is then found out where they are hit. A
// watchpoint stays with its process, whose addresses it goes by, and those that this makes inherit it.
func everywhere(r *match.Result) {
	for _, p := range r.Points() {
		if p.Kind != probe.Watchpoint {
			p.PID = 0
		}
	}
}

// follow begins to follow the process or command and what it starts. It comes before the probes, so that all are known that
// may hit one.
func (r *run) follow() error {
	pid := r.Program.opts.PID
	if r.child != nil {
		pid = int(r.child.PID())
	}
	if r.child == nil && pid != 0 {
		r.before, _ = target.PID(pid).Stat()
	}
	if !r.Program.opts.Follow || pid == 0 {
		return nil
	}
	var first *kernel.Namespaced
	if r.ns != nil {
		first = &kernel.Namespaced{Dev: r.ns.Dev, Ino: r.ns.Ino, PID: pid}
	}
	var err error
	if r.family, err = r.loaded.Follow(record.FollowName, first); err != nil {
		return err
	}
	if first != nil {
		if r.child == nil {
			return r.notice(result.Info,
				"in a PID namespace of our own, of what process %d had started before nothing is followed", pid)
		}
		return nil
	}
	r.family.Add(pid)
	if r.child == nil {
		r.adopt()
	}
	return nil
}

// adopt adds what the process had started before. What is started meanwhile is added by the kernel if its parent has been,
// so the list is read again until it brings nothing new.
func (r *run) adopt() {
	for found := true; found; {
		found = false
		all, err := target.All()
		if err != nil {
			return
		}
		for _, pid := range all {
			if r.family.Has(int(pid)) {
				continue
			}
			before, err := pid.Stat()
			if err != nil || before.Dead() || !r.family.Has(before.PPID) {
				continue
			}
			r.family.Add(int(pid))
			found = true
			if after, err := pid.Stat(); err != nil || after.Start != before.Start {
				r.family.Remove(int(pid)) // the id became another's meanwhile
			}
		}
	}
}

// waitFamily returns when no process that is followed is left, or ctx is done.
func (r *run) waitFamily(ctx context.Context) {
	if r.ns != nil {
		return // the ids of the others are not known here
	}
	for ctx.Err() == nil {
		all, err := target.All()
		if err != nil {
			return
		}
		alive := target.PID(0)
		for _, pid := range all {
			if !r.family.Has(int(pid)) {
				continue
			}
			if s, err := pid.Stat(); err == nil && !s.Dead() {
				alive = pid
				break
			}
		}
		if alive == 0 {
			return
		}
		waitProcess(ctx, int(alive))
	}
}

// unfollowed tells of processes that were started and are not traced. It comes while the process's id is its own.
func (r *run) unfollowed() error {
	pid, forked := r.Program.opts.PID, false
	switch {
	case r.Program.opts.Follow:
		return nil
	case r.child != nil:
		pid = int(r.child.PID())
		select {
		case <-r.child.Done():
			forked = r.child.Exit().Forked
		default:
			forked = r.child.PID().Started(target.Stat{})
		}
	case pid != 0:
		forked = target.PID(pid).Started(r.before)
	}
	if !forked {
		return nil
	}
	return r.notice(result.Info,
		"only process %d was traced, not those that it started: --follow traces them too", pid)
}
