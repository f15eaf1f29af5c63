package recipe

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// Dist writes a script that keeps how the values of an expression are distributed, for each function and, with By,
// for each value of other expressions: as a histogram of powers of two, a linear one, or a table of the values that
// came.
func Dist(fns []Function, o Question, diags *diag.List) Script {
	s := &script{o: o, leaving: leavingOf(fns), sys: ofSyscalls(fns)}
	if !s.parse(diags) {
		return s.done()
	}
	value := syntax.ParseExpr(&diag.Source{Name: "expression", Text: o.Value}, diags)
	if diags.Errors() > 0 {
		return s.done()
	}
	if slices.ContainsFunc(fns, func(f Function) bool { return f.Whole && !f.Syscalls }) {
		s.wholeDist(s.named(fns), value)
		return s.done()
	}
	s.distribution(fns, value, "@"+mapName(value), diags, nil)
	return s.done()
}

// wholeDist shows how what is made of the durations of all functions that patterns fit is distributed.
func (s *script) wholeDist(fns []Function, value syntax.Expr) {
	name, number := "@"+mapName(value), syntax.PrintExpr(value)
	exprs, columns := slices.Clone(s.by), []string(nil)
	how := "hist(" + number + ")"
	switch l := s.o.Linear; {
	case s.o.Table:
		exprs, how = append(exprs, value), "count()"
		columns = s.columns(exprs)
		if !s.o.Values {
			name = "@count" // the name of its column
		}
	case l != [3]int64{}:
		how = fmt.Sprintf("lhist(%s, %d, %d, %d)", number, l[0], l[1], l[2])
	}
	s.tables = true
	s.config(false)
	s.sized(name, fns, 0)
	s.wholeReturns(fns, name, exprs, columns, how)
	s.every(name)
	s.timer()
	s.lastly(name)
}

// ownMaps are the maps that scripts use themselves.
var ownMaps = []string{"left", "open", "ended", "thrown", "unwinding", "unwound"}

// mapName names a map for its values, so that the results tell what they are.
func mapName(x syntax.Expr) string {
	for {
		switch y := x.(type) {
		case *syntax.Ident:
			return asName(y.Name)
		case *syntax.Field:
			return asName(y.Name)
		case *syntax.Call:
			if len(y.Args) == 0 {
				return "value"
			}
			x = y.Args[0]
		case *syntax.Cast:
			x = y.X
		case *syntax.Unary:
			x = y.X
		default:
			return "value"
		}
	}
}

// asName keeps clear of names that a map cannot have, and of those of other maps here.
func asName(name string) string {
	if strings.HasPrefix(name, "calls") || slices.Contains(ownMaps, name) {
		return "value"
	}
	for i, c := range name {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return "value"
		}
	}
	return name
}

// distribution writes the probes; a nil value is the duration, in times. Rest writes those of functions that need no
// pairing here; nil: there are none.
func (s *script) distribution(fns []Function, value syntax.Expr, name string, diags *diag.List, rest func()) {
	s.counts = true
	exprs := s.by
	if value != nil {
		exprs = append([]syntax.Expr{value}, s.by...)
	}
	s.wants = wanted(append(slices.Clone(exprs), s.cond))
	fns = s.named(s.understood(fns, s.wants))
	s.byFunc = s.byFunc || len(fns) > 1 && allCalled(fns)
	var calls []*call
	for i := range fns {
		fn := &fns[i]
		c := s.newCall(fn)
		s.expressions(c, exprs)
		// Where it goes on in another function its result is not known, but that it is left is.
		results := c.atExit != nil
		for _, x := range exprs {
			results = results || mentions(x, "retval")
		}
		if results {
			c.leaves, c.tails = nil, c.leaves
		} else if fn.Tail != "" {
			c.leaves = nil // they are among the returns
		}
		late := value == nil || c.atExit != nil || s.o.Min > 0
		hidden := ""
		for _, p := range c.shown {
			late = late || p.exit != ""
			if p.show == Hidden {
				hidden = p.label
			}
		}
		switch {
		case late && (!c.pairs() || len(c.returns)+len(c.leaves) == 0):
			why := fn.NoReturn
			if why == "" {
				why = "the location of its frame is not known"
				if results && len(fn.Leaves) > 0 {
					why = "it ends in tail calls only: its results are those of the functions that it jumps to"
				}
			}
			s.notice(fn, "left out: its returns are not seen: %s", why)
			continue
		case hidden != "":
			why := "it cannot be read"
			for _, p := range fn.Params {
				if p.Name == hidden && p.Why != "" {
					why = p.Why
				}
			}
			s.notice(fn, "left out: %s is not known: %s", hidden, why)
			continue
		case !late:
			c.early, c.returns, c.leaves, c.tails = true, nil, nil, nil
		case results && len(fn.Leaves) > 0:
			s.notice(fn, "calls that end in a tail call are left out: their results are those of the functions that are "+
				"jumped to")
		case len(c.leaves) > 0:
			s.notice(fn, "where it ends in a tail call, the duration is measured up to the tail call")
		}
		if id, ok := value.(*syntax.Ident); ok && id.Name == "retval" && fn.Result == nil && !fn.Typed && !fn.Line {
			s.notice(fn, "its result is taken as 64 bits without a sign, since its type is not known: "+
				"write (int32)retval for an int, (int64)retval for a long or ssize_t")
		}
		calls = append(calls, c)
	}
	if value != nil {
		calls = s.ofOneKind(calls, value)
	}
	calls = s.join(calls, nil)
	if s.byFunc {
		for _, c := range calls {
			c.name = "" // keys are of one type
		}
	}
	if len(calls) == 0 && rest == nil {
		s.none(diags, "no function is left for which this is available")
		return
	}
	names := s.mapNames(calls, value, name)
	paired := slices.ContainsFunc(calls, (*call).pairs)
	s.tables = true
	s.config(paired)
	if value == nil {
		s.sized(names[0], fns, timesEntries)
	}
	s.stores(calls)
	for _, c := range calls {
		if c.pairs() {
			s.entry(c)
			s.returned(c, append(c.returns, c.leaves...), func(indent string) {
				s.add(indent, c, value, names, func(p part) string {
					if p.exit != "" {
						return p.exit
					}
					return "$call." + p.field
				})
			})
			if len(c.tails) > 0 {
				s.forget(c, c.tails)
			}
			continue
		}
		s.clause(c)
		s.points(c.points)
		cond := s.comm
		if c.atCall != nil {
			cond = both(cond, over(c.atCall, c.fn, argsOf))
		}
		if cond != nil {
			s.line("/%s/", syntax.PrintExpr(cond))
		}
		s.line("{")
		s.add("  ", c, value, names, func(p part) string { return s.value(p.show, p.expr) })
		s.line("}")
	}
	if rest != nil {
		rest()
	}
	if paired {
		s.leavings()
	}
	s.every(names...)
	s.timer()
	s.unreturned(calls, s.last(names...))
	if !paired {
		s.lastly(names...)
	}
	if paired {
		s.unreturnedSums(calls)
	}
}

