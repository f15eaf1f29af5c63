package recipe

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// mostOpen bounds the calls of one function that may be open at a time, in all threads; with many functions, and where much
// is kept of a call, it is less, but no less than leastOpen: memory for all of them is set aside.
const (
	mostOpen  = 16384
	leastOpen = 256
	openBytes = 8 << 20
)

func openCalls(functions, bytes int) int {
	n := min(mostOpen/max(1, functions/4), openBytes/max(1, bytes))
	return max(leastOpen, 1<<(bits.Len(uint(n))-1))
}

// mostKept bounds what is kept of one call.
const mostKept = 6 << 10

// Trace writes a script that shows each call. A call is one line, written when it returns: what its arguments were at its
// entry is kept by thread and frame until then, so that recursion, exceptions and longjmp pair nothing wrong. Where an
// argument can only be shown at the entry, there is a second line for that.
func Trace(fns []Function, o Options, diags *diag.List) Script {
	s := &script{o: o}
	if !s.parse(diags) {
		return s.done()
	}
	s.config()
	var calls []*call
	for i := range fns {
		c := s.call(&fns[i])
		if !c.pairs() && (s.o.Min > 0 || c.atExit != nil) {
			s.notice(&fns[i], "left out: its returns are not seen, which the condition asks for")
			continue
		}
		if len(calls) > 0 && calls[len(calls)-1].joins(c) {
			calls[len(calls)-1].points = append(calls[len(calls)-1].points, "uprobe:"+fns[i].Point)
			calls[len(calls)-1].returns = append(calls[len(calls)-1].returns, fns[i].Returns...)
			continue
		}
		calls = append(calls, c)
	}
	if len(calls) == 0 {
		d := diags.Errorf(diag.Span{}, "of these functions no returns are seen, which the condition asks for")
		for i := range s.notices {
			d.Note(diag.Span{}, "%s", s.notices[i].String())
		}
		return s.done()
	}
	kept := 0
	for _, c := range calls {
		if c.keeps() {
			kept++
		}
	}
	n := 0
	for _, c := range calls {
		if !c.keeps() {
			continue
		}
		n++
		c.store = "@calls"
		if kept > 1 {
			c.store += strconv.Itoa(n)
		}
		s.line("let %s = hash(%d);", c.store, openCalls(kept, s.keptBytes(c)))
	}
	for _, c := range calls {
		s.entry(c)
		if c.pairs() {
			s.exit(c)
		}
	}
	s.timer()
	s.unreturned(calls)
	return s.done()
}

// call is how the calls of a function, or of several that are alike, are shown.
type call struct {
	fn      *Function
	points  []string
	returns []string
	name    string // as it is printed; "": by the builtin func
	shown   []part
	extra   []part // kept for conditions at the return, not shown
	atExit  syntax.Expr
	atCall  syntax.Expr
	split   bool // the arguments are shown when it is entered
	store   string
}

// part is one value of a line.
type part struct {
	label string // "i", or the expression
	field string // its name in the record of the kept values
	expr  string // at the entry; "": at the return, see exit
	exit  string // where the function returns, without having been kept
	show  Show
	size  int  // of what is kept
	text  bool // it is a string already
}

// thread is the expression of what runs the function.
func (fn *Function) thread() string {
	if fn.Goroutines {
		return "goid"
	}
	return "tid"
}

func (c *call) pairs() bool { return len(c.fn.Returns) > 0 && c.fn.EntryKey != "" }
func (c *call) keeps() bool { return c.pairs() }

// call finds out how the calls of a function are shown.
func (s *script) call(fn *Function) *call {
	c := &call{fn: fn, points: []string{"uprobe:" + fn.Point}, returns: slices.Clone(fn.Returns), name: fn.Name}
	for _, n := range fn.Notices {
		s.notice(fn, "%s", n)
	}
	if len(fn.Returns) == 0 && fn.NoReturn != "" {
		s.notice(fn, "only calls are shown, without results and durations: %s", fn.NoReturn)
	} else if fn.EntryKey == "" && !fn.Line {
		s.notice(fn, "only calls are shown, without results and durations: where its frame lies is not known")
	}
	if s.cond != nil {
		if mentions(s.cond, "retval") {
			c.atExit = s.cond
		} else {
			c.atCall = s.cond
		}
	}
	if len(s.args) > 0 {
		s.expressions(c)
	} else {
		s.parameters(c)
	}
	if c.atExit != nil {
		s.needed(c)
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
		largest := -1
		for i, p := range c.shown {
			if p.expr != "" && p.show != Hidden && (largest < 0 || s.bytes(p.show, p.size) > s.bytes(c.shown[largest].show, c.shown[largest].size)) {
				largest = i
			}
		}
		if largest < 0 {
			break
		}
		p := &c.shown[largest]
		s.notice(fn, "%s is not shown, as too much would have to be kept until the call returns; name parts of it with --args", p.label)
		*p = part{label: p.label, show: Hidden}
	}
	return c
}

