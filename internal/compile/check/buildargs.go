package check

import (
	"fmt"
	"net/netip"

	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
)

// Calls whose arguments need more than a conversion.

func (b *builder) mapCall(c *Call, n *node) bool {
	k := n.kids[0]
	if k.op != opMap {
		// len of a stack.
		if !k.ty.is(types.UStack, types.KStack) {
			b.errorf(n.span, "call to len() expects a map, ustack, or kstack")
			return false
		}
		c.Args = []Arg{{Expr: b.expr(k)}}
		return true
	}
	m := b.mapRef(k.m, k.span)
	c.Args = []Arg{{Map: m}}
	if len(n.kids) > 1 {
		key, ok := b.tryConvert(n.kids[1], k.m.key.ty)
		if !ok {
			b.errorf(n.span, "Type mismatch for %s: trying to assign key of type '%s' when map already has a key type '%s'",
				m.Name, typestr(n.kids[1].ty.t), typestr(k.m.key.ty.t))
			return false
		}
		c.Args = append(c.Args, Arg{Expr: key})
	}
	if n.fn.ID == "find" {
		v := n.kids[2].v
		if v == nil || v.out == nil {
			return false
		}
		if _, ok := promote(known(v.out.Type), known(m.Value)); !ok || !same(v.out.Type, m.Value) && !fits(known(m.Value), v.out.Type) {
			b.errorf(n.span, "Type mismatch for %s: trying to assign value of type '%s' when variable already has a type '%s'",
				v.name, typestr(m.Value), typestr(v.out.Type))
			return false
		}
		c.Args = append(c.Args, Arg{Var: v.out})
	}
	return true
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
	case t.isStr(), t.is(types.Array):
		x = untext(b.expr(k))
	case t.isInt(), t.isPtr():
		x = b.pointerArg(k, types.TUint8)
	default:
		b.errorf(n.span, "buf() expects an integer, string, or array argument but saw %s", kindstr(t.t))
		return false
	}
	if len(n.kids) == 1 {
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
		str := &Call{E: E{types.StringOf(b.cfg.TextSize()), k.span}, Fn: builtin.Lookup("str")}
		str.Args = []Arg{{Expr: b.pointerArg(k, types.TInt8)}}
		return str
	default:
		return &Cast{E{types.StringOf(max(t.t.Len, 0) + 1), k.span}, b.expr(k)}
	}
}

