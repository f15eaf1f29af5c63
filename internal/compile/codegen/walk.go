package codegen

import (
	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
	"trocar/internal/compile/check"
	"trocar/internal/compile/feature"
)

// visitor sees the statements and expressions of a block, also in nested blocks and block expressions.
type visitor struct {
	stmt func(check.Stmt)
	expr func(check.Expr)
}

func (v visitor) block(b *check.Block) {
	if b == nil {
		return
	}
	for _, s := range b.Stmts {
		v.statement(s)
	}
}

func (v visitor) statement(s check.Stmt) {
	if v.stmt != nil {
		v.stmt(s)
	}
	switch s := s.(type) {
	case *check.Block:
		v.block(s)
	case *check.ExprStmt:
		v.expression(s.X)
	case *check.SetVar:
		v.expression(s.Value)
	case *check.SetMap:
		v.expression(s.Key)
		v.expression(s.Value)
	case *check.Aggregate:
		v.expression(s.Key)
		v.expressions(s.Args)
	case *check.If:
		v.expression(s.Cond)
		v.block(s.Then)
		v.block(s.Else)
	case *check.While:
		v.expression(s.Cond)
		v.block(s.Body)
	case *check.ForRange:
		v.expression(s.Start)
		v.expression(s.End)
		v.block(s.Body)
	case *check.ForMap:
		v.block(s.Body)
	case *check.Jump:
		v.expression(s.Value)
	case *check.Unrolled:
		for _, b := range s.Bodies {
			v.block(b)
		}
	}
}

func (v visitor) expressions(list []check.Expr) {
	for _, e := range list {
		v.expression(e)
	}
}

func (v visitor) expression(e check.Expr) {
	if e == nil {
		return
	}
	if v.expr != nil {
		v.expr(e)
	}
	switch e := e.(type) {
	case *check.MapGet:
		v.expression(e.Key)
	case *check.Unary:
		v.expression(e.X)
	case *check.Binary:
		v.expression(e.X)
		v.expression(e.Y)
	case *check.Logic:
		v.expression(e.X)
		v.expression(e.Y)
	case *check.Ternary:
		v.expression(e.Cond)
		v.expression(e.Then)
		v.expression(e.Else)
	case *check.Cast:
		v.expression(e.X)
	case *check.IncDec:
		v.expression(e.Target)
	case *check.Deref:
		v.expression(e.X)
	case *check.Member:
		v.expression(e.X)
	case *check.Index:
		v.expression(e.X)
		v.expression(e.I)
	case *check.AddrOf:
		v.expression(e.X)
	case *check.TupleLit:
		v.expressions(e.Elems)
	case *check.BlockExpr:
		v.block(e.Body)
		v.expression(e.Value)
	case *check.Call:
		for _, a := range e.Args {
			v.expression(a.Expr)
		}
	}
}

// leaves tells whether running a block may end the program: return and exit().
func leaves(b *check.Block) bool {
	found := false
	visitor{stmt: func(s check.Stmt) {
		if j, ok := s.(*check.Jump); ok && j.Kind == "return" {
			found = true
		}
	}}.block(b)
	return found || exits(b)
}

// exits tells whether a block may call exit().
func exits(b *check.Block) bool {
	found := false
	visitor{expr: func(e check.Expr) {
		if c, ok := e.(*check.Call); ok && c.Fn.ID == builtin.Exit {
			found = true
		}
	}}.block(b)
	return found
}

// needs tells which variables an action's loops use whose bodies become functions of their own, so that they must live
// in memory, and whether there are functions besides the main one at all. Without bpf_loop the bodies of loops over
// numbers stay where they are.
func (c *compiler) needs(a *check.Action) (shared map[*check.Var]bool, callbacks bool) {
	shared = map[*check.Var]bool{}
	bpfLoop := c.opts.Features.Has(feature.Loop)
	inner := visitor{
		stmt: func(s check.Stmt) {
			switch s := s.(type) {
			case *check.SetVar:
				shared[s.Var] = true
			case *check.ForRange:
				shared[s.Var] = true
			case *check.ForMap:
				shared[s.Var] = true
			}
		},
		expr: func(e check.Expr) {
			switch e := e.(type) {
			case *check.VarRef:
				shared[e.Var] = true
			case *check.Call:
				for _, a := range e.Args {
					if a.Var != nil {
						shared[a.Var] = true
					}
				}
			}
		},
	}
	v := visitor{
		stmt: func(s check.Stmt) {
			switch loop := s.(type) {
			case *check.ForMap:
				callbacks = true
				shared[loop.Var] = true
				inner.block(loop.Body)
			case *check.While:
				if bpfLoop {
					callbacks = true
					inner.expression(loop.Cond)
					inner.block(loop.Body)
				}
			case *check.ForRange:
				if bpfLoop {
					callbacks = true
					shared[loop.Var] = true
					inner.block(loop.Body)
				}
			}
		},
		expr: func(e check.Expr) {
			call, ok := e.(*check.Call)
			if !ok {
				return
			}
			if f := c.codes[call.Fn.ID].callback; f != nil {
				callbacks = callbacks || f(call)
			}
		},
	}
	v.block(a.Body)
	v.expression(a.Pred)
	return shared, callbacks
}

// showsTables tells whether an action looks at values that may have containers or interfaces in them, which are
// captured in loops: Go's, and those whose elements are in nodes.
func showsTables(a *check.Action) bool {
	found := false
	seen := map[*types.Type]bool{}
	var looks func(t *types.Type, depth int) bool
	looks = func(t *types.Type, depth int) bool {
		if t == nil || depth > 8 || seen[t] || t.Kind != types.Struct && t.Kind != types.Pointer && t.Kind != types.Array {
			return false
		}
		seen[t] = true
		t = t.Complete()
		if t.Lang().Managed() && t.Form() != types.StringForm {
			return true
		}
		if _, ok := t.Walk(); ok {
			return true
		}
		if (t.Kind == types.Pointer || t.Kind == types.Array) && looks(t.Elem, depth+1) {
			return true
		}
		if v, ok := t.List(); ok && looks(v.Elem, depth+1) {
			return true
		}
		for _, f := range t.Fields {
			if looks(f.Type, depth+1) {
				return true
			}
		}
		if vs := t.Alternatives(); vs != nil {
			for i := range vs.List {
				if looks(vs.List[i].Type, depth+1) {
					return true
				}
			}
		}
		return false
	}
	v := visitor{expr: func(e check.Expr) { found = found || looks(e.Type(), 0) }}
	v.block(a.Body)
	return found
}
