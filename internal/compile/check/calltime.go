package check

import (
	"slices"

	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
	"trocar/internal/compile/feature"
)

func (m *meanings) clocks() {
	m[builtin.NSecs] = meaning{word: wordClock, typed: typedNSecs, fill: fillNSecs}
	m[builtin.Elapsed], m[builtin.Jiffies] = meaning{plain: true}, meaning{plain: true}
	m[builtin.StrFTime] = meaning{fill: (*builder).strftime, typed: func(inf *inferrer, n *node) {
		inf.solver.rule(&n.slot, func(in []ty) ty {
			t := known(types.TimestampOf(in[0].clock))
			t.clock = in[0].clock
			return t
		}, &n.kids[1].slot)
	}}
	m[builtin.Time] = meaning{fill: func(b *builder, c *Call, n *node) (ok bool) {
		if len(n.kids) == 0 {
			c.Format = "%H:%M:%S\n"
			return true
		}
		c.Format, ok = b.literal(n, 0)
		return ok
	}}
}

// clockNames are the clocks as scripts write them.
var clockNames = [...]string{
	types.ClockBoot: "boot", types.ClockMonotonic: "monotonic", types.ClockTAI: "tai", types.ClockSwTAI: "sw_tai",
}

func clockNamed(name string) (types.Clock, bool) {
	i := slices.Index(clockNames[:], name)
	return types.Clock(max(i, 0)), i >= 0
}

func wordClock(inf *inferrer, n *node) {
	clock, ok := clockNamed(n.str)
	if !ok {
		inf.errorf(n.span, "Invalid timestamp mode: %s", n.str).Hint("valid modes are boot, monotonic, tai and sw_tai")
		return
	}
	t := known(types.TNone)
	t.clock = clock
	inf.solver.set(&n.slot, t)
}

func typedNSecs(inf *inferrer, n *node) {
	if len(n.kids) == 0 {
		inf.solver.set(&n.slot, known(types.TUint64))
		return
	}
	inf.solver.rule(&n.slot, func(in []ty) ty {
		t := known(types.TUint64)
		t.clock = in[0].clock
		return t
	}, &n.kids[0].slot)
}

func fillNSecs(b *builder, c *Call, n *node) bool {
	if len(n.kids) == 0 {
		c.Clock = types.ClockBoot
		return true
	}
	c.Clock, _ = clockNamed(n.kids[0].str)
	if c.Clock == types.ClockTAI && !b.in.has(feature.KtimeTAI) {
		b.errorf(n.span, "Kernel does not support tai timestamp, please try sw_tai")
	}
	return true
}

func (b *builder) strftime(c *Call, n *node) (ok bool) {
	if c.Format, ok = b.literal(n, 0); !ok {
		return false
	}
	ts := n.kids[1]
	switch {
	case ts.op == opInt && ts.neg:
		b.errorf(n.span, "strftime() does not accept negative timestamps")
		return false
	case n.ty.clock == types.ClockMonotonic:
		b.errorf(n.span, "strftime() can not take a monotonic timestamp").Hint("nsecs, nsecs(boot) and nsecs(tai) can be " +
			"converted to a time of day")
		return false
	}
	ok = b.isInteger(n, 1)
	c.add(castTo(b.expr(ts), types.TUint64))
	return ok
}
