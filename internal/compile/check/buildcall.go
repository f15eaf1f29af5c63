package check

import (
	"fmt"
	"strings"

	"trocar/internal/binary/types"
)

// call builds the call of a builtin: checks the types of its arguments and converts them.
func (b *builder) call(n *node) Expr {
	if n.fn == nil {
		return nil // told when its type was looked for
	}
	c := &Call{E: E{b.typeOf(n), n.span}, Fn: n.fn}
	b.out.Timed = b.out.Timed || n.fn.ID == "duration"
	arg := func(e Expr) { c.Args = append(c.Args, Arg{Expr: e}) }
	kid := func(i int) *node {
		if i < len(n.kids) {
			return n.kids[i]
		}
		return nil
	}
	ok := true
	switch n.fn.ID {
	case "printf", "errorf", "warnf", "debugf", "cat", "system":
		ok = b.formatted(c, n)
	case "print":
		ok = b.print(c, n)
	case "time":
		c.Format = "%H:%M:%S\n"
		if kid(0) != nil {
			c.Format, ok = b.literal(n, 0)
		}
	case "strftime":
		if c.Format, ok = b.literal(n, 0); ok {
			ok = b.strftime(c, n)
		}
	case "join":
		ok = b.join(c, n)
	case "fail":
		b.fail(n)
		ok = false
	case "delete", "has_key", "find", "len", "clear", "zero":
		ok = b.mapCall(c, n)
	case "str":
		ok = b.str(c, n)
	case "snapshot":
		ok = b.snapshot(c, n)
	case "buf":
		ok = b.buf(c, n)
	case "strncmp":
		ok = b.isKind(n, 0, types.String) && b.isKind(n, 1, types.String)
		arg(b.expr(n.kids[0]))
		arg(b.expr(n.kids[1]))
		arg(castTo(b.expr(n.kids[2]), types.TUint64))
	case "strcontains", "strstr", "str_concat", "strlen":
		for _, k := range n.kids {
			s := b.stringArg(k)
			ok = ok && s != nil
			arg(s)
		}
	case "strerror", "signal_name", "syscall_name":
		return b.nameOf(c, n)
	case "ntop":
		ok = b.ntop(c, n)
	case "macaddr":
		ok = b.macaddr(c, n)
	case "pton":
		return b.pton(n, c.E)
	case "memcmp":
		ok = b.memcmp(c, n)
	case "bswap":
		arg(castTo(b.expr(n.kids[0]), c.T))
	case "kptr", "uptr":
		return b.inSpace(n, c.E)
	case "is_err":
		return b.isErr(n, c.E)
	case "ksym", "usym":
		if t := n.kids[0].ty; !t.isInt() && !t.isPtr() {
			b.errorf(n.span, "%s() expects an integer or pointer argument", n.fn.ID)
			ok = false
		}
		arg(castTo(b.expr(n.kids[0]), types.TUint64))
	case "kaddr", "cgroupid":
		return b.compileTime(n, c.E)
	case "uaddr":
		sym, _ := b.userSymbolOf(n)
		c.Format = n.kids[0].str
		arg(&Const{E{types.TUint64, n.span}, sym.Addr})
		arg(&Const{E{types.TBool, n.span}, boolNum(sym.Absolute)})
	case "percpu_kaddr":
		ok = b.perCPU(c, n)
	case "reg":
		c.Format, ok = b.literal(n, 0)
	case "argN":
		c.N, _ = argNumber(n.str)
	case "nsecs":
		c.Format = "boot"
		if kid(0) != nil {
			c.Format = n.kids[0].str
			if c.Format == "tai" && !b.in.Features.TAIClock {
				b.errorf(n.span, "Kernel does not support tai timestamp, please try sw_tai")
			}
		}
	case "pid", "tid":
		if k := kid(0); k != nil && k.str == "init" {
			c.Format = "init"
		}
	case "ncpus":
		if b.in.NCPU > 0 {
			return &Const{E{types.TUint64, n.span}, uint64(b.in.NCPU)}
		}
	case "ustack", "kstack", "dw_ustack":
		// All is in the type.
	case "exit":
		if kid(0) != nil {
			ok = b.isInteger(n, 0)
			arg(castTo(b.expr(n.kids[0]), types.TInt64))
		}
	case "comm":
		if kid(0) != nil {
			ok = b.isInteger(n, 0)
			arg(castTo(b.expr(n.kids[0]), types.TUint32))
		}
	case "signal", "signal_thread":
		if !n.kids[0].ty.isInt() {
			b.errorf(n.span, "%s() accepts a string literal or an integer", n.fn.ID)
			ok = false
		}
		arg(castTo(b.expr(n.kids[0]), types.TUint32))
	case "override":
		if !n.kids[0].ty.isInt() {
			b.errorf(n.span, "override() only supports int arguments (%s provided)", kindstr(n.kids[0].ty.t))
			ok = false
		}
		arg(castTo(b.expr(n.kids[0]), types.TUint64))
	case "unwatch":
		ok = b.isInteger(n, 0)
		arg(castTo(b.expr(n.kids[0]), types.TUint64))
	case "write_user":
		ok = b.writeUser(c, n)
	case "cgroup_path":
		ok = b.isInteger(n, 0)
		arg(castTo(b.expr(n.kids[0]), types.TUint64))
		if kid(1) != nil && ok {
			c.Format, ok = b.literal(n, 1)
		}
	case "path":
		if t := n.kids[0].ty; !t.isPtr() && !t.is(types.Struct, types.Union) {
			b.errorf(n.span, "path() only supports pointer or C type argument (%s provided)", kindstr(t.t))
			ok = false
		}
		arg(b.expr(n.kids[0]))
	case "socket_cookie":
		ok = b.socketCookie(c, n)
	case "skboutput":
		if c.Format, ok = b.literal(n, 0); ok {
			ok = b.isKind(n, 1, types.Pointer) && b.isInteger(n, 2) && b.isInteger(n, 3)
			for _, k := range n.kids[1:] {
				arg(castTo(b.expr(k), types.TUint64))
			}
		}
	default:
		if n.fn.CompileTime {
			b.errorf(n.span, "%s() cannot be evaluated here: what it depends on is not known when compiling", callName(n))
			return nil
		}
		for _, k := range n.kids {
			arg(b.expr(k))
		}
	}
	if !ok {
		return nil
	}
	return c
}

