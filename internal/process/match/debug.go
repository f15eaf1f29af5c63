package match

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"trocar/internal/binary/code"
	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/packages"
	"trocar/internal/binary/types"
	"trocar/internal/near"
	"trocar/internal/process/probe"
	"trocar/internal/script/diag"
)

// What debug information adds: named arguments, typed results and source positions.

// debug is the debug information of a file, read when it is first asked for. It is closed with the file.
func (b *binary) debug() (*debuginfo.Info, error) {
	return b.im.Info()
}

// typed gives a point at a function's entry or return its arguments by name, or its result.
func (m *matcher) typed(s *spec, b *binary, entry uint64, p *probe.Point) {
	info, err := b.debug()
	if err != nil {
		m.bare(b, entry, p)
		b.byPrototype(p)
		return
	}
	fn, err := info.FunctionAt(entry)
	if err != nil && !errors.Is(err, debuginfo.ErrNotFound) {
		m.diags.Warnf(s.ap.Span, "the arguments of %s cannot be read: %s", p.Func, err)
	}
	if err != nil || fn.Entry != entry || fn.Own() == nil || fn.Lang == types.Assembler {
		m.bare(b, entry, p)
		b.byPrototype(p)
		return
	}
	if p.Kind == probe.Uretprobe {
		sig, err := info.Signature(fn)
		if err == nil && len(sig.Results) == 0 && fn.Lang == types.Rust {
			p.Scope = p.Scope.Clone()
			p.Scope.Retval = &probe.Var{Name: "retval", Type: types.RustUnit(), Place: types.Place{Kind: types.InPieces}}
			return
		}
		if err != nil || len(sig.Results) != 1 || fn.Lang.OwnABI() {
			return
		}
		r := sig.Results[0]
		t := r.Type.Complete()
		p.Scope = p.Scope.Clone()
		place := types.Place{}
		foreign := b.foreign(fn)
		switch {
		case b.unfoldResult(info, fn, t) != "":
			place = types.Unknown("%s", b.unfoldResult(info, fn, t))
		case (fn.Lang == types.C || fn.Lang == types.CPlusPlus) && !gnu(fn) && oddBits(t, 0):
			place = types.Unknown(whyOddBits)
		case b.partial(fn):
			place = types.Unknown("the compiler made a variant of the function, which may have no result")
		case foreign != "" && !inRegister(b.obj.Arch(), t, fn.Lang) && !b.inCallersMemory(fn, t):
			place = types.Unknown("where it returns a value of this type is not known: %s", foreign)
		case b.mayDrop(fn):
			place = m.keptResult(b, info, fn, t)
		case fn.Lang == types.Rust:
			place = m.rustResult(b, info, fn, t)
		default:
			place = b.obj.Arch().Result(t, fn.Lang)
		}
		p.Scope.Retval = &probe.Var{Name: "retval", Type: t, Place: place}
		return
	}
	vars, err := b.paramsAt(info, fn, p)
	if err != nil {
		m.diags.Warnf(s.ap.Span, "the arguments of %s cannot be read: %s", p.Func, err)
		return
	}
	for i := range vars {
		opaque(&vars[i])
	}
	b.unfold(info, fn, vars)
	b.distrust(fn, vars)
	if p.Entry {
		b.indirect(fn, vars)
		b.undivided(fn, vars)
	}
	// Go's calling convention tells where arguments are at the entry, without optimization too.
	runtime := b.runtimeAt(entry)
	ruled := runtime != nil && p.Entry && runtime.Ruled(fn)
	late := anyLate(vars)
	if p.Entry && (!late || fn.Optimized) {
		late = b.byConvention(info, fn, vars)
	}
	elsewhere := slices.ContainsFunc(vars, func(v debuginfo.Var) bool { return later(&v) })
	if (late || elsewhere) && !ruled && p.Entry && fn.Optimized && !fn.Lang.OwnABI() {
		late = b.passed(info, fn, vars)
		b.undivided(fn, vars)
	}
	var given []code.Given
	if p.Entry {
		given = b.givenObjects(fn, vars)
	}
	if late && !ruled && m.stays {
		if p.Entry {
			b.byConvention(info, fn, vars)
		}
	} else if late && !ruled {
		if moved := m.behindPrologue(s, b, info, fn, p, vars); moved != nil {
			vars = moved
		} else if p.Entry {
			if b.byConvention(info, fn, vars) && !fn.Optimized && !fn.Lang.OwnABI() {
				b.passed(info, fn, vars)
			}
		}
	}
	b.unfold(info, fn, vars) // also where the point has moved to
	if given != nil {
		b.unread(info, fn, vars, given)
	}
	p.Scope = p.Scope.Clone()
	p.Scope.Args = append(b.worded(p.Func, argsOf(vars)), m.locals(s, info, fn.Own(), p.Addr, 0)...)
	if runtime != nil {
		runtime.Arguments(fn, p)
		m.behindSpills(b, entry, p)
	}
}

