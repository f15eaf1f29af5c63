package check

import (
	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
)

// What the arguments of builtins must be as written: how many, and which must be literals.

func builtinNames(variables bool) []string {
	var names []string
	for _, f := range builtin.All() {
		if !variables || f.Variable {
			names = append(names, f.Names[0])
		}
	}
	return names
}

// checkArgs checks number and form of a call's arguments.
func (inf *inferrer) checkArgs(n *node) bool {
	args := n.kids
	if n.op == opAggregate {
		args = args[1:]
	}
	f, name := n.fn, callName(n)
	if n.op == opCall && f.IsAggregation() {
		inf.errorf(n.span, "%s() must be assigned directly to a map", name).Hint("@x = %s(…), or @x[key] = %s(…)", name, name)
		return false
	}
	given := len(args)
	switch {
	case f.Min == f.Max && given != f.Min:
		switch f.Min {
		case 0:
			inf.errorf(n.span, "%s() requires no arguments (%d provided)", name, given)
		case 1:
			inf.errorf(n.span, "%s() requires one argument (%d provided)", name, given)
		default:
			inf.errorf(n.span, "%s() requires %d arguments (%d provided)", name, f.Min, given)
		}
		return false
	case given < f.Min:
		if f.Min == 1 {
			inf.errorf(n.span, "%s() requires at least one argument (%d provided)", name, given)
		} else {
			inf.errorf(n.span, "%s() requires at least %d arguments (%d provided)", name, f.Min, given)
		}
		return false
	case f.Max >= 0 && given > f.Max:
		if f.Max == 1 {
			inf.errorf(n.span, "%s() takes up to one argument (%d provided)", name, given)
		} else {
			inf.errorf(n.span, "%s() takes up to %d arguments (%d provided)", name, f.Max, given)
		}
		return false
	}
	return inf.checkForm(n, args)
}

// checkForm checks arguments that must be literals of some kind.
func (inf *inferrer) checkForm(n *node, args []*node) bool {
	name := callName(n)
	fail := func(format string, a ...any) bool {
		inf.errorf(n.span, format, a...)
		return false
	}
	switch n.fn.ID {
	case "clear", "zero", "has_key", "find", "is_scalar":
		if args[0].op != opMap {
			inf.errorf(args[0].span, "%s() expects a map argument", name)
			return false
		}
	case "delete":
		if args[0].op != opMap {
			inf.errorf(args[0].span, "delete() expects a map argument").Hint("delete(@x, key)")
			return false
		}
	case "hist":
		if len(args) == 2 {
			if !args[1].posInt() {
				return fail("hist: invalid bits value, need integer literal")
			}
			if args[1].num > 5 {
				return fail("hist: bits %d must be 0..5", args[1].num)
			}
		}
	case "lhist":
		return inf.checkLHist(n, args)
	case "tseries":
		return inf.checkSeries(n, args)
	case "reg":
		if args[0].op != opStr {
			return true // told with the types
		}
		if !registerExists(inf.in.Arch, args[0].str) {
			d := inf.errorf(n.span, "'%s' is not a valid register on this architecture (%s)", args[0].str, inf.machine())
			hintNear(d, args[0].str, registerNames(inf.in.Arch))
			return false
		}
	case "debugf":
		inf.warnf(n.span, "The debugf() builtin is not recommended for production use. For more information see bpf_trace_printk in bpf-helpers(7).")
		if len(args) > 4 {
			return fail("cannot use more than 3 conversion specifiers")
		}
	case "path":
		if len(args) == 2 && !args[1].posInt() {
			return fail("path: invalid size value, need non-negative literal")
		}
	case "strncmp":
		if !args[2].posInt() {
			return fail("Builtin strncmp requires a non-negative literal")
		}
	case "pid", "tid":
		if len(args) == 1 && args[0].op != opIdent {
			return fail("%s() only supports curr_ns and init as the argument", name)
		}
	case "kfunc_exist", "kfunc_allowed":
		if args[0].op != opStr {
			return fail("%s() accepts a string literal only", name)
		}
	}
	return true
}

func (inf *inferrer) checkLHist(n *node, args []*node) bool {
	fail := func(format string, a ...any) bool {
		inf.errorf(n.span, format, a...)
		return false
	}
	lo, hi, step := args[1], args[2], args[3]
	switch {
	case !lo.posInt():
		return fail("lhist: invalid min value (must be non-negative literal)")
	case !hi.posInt():
		return fail("lhist: invalid max value (must be non-negative literal)")
	case !step.posInt():
		return fail("lhist: invalid step value")
	case step.num < 1:
		return fail("lhist() step must be >= 1 (%d provided)", step.num)
	case lo.num > hi.num:
		return fail("lhist() min must be less than max (provided min %d and max %d)", lo.num, hi.num)
	case (hi.num-lo.num)/step.num > 1000:
		return fail("lhist() too many buckets, must be <= 1000 (would need %d)", (hi.num-lo.num)/step.num)
	case hi.num-lo.num < step.num:
		return fail("lhist() step is too large for the given range (provided step %d for range %d)", step.num, hi.num-lo.num)
	case hi.num > 1<<63-1:
		return fail("lhist() max must be below 2^63 (%d provided)", hi.num)
	}
	return true
}