// mapNames are the maps of the calls' values, the last of which has those that are counted one by one: texts, or all if
// that was asked for.
func (s *script) mapNames(calls []*call, value syntax.Expr, name string) []string {
	if value == nil {
		return []string{name}
	}
	ranges := !s.o.Table && slices.ContainsFunc(calls, func(c *call) bool { return !c.textual() })
	counted := s.o.Table || slices.ContainsFunc(calls, (*call).textual)
	table := name
	switch {
	case counted && !s.o.Values:
		table = "@count" // the name of its column
	case counted && ranges:
		table += "_text"
	}
	switch {
	case ranges && counted:
		return []string{name, table}
	case counted:
		return []string{table}
	}
	return []string{name}
}

// textual tells whether the value that is asked for is a text.
func (c *call) textual() bool {
	p := &c.shown[0]
	return p.show == AsText || p.show == AsString || p.show == ByStr || p.text
}

// ofOneKind makes values those of one map, or two: numbers, of pointers their addresses; and texts of the kind that
// most functions have.
func (s *script) ofOneKind(calls []*call, value syntax.Expr) []*call {
	id, ok := value.(*syntax.Ident)
	result := ok && id.Name == "retval"
	kindOf := func(c *call) string {
		if p := &c.shown[0]; p.show == AsString && result && c.fn.Result != nil {
			return c.fn.Result.Type
		}
		return ""
	}
	texts := map[string]int{}
	for _, c := range calls {
		if c.textual() {
			texts[kindOf(c)]++
		}
	}
	most := ""
	for _, kind := range slices.Sorted(maps.Keys(texts)) {
		if texts[most] < texts[kind] {
			most = kind
		}
	}
	return slices.DeleteFunc(calls, func(c *call) bool {
		p := &c.shown[0]
		switch {
		case !c.textual():
			v := c.fn.Result
			if !result {
				v = c.fn.param(id)
			}
			if v == nil || s.o.Table || result && p.plain == "" {
				break
			}
			switch v.sort {
			case addressSort:
				if result {
					p.exit, p.show = "(uint64)"+p.plain, AsValue
				}
			case partedSort:
				if result {
					s.notice(c.fn, "left out: its results are no numbers: ask for a part of them, as in retval.size")
					return true
				}
			case realSort:
				s.notice(c.fn, "left out: of floating-point numbers no ranges are counted: --values counts each of them")
				return true
			case numberSort, otherSort:
			}
		case kindOf(c) != most:
			s.notice(c.fn, "left out: its values are of another kind (%s): ask for them by themselves", kindOf(c))
			return true
		}
		return false
	})
}

// param is the parameter that an identifier names, nil if there is none.
func (f *Function) param(id *syntax.Ident) *Value {
	for i := range f.Params {
		if id != nil && f.Params[i].Name == id.Name {
			return &f.Params[i]
		}
	}
	return nil
}

// add counts a value in.
func (s *script) add(indent string, c *call, value syntax.Expr, names []string, get func(part) string) {
	function := quoted(c.name)
	switch {
	case c.name == "" && c.pairs():
		function = "$call.func_"
	case c.name == "":
		function = "func"
	}
	keys := []string{function}
	by := c.shown
	number, columns, name := "$took", s.columns(s.by), names[0]
	if value != nil {
		number, by = get(c.shown[0]), c.shown[1:]
	}
	for _, p := range by {
		keys = append(keys, get(p))
	}
	how := "hist(" + number + ")"
	switch l := s.o.Linear; {
	case value == nil:
		how = "times(" + number + ")"
	case s.o.Table || c.textual():
		keys = append(keys, number)
		columns = s.columns(append(slices.Clone(s.by), value))
		how = "count()"
		name = names[len(names)-1]
	case l != [3]int64{}:
		how = fmt.Sprintf("lhist(%s, %d, %d, %d)", number, l[0], l[1], l[2])
		columns = nil // histograms are no table
	default:
		columns = nil
	}
	s.line("%s%s[%s] = %s;", indent, name, s.columned(keys, columns), how)
}

// span is a time as the name of an interval has it.
func span(d time.Duration) string {
	switch {
	case d%time.Second == 0:
		return fmt.Sprintf("s:%d", d/time.Second)
	case d%time.Millisecond == 0:
		return fmt.Sprintf("ms:%d", d/time.Millisecond)
	}
	return fmt.Sprintf("us:%d", max(1, d/time.Microsecond))
}
