package recipe

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"trocar/internal/compile/record"
	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// Of the calls of one function record.MaxOpenCalls may be open at a time, in all threads; with many functions, and
// where much is kept of a call, it is less, but no less than leastOpen: memory for all of them is set aside.
const (
	leastOpen = 256
	openBytes = 8 << 20
)

func openCalls(functions, bytes int) int {
	n := min(record.MaxOpenCalls/max(1, functions/4), openBytes/max(1, bytes))
	return max(leastOpen, 1<<(bits.Len(uint(n))-1))
}

// mostKept bounds what is kept of one call; where it is more, less is kept of each text, unless that was asked for.
const (
	mostKept    = 6 << 10
	shortStrlen = 256
)

// Trace writes a script that shows each call. A call is one line, written when it returns: what its arguments were at
// its entry is kept by thread and frame until then, so that recursion, exceptions and longjmp pair nothing wrong.
// Where an argument can only be shown at the entry, there is a second line for that.
func Trace(fns []Function, o Question, diags *diag.List) Script {
	s := &script{o: o, leaving: leavingOf(fns), sys: ofSyscalls(fns)}
	if !s.parse(diags) {
		return s.done()
	}
	s.many = len(fns) > maxShapes || slices.ContainsFunc(fns, func(f Function) bool { return f.together() })
	if s.many {
		fns = s.namedInLines(fns)
	}
	mentioned := wanted(append(slices.Concat(s.args, s.ending), s.cond))
	if len(s.args) > 0 {
		s.wants = mentioned
	}
	fns = s.understood(fns, mentioned)
	s.asBegun(fns)
	if o.Strlen == 0 && (s.many || !s.fits(fns, 0) && s.fits(fns, shortStrlen)) {
		s.o.Strlen = shortStrlen
	}
	s.config(true)
	calls := s.calls(fns, diags)
	if len(calls) == 0 {
		return s.done()
	}
	for _, c := range calls {
		s.entry(c)
		if c.pairs() {
			s.exits(c)
		}
	}
	s.leavings()
	s.timer()
	s.unreturned(calls, "")
	s.sums(calls)
	return s.done()
}

// asBegun leaves out the returns of methods that are only interpreted so far, which are not seen, so that calls are
// shown as they begin, unless something is asked for that is known where they return.
func (s *script) asBegun(fns []Function) {
	for i := range fns {
		fn := &fns[i]
		later := func(x syntax.Expr) bool { return x != nil && fn.later(x) }
		asked := append(slices.Clone(s.args), s.cond)
		if !fn.unmade || s.o.Min > 0 || len(s.ending) > 0 || slices.ContainsFunc(asked, later) {
			continue
		}
		fn.Returns, fn.EntryKey, fn.NoReturn = nil, "", "it is interpreted so far, and only in compiled code returns are seen"
	}
}

// fits tells whether all that is shown of the functions can be kept, if texts are kept up to a length.
func (s *script) fits(fns []Function, strlen int) bool {
	t := &script{o: s.o, leaving: s.leaving, args: s.args, ending: s.ending, labels: s.labels, cond: s.cond, quiet: true}
	t.o.Strlen = strlen
	for i := range fns {
		if c := t.call(&fns[i]); c.split || t.dropped {
			return false
		}
	}
	return true
}

// calls finds out how the calls of the functions are shown, and declares the maps that keep them.
func (s *script) calls(fns []Function, diags *diag.List) []*call {
	var calls []*call
	for i := range fns {
		c := s.call(&fns[i])
		if !c.pairs() && (s.o.Min > 0 || c.atExit != nil) {
			s.notice(&fns[i], "left out: the condition requires its returns, which are not seen")
			continue
		}
		calls = append(calls, c)
	}
	calls = s.join(calls, s.plainly)
	if len(calls) == 0 {
		s.none(diags, "the condition requires the returns of these functions, which are not seen")
		return nil
	}
	s.stores(calls)
	return calls
}

// none says that nothing is left to look at, and why.
func (s *script) none(diags *diag.List, text string) {
	s.nothing = true
	d := diags.Errorf(diag.Span{}, "%s", text)
	for i := range s.notices {
		d.Note(diag.Span{}, "%s", s.notices[i].String())
	}
}

