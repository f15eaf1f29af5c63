package check

import (
	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
)

// Aggregations stand behind an assignment to a map, which is a node of its own (opAggregate): only their arguments are
// checked as those of calls.
func (m *meanings) aggregations() {
	const assigned = "it must be assigned directly to a map"
	each := meaning{elsewhere: assigned}
	m[builtin.Count], m[builtin.Sum], m[builtin.Min], m[builtin.Max] = each, each, each, each
	m[builtin.Avg], m[builtin.Stats] = each, each
	m[builtin.Hist] = meaning{form: formHist, elsewhere: assigned}
	m[builtin.LHist] = meaning{form: (*inferrer).checkLHist, elsewhere: assigned}
	m[builtin.Times] = each
	m[builtin.TSeries] = meaning{form: (*inferrer).checkSeries, elsewhere: assigned}
}

func formHist(inf *inferrer, n *node, args []*node) bool {
	switch {
	case len(args) < 2:
		return true
	case !args[1].posInt():
		inf.errorf(n.span, "hist: invalid bits value, need integer literal")
		return false
	case args[1].num > 5:
		inf.errorf(n.span, "hist: bits %d must be 0..5", args[1].num)
		return false
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
	case lo.op != opInt: // bpftrace's words, which takes none below 0
		return fail("lhist: invalid min value (must be non-negative literal)")
	case hi.op != opInt:
		return fail("lhist: invalid max value (must be non-negative literal)")
	case !step.posInt():
		return fail("lhist: invalid step value")
	case step.num < 1:
		return fail("lhist() step must be >= 1 (%d provided)", step.num)
	case !hi.neg && hi.num > 1<<63-1:
		return fail("lhist() max must be below 2^63 (%d provided)", hi.num)
	case !lo.neg && lo.num > 1<<63-1, int64(lo.num) > int64(hi.num):
		return fail("lhist() min must be less than max (provided min %d and max %d)", int64(lo.num), int64(hi.num))
	}
	width := hi.num - lo.num // as unsigned: it may be all that there is
	switch {
	case width/step.num > 1000:
		return fail("lhist() too many buckets, must be <= 1000 (would need %d)", width/step.num)
	case width < step.num:
		return fail("lhist() step is too large for the given range (provided step %d for range %d)", step.num, width)
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
			return fail("tseries() expects one of the following aggregation functions: avg, max, min, sum (\"%s\" provided)",
				args[3].str)
		}
	}
	return true
}

// fixedAgg is the type of an aggregation whose type does not depend on its values' types.
func (inf *inferrer) fixedAgg(n *node) *types.Type {
	args := n.kids[1:]
	if inf.diags.Errors() != 0 && len(args) < n.fn.Min {
		return nil
	}
	switch n.fn.ID {
	case builtin.Count:
		return types.AggOf(types.Count, false)
	case builtin.Hist:
		bits := 0
		if len(args) == 2 && args[1].posInt() {
			bits = int(args[1].num)
		}
		return types.HistOf(bits)
	case builtin.LHist:
		if len(args) != 4 || !args[3].posInt() || args[3].num == 0 || args[1].op != opInt || args[2].op != opInt ||
			int64(args[2].num) < int64(args[1].num) || (args[2].num-args[1].num)/args[3].num > 1000 {
			return nil
		}
		return types.LHistOf(int64(args[1].num), int64(args[2].num), int64(args[3].num))
	case builtin.Times:
		return types.TimesOf()
	case builtin.TSeries:
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
	case a.Kind == types.TSeries && (a.Series.IntervalNS != b.Series.IntervalNS || a.Series.Count != b.Series.Count ||
		a.Series.Agg != b.Series.Agg):
		inf.errorf(n.span, "Different tseries bounds in a single map unsupported")
	}
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

func aggKind(n *node) types.Kind {
	switch n.fn.ID {
	case builtin.Sum:
		return types.Sum
	case builtin.Min:
		return types.Min
	case builtin.Max:
		return types.Max
	case builtin.Avg:
		return types.Avg
	case builtin.Stats:
		return types.Stats
	}
	return types.Count
}
