package check

import (
	"net/netip"
	"strings"

	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
)

func (m *meanings) text() {
	m[builtin.Str] = meaning{fill: (*builder).str, typed: func(inf *inferrer, n *node) {
		inf.made(n, types.StringOf(inf.strSize(n)))
	}}
	m[builtin.Buf] = meaning{fill: (*builder).buf, typed: typedBuf}
	m[builtin.StrNCmp] = meaning{form: formStrNCmp, fill: func(b *builder, c *Call, n *node) bool {
		ok := b.isKind(n, 0, types.String) && b.isKind(n, 1, types.String)
		c.add(b.expr(n.kids[0]))
		c.add(b.expr(n.kids[1]))
		c.add(castTo(b.expr(n.kids[2]), types.TUint64))
		return ok
	}}
	texts := meaning{fill: (*builder).texts}
	m[builtin.StrContains], m[builtin.StrStr], m[builtin.StrConcat], m[builtin.StrLen] = texts, texts, texts, texts
	m[builtin.StrCap] = meaning{literal: literalStrCap, typed: func(inf *inferrer, n *node) {
		inf.solver.rule(&n.slot, func(in []ty) ty {
			if in[0].isPtr() {
				return known(types.TUint64)
			}
			return known(types.TInt8) // becomes a literal
		}, &n.kids[0].slot)
	}}
	m[builtin.DefaultStrLength] = meaning{short: unlessArgs(func(l *lowerer, n *node) *node {
		return &node{op: opInt, span: n.span, num: uint64(l.cfg.MaxStrlen)}
	})}
	for _, id := range []builtin.ID{builtin.StrError, builtin.ErrnoName, builtin.SignalName} {
		m[id] = meaning{fill: (*builder).nameOf}
	}
	m[builtin.SyscallName] = meaning{fill: (*builder).nameOf, place: func(inf *inferrer, n *node) {
		if inf.in.Arch.Syscalls() == nil {
			inf.errorf(n.span, "syscall_name is not available on %s: its system calls are not known", inf.in.Arch).
				Hint("print the number")
		}
	}}
	m[builtin.NToP] = meaning{fill: (*builder).ntop}
	m[builtin.PToN] = meaning{value: (*builder).pton, typed: func(inf *inferrer, n *node) {
		if t := inf.ptonType(n); t != nil {
			inf.made(n, t)
		}
	}}
	m[builtin.MACAddr] = meaning{fill: (*builder).macaddr}
	m[builtin.AssertStr] = meaning{literal: func(inf *inferrer, n *node) bool {
		if n.kids[0].ty.none() || !inf.stringLike(n.kids[0]) {
			return false
		}
		n.reset()
		return true
	}}
}

func formStrNCmp(inf *inferrer, n *node, args []*node) bool {
	if !args[2].posInt() {
		inf.errorf(n.span, "Builtin strncmp requires a non-negative literal")
		return false
	}
	return true
}

func typedBuf(inf *inferrer, n *node) {
	limit := inf.cfg.MaxStrlen - 4
	if len(n.kids) == 1 {
		inf.solver.rule(&n.slot, func(in []ty) ty {
			size := limit
			if in[0].is(types.Array) {
				size = min(in[0].t.Size, limit)
			}
			return known(types.BufferOf(max(size, 0))).at(types.Kernel)
		}, &n.kids[0].slot)
		return
	}
	size := limit
	if l := n.kids[1]; l.posInt() {
		size = int(min(l.num, uint64(max(limit, 0))))
	}
	inf.made(n, types.BufferOf(max(size, 0)))
}

// texts fills in arguments that are all strings, or anything like one.
func (b *builder) texts(c *Call, n *node) bool {
	ok := true
	for _, k := range n.kids {
		ok = c.add(b.stringArg(k)) && ok
	}
	return ok
}

// literalStrCap: of a pointer it is strlen.
func literalStrCap(inf *inferrer, n *node) bool {
	arg := n.kids[0]
	t := arg.ty
	if t.none() || !inf.stringLike(arg) {
		return false
	}
	switch {
	case t.isStr():
		n.toInt(uint64(t.t.Size), false)
	case t.is(types.Array):
		n.toInt(uint64(max(t.t.Len, 0)), false)
	default:
		l := &lowerer{checker: inf.checker, act: inf.act}
		n.become(l.make(n.span, builtin.StrLen, arg))
	}
	return true
}

// strSize is the capacity of str's value.
func (inf *inferrer) strSize(n *node) int {
	size := inf.cfg.MaxStrlen
	if len(n.kids) < 2 {
		return inf.cfg.TextSize()
	}
	l := n.kids[1]
	switch {
	case l.op == opInt && l.neg:
		inf.errorf(n.span, "str cannot use negative length (%d)", int64(l.num))
	case l.posInt() && (l.num >= uint64(size)):
		inf.warnf(n.span, "length param (%d) is too long and will be shortened to %d bytes (see BPFTRACE_MAX_STRLEN)", l.num,
			size)
	case l.posInt():
		return int(l.num) + 1
	}
	return size
}