// stores declares the maps of open calls.
func (s *script) stores(calls []*call) {
	kept := 0
	for _, c := range calls {
		if c.pairs() {
			kept++
		}
	}
	n := 0
	for _, c := range calls {
		if !c.pairs() {
			continue
		}
		n++
		c.store = "@calls"
		if kept > 1 {
			c.store += strconv.Itoa(n)
		}
		s.line("let %s = hash(%d);", c.store, openCalls(kept, s.keptBytes(c)))
	}
	if kept > 0 {
		s.leavingMaps()
	}
}

// entry writes the probe of a call's beginning.
func (s *script) entry(c *call) {
	if c.fn.Replaced && c.pairs() {
		s.line("\n// Probes follow the code: calls that began before may go on unseen.")
		s.line("self:code:moved:%s\n{\n  %s = (int64)nsecs;\n}", syntax.QuoteWord(c.fn.Name), c.moved())
	}
	s.clause(c)
	s.points(c.points)
	s.line("{")
	if c.pairs() {
		// A call that was left may have been in the same frame, whatever holds for this one.
		s.line("  $key = (%s);", s.key(c, c.fn.EntryKey))
		s.superseded("  ", c)
	}
	indent := "  "
	cond := both(s.among(c.fn), s.comm)
	if c.atCall != nil {
		cond = both(cond, over(c.atCall, c.fn, argsOf))
	}
	if cond != nil {
		s.line("  if (%s) {", syntax.PrintExpr(cond))
		indent = "    "
	}
	if (!c.pairs() || c.split) && !s.counts {
		s.show(indent, c, s.begun())
	}
	if ends := c.fn.ends(); ends != "" && c.pairs() {
		// These do not return.
		s.line("%sif (%s) {", indent, ends)
		if s.shows(c) && !s.counts && !c.split {
			s.show(indent+"  ", c, s.begun())
		}
		s.line("%s} else {", indent)
		s.keep(indent+"  ", c)
		s.line("%s}", indent)
	} else if c.pairs() {
		s.keep(indent, c)
	}
	if cond != nil {
		if c.pairs() {
			s.line("  } else {\n    _ = delete(%s, $key);", c.store)
		}
		s.line("  }")
	}
	s.line("}")
}

// moved is the variable of when the code of a Replaced function was made anew.
func (c *call) moved() string { return "@moved" + strings.TrimPrefix(c.store, "@calls") }

// begun is the moment at which a call begins.
func (s *script) begun() moment {
	return moment{time: "nsecs", part: func(p part) string { return s.shown(p.show, p.expr) }, call: true}
}

// key is what tells a call from all others that are kept in the same map: where that has several functions, they may be
// in one frame, since one that ends in a jump to another leaves it to that.
func (s *script) key(c *call, frame string) string {
	if c.named == "" && (len(c.points) > 1 || c.name == "") {
		return frame + ", func"
	}
	return frame
}

// returnAddress is where a call whose frame $key has goes back to, where the CPU's calls store that.
const returnAddress = "*(uint64 *)($key.1 - 8)"

// replacedAddress tells of such an address whether it is one that the kernel has put there, for a return probe of
// somebody else: that of its page [uprobes], which is in the top of the address space, or among the libraries. Where
// the kernel's types are not known, a place that code goes back to at the beginning of another page is taken for it.
func (s *script) replacedAddress() string {
	at := "($back & 0xfff) == 0 && $back >= 0x7f0000000000"
	if s.leaving != nil && s.leaving.ThreadEnds {
		const area = "curtask.mm.uprobes_state.xol_area"
		at += fmt.Sprintf(" && (uint64)%s != 0 && %s.vaddr == $back", area, area)
	}
	return at
}

// keep keeps what is known at the entry until the call returns, and who calls, for those calls that are shown without.
func (s *script) keep(indent string, c *call) {
	fields := []string{"start=(int64)nsecs"}
	switch {
	case !s.counts:
		fields = append(fields, "process_=pid", "thread_="+c.fn.thread(), "comm_=comm")
	case s.leaving.known():
		fields = append(fields, "thread_="+c.fn.thread())
	}
	if s.o.Stack {
		fields = append(fields, "stack_=ustack")
	}
	if c.fn.Parted {
		fields = append(fields, "back_="+returnAddress)
	}
	if c.name == "" {
		fields = append(fields, "func_="+cmp.Or(c.named, "func"))
	}
	for _, p := range c.shownLater() {
		fields = append(fields, p.field+"="+s.shown(p.show, p.expr))
	}
	for _, p := range c.extra {
		fields = append(fields, p.field+"="+s.value(p.show, p.expr))
	}
	s.line("%s%s[$key] = (%s);", indent, c.store, strings.Join(fields, ", "))
}

