package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"trocar/internal/process/probe"
)

// iterators are the programs that run over objects of the kernel.
func (s *Session) iterators() (all []Program) {
	for _, p := range s.in.Programs {
		if p.Type == probe.IterProgram {
			all = append(all, p)
		}
	}
	return all
}

// iterate runs iterators over all objects, one after another, and reads what they record meanwhile. exit() ends the run
// after that: an iteration is one step.
func (s *Session) iterate(ctx context.Context, programs []Program) error {
	for _, p := range programs {
		if pin := p.Point.Category; pin != "" {
			return fmt.Errorf("%s: iterators are not pinned to a path: leave :%s out", p.Point.Name, pin)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.iterating = true
	done := make(chan error, 1)
	s.background.Go(func() {
		defer cancel()
		for _, p := range programs {
			pid := 0
			if strings.HasPrefix(p.Point.Event, "task") {
				pid = s.in.PID
			}
			if err := s.kernel.Programs.Iterate(p.Name, pid, io.Discard); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	})
	for ctx.Err() == nil {
		if err := s.kernel.Records.Run(ctx, s.take, s.idle); err != nil && !errors.Is(err, errExit) {
			return err
		}
	}
	return <-done
}
