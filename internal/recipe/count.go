package recipe

import (
	"slices"
	"strconv"
	"strings"

	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// Count writes a script that counts calls by function, and by expressions over their arguments.
func Count(fns []Function, o Question, diags *diag.List) Script {
	return counted(fns, o, diags, nil)
}

// Stack writes a script that counts calls by the stack that led to them.
func Stack(fns []Function, o Question, diags *diag.List) Script {
	return counted(fns, o, diags, []string{"ustack"})
}

func counted(fns []Function, o Question, diags *diag.List, by []string) Script {
	s := &script{o: o}
	if !s.parse(diags) {
		return s.done()
	}
	s.wants = wanted(append(slices.Clone(s.by), s.cond))
	// What looks at no argument is one probe for all functions, and quick to attach.
	var same []string
	var calls []*call
	fns = s.named(s.understood(fns, s.wants))
	s.tables = true
	s.settings(nil)
	s.stacks = len(by) > 0
	s.sized("@calls", fns, 0)
	columns := s.columns(s.by)
	if len(by) > 0 {
		columns = append(columns, "stack")
	}
	for i := range fns {
		fn := &fns[i]
		if fn.Syscalls {
			s.countSyscalls(by)
			continue
		}
		if fn.Called && !fn.Line && (len(s.by) == 0 && s.cond == nil || fn.Whole) {
			same = append(same, fn.Entry())
			s.unseen(fn, nil)
			continue
		}
		c := s.newCall(fn)
		s.unseen(fn, fn.Notices)
		c.early, c.returns, c.leaves = true, nil, nil
		s.expressions(c, s.by)
		calls = append(calls, c)
	}
	for _, c := range s.join(calls, nil) {
		s.clause(c)
		fn := c.fn
		keys := []string{"func"}
		if !fn.Called || fn.Line {
			keys[0] = quoted(fn.Name)
		}
		for _, p := range c.shown {
			keys = append(keys, s.value(p.show, p.expr))
		}
		s.countProbe(c.points, fn, append(keys, by...), columns)
	}
	if len(same) > 0 {
		keys := []string{"func"}
		for _, x := range s.by {
			keys = append(keys, syntax.PrintExpr(x))
		}
		s.countProbe(same, &Function{}, append(keys, by...), columns)
	}
	if s.b.Len() == 0 {
		s.none(diags, "no function is left for which this is available")
	}
	s.results("@calls")
	s.timer()
	return s.done()
}

// unseen says which calls are not counted, but what is said already.
func (s *script) unseen(fn *Function, said []string) {
	for _, n := range fn.Unseen {
		if !slices.Contains(said, n) {
			s.notice(fn, "%s", n)
		}
	}
}

func (s *script) countProbe(points []string, fn *Function, keys, columns []string) {
	s.points(points)
	cond := s.comm
	if s.cond != nil {
		cond = both(cond, over(s.cond, fn, argsOf))
	}
	if cond != nil {
		s.line("/%s/", syntax.PrintExpr(cond))
	}
	s.line("{\n  @calls[%s] = count();\n}", s.columned(keys, columns))
}

// latencyMap has the durations of calls.
const latencyMap = "@latency"

// Latency writes a script that keeps the durations of each function's calls. A call is paired with its return by
// process, frame and function, so that recursion, exceptions and longjmp pair nothing wrong.
func Latency(fns []Function, o Question, diags *diag.List) Script {
	s := &script{o: o, leaving: leavingOf(fns), sys: ofSyscalls(fns)}
	if !s.parse(diags) {
		return s.done()
	}
	if len(fns) == 1 && fns[0].Syscalls {
		s.syscalls()
		s.results(latencyMap)
		s.timer()
		s.line("\nend {\n  clear(@entered);\n}")
		return s.done()
	}
	if slices.ContainsFunc(fns, func(f Function) bool { return f.Whole }) {
		fns = s.named(fns)
		s.tables = true
		s.settings(nil)
		s.sized(latencyMap, fns, timesEntries)
		s.wholeLatency(fns)
		return s.done()
	}
	if s.cond != nil || s.comm != nil || len(s.by) > 0 || s.o.Min > 0 {
		s.distribution(fns, nil, latencyMap, diags, nil)
		return s.done()
	}
	fns = s.named(fns)
	var direct, paired []Function
	for i := range fns {
		if fn := fns[i]; returnsSeen(&fn) {
			direct = append(direct, fn)
		} else {
			paired = append(paired, fn)
		}
	}
	var rest func()
	if len(direct) > 0 {
		rest = func() { s.direct(direct, s.byFunc) }
	}
	s.byFunc = allCalled(fns)
	s.distribution(paired, nil, latencyMap, diags, rest)
	return s.done()
}

// allCalled tells whether the builtin func names the functions, so that one probe does for all.
func allCalled(fns []Function) bool {
	return !slices.ContainsFunc(fns, func(fn Function) bool { return !fn.Called })
}

// direct times functions by the builtin duration.
func (s *script) direct(fns []Function, byFunc bool) {
	if !byFunc {
		for i := range fns {
			s.timedProbe(fns[i].Returns, quoted(fns[i].Name))
		}
		return
	}
	var returns []string
	for i := range fns {
		returns = append(returns, fns[i].Returns...)
	}
	s.timedProbe(returns, "func")
}

// returnsSeen tells whether the builtin duration times a function: its returns are return probes.
func returnsSeen(fn *Function) bool {
	at := func(p string) bool { return !strings.HasPrefix(p, "uretprobe:") }
	return len(fn.Returns) > 0 && len(fn.Leaves) == 0 && !slices.ContainsFunc(fn.Returns, at)
}

// wholeLatency times all functions that patterns fit, if there are no others.
func (s *script) wholeLatency(fns []Function) {
	s.wholeReturns(fns, latencyMap, s.by, s.columns(s.by), "times(duration)")
	s.results(latencyMap)
	s.timer()
}

// wholeReturns writes the probe of the returns of all functions that patterns fit, by function and expressions.
func (s *script) wholeReturns(fns []Function, name string, exprs []syntax.Expr, columns []string, how string) {
	keys := []string{"func"}
	for _, x := range exprs {
		keys = append(keys, syntax.PrintExpr(x))
	}
	cond := both(s.comm, s.cond)
	if s.o.Min > 0 {
		least := &syntax.IntLit{Value: uint64(s.o.Min), Text: strconv.FormatInt(int64(s.o.Min), 10)}
		cond = both(&syntax.Binary{Op: ">=", X: &syntax.Ident{Name: "duration"}, Y: least}, cond)
	}
	var returns []string
	for i := range fns {
		fn := &fns[i]
		if len(fn.Returns)+len(fn.Leaves) == 0 {
			s.notice(fn, "left out: %s", fn.NoReturn)
			continue
		}
		returns = append(returns, "uretprobe:"+strings.TrimSuffix(fn.Point, "+0"))
	}
	s.points(returns)
	if cond != nil {
		s.line("/%s/", syntax.PrintExpr(cond))
	}
	s.line("{\n  %s[%s] = %s;\n}", name, s.columned(keys, columns), how)
}

func (s *script) timedProbe(returns []string, key string) {
	s.points(returns)
	s.line("{\n  %s[%s] = times(duration);\n}", latencyMap, s.columned([]string{key}, s.columns(nil)))
}