func (inf *inferrer) ptonType(n *node) *types.Type {
	a := n.kids[0]
	if a.op != opStr {
		inf.errorf(n.span, "pton() expects an string literal at the first argument")
		return nil
	}
	if !strings.ContainsAny(a.str, ".:") {
		inf.errorf(n.span, "pton() expects an string argument of an IPv4/IPv6 address, got %s", a.str)
		return nil
	}
	addr, err := netip.ParseAddr(a.str)
	if err != nil || addr.Zone() != "" {
		inf.errorf(n.span, "pton() expects a valid IPv4/IPv6 address, got %s", a.str)
		return nil
	}
	return types.ArrayOf(types.TUint8, addr.BitLen()/8)
}

// holdsText tells whether the type is a string of the traced program's language, or a reference or pointer to one.
func holdsText(t *types.Type) bool {
	if t != nil && t.Kind == types.Pointer {
		t = t.Elem
	}
	if t == nil || t.Kind != types.Struct {
		return false
	}
	_, ok := t.Complete().Text()
	return ok
}

// openEnded tells an array of bytes at the end of a structure, of which only the program knows the length.
func openEnded(t ty) bool { return t.is(types.Array) && t.t.Len < 1 && t.t.Elem.Size == 1 }

// addressOf is the address of such an array, which stands in memory that a pointer leads to.
func (b *builder) addressOf(k *node) Expr {
	x := b.expr(k)
	if x == nil {
		return nil
	}
	elem, off := x.Type().Elem, 0
	for {
		m, ok := x.(*Member)
		if !ok {
			break
		}
		off += m.Field.Offset
		if x = m.X; x.Type().Kind == types.Pointer {
			break
		}
	}
	if d, ok := x.(*Deref); ok {
		x = d.X
	}
	if x.Type().Kind != types.Pointer {
		b.errorf(k.span, "the length of this array is not known, and its address neither: it is not behind a pointer")
		return nil
	}
	sum := &Binary{E{types.TUint64, k.span}, "+", castTo(x, types.TUint64), &Const{E{types.TUint64, k.span}, uint64(off)}}
	return castTo(sum, types.PointerTo(elem, x.Type().Space))
}

func (b *builder) str(c *Call, n *node) bool {
	k := n.kids[0]
	t := k.ty
	var x Expr
	switch {
	case holdsText(t.t) && !ofBytes(t.t):
		b.errorf(n.span, "str() reads single bytes, not the wider characters of '%s'", typestr(t.t)).Hint("print() shows it")
		return false
	case t.isStr(), holdsText(t.t):
		x = b.expr(k)
	case t.isInt(), t.isPtr():
		x = b.pointerArg(k, types.TInt8)
	case openEnded(t):
		if x = b.addressOf(k); x == nil {
			return false
		}
	default:
		b.errorf(n.span, "str() expects a string, integer or a pointer type as first argument (%s provided)", typestr(t.t))
		return false
	}
	c.Args = []Arg{{Expr: x}}
	if len(n.kids) > 1 {
		if !b.isInteger(n, 1) {
			return false
		}
		c.Args = append(c.Args, Arg{Expr: castTo(b.expr(n.kids[1]), types.TUint64)})
		c.Counted = given(n.kids[1])
	}
	return x != nil
}

func (b *builder) buf(c *Call, n *node) bool {
	k := n.kids[0]
	t := k.ty
	var x Expr
	switch {
	case openEnded(t) && len(n.kids) > 1:
		if x = b.addressOf(k); x == nil {
			return false
		}
	case t.isStr(), t.is(types.Array):
		x = untext(b.expr(k))
	case t.isInt(), t.isPtr():
		x = b.pointerArg(k, types.TUint8)
	default:
		b.errorf(n.span, "buf() expects an integer, string, or array argument but saw %s", kindstr(t.t))
		return false
	}
	if len(n.kids) == 1 {
		if openEnded(t) {
			b.errorf(n.span, "buf() expects a length argument: how long this array is, its type does not tell")
			return false
		}
		if !t.is(types.Array) {
			b.errorf(n.span, "buf() expects a length argument for non-array type %s", kindstr(t.t))
			return false
		}
		c.Args = []Arg{{Expr: x}, {Expr: &Const{E{types.TUint64, n.span}, uint64(c.T.Size - 4)}}}
		return true
	}
	l := n.kids[1]
	if l.op == opInt && l.neg {
		b.errorf(n.span, "buf cannot use negative length (%d)", int64(l.num))
		return false
	}
	ok := b.isInteger(n, 1)
	length := castTo(b.expr(l), types.TUint64)
	if l.posInt() {
		length = &Const{E{types.TUint64, l.span}, min(l.num, uint64(c.T.Size-4))}
	}
	c.Args = []Arg{{Expr: x}, {Expr: length}}
	return ok
}