// paramsAt are the parameters of a function at a point. At its entry they are the same on both sides of the instruction
// that only marks a place for jumps, but debug information may begin to tell of them behind it.
func (b *binary) paramsAt(info *debuginfo.Info, fn *debuginfo.Function,
	p *probe.Point,
) (vars []debuginfo.Var, err error) {
	defer objfile.Guard(&err)()
	arch := b.obj.Arch()
	_, landing := code.Entry(arch, b.obj.Bytes(fn.Entry, code.MaxInstruction))
	behind := fn.Entry + uint64(landing)
	if !p.Entry || landing == 0 || p.Addr > behind {
		vars, err = info.Params(fn.Own(), p.Addr)
		if !p.Entry {
			b.outdated(fn, vars)
		}
		return vars, err
	}
	if vars, err = info.Params(fn.Own(), fn.Entry); err != nil {
		return nil, err
	}
	others, err := info.Params(fn.Own(), behind)
	if err != nil || len(others) != len(vars) {
		return vars, nil
	}
	for i := range vars {
		at := &others[i].Place
		passed := !at.InMemoryPartly() || at.Kind == types.InMemory && slices.Contains(arch.C.Args, at.Reg) && at.Offset == 0
		if vars[i].Place.Kind == types.Unavailable && !vars[i].Plain && at.Kind != types.Unavailable && passed {
			vars[i] = others[i]
		}
	}
	return vars, nil
}

// opaque takes the place of a variable away of which the bytes mean nothing here: nothing is done to have it.
func opaque(v *debuginfo.Var) {
	t := v.Type.Complete()
	switch {
	case t == nil || !t.Incomplete:
	case t.Size > 0:
		v.Place, v.Late = types.Unknown("values of type %s cannot be shown", t), false
	case t.Kind == types.Struct, t.Kind == types.Union:
		v.Place, v.Late = types.Unknown("the debug information only declares its type (clang: -fstandalone-debug)"), false
	}
}

// anyLate tells whether one of the variables is not there before the function's statements begin.
func anyLate(vars []debuginfo.Var) bool {
	return slices.ContainsFunc(vars, func(v debuginfo.Var) bool { return v.Late })
}

// argsOf are parameters as `args` has them.
func argsOf(vars []debuginfo.Var) (args []probe.Var) {
	for i := range vars {
		v := &vars[i]
		if v.Result {
			continue
		}
		if debuginfo.Added(v.Type.Lang(), v.Name, hasVar(args, v.Name)) {
			continue
		}
		if v.Name == "" {
			v.Name = fmt.Sprintf("arg%d", i) // a parameter without a name
		}
		for n := 2; hasVar(args, v.Name); n++ { // the parameters of a pack have all its name
			v.Name = fmt.Sprintf("%s_%d", strings.TrimSuffix(v.Name, fmt.Sprintf("_%d", n-1)), n)
		}
		opaque(v)
		args = append(args, probe.Var{Name: v.Name, Type: v.Type, Place: v.Place})
	}
	return args
}

func hasVar(vars []probe.Var, name string) bool {
	return slices.ContainsFunc(vars, func(v probe.Var) bool { return v.Name == name })
}

// loopsTo tells whether a jump in a function leads to an address.
func (m *matcher) loopsTo(b *binary, fn *debuginfo.Function, addr uint64) (found bool) {
	var err error
	defer objfile.Guard(&err)()
	for _, r := range fn.Ranges {
		if r.High > r.Low {
			text := b.obj.Bytes(r.Low, int(min(r.High-r.Low, code.MaxFunction)))
			code.Targets(b.obj.Arch(), text, r.Low, func(t uint64) { found = found || t == addr })
		}
	}
	return found
}

