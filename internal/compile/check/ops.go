package check

import (
	"strconv"
	"strings"

	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
	"trocar/internal/near"
	"trocar/internal/process/probe"
	"trocar/internal/script/diag"
)

// The types of operators, fields and elements.

// compares tells whether an operator yields a truth value.
func compares(op string) bool {
	switch op {
	case "==", "!=", "<", "<=", ">", ">=", "&&", "||":
		return true
	}
	return false
}

func (x ty) numeric() bool { return x.castable() || x.isInt() || x.isBool() }

func (inf *inferrer) binaryType(n *node, l, r ty) ty {
	if !compares(n.str) {
		l, r = l.number(), r.number()
	}
	if l.isBool() && r.isBool() {
		return known(types.TBool)
	}
	if compares(n.str) && (inf.bothText(l, r) || bothWide(l, r) || literalOfWide(n)) {
		return known(types.TBool)
	}
	if l.isPtr() || r.isPtr() {
		return inf.pointerOp(n, l, r)
	}
	space := types.AnySpace
	switch ls, rs := l.where(), r.where(); {
	case ls != rs && ls != types.AnySpace && rs != types.AnySpace && l.numeric() && r.numeric():
		inf.warnf(n.span, "Addrspace mismatch")
	case ls != types.AnySpace:
		space = ls
	default:
		space = rs
	}
	if l.numeric() && r.numeric() {
		return intResult(n, l, r).at(space)
	}
	if compares(n.str) {
		return known(types.TBool)
	}
	// An error, which is told with the final types.
	signed := l.signed() || r.signed()
	if n.str == "<<" || n.str == ">>" {
		signed = l.signed()
	}
	return in(types.IntOf(8, signed), space)
}

// withoutSign refuses comparisons that never hold, or always, since a result without a type has no sign.
func (inf *inferrer) withoutSign(n *node) {
	if inf.act.kind != probe.Uretprobe || !compares(n.str) || len(n.kids) != 2 {
		return
	}
	for i, k := range n.kids {
		op, other := n.str, n.kids[1-i]
		if !is(k, builtin.RetVal) {
			continue
		}
		negative := other.op == opInt && other.neg ||
			other.op == opUnary && other.str == "-" && other.kids[0].op == opInt && other.kids[0].num != 0
		if zero := other.op == opInt && other.num == 0; zero {
			less := op == "<" || op == ">="
			if i == 1 {
				less = op == ">" || op == "<="
			}
			negative = negative || less
		}
		if negative {
			inf.errorf(n.span, "retval has no type here, and so no sign: it is never less than 0").
				Hint("say what is returned: (int32)retval for an int, (int64)retval for a long or ssize_t")
		}
		return
	}
}

// intResult is the type of an operation on integers.
func intResult(n *node, l, r ty) ty {
	if l.flex() && !r.flex() {
		l = ty{t: types.IntOf(l.t.Size, r.signed())}
	} else if r.flex() && !l.flex() {
		r = ty{t: types.IntOf(r.t.Size, l.signed())}
	}
	if compares(n.str) {
		return known(types.TBool)
	}
	// bpftrace warns of signed division, which it carries out without signs. Here it is exact.
	return known(types.IntOf(8, l.signed() || r.signed() || n.str == "-"))
}

func (inf *inferrer) pointerOp(n *node, l, r ty) ty {
	ptr, other := l, r
	if !l.isPtr() {
		ptr, other = r, l
	}
	invalid := func() ty {
		d := inf.errorf(n.span, "The %s operator can not be used on expressions of types %s, %s", n.str, typestr(l.t),
			typestr(r.t))
		if other.is(types.String) && isInt(ptr.t.Elem) && ptr.t.Elem.Size == 1 {
			d.Hint("str() gives the text that such a pointer points to")
		}
		return ty{}
	}
	switch {
	case other.isPtr():
		if !compares(n.str) {
			return invalid()
		}
		if n.str != "&&" && n.str != "||" && !same(l.t.Elem, r.t.Elem) {
			le, re := typestr(l.t.Elem), typestr(r.t.Elem)
			inf.warnf(n.span, "comparison of distinct pointer types: %s, %s", le, re).
				Note(n.kids[0].span, "left (%s)", le).Note(n.kids[1].span, "right (%s)", re)
		}
		return known(types.TBool)
	case !other.isInt() && !other.isBool():
		return invalid()
	case n.str == "+", n.str == "-" && l.isPtr():
		return ptr
	case compares(n.str):
		return known(types.TBool)
	}
	return invalid()
}

