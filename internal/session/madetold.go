package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"trocar/internal/kernel"
	"trocar/result"
)

// What is told of code that a runtime makes, and the end of following it.

func (f *follower) say(severity result.Severity, hints []string, format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.notices = append(f.notices, &result.Notice{Blind: severity == result.Warning, Diagnostic: result.Diagnostic{
		Severity: severity, Text: result.Messagef(format, args...), Hints: hints,
	}})
}

func (f *follower) warn(format string, args ...any) { f.say(result.Warning, nil, format, args...) }

// mostMade is how many functions are told of.
const mostMade = 5

// notSeen tells of code that has no breakpoints.
func (f *follower) notSeen(fn *madeFunction, b *madeBody, err error) {
	told := 0
	for _, o := range f.functions {
		if o.unseen {
			told++
		}
	}
	if told > mostMade {
		return // how many there are is told at the end
	}
	if !errors.Is(err, kernel.ErrNoSlot) {
		f.warn("calls of %s are not seen in the code that was compiled at run time (%s): %v", fn.Func, b.Tier, err)
		return
	}
	var hints []string
	if held := f.holders(); len(held) > 0 {
		hints = append(hints, "debug registers are used for "+strings.Join(held, ", "))
	}
	f.say(result.Warning, hints, "calls of %s are not seen in the code that was compiled at run time (%s): no debug "+
		"register is left, of which the CPU has %d for all programs", fn.Func, b.Tier, kernel.BreakpointSlots)
}

// holders tells who has the breakpoints.
func (f *follower) holders() (list []string) {
	for _, fn := range f.functions {
		n := 0
		for _, b := range fn.bodies {
			n += b.slots()
		}
		if n > 0 {
			list = append(list, fmt.Sprintf("%s (%d)", fn.Func, n))
		}
	}
	if f.used < kernel.BreakpointSlots && !f.asked {
		f.asked = true
		list = append(list, breakpointHolders(f.s.running())...)
	}
	return list
}

// tell tells of a function that was asked for by name how it is followed.
func (f *follower) tell(fn *madeFunction) {
	if !fn.named {
		return
	}
	var hints []string
	if fn.Inlined {
		hints = []string{"methods that call it may have it in their own code once they are compiled with optimization: " +
			"those calls are not seen"}
	}
	n, tiers := 0, []string(nil)
	for _, b := range fn.bodies {
		if b.slots() > 0 && !slices.Contains(tiers, b.Tier) {
			tiers = append(tiers, b.Tier)
		}
		n += b.slots()
	}
	switch {
	case n > 0:
		f.say(result.Info, hints, "%s: its code was compiled at run time (%s), and is watched by %d of the CPU's %d debug "+
			"registers", fn.Func, strings.Join(tiers, ", "), n, kernel.BreakpointSlots)
	case len(fn.bodies) > 0: // told
	case fn.ahead:
		if len(hints) > 0 {
			f.say(result.Info, nil, "%s: %s", fn.Func, hints[0])
		}
	case f.feed == nil:
		f.say(result.Warning, hints, "%s is not compiled yet: its first calls may be missing, since new code is only looked "+
			"for every %v (%v)", fn.Func, notesEvery, f.why)
	default:
		f.say(result.Info, hints, "%s is not compiled yet: its calls are seen from the first on", fn.Func)
	}
}

// tellAll emits what there is to be said.
func (f *follower) tellAll() error {
	f.mu.Lock()
	list := f.notices
	f.notices = nil
	f.mu.Unlock()
	for _, n := range list {
		if err := f.s.emit(n); err != nil {
			return err
		}
	}
	return nil
}

// end ends the following, before the probes are taken away.
func (f *follower) end() {
	if f == nil || f.stop == nil {
		return
	}
	f.stop()
	f.done.Wait()
	f.stop = nil
	if f.feed != nil {
		if late := f.feed.Late(); late > 0 {
			f.warn("%d times code was run before its breakpoints were set, since that took longer than %v (before Linux 6.0, "+
				"also when several threads compile at once): calls of that time may be missing", late, kernel.MostHeld)
		}
		f.feed.Close()
		f.feed = nil
	}
	for _, fn := range f.functions {
		for _, b := range fn.bodies {
			for _, p := range append(b.begins, b.ends...) {
				f.count(p)
			}
		}
	}
	f.giveUpFresh()
	if f.unnoted > 0 {
		f.warn("the runtime has compiled code without a note of it in its perf map, %d times: calls may be missing; is the "+
			"file system of /tmp full?", f.unnoted)
	}
	if f.unrun > 0 {
		f.warn("%d calls and returns came by breakpoints whose program the kernel did not run: they are missing", f.unrun)
	}
	if f.early > 0 {
		why := ""
		if f.unaware != nil {
			why = ": " + f.unaware.Error()
		}
		f.warn("calls of %d methods that other threads made at the very moment of the compilation may be missing%s", f.early,
			why)
	}
	if f.unended > 0 {
		f.warn("the returns of %d calls that other threads made at the very moment of the compilation may be missing",
			f.unended)
	}
	if f.swapped > 0 {
		way := ""
		if slices.ContainsFunc(f.functions, func(fn *madeFunction) bool { return len(fn.returns) > 0 }) {
			way = ", or count, which takes half as many"
		}
		f.warn("%d times the CPU's %d debug registers were not enough for code and what was compiled in its place: a call "+
			"that was in the former may be missing, or shown as left; trace fewer methods%s", f.swapped,
			kernel.BreakpointSlots, way)
	}
	unseen := 0
	for _, fn := range f.functions {
		if fn.unseen {
			unseen++
		}
	}
	if unseen > mostMade {
		f.warn("calls of %d methods were not seen in code that was compiled at run time: no debug register was left",
			unseen)
	}
}

// close has the runtime stop, and gives back what is left.
func (f *follower) close() error {
	if f == nil || f.at == nil {
		return nil
	}
	f.end()
	if f.feed != nil {
		f.feed.Close()
		f.feed = nil
	}
	at := f.at
	f.at = nil
	return at.Close()
}