// nameOf builds strerror and its kind; of a literal it is a literal.
func (b *builder) nameOf(c *Call, n *node) Expr {
	k := n.kids[0]
	if !k.ty.isInt() {
		b.errorf(n.span, "%s() only supports int arguments (%s provided)", n.fn.ID, kindstr(k.ty.t))
		return nil
	}
	c.Args = []Arg{{Expr: castTo(b.expr(k), types.TInt32)}}
	return c
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

func (b *builder) memcmp(c *Call, n *node) bool {
	size := n.kids[2]
	if !size.posInt() {
		b.errorf(n.span, "memcmp() expects a int literal (%s provided)", kindstr(size.ty.t))
		return false
	}
	for _, k := range n.kids[:2] {
		x := b.expr(k)
		if x == nil {
			return false
		}
		if uint64(x.Type().Size) < size.num {
			b.errorf(n.span, "memcmp() cannot compare %d bytes of a value that has %d", size.num, x.Type().Size)
			return false
		}
		c.Args = append(c.Args, Arg{Expr: x})
	}
	c.Args = append(c.Args, Arg{Expr: castTo(b.expr(size), types.TUint64)})
	return true
}

// inSpace is kptr and uptr: the same bits, to be read from another memory.
func (b *builder) inSpace(n *node, e E) Expr {
	k := n.kids[0]
	if !k.ty.isInt() && !k.ty.isPtr() {
		b.errorf(n.span, "%s() only supports integer or pointer arguments (%s provided)", n.fn.ID, kindstr(k.ty.t))
		return nil
	}
	return castTo(b.expr(k), e.T)
}

// isErr is whether an address is one of the last 4095 (MAX_ERRNO of the kernel's include/linux/err.h).
func (b *builder) isErr(n *node, e E) Expr {
	k := n.kids[0]
	if !k.ty.isInt() && !k.ty.isPtr() {
		b.errorf(n.span, "is_err() only supports integer or pointer arguments (%s provided)", kindstr(k.ty.t))
		return nil
	}
	x := b.expr(k)
	if k.ty.isInt() {
		x = castTo(x, types.IntOf(8, k.ty.signed()))
	}
	const least = ^uint64(4095) + 1
	return &Binary{e, ">=", castTo(x, types.TUint64), &Const{E{types.TUint64, n.span}, least}}
}

// compileTime builds kaddr and cgroupid: numbers that are looked up now.
func (b *builder) compileTime(n *node, e E) Expr {
	name, ok := b.literal(n, 0)
	if !ok {
		return nil
	}
	look := b.in.Lookup.KernelSymbol
	if n.fn.ID == "cgroupid" {
		look = b.in.Lookup.CgroupID
	}
	var v uint64
	err := fmt.Errorf("not looked up")
	if look != nil {
		v, err = look(name)
	}
	switch {
	case err == nil:
		return &Const{e, v}
	case n.fn.ID == "kaddr":
		b.errorf(n.span, "Failed to resolve kernel symbol: %s", name)
	default:
		b.errorf(n.span, "Failed to get `cgroupid` for path: \"%s\": %v", name, err)
	}
	return nil
}

func (b *builder) userSymbolOf(n *node) (Symbol, bool) {
	inf := &inferrer{checker: b.checker, act: b.act}
	return inf.userSymbol(n)
}

func (b *builder) perCPU(c *Call, n *node) bool {
	name, ok := b.literal(n, 0)
	if !ok {
		return false
	}
	look := b.in.Lookup.PerCPUSymbol
	var v uint64
	err := fmt.Errorf("not looked up")
	if look != nil {
		v, err = look(name)
	}
	if err != nil {
		b.errorf(n.span, "Could not resolve variable \"%s\" from BTF", name)
		return false
	}
	c.Format = name
	c.Args = []Arg{{Expr: &Const{E{types.TUint64, n.span}, v}}}
	if len(n.kids) > 1 {
		ok = b.isInteger(n, 1)
		c.Args = append(c.Args, Arg{Expr: castTo(b.expr(n.kids[1]), types.TUint32)})
	}
	return ok
}

func (b *builder) writeUser(c *Call, n *node) bool {
	to, from, length := n.kids[0], n.kids[1], n.kids[2]
	if !to.ty.isInt() && !to.ty.isPtr() {
		b.errorf(n.span, "write_user() expects a pointer as first argument (%s provided)", kindstr(to.ty.t))
		return false
	}
	if !b.isInteger(n, 2) {
		return false
	}
	x := b.expr(from)
	if x == nil {
		return false
	}
	if t := x.Type(); t.Kind == types.Pointer && t.Space != types.BPF {
		b.errorf(n.span, "write_user() copies from the script's own memory: the second argument must be a value or the address of a variable")
		return false
	}
	c.Args = []Arg{{Expr: castTo(b.expr(to), types.TUint64)}, {Expr: x}, {Expr: castTo(b.expr(length), types.TUint32)}}
	return true
}

func (b *builder) socketCookie(c *Call, n *node) bool {
	t := n.kids[0].ty
	switch {
	case !t.isPtr() || t.t.Elem.Kind != types.Struct && t.t.Elem.Kind != types.Union:
		b.errorf(n.span, "socket_cookie() only supports 'struct sock *' as the argument (%s provided)", kindstr(t.t))
		return false
	case t.t.Elem.Name != "struct sock":
		b.errorf(n.span, "socket_cookie() only supports 'struct sock *' as the argument ('%s *' provided)", t.t.Elem.Name)
		return false
	}
	c.Args = []Arg{{Expr: b.expr(n.kids[0])}}
	return true
}

// pton is the address's bytes.
func (b *builder) pton(n *node, e E) Expr {
	addr, err := netip.ParseAddr(n.kids[0].str)
	if err != nil {
		return nil // told when its type was looked for
	}
	return &StrConst{e, string(addr.AsSlice())}
}