// literal returns an argument that must be a string literal.
func (b *builder) literal(n *node, i int) (string, bool) {
	k := n.kids[i]
	if k.op == opStr {
		return k.str, true
	}
	b.errorf(n.span, "%s() expects a string literal (%s provided)", callName(n), kindstr(k.ty.t))
	return "", false
}

func (b *builder) isInteger(n *node, i int) bool {
	if n.kids[i].ty.isInt() || n.kids[i].ty.castable() {
		return true
	}
	b.errorf(n.span, "%s() only supports int arguments (%s provided)", callName(n), kindstr(n.kids[i].ty.t))
	return false
}

func (b *builder) isKind(n *node, i int, kind types.Kind) bool {
	if n.kids[i].ty.is(kind) {
		return true
	}
	b.errorf(n.span, "%s() only supports %s arguments (%s provided)", callName(n), kindstr(&types.Type{Kind: kind}), kindstr(n.kids[i].ty.t))
	return false
}

// formatted builds printf and its kind.
func (b *builder) formatted(c *Call, n *node) bool {
	format, ok := b.literal(n, 0)
	if !ok {
		return false
	}
	c.Format = format
	var ts []*types.Type
	for _, k := range n.kids[1:] {
		ts = append(ts, k.ty.t)
	}
	for _, k := range n.kids[1:] {
		if multiKey(k.ty.t) {
			b.errorf(k.span, "Map type %s cannot print the value of individual keys. You must print the whole map.", typestr(k.ty.t))
			return false
		}
	}
	if problem := checkFormat(format, ts); problem != "" {
		b.errorf(n.span, "%s", problem)
		return false
	}
	if n.fn.ID == "debugf" && !b.debugFormat(n, format, ts) {
		return false
	}
	for _, k := range n.kids[1:] {
		e := b.expr(k)
		if e == nil {
			return false
		}
		c.Args = append(c.Args, Arg{Expr: e})
	}
	return true
}

// debugFormat checks the few conversions that the kernel's bpf_trace_printk has.
func (b *builder) debugFormat(n *node, format string, ts []*types.Type) bool {
	for i, conv := range conversions(format) {
		want := types.Int
		switch conv {
		case "d", "u", "x", "p":
		case "s":
			want = types.String
		default:
			b.errorf(n.kids[0].span, "Invalid format specifier for `debugf`: %s", conv)
			return false
		}
		if ts[i].Kind != want && !(want == types.Int && isInt(ts[i])) {
			b.errorf(n.kids[i+1].span, "Type does not match format specifier: %s", conv)
			return false
		}
	}
	return true
}