// keptBytes is the size of what is kept of a call.
func (s *script) keptBytes(c *call) int {
	n := 32
	if s.o.Stack {
		n += 16 + 8*127
	}
	for _, p := range c.kept() {
		n += s.bytes(p.show, p.size)
	}
	return n
}

// parameters shows all of a function's parameters.
func (s *script) parameters(c *call) {
	fn := c.fn
	if !fn.Typed {
		switch {
		case fn.Line:
		case fn.Goroutines:
			s.notice(fn, "no debug information tells arguments and results: build it without -ldflags=-s and -w")
		default:
			s.notice(fn, "no debug information tells arguments and results; registers can be shown with --args 'arg0, str(arg1)'")
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
			s.notice(fn, "%s is not shown: %s", p.Name, p.Why)
		case !ok:
			p.Show = Hidden
			s.notice(fn, "%s is not shown: a script cannot write this name", p.Name)
		}
		c.shown = append(c.shown, part{label: label, field: fields[i], expr: "args." + p.Name, show: p.Show, size: p.Size})
	}
}

// expressions shows those of the options.
func (s *script) expressions(c *call) {
	var labels []string
	for _, x := range s.args {
		labels = append(labels, syntax.PrintExpr(x))
	}
	fields := fieldNames(labels)
	for i, x := range s.args {
		p := part{label: labels[i], field: fields[i]}
		if call, ok := x.(*syntax.Call); ok && call.Name == "str" {
			p.text = true
		}
		if c.fn.ShowOf != nil {
			p.show, p.size = c.fn.ShowOf(labels[i])
		}
		if mentions(x, "retval") {
			p.exit, p.show = syntax.PrintExpr(c.result(x)), AsValue
			if !c.pairs() {
				p.show = Hidden
			}
		} else {
			p.expr = syntax.PrintExpr(over(x, c.fn, argsOf))
		}
		c.shown = append(c.shown, p)
	}
}

// needed keeps the parameters that the condition at the return looks at.
func (s *script) needed(c *call) {
	for i, p := range c.fn.Params {
		if !mentions(c.atExit, p.Name) {
			continue
		}
		field := "if" + strconv.Itoa(i)
		show := AsValue
		if p.Show == AsString || p.Show == AsText && mentions(c.atExit, "str") {
			show = p.Show
		}
		c.extra = append(c.extra, part{label: p.Name, field: field, expr: "args." + p.Name, show: show})
	}
}

// joins tells whether the calls of two functions are shown by the same text, so that they can share a probe.
func (c *call) joins(d *call) bool {
	if !c.fn.Called || !d.fn.Called || c.pairs() != d.pairs() || c.fn.EntryKey != d.fn.EntryKey || c.fn.Goroutines != d.fn.Goroutines || c.fn.ReturnKey != d.fn.ReturnKey || c.fn.ResultExpr != d.fn.ResultExpr ||
		len(c.shown) != len(d.shown) || c.split != d.split || c.atCall != d.atCall || c.atExit != d.atExit || len(c.fn.Params) != len(d.fn.Params) {
		return false
	}
	for i := range c.shown {
		if c.shown[i] != d.shown[i] {
			return false
		}
	}
	for i := range c.fn.Params {
		if c.fn.Params[i] != d.fn.Params[i] {
			return false
		}
	}
	a, b := c.fn.Result, d.fn.Result
	if a != b && (a == nil || b == nil || *a != *b) {
		return false
	}
	c.name = "" // the builtin func tells them apart
	return true
}

// kept are the values that are kept until the call returns.
func (c *call) kept() (parts []part) {
	if !c.split {
		for _, p := range c.shown {
			if p.expr != "" && p.show != Hidden {
				parts = append(parts, p)
			}
		}
	}
	return append(parts, c.extra...)
}

// points writes the attach points of a probe.
func (s *script) points(list []string) {
	if s.b.Len() > 0 {
		s.line("")
	}
	for i, p := range list {
		comma := ""
		if i < len(list)-1 {
			comma = ","
		}
		s.line("%s%s", p, comma)
	}
}

// result makes an expression with the result one of the script.
func (c *call) result(x syntax.Expr) syntax.Expr {
	return rewrite(syntax.Clone(x), func(id *syntax.Ident) syntax.Expr {
		if id.Name != "retval" || c.fn.ResultExpr == "" {
			return id
		}
		return syntax.ParseExpr(&diag.Source{Text: c.fn.ResultExpr}, &diag.List{})
	})
}

