package check

import (
	"strings"

	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
)

// Scratch variables: which name means which variable. A variable is known from its first assignment or `let` to the end
// of the block this is in; a name must not be used for a second one within.

type scoper struct {
	c      *checker
	act    *action
	scopes []map[string]*variable
	meta   int // inside sizeof and its kind, where nothing is evaluated
}

func (c *checker) resolveNames() {
	for _, act := range c.actions {
		s := &scoper{c: c, act: act}
		s.push()
		if act.pred != nil {
			s.visit(act.pred)
		}
		s.visit(act.body)
		for _, v := range act.vars {
			if !v.assigned && v.decl != nil {
				c.warnf(v.decl.span, "Variable %s was never assigned to.", v.name)
			}
		}
	}
}

func (s *scoper) push() { s.scopes = append(s.scopes, map[string]*variable{}) }
func (s *scoper) pop()  { s.scopes = s.scopes[:len(s.scopes)-1] }

func (s *scoper) find(name string) *variable {
	for _, scope := range s.scopes {
		if v := scope[name]; v != nil {
			return v
		}
	}
	return nil
}

func (s *scoper) add(n *node, name, origin string) *variable {
	v := &variable{name: name, span: n.span, origin: origin}
	s.scopes[len(s.scopes)-1][name] = v
	s.act.vars = append(s.act.vars, v)
	return v
}

func (s *scoper) visitAll(ns []*node) {
	for _, n := range ns {
		s.visit(n)
	}
}

func (s *scoper) visit(n *node) {
	if n == nil {
		return
	}
	switch n.op {
	case opBlock:
		s.push()
		s.visitAll(n.kids)
		s.visit(n.value)
		s.pop()
	case opSetVar:
		s.visit(n.kids[0])
		if len(n.kids) > 2 {
			s.visit(n.kids[2])
		}
		v := s.find(n.str)
		if v == nil {
			v = s.add(n, n.str, "This is the initial assignment.")
		}
		v.assigned = true
		v.made = v.made || !given(n.kids[0])
		n.v, n.kids[1].v = v, v
	case opDecl:
		s.visitAll(n.kids[1:])
		if old := s.find(n.str); old != nil {
			s.c.errorf(n.span, "Variable %s was already declared. Variable shadowing is not allowed.", n.str).
				Note(old.span, "%s", old.origin)
			n.v, n.kids[0].v = old, old
			return
		}
		v := s.add(n, n.str, "This is the initial declaration.")
		v.decl = n
		n.v, n.kids[0].v = v, v
	case opVar:
		n.v = s.use(n)
		if !n.v.assigned && s.meta == 0 {
			s.c.warnf(n.span, "Variable used before it was assigned: %s", n.str)
		}
	case opAddr:
		if k := n.kids[0]; k.op == opVar {
			k.v = s.use(k)
			k.v.assigned = true // whoever has the address may assign
			k.v.addr, k.v.made = true, true
			return
		}
		s.visitAll(n.kids)
	case opCall:
		if is(n, builtin.Find) && len(n.kids) == 3 && n.kids[2].op == opVar {
			s.visitAll(n.kids[:2])
			n.kids[2].v = s.use(n.kids[2])
			n.kids[2].v.assigned, n.kids[2].v.made = true, true
			return
		}
		s.visitAll(n.kids)
		s.visit(n.value)
	case opSetMap:
		s.visitAll(n.kids)
		s.visit(n.value)
		n.m.made = n.m.made || !given(n.kids[len(n.kids)-1])
	case opIncDec:
		s.visitAll(n.kids)
		switch k := n.kids[0]; {
		case k.op == opVar:
			k.v.made = true
		case k.m != nil:
			k.m.made = true
		}
	case opForMap:
		s.loop(n, n.kids[1:2], n.kids[2])
	case opForRange:
		s.loop(n, n.kids[1:3], n.kids[3])
	case opSizeof, opOffsetof, opTypeinfo, opType:
		s.meta++
		s.visitAll(n.kids)
		s.meta--
	default:
		s.visitAll(n.kids)
		s.visit(n.value)
	}
}

func (s *scoper) loop(n *node, over []*node, body *node) {
	if old := s.find(n.str); old != nil {
		s.c.errorf(n.kids[0].span, "Loop declaration shadows existing variable: %s", n.str).Note(old.span, "%s", old.origin)
	}
	s.visitAll(over)
	s.push()
	v := s.add(n.kids[0], n.str, "This is the loop variable.")
	v.assigned, v.made = true, true
	n.v, n.kids[0].v = v, v
	s.visit(body)
	s.pop()
}

// use finds a variable that must exist.
func (s *scoper) use(n *node) *variable {
	if v := s.find(n.str); v != nil {
		return v
	}
	d := s.c.errorf(n.span, "Undefined or undeclared variable: %s", n.str)
	var names []string
	for _, scope := range s.scopes {
		for name := range scope {
			if !strings.HasPrefix(name, "$$") {
				names = append(names, name)
			}
		}
	}
	hintNear(d, n.str, names)
	return &variable{name: n.str, span: n.span, assigned: true}
}

// given tells whether a number is as the traced program has it: one of its arguments, its result, or what lies in its
// memory.
func given(n *node) bool {
	switch n.op {
	case opArg, opRetval, opIndex:
		return true
	case opField:
		return !n.kids[0].ty.is(types.Record)
	case opUnary:
		return n.str == "*"
	case opCast:
		return given(n.kids[1])
	case opVar:
		return n.v != nil && !n.v.made
	case opMapGet:
		return n.m != nil && !n.m.made
	}
	return is(n, builtin.ArgN, builtin.RetVal, builtin.Reg)
}