func (b *builder) print(c *Call, n *node) bool {
	k := n.kids[0]
	if k.op != opMap {
		t := k.ty
		switch {
		case multiKey(t.t):
			b.errorf(n.span, "Map type %s cannot print the value of individual keys. You must print the whole map.", typestr(t.t))
			return false
		case t.none(), t.is(types.Void):
			b.expr(k)
			b.errorf(n.span, "%s type passed to print() is not printable", typestr(t.t))
			return false
		case len(n.kids) != 1:
			b.errorf(n.span, "Non-map print() only takes 1 argument, %d found", len(n.kids))
			return false
		}
		e := b.expr(k)
		c.Args = []Arg{{Expr: e}}
		return e != nil
	}
	m := b.mapRef(k.m, k.span)
	c.Args = []Arg{{Map: m}}
	if b.loop > 0 {
		b.warnf(n.span, "Due to it's asynchronous nature using 'print()' in a loop can lead to unexpected behavior. The map will "+
			"likely be updated before the runtime can 'print' it.")
	}
	if m.Value.Kind == types.Stats && len(n.kids) > 1 {
		b.warnf(n.span, "print()'s top and div arguments are ignored when used on stats() maps.")
	}
	for _, a := range n.kids[1:] {
		if !a.posInt() {
			b.errorf(n.span, "print() expects a int literal (%s provided)", kindstr(a.ty.t))
			return false
		}
		c.Args = append(c.Args, Arg{Expr: castTo(b.expr(a), types.TUint64)})
	}
	return true
}

func (b *builder) strftime(c *Call, n *node) bool {
	ts := n.kids[1]
	switch {
	case ts.op == opInt && ts.neg:
		b.errorf(n.span, "strftime() does not accept negative timestamps")
		return false
	case n.ty.clock == types.ClockMonotonic:
		b.errorf(n.span, "strftime() can not take a monotonic timestamp").Hint("nsecs, nsecs(boot) and nsecs(tai) can be told as a time of day")
		return false
	}
	ok := b.isInteger(n, 1)
	c.Args = []Arg{{Expr: castTo(b.expr(ts), types.TUint64)}}
	return ok
}

func (b *builder) join(c *Call, n *node) bool {
	k := n.kids[0]
	if !k.ty.isInt() && !k.ty.isPtr() {
		b.errorf(n.span, "join() only supports int or pointer arguments (%s provided)", kindstr(k.ty.t))
		return false
	}
	c.Format = " "
	ok := true
	if len(n.kids) > 1 {
		c.Format, ok = b.literal(n, 1)
	}
	c.Args = []Arg{{Expr: b.pointerArg(k, types.PointerTo(types.TChar, types.AnySpace))}}
	return ok
}

// pointerArg builds a pointer to elem in the space that a value came from.
func (b *builder) pointerArg(k *node, elem *types.Type) Expr {
	space := k.ty.where()
	if space == mixed {
		space = types.AnySpace
	}
	if space == types.AnySpace {
		space = spaceOf(b.act.kind)
	}
	x := b.expr(k)
	if x == nil {
		return nil
	}
	if k.ty.isInt() {
		x = castTo(x, types.IntOf(8, k.ty.signed()))
	}
	return castTo(x, types.PointerTo(elem, space))
}

// fail refuses to compile with the script's own message.
func (b *builder) fail(n *node) {
	for _, k := range n.kids {
		if !k.isLiteral() || k.op == opTuple {
			b.errorf(n.span, "fail() arguments need to be literals")
			return
		}
	}
	if n.kids[0].op != opStr {
		b.errorf(n.span, "first argument to fail() must be a string literal")
		return
	}
	b.errorf(n.span, "%s", formatLiterals(n.kids[0].str, n.kids[1:]))
}

// formatLiterals puts literals into a format, for messages only: each conversion shows its argument plainly.
func formatLiterals(format string, args []*node) string {
	var s strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			s.WriteByte(format[i])
			continue
		}
		conv, end := conversion(format, i+1)
		switch {
		case end < 0:
			s.WriteByte('%')
			continue
		case conv == "%":
			s.WriteByte('%')
		case len(args) > 0:
			a := args[0]
			args = args[1:]
			switch {
			case (conv == "x" || conv == "p") && a.op == opInt:
				fmt.Fprintf(&s, "%x", a.num)
			default:
				s.WriteString(literalText(a))
			}
		}
		i = end - 1
	}
	return s.String()
}