// entry writes the probe of a call's beginning.
func (s *script) entry(c *call) {
	s.points(c.points)
	s.line("{")
	indent := "  "
	key := c.fn.EntryKey
	if c.atCall != nil {
		s.line("  if (%s) {", syntax.PrintExpr(over(c.atCall, c.fn, argsOf)))
		indent = "    "
	}
	if !c.pairs() || c.split {
		s.limit(indent)
		s.print(indent, c, moment{time: "nsecs", part: func(p part) string { return s.value(p.show, p.expr) }, call: true})
		if !c.pairs() {
			s.enough(indent)
		}
	}
	if c.pairs() {
		fields := []string{"start=(int64)nsecs", "thread_=" + c.fn.thread()}
		if s.o.Stack {
			fields = append(fields, "stack_=ustack")
		}
		if c.name == "" {
			fields = append(fields, "func_=func")
		}
		for _, p := range c.kept() {
			fields = append(fields, p.field+"="+s.value(p.show, p.expr))
		}
		s.line("%s%s[%s] = (%s);", indent, c.store, key, strings.Join(fields, ", "))
	}
	if c.atCall != nil {
		if c.pairs() {
			// A call that was left by an exception may have been in the same frame.
			s.line("  } else {\n    _ = delete(%s, (%s));", c.store, key)
		}
		s.line("  }")
	}
	s.line("}")
}

// exit writes the probe of a call's return.
func (s *script) exit(c *call) {
	s.points(c.returns)
	s.line("{")
	s.line("  $key = (%s);", c.fn.ReturnKey)
	s.line("  if (has_key(%s, $key)) {", c.store)
	s.line("    $call = %s[$key];", c.store)
	s.line("    $took = (uint64)((int64)nsecs - $call.start);")
	s.line("    _ = delete(%s, $key);", c.store)
	indent := "    "
	var conds []string
	if s.o.Min > 0 {
		conds = append(conds, fmt.Sprintf("$took >= %d", s.o.Min.Nanoseconds()))
	}
	if c.atExit != nil {
		x := over(c.result(c.atExit), c.fn, func(name string) syntax.Expr {
			for _, p := range c.extra {
				if p.label == name {
					return &syntax.Field{X: &syntax.Var{Name: "$call"}, Name: p.field}
				}
			}
			return argsOf(name)
		})
		text := syntax.PrintExpr(x)
		if len(conds) > 0 {
			text = "(" + text + ")"
		}
		conds = append(conds, text)
	}
	if len(conds) > 0 {
		s.line("    if (%s) {", strings.Join(conds, " && "))
		indent = "      "
	}
	s.limit(indent)
	s.print(indent, c, moment{time: "nsecs", part: func(p part) string {
		if p.exit != "" {
			return p.exit
		}
		return "$call." + p.field
	}, ret: true, stack: "$call.stack_"})
	s.enough(indent)
	if len(conds) > 0 {
		s.line("    }")
	}
	s.line("  }")
	s.line("}")
}

// limit and enough end the script after a number of calls.
func (s *script) limit(indent string) {
	if s.o.Calls > 0 {
		s.line("%sif (@shown >= %d) {\n%s  return;\n%[1]s}", indent, s.o.Calls, indent)
	}
}

func (s *script) enough(indent string) {
	if s.o.Calls > 0 {
		s.line("%s@shown++;\n%[1]sif (@shown >= %d) {\n%[1]s  exit();\n%[1]s}", indent, s.o.Calls)
	}
}

// perEnd is how many loops are in one program: each is a function of its own there, and the kernel takes 256.
const perEnd = 32

// unreturned shows the calls that are still open at the end.
func (s *script) unreturned(calls []*call) {
	n := 0
	for _, c := range calls {
		if !c.pairs() || c.atExit != nil {
			continue
		}
		switch {
		case n == 0:
			s.line("\n// Calls that have not returned, or were left by an exception.\nend\n{")
			s.limit("  ")
		case n%perEnd == 0:
			s.line("}\n\nend\n{")
			s.limit("  ")
		}
		n++
		indent := "    "
		s.line("  for ($kv : %s) {", c.store)
		s.line("    $call = $kv.1;")
		if s.o.Min > 0 {
			s.line("    if ((int64)nsecs - $call.start >= %d) {", s.o.Min.Nanoseconds())
			indent = "      "
		}
		s.print(indent, c, moment{time: "$call.start", tid: "$call.thread_", part: func(p part) string { return "$call." + p.field }, open: true, stack: "$call.stack_"})
		if s.o.Min > 0 {
			s.line("    }")
		}
		s.line("  }")
	}
	if n > 0 {
		s.line("}")
	}
}
