package session

import (
	"errors"
	"time"

	"trocar/result"
)

// mostDetaching is how long results wait for the probes to be taken away, and of a run that was ended from outside,
// whose user waits for them, mostInterrupting; mostDraining, for how long records are read of such as are not gone
// then, in each step; mostSilent, how long it goes on behind the results before that is said.
const (
	mostDetaching    = 3 * time.Second
	mostInterrupting = 150 * time.Millisecond
	mostDraining     = time.Second
	mostSilent       = time.Second
)

const goesOn = "detaching the probes takes long, since other processes start at the same time: "

// detach takes the probes away. The kernel waits for processes that are just being started (dup_mmap_sem, one time for
// each probe), so that thousands of probes can take minutes where many processes start and have little time to run. The
// results do not wait for that; who calls detached does. A process that was left to do it alone might be killed, since
// those who look after processes (of containers, of services) kill what a command leaves behind, and breakpoints of
// which that is killed who takes them away stay in the programs (see kernel's apart.go).
func (s *Session) detach() (detached func() error, err error) {
	s.detached.Store(true)
	done := make(chan struct{})
	go func() {
		s.kernel.Programs.Detach()
		close(done)
	}()
	interrupted := s.caller.Err() != nil
	detached = func() error {
		silent := time.NewTimer(mostSilent)
		defer silent.Stop()
		select {
		case <-done:
			return nil
		case <-silent.C:
		}
		var err error
		if interrupted {
			err = errors.Join(s.notice(result.Info, goesOn+"this command ends when they are gone"), s.sink.Flush())
		}
		<-done
		return err
	}
	late := time.NewTimer(s.patience(interrupted))
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
		if s.late = true; !interrupted { // else what came until now is what was asked for
			err = s.notice(result.Info, goesOn+"these are the results until now, and this command ends when the probes are gone")
		}
	}
	s.ended = time.Now()
	if err != nil {
		err = errors.Join(err, detached())
	}
	return detached, err
}

// patience is how long results wait for the probes to be taken away.
func (s *Session) patience(interrupted bool) time.Duration {
	switch {
	case s.in.Patience > 0:
		return s.in.Patience
	case interrupted:
		return mostInterrupting
	}
	return mostDetaching
}
