package recipe

import (
	"maps"
	"slices"
	"strings"

	"trocar/internal/script/syntax"
)

// call is how the calls of a function, or of several that are alike, are shown.
type call struct {
	fn      *Function
	points  []string
	returns []string
	leaves  []string // where it goes on in another function
	tails   []string // the same, where nothing of what is asked is known then
	name    string   // as it is printed; "": by the builtin func, or as named says
	named   string   // expression of what tells the calls apart that come by at one probe, and %s of its name
	shown   []part
	results []part // shown with the result, as they are then
	extra   []part // parameters kept for expressions at the return, not shown
	atExit  syntax.Expr
	atCall  syntax.Expr
	split   bool // the arguments are shown when it is entered
	early   bool // nothing of its return is looked at
	store   string
	members []string // entries of the functions
}

// part is one value of a line.
type part struct {
	label string // "i", or the expression
	field string // its name in the record of the kept values
	expr  string // at the entry; "": at the return, see exit
	exit  string // where the function returns, without having been kept
	plain string // exit without what it refers to, if that is shown
	show  Show
	size  int  // of what is kept
	text  bool // it is a string already
	all   bool // it is all arguments together (funcargs)
}

// thread is the expression of what runs the function.
func (fn *Function) thread() string {
	if fn.Tasks != nil {
		return fn.Tasks.ID
	}
	return "tid"
}

func (c *call) pairs() bool {
	return len(c.fn.Returns)+len(c.fn.Leaves) > 0 && c.fn.EntryKey != "" && !c.early
}

// later tells whether an expression has what is known only when the function returns.
func (fn *Function) later(x syntax.Expr) bool {
	return mentions(x, "retval") || mentions(x, "duration") && !fn.has("duration") || calls(x, atEndWord)
}

func (fn *Function) has(name string) bool {
	return slices.ContainsFunc(fn.Params, func(p Value) bool { return p.Name == name })
}

// call finds out how the calls of a function are shown.
func (s *script) call(fn *Function) *call {
	c := s.newCall(fn)
	if len(fn.Leaves) > 0 && fn.EntryKey != "" {
		s.notice(fn, "where it ends in a tail call, "+
			"the duration is measured up to the tail call, and the result is not available")
	}
	if fn.Event {
		// It is shown as it comes.
	} else if len(fn.Returns)+len(fn.Leaves) == 0 && fn.NoReturn != "" {
		s.notice(fn, "only calls are shown, without results and durations: %s", fn.NoReturn)
	} else if fn.EntryKey == "" && !fn.Line {
		s.notice(fn, "only calls are shown, without results and durations: the location of its frame is not known")
	}
	if fn.together() {
		s.togetherCall(c)
	} else if len(s.args) > 0 {
		s.expressions(c, s.args)
	} else if fn.Syscall || fn.Syscalls {
		c.shown = []part{s.syscallArgs()}
	} else if fn.Args > 0 {
		s.expressions(c, fn.byNumber())
	} else {
		s.parameters(c)
	}
	s.afterwards(c)
	asks := fn.Result != nil && fn.Result.Show != Hidden || s.cond != nil && mentions(s.cond, "retval")
	for _, x := range s.args {
		asks = asks || mentions(x, "retval")
	}
	if fn.Tail != "" && !asks {
		c.leaves = nil // they are among the returns
	}
	if c.pairs() && c.atExit == nil && s.o.Min <= 0 && (s.o.Enter || leavesForGood(fn.Name)) {
		c.split = true
	}
	if r := fn.Result; c.pairs() && r != nil && r.Show == Hidden {
		s.notice(fn, "the result is not shown: %s", r.Why)
	}
	if !c.pairs() || s.keptBytes(c) <= mostKept {
		return c
	}
	if s.o.Min <= 0 && c.atExit == nil {
		c.split = true
		return c
	}
	// Whether the call is shown is known only when it returns: what is largest is left out.
	for s.keptBytes(c) > mostKept {
		largest, most := -1, 0
		for i, p := range c.shown {
			if n := s.bytes(p.show, p.size); p.expr != "" && p.show != Hidden && (largest < 0 || n > most) {
				largest, most = i, n
			}
		}
		if largest < 0 {
			break
		}
		p := &c.shown[largest]
		s.notice(fn, "%s is not shown: it is too large to be kept until the call returns; select parts of it with --args",
			p.label)
		*p = part{label: p.label, show: Hidden}
		s.dropped = true
	}
	return c
}

// forGood are functions that mostly do not return: their calls are shown when they begin.
var forGood = []string{
	"exit", "_exit", "_Exit", "quick_exit", "exit_group", "abort", "thrd_exit", "pthread_exit", "longjmp", "siglongjmp",
	"execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve", "execveat", "rt_sigreturn",
}

func leavesForGood(name string) bool {
	name = strings.TrimPrefix(name, "__GI_")
	return slices.Contains(forGood, name) || slices.Contains(forGood, strings.TrimLeft(name, "_"))
}

// keptBytes is the size of what is kept of a call.
func (s *script) keptBytes(c *call) int {
	n := 48
	if s.o.Stack {
		n += 16 + 8*127
	}
	for _, p := range c.kept() {
		n += s.bytes(p.show, p.size)
	}
	return n
}

