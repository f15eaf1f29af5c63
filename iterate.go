package trocar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"trocar/internal/compile/codegen"
	"trocar/internal/process/probe"
)

// iterators are the programs that run over objects of the kernel.
func (r *run) iterators() (all []*codegen.Program) {
	for _, p := range r.code.Programs {
		if p.Type == probe.IterProgram {
			all = append(all, p)
		}
	}
	return all
}

// iterate runs iterators over all objects, one after another, and reads what they record meanwhile. exit() ends the run
// after that: an iteration is one step.
func (r *run) iterate(ctx context.Context, cancel func(), programs []*codegen.Program) error {
	for _, p := range programs {
		if pin := p.Points[0].Category; pin != "" {
			return fmt.Errorf("%s: iterators are not pinned to a path: leave :%s out", p.Points[0].Name, pin)
		}
	}
	r.iterates = true
	done := make(chan error, 1)
	go func() {
		defer cancel()
		for _, p := range programs {
			pid := 0
			if strings.HasPrefix(p.Points[0].Event, "task") {
				pid = r.Program.opts.PID
			}
			if err := r.loaded.Iterate(p.Name, pid, io.Discard); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for ctx.Err() == nil {
		if err := r.loaded.Ring().Run(ctx, r.record, r.idle); err != nil && !errors.Is(err, errExit) {
			return err
		}
	}
	return <-done
}
