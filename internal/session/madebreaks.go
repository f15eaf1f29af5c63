package session

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/code"
	"trocar/internal/kernel"
	"trocar/internal/process/probe"
	"trocar/internal/process/runtimes"
	"trocar/internal/process/target"
)

// The breakpoints of code that a runtime makes: they are few.

// arm sets them all, or gives an error.
func (f *follower) arm(fn *madeFunction, b *madeBody) (err error) {
	var returns, tails []uint64
	if len(fn.returns)+len(fn.tails) > 0 {
		if returns, tails, err = f.returns(fn, b); err != nil {
			return err
		}
	}
	// Returns come first: a call of which only the begin is seen would seem to be left by an exception.
	all := func(p *probe.Point, at []uint64, list *[]Breakpoint) {
		for i := 0; i < len(at) && err == nil; i++ {
			err = f.set(fn, p, at[i], list)
		}
	}
	for _, p := range fn.returns {
		all(p, returns, &b.ends)
		if !p.Made.Result {
			all(p, tails, &b.ends)
		}
	}
	for _, p := range fn.tails {
		all(p, tails, &b.ends)
	}
	if b.Rank != runtimes.NotEntered && len(b.begins) == 0 {
		for _, p := range fn.entries {
			all(p, []uint64{b.Addr}, &b.begins)
		}
	}
	return err
}

// set sets one, if need be in place of one on code that is not begun any more.
func (f *follower) set(fn *madeFunction, p *probe.Point, at uint64, list *[]Breakpoint) error {
	for {
		b, err := f.s.kernel.Programs.Break(p, f.s.running(), at)
		if err == nil {
			*list = append(*list, b)
			f.used++
			return nil
		}
		if !errors.Is(err, kernel.ErrNoSlot) || !f.giveUp(fn) {
			return err
		}
	}
}

// giveUp takes breakpoints off the oldest piece of code that is not begun any more, for newer code of a function. While
// calls may still begin there, those where it ends go first: such a call is counted, and told as one that has not
// returned.
func (f *follower) giveUp(of *madeFunction) bool {
	var oldest *madeBody
	gone := false // newer code than that in its place was made since: it is certain that calls do not begin there
	for _, fn := range f.functions {
		newer := map[string]int{}
		for i := len(fn.bodies) - 1; i >= 0; i-- {
			b := fn.bodies[i]
			over := newer[b.Name] > 1 || newer[b.Name] == 1 && fn == of
			newer[b.Name]++
			if b.past.IsZero() || b.slots() == 0 || gone && !over {
				continue
			}
			if oldest == nil || over && !gone || b.past.Before(oldest.past) {
				oldest, gone = b, over
			}
		}
	}
	if oldest == nil {
		return false
	}
	if !gone && time.Since(oldest.past) < settled {
		f.swapped++
		if len(oldest.begins) > 0 && len(oldest.ends) > 0 {
			f.takeOff(oldest.ends)
			oldest.ends = nil
			return true
		}
	}
	f.release(oldest)
	return true
}

func (f *follower) release(b *madeBody) {
	f.takeOff(b.begins)
	f.takeOff(b.ends)
	b.begins, b.ends = nil, nil
}

func (f *follower) takeOff(list []Breakpoint) {
	f.used -= len(list)
	for _, p := range list {
		f.count(p)
		p.Close()
	}
}

// count counts what a breakpoint has lost.
func (f *follower) count(p Breakpoint) {
	_, lost := p.Hits()
	f.unrun += lost
}

// settled is how long after the note of newer code calls may still begin with the former: it is run when the thread
// that has made it has come to say so.
const settled = 2 * time.Second

// retire takes breakpoints off where calls do not begin any more.
func (f *follower) retire() {
	for _, fn := range f.functions {
		for _, b := range fn.bodies {
			if b.past.IsZero() || len(b.begins) == 0 || time.Since(b.past) < settled {
				continue
			}
			f.takeOff(b.begins)
			b.begins = nil
		}
	}
}

func asksResult(p *probe.Point) bool { return p.Made.Result }

// mostBody bounds the code that is read.
const mostBody = 1 << 20

// returns finds the instructions with which a piece of code returns, and those with which it goes on in another
// function.
func (f *follower) returns(fn *madeFunction, b *madeBody) (at, tails []uint64, err error) {
	host, err := abi.Host()
	if err != nil {
		return nil, nil, err
	}
	if b.Size > mostBody {
		return nil, nil, errors.New("it is too large to look for its returns")
	}
	mem, err := target.PID(f.s.running()).Memory()
	if err != nil {
		return nil, nil, err
	}
	defer mem.Close()
	text := make([]byte, b.Size)
	if _, err := mem.ReadAt(text, int64(b.Addr)); err != nil {
		return nil, nil, fmt.Errorf("its code cannot be read: %w", err)
	}
	found, left, err := code.Exits(host, text)
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("where it returns is not known: %w", err)
	case len(left) > 0 && len(fn.tails) == 0 && slices.ContainsFunc(fn.returns, asksResult):
		return nil, nil, errors.New("it ends in a jump to another method, whose result is its own; trace, count, stack and " +
			"latency see its calls")
	}
	for _, off := range found {
		at = append(at, b.Addr+uint64(off))
	}
	for _, off := range left {
		tails = append(tails, b.Addr+uint64(off))
	}
	return at, tails, nil
}