// exits writes the probes of a call's end.
func (s *script) exits(c *call) {
	if len(c.returns) > 0 {
		s.exit(c, c.returns, false)
	}
	switch {
	case len(c.leaves) == 0:
	case c.atExit != nil:
		s.forget(c, c.leaves)
	default:
		s.exit(c, c.leaves, true)
	}
}

// exit writes a probe of a call's end: its return, or (tail) where it goes on in another function.
func (s *script) exit(c *call, points []string, tail bool) {
	s.returned(c, points, func(indent string) {
		s.show(indent, c, moment{time: "nsecs", part: func(p part) string {
			if p.exit != "" {
				return p.exit
			}
			return "$call." + p.field
		}, ret: true, tail: tail, stack: "$call.stack_"})
	})
}

// forget writes the probe of a call's end that tells nothing of what is asked.
func (s *script) forget(c *call, points []string) {
	s.points(points)
	s.line("{\n  _ = delete(%s, (%s));\n}", c.store, s.key(c, c.fn.ReturnKey))
}

// returned writes the probe of a call's return; body is for those calls whose entry was seen and for which the
// conditions hold.
func (s *script) returned(c *call, points []string, body func(indent string)) {
	since := ""
	if c.fn.Replaced {
		since = fmt.Sprintf(" && %s[$key].start > %s", c.store, c.moved())
	}
	s.clause(c)
	s.points(points)
	s.line("{")
	s.line("  $key = (%s);", s.key(c, c.fn.ReturnKey))
	if c.fn.Parted {
		s.line("  $back = %s;", returnAddress)
		since += fmt.Sprintf(" && (%s[$key].back_ == $back || %s)", c.store, s.replacedAddress())
	}
	s.line("  if (has_key(%s, $key)%s) {", c.store, since)
	s.line("    $call = %s[$key];", c.store)
	s.line("    $took = (uint64)((int64)nsecs - $call.start);")
	s.line("    _ = delete(%s, $key);", c.store)
	indent := "    "
	var conds []string
	if s.o.Min > 0 {
		conds = append(conds, fmt.Sprintf("$took >= %d", s.o.Min.Nanoseconds()))
	}
	if c.atExit != nil {
		text := s.atReturn(c, c.atExit)
		if len(conds) > 0 {
			text = "(" + text + ")"
		}
		conds = append(conds, text)
	}
	if len(conds) > 0 {
		s.line("    if (%s) {", strings.Join(conds, " && "))
		indent = "      "
	}
	body(indent)
	if len(conds) > 0 {
		s.line("    }")
	}
	s.line("  }")
	s.line("}")
}

// show shows a call, unless enough have been shown. Each line takes a number; that all are written is known only when
// as many have been counted behind the writing, since several CPUs may be at it.
func (s *script) show(indent string, c *call, m moment) {
	if s.o.Lines <= 0 {
		s.print(indent, c, m)
		return
	}
	s.line("%sif (@lines++ < %d) {", indent, s.o.Lines)
	s.print(indent+"  ", c, m)
	if !m.atEnd {
		s.line("%s  if (@written++ == %d) {\n%[1]s    exit();\n%[1]s  }", indent, s.o.Lines-1)
	}
	s.line("%s}", indent)
}

// sums are what is said at the end.
func (s *script) sums(calls []*call) {
	if n := s.o.Lines; n > 0 {
		ended := fmt.Sprintf("exited after %d lines (-n); ", n)
		if n == 1 {
			ended = "exited after 1 line (-n); "
		}
		s.totals = append(s.totals, Total{
			Map: "@lines", Over: int64(n),
			One: ended + "1 more came before the probes were detached", Many: ended + "%d more came before the probes were " +
				"detached",
		})
	}
	s.unreturnedSums(calls)
}

// clause notes that a probe about functions begins.
func (s *script) clause(c *call) {
	s.clauses = append(s.clauses, Clause{s.lines + 1, c.members})
}

// points writes the attach points of a probe.
func (s *script) points(list []string) {
	if s.b.Len() > 0 {
		s.line("")
	}
	s.attach(list)
}

func (s *script) attach(list []string) {
	for i, p := range list {
		comma := ""
		if i < len(list)-1 {
			comma = ","
		}
		s.line("%s%s", p, comma)
	}
}
