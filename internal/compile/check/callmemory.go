package check

import (
	"fmt"
	"slices"
	"strings"

	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
	"trocar/internal/process/probe"
)

func (m *meanings) memory() {
	m[builtin.UAddr] = meaning{
		typed: (*inferrer).uaddrType, place: placeUser,
		fill: func(b *builder, c *Call, n *node) bool {
			sym, _ := b.userSymbolOf(n)
			c.Symbol, c.Place = n.kids[0].str, sym.Place
			return true
		},
	}
	m[builtin.KAddr] = meaning{value: (*builder).compileTime}
	m[builtin.PerCPUKAddr] = meaning{fill: (*builder).perCPU, place: placePerCPU, typed: func(inf *inferrer, n *node) {
		inf.made(n, types.PointerTo(types.TUint64, types.Kernel))
	}}
	m[builtin.KPtr] = meaning{typed: typedIn(types.Kernel), value: (*builder).inSpace}
	m[builtin.UPtr] = meaning{typed: typedIn(types.User), value: (*builder).inSpace}
	m[builtin.BSwap] = meaning{typed: typedBSwap, fill: func(b *builder, c *Call, n *node) bool {
		return c.add(castTo(b.expr(n.kids[0]), c.T))
	}}
	m[builtin.MemCmp] = meaning{fill: (*builder).memcmp}
	m[builtin.IsErr] = meaning{value: (*builder).isErr}
	m[builtin.WriteUser] = meaning{place: (*inferrer).needsUnsafe, fill: (*builder).writeUser}
	m[builtin.Path] = meaning{form: formPath, place: placePath, typed: typedPath, fill: fillPath}
	m[builtin.SkbOutput] = meaning{place: placeSkb, fill: func(*builder, *Call, *node) bool { return false }}
	m[builtin.SocketCookie] = meaning{place: placeSocket, fill: (*builder).socketCookie}
	m[builtin.Unwatch] = meaning{fill: integers(types.TUint64)}
	m[builtin.ContainerOf] = meaning{elsewhere: byMacro}
}

// byMacro is said of builtins that are macros of the standard library (script/syntax, std.bt).
const byMacro = "it is a macro"

// placeUser refuses what reads the traced process's memory where that is not the memory of what runs.
func placeUser(inf *inferrer, n *node) {
	switch p := inf.act.points[0]; {
	case p.Path != "":
	case inf.act.kind.Traits().Elsewhere:
		inf.errorf(n.span, "%s can not be used with \"%s\" probes: they are not hit in the traced process", callName(n),
			providerName(inf.act)).
			Hint("profile:hz:99, or a probe on what the process does, is hit there")
	case p.PID == 0:
		inf.errorf(n.span, "%s is of the traced process: none is named", callName(n)).
			Hint("-p PID or -c COMMAND says whose program is meant")
	}
}

func placePerCPU(inf *inferrer, n *node) {
	if inf.in.Lookup.PerCPUSymbol == nil {
		inf.errorf(n.span, "percpu_kaddr is not available: the kernel provides no type information (CONFIG_DEBUG_INFO_BTF)")
	}
}

// typedIn is the type of kptr and uptr: the argument's, in the given memory.
func typedIn(space types.Space) func(*inferrer, *node) {
	return func(inf *inferrer, n *node) {
		inf.solver.rule(&n.slot, func(in []ty) ty {
			t := in[0]
			if t.isPtr() {
				t.t = types.PointerTo(t.t.Elem, space)
			}
			t.space = space
			return t
		}, &n.kids[0].slot)
	}
}

func typedBSwap(inf *inferrer, n *node) {
	inf.solver.rule(&n.slot, func(in []ty) ty {
		if !in[0].number().isInt() {
			inf.errorf(n.span, "bswap() only supports integer arguments (%s provided)", kindstr(in[0].t))
			return ty{}
		}
		return known(types.IntOf(in[0].t.Size, false))
	}, &n.kids[0].slot)
}

func formPath(inf *inferrer, n *node, args []*node) bool {
	if len(args) == 2 && !args[1].posInt() {
		inf.errorf(n.span, "path: invalid size value, need non-negative literal")
		return false
	}
	return true
}

func placePath(inf *inferrer, n *node) {
	kind := inf.act.kind
	if kind != probe.Fentry && kind != probe.Fexit && kind != probe.Iter {
		inf.errorf(n.span, "The path function can only be used with 'fentry', 'fexit', 'iter' probes")
		return
	}
	for _, p := range inf.act.points {
		if kind != probe.Iter && !slices.Contains(pathFunctions, p.Event) {
			inf.errorf(n.span, "path() can't be used in %s: the kernel makes names of files only in iterators and in %s", p.Name,
				strings.Join(pathFunctions, ", ")).
				Hint("the last part of the name can be read: str(file.f_path.dentry.d_name.name)")
			return
		}
	}
}

// pathFunctions are the functions in which names of files can be made without waiting for a lock that is held
// (kernel/trace/bpf_trace.c, btf_allowlist_d_path).
var pathFunctions = []string{
	"security_file_permission", "security_inode_getattr", "security_file_open", "security_path_truncate", "vfs_truncate",
	"vfs_fallocate", "dentry_open", "vfs_getattr", "filp_close",
}