// untext undoes the reading of C text as a string, where its bytes are wanted.
func untext(e Expr) Expr {
	if c, ok := e.(*Cast); ok && c.X != nil && c.X.Type().IsText() {
		return c.X
	}
	return e
}

// stringArg builds a string of anything like one.
func (b *builder) stringArg(k *node) Expr {
	if !b.stringLike(k) {
		b.expr(k)
		return nil
	}
	switch t := k.ty; {
	case t.isStr(), isTextValue(t.t):
		return b.textValue(k)
	case t.isPtr():
		str := &Call{E: E{types.StringOf(b.cfg.TextSize()), k.span}, Fn: builtin.Get(builtin.Str)}
		str.Args = []Arg{{Expr: b.pointerArg(k, types.TInt8)}}
		return str
	case openEnded(t):
		at := b.addressOf(k)
		if at == nil {
			return nil
		}
		return &Call{E: E{types.StringOf(b.cfg.TextSize()), k.span}, Fn: builtin.Get(builtin.Str), Args: []Arg{{Expr: at}}}
	default:
		return &Cast{E{types.StringOf(max(t.t.Len, 0) + 1), k.span}, b.expr(k)}
	}
}

// nameOf builds strerror and its kind; of a literal it is a literal.
func (b *builder) nameOf(c *Call, n *node) bool {
	k := n.kids[0]
	if !k.ty.isInt() {
		b.errorf(n.span, "%s() only supports int arguments (%s provided)", n.fn.ID, kindstr(k.ty.t))
		return false
	}
	c.Args = []Arg{{Expr: castTo(b.expr(k), types.TInt32)}}
	return true
}

func (b *builder) ntop(c *Call, n *node) bool {
	i := len(n.kids) - 1
	family := Expr(&Const{E{types.TInt64, n.span}, 0})
	if i == 1 {
		if !b.isInteger(n, 0) {
			return false
		}
		family = castTo(b.expr(n.kids[0]), types.TInt64)
	}
	k := n.kids[i]
	t := k.ty
	x := untext(b.expr(k))
	switch {
	case x == nil:
		return false
	case t.isInt():
	case t.isStr(), t.is(types.Array):
		if size := x.Type().Size; size != 4 && size != 16 {
			b.errorf(n.span, "ntop() argument must be 4 or 16 bytes in size")
			return false
		}
	default:
		b.errorf(n.span, "ntop() expects an integer or array argument, got %s", kindstr(t.t))
		return false
	}
	c.Args = []Arg{{Expr: family}, {Expr: x}}
	return true
}

func (b *builder) macaddr(c *Call, n *node) bool {
	k := n.kids[0]
	t := k.ty
	switch {
	case k.op == opStr:
		b.errorf(n.span, "macaddr() does not support literal string arguments")
		return false
	case t.isInt(), t.isPtr(), t.isStr(), t.is(types.Array, types.Buffer):
	default:
		b.errorf(n.span, "macaddr() only supports array or pointer arguments (%s provided)", kindstr(t.t))
		return false
	}
	x := untext(b.expr(k))
	if x == nil {
		return false
	}
	if !t.isInt() && !t.isPtr() && x.Type().Size < 6 {
		b.errorf(n.span, "macaddr() argument must be at least 6 bytes in size")
		return false
	}
	if t.isInt() {
		x = b.pointerArg(k, types.TUint8)
	}
	c.Args = []Arg{{Expr: x}}
	return true
}

// pton is the address's bytes.
func (b *builder) pton(n *node, e E) Expr {
	addr, err := netip.ParseAddr(n.kids[0].str)
	if err != nil {
		return nil // reported when its type was looked for
	}
	return &StrConst{e, string(addr.AsSlice())}
}

// stringLike checks that a value is a string, or an array of or a pointer to int8.
func (c *checker) stringLike(n *node) bool {
	t := n.ty
	switch {
	case t.isStr(), isTextValue(t.t):
		return true
	case t.is(types.Array):
		if isInt(t.t.Elem) && t.t.Elem.Size == 1 && t.t.Elem.Signed {
			return true
		}
		c.errorf(n.span, "string-like arrays must contain a char-like type")
	case t.isPtr():
		if e := t.t.Elem; isInt(e) && e.Size == 1 && e.Signed {
			return true
		}
		c.errorf(n.span, "string-like pointers must point to a char-like type")
	case !t.none():
		c.errorf(n.span, "string-like values must be either strings, arrays or pointers")
	}
	return false
}
