package recipe

import (
	"fmt"
	"slices"
	"strings"

	"trocar/internal/process/match"
	"trocar/internal/script/syntax"
)

// A call that is left by an exception, by longjmp or as its thread ends does not return. That it was left is seen at
// once where the kernel or the unwinder tells, else when another call of the function has the same frame; what is not
// told until the end is open. So calls = returns + left + open.

// Leaving is what tells that calls are left, and by what.
type Leaving struct {
	ThreadEnds bool // the kernel's types are known, and with them whether a process ends as well

	// Attach points of functions that unwind the stack: Thrown where an exception is thrown, Resumed where that goes on,
	// Forced where it is not for an exception. They end where another frame goes on: Lands are those instructions at which
	// the stack pointer is that of the frame, Returns those that take an address off the stack as well.
	Thrown, Resumed, Forced, Lands, Returns []string
}

// unwinds tells whether it is seen that exceptions leave calls.
func (l *Leaving) unwinds() bool {
	return l != nil && len(l.Thrown) > 0 && len(l.Lands)+len(l.Returns) > 0
}

// unwinders finds what unwinds the stack.
func (l *Leaving) unwinders(found []match.Unwinder) {
	for _, u := range found {
		point := "uprobe:" + syntax.QuoteWord(u.Path) + ":" + u.Name
		switch {
		case u.Forced:
			l.Forced = append(l.Forced, point)
			continue
		case u.First:
			l.Thrown = append(l.Thrown, point)
		default:
			l.Resumed = append(l.Resumed, point)
		}
		for _, off := range u.Lands {
			l.Lands = append(l.Lands, fmt.Sprintf("%s+%d", point, off))
		}
		for _, off := range u.Returns {
			l.Returns = append(l.Returns, fmt.Sprintf("%s+%d", point, off))
		}
	}
}

// leavingOf is what tells of the calls of functions, which is the same for all.
func leavingOf(fns []Function) *Leaving {
	for i := range fns {
		if fns[i].Leaving != nil {
			return fns[i].Leaving
		}
	}
	return nil
}

// known tells whether anything is seen of calls that are left but by their frames.
func (l *Leaving) known() bool { return l != nil && (l.ThreadEnds || l.unwinds()) }

// Words for how a call was left.
const (
	byException = "exception"
	byPanic     = "panic"
	byThreadEnd = "end of the thread that began it"
	byReplaced  = "exception, or its code was given up"
	byMoved     = "its code was compiled anew meanwhile"
	byJump      = "longjmp, or its stack was given up"
)

func (fn *Function) thrown() string {
	if fn.Panics {
		return byPanic
	}
	return byException
}

// superseded is how a call was left whose frame another call has, if nothing else is known.
func (fn *Function) superseded() string {
	switch {
	case fn.Replaced:
		return byReplaced
	case fn.Managed:
		return byException
	case fn.Tasks != nil:
		return fn.Tasks.Left
	case fn.Syscall, fn.Syscalls:
		return byThreadEnd
	}
	return byJump
}

// leftMap and openMap count the calls that were left, and those that were not seen to return until the end. Of Replaced
// functions these may have returned all the same.
func (fn *Function) leftMap() string {
	if fn.Replaced {
		return "@unseen"
	}
	return "@left"
}

func (fn *Function) openMap() string {
	if fn.Replaced {
		return "@going"
	}
	return "@open"
}

// mostThreads bounds the threads of which it is known how they left calls; those that nobody asked for go first.
const mostThreads = 4096

