package check

import (
	"fmt"
	"slices"
	"strings"

	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
	"trocar/internal/process/probe"
)

// Points of one script probe share an action unless its code differs between them. What it may differ by is told by
// what the body uses; the points are grouped by exactly that.

// uses is what an action's body depends on at its points.
type uses struct {
	args      map[string]bool // arguments used by name
	allArgs   bool            // args as a whole, or vars
	argN      map[int]bool
	retval    bool
	calls     bool // goid, duration, callframe: how calls are told apart
	file      bool // the traced file (uaddr, types from its debug information)
	probeName bool // the probe's name, when compiling
}

func (c *checker) usesOf(act *action) uses {
	u := uses{args: map[string]bool{}, argN: map[int]bool{}}
	comptime := 0
	var visit func(n *node)
	visit = func(n *node) {
		if n == nil {
			return
		}
		switch {
		case n.op == opField && n.kids[0].op == opArgs:
			u.args[n.str] = true // or vars.x
			return
		case n.op == opField && n.kids[0].op == opUnary && n.kids[0].str == "*" && n.kids[0].kids[0].op == opArgs:
			u.args[n.str] = true // (*args).x
			return
		case n.op == opArgs, is(n, builtin.SyscallArgs, builtin.SyscallDone, builtin.SyscallResult):
			u.allArgs = true
		case n.op == opRetval, is(n, builtin.RetVal): // the latter at a first point that has no typed one
			u.retval = true
		case is(n, builtin.ArgN):
			if i, ok := argNumber(n.str); ok {
				u.argN[i] = true
			}
		case is(n, builtin.RoutineID, builtin.RoutineFrame, builtin.Duration, builtin.CallFrame):
			u.calls = true
		case is(n, builtin.UAddr), n.op == opEnum && n.flag:
			u.file = true
		case n.op == opType && n.expr != nil && n.expr.Base != "" && !c.defs.knows(n.expr.Base):
			u.file = true
		case is(n, builtin.Probe) && comptime > 0:
			u.probeName = true
		}
		inner := n.op == opComptime
		if n.op == opIf && n.flag {
			comptime++
			visit(n.kids[0])
			comptime--
			visit(n.kids[1])
			visit(n.kids[2])
			return
		}
		if inner {
			comptime++
		}
		for _, k := range n.kids {
			visit(k)
		}
		visit(n.value)
		if inner {
			comptime--
		}
	}
	visit(act.pred)
	visit(act.body)
	return u
}

// place is what most points of one group have in common; points of one function or one file often share a scope.
type place struct {
	kind  probe.Kind
	scope *probe.Scope
}

// group splits points by what the action depends on, in the order of their first members.
func (c *checker) group(act *action, points []*probe.Point) [][]*probe.Point {
	u := c.usesOf(act)
	perFile := u.file && (c.in.Lookup.UserType != nil || c.in.Lookup.UserSymbol != nil)
	known := map[place]int{}
	index := map[string]int{}
	var groups [][]*probe.Point
	for _, p := range points {
		at := place{p.Kind, p.Scope}
		i, ok := known[at]
		if !ok || perFile || u.probeName || u.calls {
			key := fmt.Sprintf("%d %s", p.Kind, u.key(p.Scope))
			if perFile {
				key += "\x00" + p.Path
			}
			if u.calls && p.Call != nil {
				key += fmt.Sprint("\x00", *p.Call)
			} else if u.calls {
				key += "\x00C"
			}
			if u.calls && p.Frame != nil {
				key += fmt.Sprint("\x00", *p.Frame)
			}
			if u.probeName {
				key += "\x00" + p.Name
			}
			if i, ok = index[key]; !ok {
				i = len(groups)
				index[key] = i
				groups = append(groups, nil)
			}
			known[at] = i
		}
		groups[i] = append(groups[i], p)
	}
	return groups
}

