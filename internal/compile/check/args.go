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
	if form := inf.meanings[f.ID].form; form != nil {
		return form(inf, n, args)
	}
	return true
}

func (inf *inferrer) checkUnroll(n *node) {
	switch k := n.kids[0]; {
	case !k.posInt():
		inf.errorf(n.span, "invalid unroll value").Hint("it must be a compile-time constant from 1 to 100")
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
		if c.fn.CompileTime || is(c, builtin.Printf, builtin.Errorf, builtin.Warnf) && len(c.kids) > 0 && c.kids[0] == n {
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

// checkUnstable warns of features that may change, once, or refuses them.
func (inf *inferrer) checkUnstable(n *node) {
	switch n.fn.ID {
	case builtin.TSeries:
		inf.unstableFeature(n, "tseries", "unstable_tseries", inf.cfg.UnstableTSeries)
	}
}

func (inf *inferrer) checkTypeinfo(n *node) {
	inf.unstableFeature(n, "typeinfo", "unstable_typeinfo", inf.cfg.UnstableTypeinfo)
}

func (inf *inferrer) unstableFeature(n *node, feature, setting, mode string) {
	switch {
	case mode == "error":
		inf.errorf(n.span, "%s feature is not enabled by default. To enable this unstable feature, set the config flag to "+
			"enable. %s=enable",
			feature, setting)
	case mode == "warn" && !inf.unstable[setting]:
		inf.unstable[setting] = true
		inf.warnf(noSpan, "Script is using an unstable feature: %s. To prevent this warning you must explicitly enable it "+
			"in the config "+
			"e.g. %s=enable", feature, setting)
	}
}

// functionNames and valueNames list what could have been meant.
func (inf *inferrer) functionNames() []string { return builtinNames(false) }

func (inf *inferrer) valueNames() []string {
	names := builtinNames(true)
	for n := range inf.defs.enumerators {
		names = append(names, n)
	}
	return names
}