// leavings writes the probes that see calls being left.
func (s *script) leavings() {
	l := s.leaving
	if l == nil {
		return
	}
	if l.ThreadEnds {
		s.line("\n// A thread ends, and its process does not (SIGNAL_GROUP_EXIT).")
		s.line("rawtracepoint:sched_process_exit\n/curtask.signal.live.counter > 0 && (curtask.signal.flags & 4) == 0/\n{")
		s.line("  @ended[tid] = (int64)nsecs;\n}")
	}
	if !l.unwinds() {
		return
	}
	s.line("\n// An exception leaves the frames between where it is thrown and where the program goes on.")
	s.attach(l.Thrown)
	s.line("{\n  @thrown[tid] = (int64)reg(\"sp\");\n}")
	if len(l.Resumed) > 0 {
		s.points(l.Resumed)
		s.line("/has_key(@thrown, tid)/\n{\n  @thrown[tid] = (int64)reg(\"sp\");\n}")
	}
	if len(l.Forced) > 0 {
		s.points(l.Forced)
		s.line("{\n  _ = delete(@thrown, tid);\n}")
	}
	for i, points := range [][]string{l.Lands, l.Returns} {
		if len(points) == 0 {
			continue
		}
		s.points(points)
		s.line("{")
		s.line("  $at = (pid(init), (int64)%s);", []string{`reg("sp")`, `(reg("sp") + 8)`}[i])
		s.line("  $low = @thrown[tid];")
		s.line("  if ($low != 0 && $low < $at.1) {")
		s.line("    if (has_key(@unwound, $at) && @unwound[$at].low < $low) {")
		s.line("      $low = @unwound[$at].low;")
		s.line("    }")
		s.line("    @unwound[$at] = (low=$low, time=(int64)nsecs);")
		s.line("    @unwinding[tid] = (low=$low, high=$at.1, time=(int64)nsecs);")
		s.line("  }")
		s.line("}")
	}
}

// leavingMaps declares what leavings writes to.
func (s *script) leavingMaps() {
	l := s.leaving
	if l == nil {
		return
	}
	if l.ThreadEnds {
		s.line("let @ended = lruhash(%d);", mostThreads)
	}
	if l.unwinds() {
		s.line("let @thrown = lruhash(%d);", mostThreads)
		s.line("let @unwinding = lruhash(%d);", mostThreads)
		s.line("let @unwound = lruhash(%d);", mostThreads)
	}
}

// superseded writes what is done at an entry if a call has the frame already: it was left.
func (s *script) superseded(indent string, c *call) {
	s.line("%sif (has_key(%s, $key)) {", indent, c.store)
	in := indent + "  "
	s.line("%s%s++;", in, c.fn.leftMap())
	if s.shows(c) && !s.counts {
		s.line("%s$call = %s[$key];", in, c.store)
		s.line(`%s$how = "%s";`, in, c.fn.superseded())
		if c.fn.Replaced {
			s.line("%sif ($call.start <= %s) {\n%[1]s  $how = \"%[3]s\";\n%[1]s}", in, c.moved(), byMoved)
		}
		if s.leaving.seesThreads(c) {
			s.line("%sif (has_key(@ended, $call.thread_) && @ended[$call.thread_] > $call.start) {", in)
			s.line(`%s  $how = "%s";`, in, byThreadEnd)
			s.line("%s}", in)
		}
		if s.leaving.unwinds() && c.fn.Tasks == nil && !c.fn.Managed {
			s.line("%s$last = @unwinding[$call.thread_];", in)
			s.line("%sif ($last.time > $call.start && $last.low <= $key.1 && $key.1 <= $last.high) {", in)
			s.line(`%s  $how = "%s";`, in, c.fn.thrown())
			s.line("%s}", in)
		}
		m := s.unreturnedAs("$how")
		m.atEnd = false
		s.show(in, c, m)
	}
	s.line("%s}", indent)
}

// seesThreads tells whether it is seen that the threads of a call end. Of Replaced functions that does not tell how the
// call ended: it may have returned unseen before.
func (l *Leaving) seesThreads(c *call) bool {
	return l != nil && l.ThreadEnds && c.fn.Tasks == nil && !c.fn.Replaced
}

// shows tells whether a call that did not return is shown: not if it depends on how it returned.
func (s *script) shows(c *call) bool { return c.atExit == nil && s.o.Min <= 0 }

// unreturnedAs is the moment at the end at which a call that was kept is shown without its return; how is an
// expression, "": it is open.
func (s *script) unreturnedAs(how string) moment {
	return moment{
		time: "$call.start", tid: "$call.thread_", part: func(p part) string { return "$call." + p.field },
		open: true, atEnd: true, how: how, stack: "$call.stack_",
	}
}

// perEnd is how many calls are in one program: each loop is a function of its own there, and the kernel takes 256.
const perEnd = 32

// unreturned writes what is done at the end with the calls that are kept: those that were left and those that are open
// are counted and shown. last is what else is done then.
func (s *script) unreturned(calls []*call, last string) {
	n := 0
	for _, c := range calls {
		if !c.pairs() {
			continue
		}
		switch {
		case n == 0:
			s.line("\n// Calls that have not returned.\nend\n{")
		case n%perEnd == 0:
			s.line("}\n\nend\n{")
		}
		n++
		s.remaining(c)
	}
	switch {
	case n > 0 && last != "":
		s.line("  %s\n}", last)
	case n > 0:
		s.line("}")
	}
}