func (inf *inferrer) unaryType(n *node, x ty) ty {
	deref := n.str == "*"
	if n.str != "!" {
		x = x.number()
	}
	switch {
	case x.isBool() && n.str == "!":
		return known(types.TBool)
	case deref && x.isPtr():
		return in(elemType(inf.complete(x.t.Elem)), types.AnySpace).at(x.t.Space)
	case deref && n.kids[0].op == opArgs:
		return x // (*args).x is an older way to write args.x
	case x.isInt() && n.str == "!":
		return known(types.TBool)
	case x.isInt() && deref:
		return known(types.TUint64).at(x.space)
	case x.isInt():
		return known(types.IntOf(8, x.signed())).at(x.space)
	case x.castable() && n.str != "*":
		if n.str == "!" {
			return known(types.TBool)
		}
		return known(aggInt(x.t))
	}
	inf.errorf(n.span, "The %s operator can not be used on expressions of type '%s'", n.str, typestr(x.t))
	return ty{}
}

// elemType is the type under which a value in memory is used: text is a string with room for a NUL, an enum is what it
// is.
func elemType(t *types.Type) *types.Type {
	if t.IsText() {
		return types.StringOf(t.Len + 1)
	}
	return t
}

func tupleElem(x ty, i uint64) ty {
	if !x.is(types.Tuple) || i >= uint64(len(x.t.Fields)) {
		return ty{} // told when it is built
	}
	return known(x.t.Fields[i].Type)
}

func (inf *inferrer) indexType(n *node, x ty) ty {
	var elem *types.Type
	list, isList := elements(x.t)
	object, isArray := x.t.JavaElement()
	switch {
	case isArray:
		return known(object)
	case isList:
		elem = elemType(inf.complete(list.Elem))
	case x.isPtr() && (x.t.Elem.Form() == types.DotNetObjectForm || x.t.Elem.Form() == types.DotNetListForm):
		inf.errorf(n.span, "The elements of '%s' are not known, if it has any", typestr(x.t.Elem))
		return ty{}
	case x.is(types.Array), x.isPtr():
		elem = elemType(inf.complete(x.t.Elem))
	case x.isStr():
		elem = types.TInt8
	case x.is(types.Tuple):
		i := n.kids[1]
		if !i.posInt() {
			return ty{}
		}
		if i.num >= uint64(len(x.t.Fields)) {
			inf.errorf(n.span, "Invalid tuple index: %d. Found %d elements in tuple.", i.num, len(x.t.Fields))
			return ty{}
		}
		return known(x.t.Fields[i.num].Type)
	default:
		inf.errorf(n.span, "The array index operator [] can only be used on arrays, pointers, and tuples, found %s.",
			typestr(x.t))
		return ty{}
	}
	if x.where() == types.AnySpace {
		return known(elem)
	}
	return known(elem).at(x.where())
}