// registerArgs gives arg0, arg1 … behind the prologue: the parameters, as long as each takes one register in order.
func registerArgs(vars []debuginfo.Var) (places []types.Place, typs []*types.Type) {
	places, typs = []types.Place{}, []*types.Type{}
	simple := true
	for i := range vars {
		v := &vars[i]
		if t := v.Type; t == nil || !t.IsScalar() || t.Size > 8 {
			simple = false
		}
		if i == 6 {
			break // further ones are on the stack, where argN does not look
		}
		p, t := v.Place, v.Type
		if !simple {
			p, t = types.Unknown("the program is not optimized, and the registers of arguments are in use behind the "+
				"function's "+
				"start, where its parameters can be read: use args.%s", v.Name), types.TUint64
		}
		places, typs = append(places, p), append(typs, t)
	}
	return places, typs
}

// sourcePoints makes the points of a source position: one for each function, and each inlined copy, with code of the
// line.
func (m *matcher) sourcePoints(s *spec, b *binary) []*probe.Point {
	info, err := b.debug()
	if err != nil {
		d := m.diags.Errorf(s.ap.Span, "No DWARF debug info found for '%s', cannot attach by source code location.", b.name)
		if !errors.Is(err, debuginfo.ErrNone) {
			d.Note(diag.Span{}, "%s", err)
		} else {
			d.Hint("compile it with -g, or %s (build id %s)", packages.DebugOr(b.obj.Path()), b.obj.BuildID())
		}
		return nil
	}
	sites, err := info.SitesOf(s.file, s.line, s.column)
	if err != nil {
		m.diags.Errorf(s.ap.Span, "%s: %s", b.name, err)
		return nil
	}
	where := fmt.Sprintf("%s:%d", s.file, s.line)
	if s.column > 0 {
		where += fmt.Sprintf(":%d", s.column)
	}
	if len(sites) == 0 {
		m.noLine(s, b, info, where)
		return nil
	}
	if l := sites[0].Line; l.Line != s.line && s.line > 0 {
		m.diags.Add(diag.Info, s.ap.Span, "no code is of %s; probing the next line that has some, %d", where, l.Line)
	}
	refuse := func(format string, args ...any) *diag.Diagnostic { return m.diags.Warnf(s.ap.Span, format, args...) }
	var points []*probe.Point
	for i := range sites {
		site := &sites[i]
		p := &probe.Point{
			Kind: s.kind.kind, Path: b.path, PID: m.pid(), Name: s.kind.name + ":" + b.name + "@" + where,
			Scope: cdeclScope(b.obj),
		}
		start := site.Addr
		if n := len(site.Chain); n > 0 {
			outer := site.Chain[n-1]
			p.Func = m.display(nameOf(outer.Func))
			start = outer.Entry
		}
		if start > site.Addr || start == 0 {
			start = site.Addr // a part of the function that lies before it
		}
		if !m.boundary(s, b, p.Func, start, site.Addr, refuse) {
			continue
		}
		p.Entry = start == site.Addr
		if p = m.insidePoint(s, b, p, site.Addr, refuse); p == nil {
			continue
		}
		if m.needs.Typed() && len(site.Chain) > 0 {
			m.lineArgs(s, b, info, site, p)
		}
		points = append(points, p)
	}
	return onePerSite(points)
}

func nameOf(fn *debuginfo.Function) string {
	if fn.Linkage != "" {
		return fn.Linkage
	}
	return fn.Name
}

// noLine reports a source position without code.
func (m *matcher) noLine(s *spec, b *binary, info *debuginfo.Info, where string) {
	d := m.diags.Errorf(s.ap.Span, "no code of %s is in %s", where, b.name)
	files, err := info.Files()
	if err != nil {
		return
	}
	var names []string
	known := false
	for _, f := range files {
		known = known || f == s.file || strings.HasSuffix(f, "/"+s.file)
		names = append(names, f[strings.LastIndexByte(f, '/')+1:])
	}
	if known {
		d.Note(diag.Span{}, "the file is known, but the line and those behind it have no code")
		return
	}
	if n := near.Names(s.file[strings.LastIndexByte(s.file, '/')+1:], names); len(n) > 0 {
		d.Hint("did you mean %s?", near.List(n))
	}
}

// declared is a declaration as lists show it, with the stars at the type: "const char* name".
func declared(t *types.Type, name string) string {
	d := types.Declare(t, name)
	if rest, ok := strings.CutSuffix(d, name); ok && name != "" {
		if bare := strings.TrimRight(rest, "*&"); len(bare) < len(rest) && strings.HasSuffix(bare, " ") &&
			!strings.ContainsAny(bare, "([") {
			return strings.TrimSuffix(bare, " ") + rest[len(bare):] + " " + name
		}
	}
	return d
}