// newCall begins with the conditions.
func (s *script) newCall(fn *Function) *call {
	c := &call{
		fn: fn, points: []string{fn.Entry()}, returns: slices.Clone(fn.Returns), leaves: slices.Clone(fn.Leaves),
		name: fn.Name, members: []string{fn.Entry()},
	}
	if fn.Tail != "" {
		c.leaves = []string{fn.Tail}
	}
	if fn.Syscalls {
		c.name, c.named = "", "args.id"
	}
	for _, n := range fn.Notices {
		s.notice(fn, "%s", n)
	}
	if s.cond != nil && mentions(s.cond, "retval") && !fn.Typed && fn.Probe == "" && !fn.has("retval") {
		s.notice(fn, "the type of its result is not known: retval is an unsigned number of 64 bits; "+
			"of an int it is (int32)retval")
	}
	if cond := s.condition(fn); cond != nil {
		if fn.later(cond) {
			c.atExit = cond
			s.atReturn(c, cond)
		} else {
			c.atCall = cond
		}
	}
	return c
}

// parameters shows all of a function's parameters.
func (s *script) parameters(c *call) {
	fn := c.fn
	if !fn.Typed {
		switch {
		case fn.Line:
		case fn.Tasks != nil:
			s.notice(fn, "arguments and results are not available without debug information: %s", fn.NoDebug)
		case fn.Result != nil:
			s.notice(fn, "arguments are not available without debug information; registers can be printed with --args 'arg0, "+
				"str(arg1)'")
		default:
			s.notice(fn, "arguments and results are not available without debug information; "+
				"registers can be printed with --args 'arg0, str(arg1)'")
		}
		return
	}
	names := make([]string, len(fn.Params))
	for i, p := range fn.Params {
		names[i] = p.Name
	}
	fields := fieldNames(names)
	for i, p := range fn.Params {
		_, ok := writable(p.Name)
		label := p.Name
		switch {
		case strings.HasPrefix(p.Name, "~p"): // Go's name for one that has none
			label, p.Show = "_", Hidden
		case p.Show == Hidden:
			s.hidden(fn, p.Name, p.Why)
		case !ok:
			p.Show = Hidden
			s.hidden(fn, p.Name, "a script cannot write this name")
		}
		expr := "args." + p.Name
		if p.Cast != "" {
			expr = "(" + p.Cast + ")" + expr
		}
		c.shown = append(c.shown, part{label: label, field: fields[i], expr: expr, show: p.Show, size: p.Size})
	}
}

// hidden notes an argument that is not shown; of many functions only the reasons.
func (s *script) hidden(fn *Function, name, why string) {
	if s.many {
		s.notice(fn, "an argument is not shown: %s", why)
		return
	}
	s.notice(fn, "%s is not shown: %s", name, why)
}

// isWord tells a word of the language, which means something in functions that have no parameter of the name.
func isWord(name string) bool {
	number, isArg := strings.CutPrefix(name, "arg")
	switch {
	case isArg && (number == "s" || strings.Trim(number, "0123456789") == ""):
		return true
	case name == "retval", name == "duration", name == "errno", name == "reg":
		return true
	}
	return slices.Contains(ofNoFunction, name)
}

// understood are the functions for which the names in expressions have a meaning, as far as that is known: they return
// a result if it is asked for, and have the parameters that others have.
func (s *script) understood(fns []Function, names map[string]bool) []Function {
	params := map[string]bool{} // that some of the functions have
	for i := range fns {
		for _, p := range fns[i].Params {
			if names[p.Name] && !isWord(p.Name) {
				params[p.Name] = true
			}
		}
	}
	var out []Function
next:
	for i := range fns {
		fn := &fns[i]
		if names["retval"] && fn.Typed && fn.Result == nil && !fn.Line && len(fn.Returns) > 0 {
			s.notice(fn, "left out: it returns nothing")
			continue
		}
		if r := fn.Result; names["retval"] && r != nil && r.Show == Hidden {
			s.notice(fn, "left out: its result is not available: %s", r.Why)
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(params)) {
			i := slices.IndexFunc(fn.Params, func(p Value) bool { return p.Name == name })
			if i < 0 {
				s.notice(fn, "left out: it has no parameter %s", name)
				continue next
			}
			if p := &fn.Params[i]; p.Show == Hidden {
				s.notice(fn, "left out: %s is not available: %s", name, p.Why)
				continue next
			}
		}
		out = append(out, *fn)
	}
	return out
}

// expressions shows those of the options.
func (s *script) expressions(c *call, exprs []syntax.Expr) {
	var labels []string
	for _, x := range exprs {
		labels = append(labels, s.label(x))
	}
	fields := fieldNames(labels)
	for i, x := range exprs {
		p := part{label: labels[i], field: fields[i]}
		if call, ok := x.(*syntax.Call); ok && call.Name == "str" {
			p.text = true
		}
		if c.fn.ShowOf != nil {
			p.show, p.size = c.fn.ShowOf(syntax.PrintExpr(x))
		}
		if id, ok := x.(*syntax.Ident); ok {
			if c.fn.Syscall && c.fn.has(id.Name) {
				s.syscallPart(c, &p, id.Name)
				c.shown = append(c.shown, p)
				continue
			}
		}
		if c.fn.later(x) {
			p.exit, p.show = s.atReturn(c, x), AsValue
			if id, ok := x.(*syntax.Ident); ok && id.Name == "retval" && c.fn.Result != nil {
				p.plain = p.exit
				p.show, p.exit = c.fn.Result.Show, s.shown(c.fn.Result.Show, p.exit)
			}
			if !c.pairs() {
				p.show = Hidden
			}
		} else {
			p.expr = syntax.PrintExpr(over(x, c.fn, argsOf))
		}
		c.shown = append(c.shown, p)
	}
}

// kept are the values that are kept until the call returns.
func (c *call) kept() (parts []part) { return append(c.shownLater(), c.extra...) }

// shownLater are those of them that are shown.
func (c *call) shownLater() (parts []part) {
	if !c.split {
		for _, p := range c.shown {
			if p.expr != "" && p.show != Hidden {
				parts = append(parts, p)
			}
		}
	}
	return parts
}