// fieldType is the type of x.name, through any number of pointers.
func (inf *inferrer) fieldType(n *node, x ty) ty {
	space := x.where()
	t := x.t
	for t.Kind == types.Pointer {
		space = t.Space
		t = t.Elem
	}
	if n.kids[0].isArgs() {
		return inf.argType(n, t)
	}
	if onlyError(n, t) {
		return x // see rewriteField
	}
	switch t.Kind {
	case types.Struct, types.Union, types.Record:
	default:
		inf.errorf(n.span, "Can not access field '%s' on expression of type '%s'", n.str, typestr(t))
		return ty{}
	}
	t = inf.complete(t)
	if t.Incomplete {
		if err := inf.several[t.Name]; err != nil {
			inf.errorf(n.span, "'%s' is not one type: %v", t.Name, err).
				Hint("a script may define it at its top")
			return ty{}
		}
		if t.Source != nil && t.Source.Unknown != "" {
			inf.errorf(n.span, "The fields of '%s' are not known: %s", t.Name, t.Source.Unknown)
			return ty{}
		}
		inf.errorf(n.span, "Unknown struct/union: '%s'", t.Name).
			Hint("define it at the top of the script; only its name is known here")
		return ty{}
	}
	f, ok := t.Field(n.str)
	if !ok {
		f, ok = errorAmong(n, t)
	}
	if !ok {
		if t.Kind == types.Record {
			hintFields(inf.errorf(n.span, "Record does not contain a field named '%s'", n.str), n.str, t)
		} else {
			hintFields(inf.errorf(n.span, "Struct/union of type '%s' does not contain a field named '%s'", typestr(t),
				n.str), n.str, t)
		}
		return ty{}
	}
	if f.Type.Kind == types.Void && n.kids[0].op == opRetval {
		inf.errorf(n.span, "the result '%s' is not available: %s", n.str, f.Type.Name)
		return ty{}
	}
	if f.Type.Kind == types.Void && !f.Type.Incomplete && t.Kind == types.Struct { // types.Missing
		inf.errorf(n.span, "the member '%s' is not available: %s", n.str, f.Type.Name)
		return ty{}
	}
	if space == types.AnySpace {
		return known(elemType(f.Type))
	}
	return known(elemType(f.Type)).at(space)
}

// hintFields adds the names that are nearest to a misspelt field, or all if there are few.
func hintFields(d *diag.Diagnostic, name string, t *types.Type) {
	const few = 12
	names := fieldNames(t)
	if len(near.Names(name, names)) == 0 && len(names) > 0 && len(names) <= few {
		d.Hint("its fields are %s", strings.Join(names, ", "))
		return
	}
	hintNear(d, name, names)
}

// fieldNames lists members, also those of unnamed members.
func fieldNames(t *types.Type) []string {
	var names []string
	var add func(t *types.Type, depth int)
	add = func(t *types.Type, depth int) {
		for _, f := range t.Fields {
			switch {
			case f.Name != "":
				names = append(names, f.Name)
			case depth < 8:
				add(f.Type, depth+1)
			}
		}
	}
	add(t, 0)
	return names
}

// isArgs tells whether the node is args, also as *args.
func (n *node) isArgs() bool {
	return n.op == opArgs || n.op == opUnary && n.str == "*" && n.kids[0].op == opArgs
}

// locals tells vars from args, of nodes that are one of them.
func (n *node) locals() bool {
	if n.op != opArgs {
		n = n.kids[0]
	}
	return n.flag
}

// argNamed is the number of an argument of a name: args has the parameters, vars the local variables and, behind them,
// the parameters.
func argNamed(s *probe.Scope, name string, local bool) (int, bool) {
	for _, want := range []bool{true, false} {
		if want && !local {
			continue
		}
		for i, a := range s.Args {
			if a.Name == name && a.Local == want {
				return i, true
			}
		}
	}
	return 0, false
}

// offsetOf is the place of a field of a field … in a type.
func (inf *inferrer) offsetOf(n *node, t *types.Type) (int, bool) {
	off := 0
	for _, name := range n.names {
		for t.Kind == types.Pointer && n.kids[0].kids != nil {
			t = t.Elem // of an expression
		}
		if t.Kind != types.Struct && t.Kind != types.Union {
			inf.errorf(n.span, "'%s' is not a C type.", typestr(t))
			return 0, false
		}
		t = inf.complete(t)
		if t.Incomplete {
			inf.errorf(n.span, "'%s' does not exist.", t.Name)
			return 0, false
		}
		f, ok := t.Field(name)
		if !ok {
			hintNear(inf.errorf(n.span, "'%s' has no field named '%s'", typestr(t), name), name, fieldNames(t))
			return 0, false
		}
		off += f.Offset
		t = f.Type
	}
	return off, true
}

func argNumber(name string) (int, bool) {
	if len(name) < 4 || name[:3] != "arg" {
		return 0, false
	}
	n, err := strconv.Atoi(name[3:])
	return n, err == nil
}