func typedPath(inf *inferrer, n *node) {
	size := inf.cfg.MaxStrlen
	if l := argument(n, 1); l != nil && l.posInt() {
		size = int(min(l.num, uint64(size)))
	}
	inf.made(n, types.StringOf(size))
}

func fillPath(b *builder, c *Call, n *node) bool {
	if t := n.kids[0].ty; !t.isPtr() && !t.is(types.Struct, types.Union) {
		b.errorf(n.span, "path() only supports pointer or C type argument (%s provided)", kindstr(t.t))
		return false
	}
	return c.add(b.expr(n.kids[0]))
}

// placeSkb refuses skboutput everywhere: nothing writes packets to a file.
func placeSkb(inf *inferrer, n *node) {
	inf.errorf(n.span, "skboutput is not available: this version writes no packet captures")
}

func placeSocket(inf *inferrer, n *node) {
	switch inf.act.kind {
	case probe.Fentry, probe.Fexit, probe.Iter, probe.RawTracepoint:
	default:
		inf.wrongPlace(n)
	}
}

// uaddrType looks the symbol up; its size tells what the address points to.
func (inf *inferrer) uaddrType(n *node) {
	a := n.kids[0]
	if a.op != opStr {
		inf.errorf(n.span, "uaddr() expects a string literal as the first argument")
		return
	}
	if p := inf.act.points[0]; p.Path == "" && (p.PID == 0 || inf.act.kind.Traits().Elsewhere) {
		inf.solver.set(&n.slot, pointer(types.TUint64, types.User)) // refused: see placeUser
		return
	}
	if named(n) {
		if sym, ok := inf.userSymbol(n); ok {
			inf.solver.set(&n.slot, pointer(elemType(sym.Type), types.User))
		}
		return
	}
	for _, b := range []byte(a.str) {
		if !(b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || strings.IndexByte("./_-$@", b) >= 0) ||
			b == 0 {
			inf.errorf(n.span, "uaddr() expects a string that is a valid symbol (^[a-zA-Z0-9./_-]+$) as input (\"%s\" provided)",
				a.str)
			return
		}
	}
	sym, ok := inf.userSymbol(n)
	if !ok {
		return
	}
	size := 8
	if sym.Size == 1 || sym.Size == 2 || sym.Size == 4 {
		size = int(sym.Size)
	}
	inf.solver.set(&n.slot, pointer(types.IntOf(size, false), types.User))
}

// named tells a call of uaddr that stands for a variable by its name alone, or names one of a file: it has its type.
func named(n *node) bool { return n.flag || strings.Contains(n.kids[0].str, "@") }

func (inf *inferrer) userSymbol(n *node) (Symbol, bool) {
	p := inf.act.points[0]
	if u := inf.in.Lookup.UserVariable; u != nil && named(n) {
		sym, err := u(p, n.kids[0].str)
		if err != nil {
			inf.errorf(n.span, "%s: %s", n.kids[0].str, err)
		}
		return sym, err == nil
	}
	if inf.in.Lookup.UserSymbol == nil {
		inf.errorf(n.span, "Could not resolve symbol: %s:%s", p.Path, n.kids[0].str)
		return Symbol{}, false
	}
	sym, err := inf.in.Lookup.UserSymbol(p, n.kids[0].str)
	if err != nil {
		d := inf.errorf(n.span, "%s", err.Error())
		if n.kids[0].str == "errno" {
			d.Hint("errno is a variable of the C library: it is known in functions of that, such as libc:open, and of files " +
				"that are linked with glibc")
		}
		return Symbol{}, false
	}
	return sym, true
}

func (b *builder) memcmp(c *Call, n *node) bool {
	size := n.kids[2]
	if !size.posInt() {
		b.errorf(n.span, "memcmp() expects a int literal (%s provided)", kindstr(size.ty.t))
		return false
	}
	for _, k := range n.kids[:2] {
		x := b.expr(k)
		if x == nil || !b.whole(k) {
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

func (b *builder) userSymbolOf(n *node) (Symbol, bool) {
	inf := &inferrer{checker: b.checker}
	return inf.userSymbol(n)
}

func (b *builder) perCPU(c *Call, n *node) bool {
	name, ok := b.literal(n, 0)
	if !ok {
		return false
	}
	look := b.in.Lookup.PerCPUSymbol
	if look == nil {
		return false // refused already
	}
	v, err := look(name)
	if err != nil {
		b.errorf(n.span, "%s", err)
		return false
	}
	c.Symbol = name
	c.Args = []Arg{{Expr: &Const{E{types.TUint64, n.span}, uint64(v)}}}
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
	if t := x.Type(); t.Kind != types.Pointer || t.Space != types.BPF {
		b.errorf(n.span, "write_user() copies from the script's own memory: the second argument must be the address of a "+
			"variable or map, such as &$x (%s provided)", kindstr(t))
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

// compileTime builds kaddr and cgroupid: numbers that are looked up now.
func (b *builder) compileTime(n *node, e E) Expr {
	name, ok := b.literal(n, 0)
	if !ok {
		return nil
	}
	look := b.in.Lookup.KernelSymbol
	if n.fn.ID == builtin.CgroupID {
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
	case n.fn.ID == builtin.KAddr:
		b.errorf(n.span, "Failed to resolve kernel symbol: %s", name)
	default:
		b.errorf(n.span, "Failed to get `cgroupid` for path: \"%s\": %v", name, err)
	}
	return nil
}