// withArgs leaves out inlined copies at which an argument is not to be had that the action uses, and says so. If there
// is no other point they stay, and the argument is refused.
func (c *checker) withArgs(act *action, points []*probe.Point) []*probe.Point {
	if !slices.ContainsFunc(points, func(p *probe.Point) bool { return p.Inlined }) {
		return points
	}
	u := c.usesOf(act)
	var kept []*probe.Point
	var reasons []string
	left := map[string]int{}
	for _, p := range points {
		why := ""
		if p.Inlined && p.Scope != nil {
			for _, a := range p.Scope.Args {
				if u.args[a.Name] && !a.Local && a.Place.Kind == types.Unavailable {
					why = fmt.Sprintf("%s: args.%s is not available there: %s", p.Func, a.Name, a.Place.Why)
					break
				}
			}
		}
		if p.Inlined && p.Scope != nil && why == "" {
			for i, a := range p.Scope.ArgN {
				if u.argN[i] && a.Kind == types.Unavailable {
					why = fmt.Sprintf("%s: arg%d is not available there: %s", p.Func, i, a.Why)
					break
				}
			}
		}
		if why == "" {
			kept = append(kept, p)
			continue
		}
		if left[why] == 0 {
			reasons = append(reasons, why)
		}
		left[why]++
	}
	if len(kept) == 0 {
		return points
	}
	for _, why := range reasons {
		c.warnf(act.probe.Span, "%d inlined instances are not probed of %s", left[why], why)
	}
	return kept
}

// key tells scopes apart as far as the body can see.
func (u *uses) key(s *probe.Scope) string {
	if s == nil {
		return ""
	}
	var b strings.Builder
	if u.allArgs || len(u.args) > 0 {
		for i, a := range s.Args {
			if u.allArgs || u.args[a.Name] {
				fmt.Fprintf(&b, "%d %s %s %v;", i, a.Name, typeKey(a.Type), a.Place)
			}
		}
		if s.ArgsType != nil {
			for _, f := range s.ArgsType.Fields {
				if u.allArgs || u.args[f.Name] {
					fmt.Fprintf(&b, "%d %s %s;", f.Offset, f.Name, typeKey(f.Type))
				}
			}
			if u.allArgs {
				fmt.Fprintf(&b, "%d;", s.ArgsType.Size)
			}
		}
	}
	for i := range s.ArgN {
		if u.argN[i] {
			fmt.Fprintf(&b, "arg%d %v", i, s.ArgN[i])
			if i < len(s.ArgNTypes) {
				b.WriteString(typeKey(s.ArgNTypes[i]))
			}
		}
	}
	if len(u.argN) > 0 {
		fmt.Fprintf(&b, "%d", len(s.ArgN))
	}
	if u.retval && s.Retval != nil {
		fmt.Fprintf(&b, "ret %s %v", typeKey(s.Retval.Type), s.Retval.Place)
	}
	return b.String()
}

// typeKey names a type such that different types of one program have different names: named structures of different
// files may differ, so they count as one only if they are one.
func typeKey(t *types.Type) string {
	if t == nil {
		return "?"
	}
	switch t.Kind {
	case types.Pointer:
		return typeKey(t.Elem) + "*" + fmt.Sprint(t.Space)
	case types.Array:
		return typeKey(t.Elem) + fmt.Sprintf("[%d]", t.Len)
	case types.Struct, types.Union, types.Enum:
		return fmt.Sprintf("%s %p", t.Name, t)
	}
	return fmt.Sprintf("%s %d %d %v", t.Name, t.Kind, t.Size, t.Signed)
}

// probeTypeName is what probetype says of a kind.
func probeTypeName(k probe.Kind) string { return k.Traits().Group }

// providerName is the name that messages use for a kind: as in the script.
func providerName(act *action) string { return act.kind.String() }

// hasRegisters tells whether a probe of the kind sees the CPU's registers.
func hasRegisters(k probe.Kind) bool { return k.Traits().Program.Context().HasRegisters() }

// spaceOf is the memory that a bare address means at a kind of probe.
func spaceOf(k probe.Kind) types.Space { return k.Traits().Space }