func (s *script) remaining(c *call) {
	open := "len(" + c.store + ")"
	if s.counts && !s.leaving.known() || c.atExit != nil && !s.leaving.known() {
		s.line("  %s += %s;", c.fn.openMap(), open)
		return
	}
	s.line("  for ($kv : %s) {", c.store)
	s.line("    $call = $kv.1;")
	indent := "    "
	if s.leaving.known() {
		s.line(`    $how = "";`)
		if s.leaving.seesThreads(c) {
			s.line("    if (has_key(@ended, $call.thread_) && @ended[$call.thread_] > $call.start) {")
			s.line(`      $how = "%s";`, byThreadEnd)
			s.line("    }")
		}
		if s.leaving.unwinds() && c.fn.Tasks == nil {
			s.line("    $at = $kv.0;")
			s.line("    for ($u : @unwound) {")
			s.line("      if ($u.0.0 == $at.0 && $u.1.time > $call.start && $u.1.low <= $at.1 && $at.1 <= $u.0.1) {")
			s.line(`        $how = "%s";`, c.fn.thrown())
			s.line("      }")
			s.line("    }")
		}
		s.line(`    if ($how != "") {`)
		s.line("      %s++;", c.fn.leftMap())
		if s.shows(c) && !s.counts {
			s.show("      ", c, s.unreturnedAs("$how"))
		}
		s.line("    } else {")
		indent = "      "
	}
	s.line("%s%s++;", indent, c.fn.openMap())
	if c.atExit == nil && !s.counts { // else it is not known whether it is to be shown
		in := indent
		if s.o.Min > 0 {
			s.line("%sif ((int64)nsecs - $call.start >= %d) {", in, s.o.Min.Nanoseconds())
			in += "  "
		}
		s.show(in, c, s.unreturnedAs(""))
		if s.o.Min > 0 {
			s.line("%s}", indent)
		}
	}
	if s.leaving.known() {
		s.line("    }")
	}
	s.line("  }")
}

// unreturnedSums are what is said at the end of calls that did not return.
func (s *script) unreturnedSums(calls []*call) {
	if s.sys {
		s.totals = append(s.totals, Total{
			Map: "@left", One: "1 system call was left by the end of its thread",
			Many: "%d system calls were left by the end of their threads",
		}, Total{Map: "@open", One: "1 system call had not returned", Many: "%d system calls had not returned"})
		return
	}
	if slices.ContainsFunc(calls, func(c *call) bool { return c.fn.Replaced }) {
		const how = "an exception left it, or its code was given up or compiled anew meanwhile"
		const hows = "exceptions left them, or their code was given up or compiled anew meanwhile"
		s.totals = append(s.totals, Total{
			Map: "@unseen", One: "1 call was not seen to return: " + how, Many: "%d calls were not seen to return: " + hows,
		}, Total{
			Map: "@going", One: "1 call had not returned, or was not seen to: " + how,
			Many: "%d calls had not returned, or were not seen to: " + hows,
		})
	}
	if calls = slices.DeleteFunc(slices.Clone(calls), func(c *call) bool { return c.fn.Replaced }); len(calls) == 0 {
		return
	}
	var seen, open []string
	for _, c := range calls {
		if t := c.fn.Tasks; t != nil {
			seen, open = []string{t.Left}, []string{t.Left}
		}
	}
	if slices.ContainsFunc(calls, func(c *call) bool { return c.fn.Tasks == nil }) {
		seen = append(seen, "an exception, longjmp or the end of a thread")
		if !s.leaving.unwinds() {
			open = append(open, "an exception or longjmp")
		} else {
			open = append(open, "longjmp")
		}
	}
	by := strings.Join(seen, ", ")
	s.totals = append(s.totals, Total{
		Map: "@left", One: "1 call was left by " + by, Many: "%d calls were left by " + by,
	})
	by = strings.Join(open, ", ")
	s.totals = append(s.totals, Total{
		Map:  "@open",
		One:  fmt.Sprintf("1 call had not returned, or was left by %s", by),
		Many: fmt.Sprintf("%%d calls had not returned, or were left by %s", by),
	})
}