func (inf *inferrer) checkSeries(n *node, args []*node) bool {
	fail := func(format string, a ...any) bool {
		inf.errorf(n.span, format, a...)
		return false
	}
	interval, number := args[1], args[2]
	switch {
	case !interval.posInt():
		return fail("tseries: invalid interval_ns value (must be non-negative literal)")
	case !number.posInt():
		return fail("tseries: invalid num_intervals value (must be non-negative literal)")
	case interval.num < 1:
		return fail("tseries() interval_ns must be >= 1 (%d provided)", interval.num)
	case number.num < 1:
		return fail("tseries() num_intervals must be >= 1 (%d provided)", number.num)
	case number.num > 1000000:
		return fail("tseries() num_intervals must be < 1000000 (%d provided)", number.num)
	}
	if len(args) == 4 {
		if args[3].op != opStr {
			return fail("tseries() expects a string literal (%s provided)", litKind(args[3]))
		}
		switch args[3].str {
		case "avg", "max", "min", "sum":
		default:
			return fail("tseries() expects one of the following aggregation functions: avg, max, min, sum (\"%s\" provided)", args[3].str)
		}
	}
	return true
}

func litKind(n *node) string {
	switch n.op {
	case opInt:
		return "int"
	case opBool:
		return "bool"
	case opStr:
		return "string"
	}
	return "expression"
}

// fixedAgg is the type of an aggregation whose type does not depend on its values' types.
func (inf *inferrer) fixedAgg(n *node) *types.Type {
	args := n.kids[1:]
	if inf.diags.Errors() != 0 && len(args) < n.fn.Min {
		return nil
	}
	switch n.fn.ID {
	case "count":
		return types.AggOf(types.Count, false)
	case "hist":
		bits := 0
		if len(args) == 2 && args[1].posInt() {
			bits = int(args[1].num)
		}
		return types.HistOf(bits)
	case "lhist":
		if len(args) != 4 || !args[3].posInt() || args[3].num == 0 || args[2].num < args[1].num {
			return nil
		}
		return types.LHistOf(int64(args[1].num), int64(args[2].num), int64(args[3].num))
	case "tseries":
		if len(args) < 3 || !args[1].posInt() || !args[2].posInt() {
			return nil
		}
		spec := types.SeriesSpec{IntervalNS: args[1].num, Count: int(args[2].num), Agg: types.None, Signed: true}
		if len(args) == 4 {
			spec.Agg = map[string]types.Kind{"avg": types.Avg, "max": types.Max, "min": types.Min, "sum": types.Sum}[args[3].str]
		}
		return types.SeriesOf(spec)
	}
	return nil
}

// checkParams refuses one map with two kinds of buckets.
func (inf *inferrer) checkParams(n *node, a, b *types.Type) {
	switch {
	case a.Kind == types.Hist && a.Bits != b.Bits:
		inf.errorf(n.span, "Different bits in a single hist unsupported")
	case a.Kind == types.LHist && (a.Min != b.Min || a.Max != b.Max || a.Step != b.Step):
		inf.errorf(n.span, "Different lhist bounds in a single map unsupported")
	case a.Kind == types.TSeries && (a.Series.IntervalNS != b.Series.IntervalNS || a.Series.Count != b.Series.Count || a.Series.Agg != b.Series.Agg):
		inf.errorf(n.span, "Different tseries bounds in a single map unsupported")
	}
}

func (inf *inferrer) checkUnroll(n *node) {
	switch k := n.kids[0]; {
	case !k.posInt():
		inf.errorf(n.span, "invalid unroll value").Hint("it must be a number known when compiling, from 1 to 100")
	case k.num > 100:
		inf.errorf(n.span, "unroll maximum value is 100")
	case k.num < 1:
		inf.errorf(n.span, "unroll minimum value is 1")
	}
}

// checkLength refuses string literals that no string can hold.
func (inf *inferrer) checkLength(n *node) {
	if n.flag {
		return // not from the script's text
	}
	if c := inf.call; c != nil && c.fn != nil {
		if c.fn.CompileTime || is(c, "printf", "errorf", "warnf") && len(c.kids) > 0 && c.kids[0] == n {
			return
		}
	}
	if limit := inf.cfg.MaxStrlen; len(n.str) > limit-1 {
		inf.errorf(n.span, "String is too long (over %d bytes): %s", limit, n.str)
	}
}

// checkDecl refuses types that variables cannot have.
func (inf *inferrer) checkDecl(n *node) {
	t := n.kids[1].ty
	if t.none() {
		return
	}
	if t.t.IsAgg() || t.t.Kind == types.Void || t.t.Kind == types.None {
		inf.errorf(n.kids[1].span, "Invalid variable declaration type: %s", typestr(t.t))
	}
}

func (inf *inferrer) checkSignal(n *node) {
	name := string(n.fn.ID) + "()"
	if !inf.act.kind.Traits().Signals {
		inf.errorf(n.span, "%s can not be used for this probetype %s", name, probeTypeName(inf.act.kind))
		return
	}
	if !inf.in.Unsafe {
		inf.errorf(n.span, "%s is unsafe. To use you need the --unsafe flag", name)
		return
	}
	switch a := n.kids[0]; {
	case a.op == opStr:
		if num, ok := signalNumber(a.str); ok {
			a.toInt(uint64(num), false)
			a.ty = literalType(uint64(num), false)
		} else {
			inf.errorf(n.span, "Invalid string for signal: %s", a.str)
		}
	case a.op == opInt && (a.neg || a.num < 1 || a.num > 64):
		inf.errorf(n.span, "%s accepts a string literal or an integer between 1 and 64 (inclusive)", name)
	case a.op == opBool, a.op == opTuple:
		inf.errorf(n.span, "%s accepts a string literal or a positive integer", name)
	}
}
