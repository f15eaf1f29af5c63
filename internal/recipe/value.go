package recipe

import (
	"fmt"
	"slices"

	"trocar/internal/binary/types"
	"trocar/internal/compile/record"
	"trocar/internal/process/probe"
	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// wordIn tells whether a value is one word in one of the registers, and whether what it points to is shown with it.
func wordIn(v probe.Var, registers ...int) (is, more bool) {
	_, more, ok := record.Word(v.Name, v.Type)
	return ok && v.Place.Kind == types.InRegister && v.Place.Offset == 0 && slices.Contains(registers, v.Place.Reg), more
}

func paramOf(v probe.Var) *Value {
	p := &Value{Name: v.Name, Type: types.Declare(v.Type, ""), kind: fmt.Sprint(types.Identity(v.Type), v.Place)}
	if v.Place.Kind == types.Unavailable {
		p.Show, p.Why = Hidden, v.Place.Why
		return p
	}
	if v.Type != nil {
		if why, missing := v.Place.Missing(v.Type.Extent()); missing {
			p.Show, p.Why = Hidden, "a part of it is not available: "+why
			return p
		}
	}
	p.Show, p.Size = showOf(v.Type)
	p.sort = sortOf(v.Type)
	if v.Name == "this" && p.Show == AsWhole && !v.Type.Closure() {
		p.Show, p.Size = AsValue, 8 // the object is the same in most calls: its members are asked for by name
	}
	return p
}

// sort is what can be done with values.
type sort uint8

const (
	otherSort   sort = iota // not known
	numberSort              // they are numbers
	addressSort             // pointers
	partedSort              // they have parts
	realSort                // floating-point numbers
)

func sortOf(t *types.Type) sort {
	if t == nil {
		return otherSort
	}
	switch t := t.Complete(); t.Kind {
	case types.Int, types.Enum:
		return numberSort
	case types.Pointer:
		return addressSort
	case types.Struct, types.Array:
		return partedSort
	case types.Float:
		return realSort
	}
	return otherSort
}

// showOf tells how a value of a type is shown, and how many bytes it takes to keep that.
func showOf(t *types.Type) (Show, int) {
	if t == nil {
		return AsWhole, 8
	}
	t = t.Complete()
	if t.IsCString() {
		return AsText, 0
	}
	if elem, ok := t.Referenced(); ok && isText(elem) || isText(t) {
		return AsString, 0
	}
	if to, ok := (record.Capture{Registers: true, Kept: true}).Of(t); ok {
		return AsWhole, to.Size
	}
	return AsValue, t.Size
}

// isText tells a string of bytes.
func isText(t *types.Type) bool {
	v, ok := t.Text()
	return ok && v.Unit <= 1
}

// unknownSize is what is set aside for a value of which the type is not known before the script is compiled.
const unknownSize = 1024

// paramTypes are the types of a function's parameters by name.
type paramTypes map[string]*types.Type

// show tells how the value of an expression over the parameters is shown, and how many bytes it takes to keep that.
func (p paramTypes) show(text string) (Show, int) {
	var diags diag.List
	x := syntax.ParseExpr(&diag.Source{Text: text}, &diags)
	if x == nil {
		return AsWhole, unknownSize
	}
	t, ok := p.typeOf(x)
	if ok && t != nil {
		elem, ref := t.Referenced()
		ok = !t.Incomplete && !(ref && elem.Incomplete) // else the debug information is needed, which is closed
	}
	switch {
	case !ok:
		return AsWhole, unknownSize
	case t == nil:
		return AsValue, 8
	}
	return showOf(t)
}

// typeOf is the type of an expression; nil with ok for values that scripts compute.
func (p paramTypes) typeOf(x syntax.Expr) (t *types.Type, ok bool) {
	switch x := x.(type) {
	case *syntax.Ident:
		if t := p[x.Name]; t != nil {
			return t.Complete(), true
		}
		return nil, x.Name != "retval" && x.Name != "args"
	case *syntax.Field:
		if id, isIdent := x.X.(*syntax.Ident); isIdent && id.Name == "args" {
			t := p[x.Name]
			return t.Complete(), t != nil
		}
		t, ok := p.typeOf(x.X)
		if !ok || t == nil {
			return nil, false
		}
		if t.Kind == types.Pointer {
			t = t.Elem.Complete()
		}
		f, ok := t.Field(x.Name)
		return f.Type.Complete(), ok
	case *syntax.Index:
		t, ok := p.typeOf(x.X)
		if !ok || t == nil {
			return nil, false
		}
		if v, ok := t.List(); ok {
			return v.Elem.Complete(), true
		}
		return t.Elem.Complete(), t.Elem != nil
	case *syntax.Unary:
		t, ok := p.typeOf(x.X)
		if x.Op != "*" || !ok || t == nil {
			return nil, ok && x.Op != "&"
		}
		return t.Elem.Complete(), t.Elem != nil
	case *syntax.Cast, *syntax.Tuple, *syntax.Record, *syntax.Ternary:
		return nil, false
	}
	return nil, true
}
