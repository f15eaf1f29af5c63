package match

import (
	"fmt"
	"slices"
	"strings"

	"trocar/internal/binary/code"
	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
	"trocar/internal/script/diag"
)

// Where a function was inlined its code is part of others, and a probe on its own code sees only some of its calls, or
// none. A function that is named exactly is probed in all of these places too, as far as they can be told.

// maxInlinedCopies bounds the places of one attach point.
const maxInlinedCopies = 1 << 14

// copies adds to the points of a function's own code those of its inlined copies, and says so.
func (m *matcher) copies(s *spec, b *binary, q *objfile.Query, funcs []objfile.Func,
	points []*probe.Point,
) []*probe.Point {
	// The stars in the types of parameters are none of a pattern.
	pattern := q.Wildcard() && (len(funcs) > 0 || strings.Contains(objfile.WithoutParams(s.fn), "*"))
	if pattern || s.hasOff || m.listing {
		return points
	}
	if _, err := b.debug(); err != nil {
		return m.bareCopies(s, b, funcs, points)
	}
	var own []*debuginfo.Function
	if len(funcs) == 0 {
		own = m.onlyInlined(s, b, q)
	}
	for i := range funcs {
		if funcs[i].Indirect != "" {
			continue
		}
		info, err := b.debug()
		if err != nil {
			return points
		}
		if fn, err := info.FunctionAt(funcs[i].Addr); err == nil && fn.Entry == funcs[i].Addr && fn.Inlined {
			own = append(own, fn)
		}
	}
	for _, fn := range own {
		points = m.copiesOf(s, b, fn, points)
	}
	return points
}

// notProbed says that inlined instances are left out.
func notProbed(n int, name string) string {
	if n == 1 {
		return "1 inlined instance of " + name + " is not probed"
	}
	return fmt.Sprintf("%d inlined instances of %s are not probed", n, name)
}

// onlyInlined finds functions that have no code of their own.
func (m *matcher) onlyInlined(s *spec, b *binary, q *objfile.Query) (fns []*debuginfo.Function) {
	info, err := b.debug()
	if err != nil {
		return nil
	}
	named, err := info.FunctionsNamed(s.fn)
	if bare := objfile.WithoutParams(s.fn); err == nil && len(named) == 0 && bare != s.fn {
		if named, err = info.FunctionsNamed(bare); err == nil {
			named = slices.DeleteFunc(named, func(fn *debuginfo.Function) bool {
				return fn.Linkage == "" || !q.Match(&objfile.Symbol{Name: fn.Linkage})
			})
		}
	}
	if err != nil {
		return nil
	}
	for _, fn := range named {
		if fn.Entry == 0 {
			fns = append(fns, fn)
		}
	}
	return fns
}

// inlinedFunc is a function that was inlined.
type inlinedFunc struct {
	name   string
	entry  uint64 // of its own code; 0: it has none
	copies []inlinedCopy
	empty  int // copies without code
	unsure int // copies that may be pieces of other ones
}

// inlinedCopy is a place where a function was inlined.
type inlinedCopy struct {
	entry  uint64              // 0: not known
	outer  uint64              // where the code begins that it is in; 0: not known
	ranges []debuginfo.Range   // its code
	of     *debuginfo.Instance // nil: there is no debug information
}

func (m *matcher) copiesOf(s *spec, b *binary, fn *debuginfo.Function, points []*probe.Point) []*probe.Point {
	info, err := b.debug()
	if err != nil {
		return points
	}
	copies, empty, unsure, err := info.AllCopies(fn)
	if err != nil {
		return points
	}
	in := inlinedFunc{name: m.display(nameOf(fn)), entry: fn.Entry, empty: empty, unsure: unsure}
	for _, c := range copies {
		ic := inlinedCopy{entry: c.Entry, ranges: c.Ranges, of: c}
		if c.Entry == 0 {
			ic.entry = b.onward(c)
		}
		for _, r := range c.Outer().Ranges {
			if r.Contains(ic.entry) {
				ic.outer = r.Low
			}
		}
		in.copies = append(in.copies, ic)
	}
	return m.inlinedPoints(s, b, &in, points)
}

// onward is the first instruction that is left of an inlined copy, if nothing is where it begins, but all calls get
// from there to it; 0: they may not.
func (b *binary) onward(c *debuginfo.Instance) (at uint64) {
	var err error
	defer objfile.Guard(&err)()
	for _, r := range c.Ranges {
		if r.High > r.Low && r.Low > c.Begin && (at == 0 || r.Low < at) {
			at = r.Low
		}
	}
	for _, r := range c.Outer().Ranges {
		if at == 0 || !r.Contains(c.Begin) || !r.Contains(at) {
			continue
		}
		text := b.obj.Bytes(r.Low, int(min(r.High-r.Low, code.MaxFunction)))
		if code.Straight(b.obj.Arch(), text, r.Low, c.Begin, at) {
			return at
		}
	}
	return 0
}

// inlinedPoints adds the points of a function's inlined copies, and says so.
func (m *matcher) inlinedPoints(s *spec, b *binary, in *inlinedFunc, points []*probe.Point) []*probe.Point {
	copies, name := in.copies, in.name
	n := len(copies) + in.empty + in.unsure
	switch {
	case n == 0:
		return points
	case s.kind.kind == probe.Uretprobe && in.entry == 0:
		m.diags.Errorf(s.ap.Span, "uretprobe on %s is not possible: it has only inlined instances (%d), which do not return",
			name, n).Hint("probe its entry with uprobe")
		return points
	case s.kind.kind == probe.Uretprobe:
		does := "the inlined instance of %[2]s does not return"
		if n > 1 {
			does = "the %d inlined instances of %s do not return"
		}
		m.diags.Warnf(s.ap.Span, does+": only out-of-line calls are seen", n, name)
		return points
	case m.opts.OutOfLine:
		if in.entry != 0 {
			m.diags.Warnf(s.ap.Span, "%s", notProbed(n, name))
		} else {
			m.diags.Errorf(s.ap.Span, "%s has no out-of-line code, only inlined instances (%d)", name, n).
				Hint("they are probed without --no-inlined")
		}
		return points
	}
	if len(copies) > maxInlinedCopies {
		m.diags.Warnf(s.ap.Span, "%s has %d inlined instances, of which %d are probed", name, len(copies), maxInlinedCopies)
		copies = copies[:maxInlinedCopies]
	}
	var left *diag.Diagnostic
	why, probed := map[string]int{}, 0
	if in.empty > 0 {
		why["the compiler merged their code with the code around them"] = in.empty
	}
	if in.unsure > 0 {
		why["they may be parts of calls that are seen"] = in.unsure
	}
	refuse := func(format string, args ...any) *diag.Diagnostic {
		left = (&diag.List{}).Warnf(s.ap.Span, format, args...)
		return left
	}
	for i := range copies {
		left = nil
		p := m.copyPoint(s, b, in, &copies[i], refuse)
		if p == nil {
			reason := "its location is not known"
			if left != nil {
				reason = left.Text
			}
			why[reason]++
			continue
		}
		probed++
		points = append(points, p)
	}
	if probed > 0 {
		also := "; these are probed as well"
		if in.entry == 0 {
			also = ", and has no out-of-line code: its inlined instances are probed"
		}
		m.diags.Add(diag.Info, s.ap.Span, "%s was inlined in %s%s", name, places(probed), also)
	}
	for reason, n := range why {
		m.diags.Warnf(s.ap.Span, "%s: %s", notProbed(n, name), reason)
	}
	return points
}

func places(n int) string {
	if n == 1 {
		return "1 place"
	}
	return uintText(uint64(n)) + " places"
}

// copyPoint makes the point at the first instruction of an inlined copy.
func (m *matcher) copyPoint(
	s *spec, b *binary, in *inlinedFunc, c *inlinedCopy, refuse func(string, ...any) *diag.Diagnostic,
) *probe.Point {
	if c.entry == 0 {
		refuse("the compiler left no instruction where they begin")
		return nil
	}
	if c.outer == 0 {
		return nil
	}
	if !m.boundary(s, b, in.name, c.outer, c.entry, refuse) {
		return nil
	}
	if m.comesBack(b, c) {
		refuse("a loop jumps back to their first instruction")
		return nil
	}
	p := &probe.Point{
		Kind: probe.Uprobe, Path: b.path, PID: m.pid(), Name: uprobeName(s, b, s.fn), Func: in.name, Inlined: true,
		Start: in.entry,
	}
	if p = m.insidePoint(s, b, p, c.entry, refuse); p == nil {
		return nil
	}
	// The registers of arguments are those of the function around it.
	p.Scope = &probe.Scope{
		ArgN:      probe.NoArgN("an inlined instance has no argument registers: use args.NAME"),
		ArgNTypes: nil,
	}
	if c.of == nil {
		p.Scope.ArgN = probe.NoArgN("the arguments of an inlined instance are not known without debug information")
		return p
	}
	info, err := b.debug()
	if err != nil || !m.needs.Typed() {
		return p
	}
	vars, err := info.Params(c.of, p.Addr)
	if err != nil {
		refuse("their arguments cannot be read: %s", err)
		return nil
	}
	stores := m.storesAhead(b, c, p.Addr)
	for i := range vars {
		switch v := &vars[i]; {
		case v.Place.Kind == types.InPieces && slices.ContainsFunc(v.Place.Pieces, func(one types.Piece) bool {
			return one.Place.Kind == types.Computed
		}):
			// LLVM goes on to tell of a register as of several parts when it has narrowed it to the one that is used.
			v.Place = types.Unknown("its parts are told to be in a register that need not have all of them")
		case b.refersToFrame(v):
			// What the copy does not look at, callers do not store there.
			v.Place = types.Unknown("it refers to the frame, where what the inlined instance does not use need not be stored")
		case !v.Place.InMemoryPartly():
		case v.Always:
			// Of what has one place in the frame for all of the instance nobody says when it is stored there.
			v.Place = types.Unknown("it is in the frame, but not known to be stored there when the inlined instance begins")
		case stores:
			// GCC tells of a place in memory some instructions too early.
			v.Place = types.Unknown("it is in memory, and may be stored there only by the first instructions of the inlined " +
				"instance")
		}
	}
	p.Scope.Args = append(argsOf(vars), m.locals(s, info, c.of, p.Addr, 0)...)
	return p
}

// refersToFrame tells a reference of which the address is told as one in the frame: it is in no register, so the
// compiler knew all uses of what is there.
func (b *binary) refersToFrame(v *debuginfo.Var) bool {
	if v.Type == nil {
		return false
	}
	if _, ok := v.Type.Referenced(); !ok {
		return false
	}
	arch := b.obj.Arch()
	inFrame := func(p *types.Place) bool {
		ops := p.Steps()
		return ops[0].Code == types.PushReg && (ops[0].Reg == arch.SP || ops[0].Reg == arch.FP) &&
			!slices.ContainsFunc(ops, func(o types.PlaceOp) bool { return o.Code == types.Load })
	}
	p := &v.Place
	if o := p.Pointee; o != nil && o.Kind == types.InMemory && inFrame(o) {
		return true
	}
	return p.Kind == types.Computed && inFrame(p)
}

// storesAhead tells whether the instructions of a copy may store something before the first branch.
func (m *matcher) storesAhead(b *binary, c *inlinedCopy, at uint64) (yes bool) {
	var err error
	defer objfile.Guard(&err)()
	yes = true
	for _, r := range c.ranges {
		if r.Contains(at) {
			yes = code.StoresAhead(b.obj.Arch(), b.obj.Bytes(at, int(min(r.High-at, code.MaxFunction))))
		}
	}
	return yes
}

// comesBack tells whether a jump in the copy leads to its first instruction, so that a probe there would be hit more
// often than the copy is entered.
func (m *matcher) comesBack(b *binary, c *inlinedCopy) (found bool) {
	var err error
	defer objfile.Guard(&err)()
	for _, r := range c.ranges {
		if r.High > r.Low {
			text := b.obj.Bytes(r.Low, int(min(r.High-r.Low, code.MaxFunction)))
			code.Targets(b.obj.Arch(), text, r.Low, func(t uint64) { found = found || t == c.entry })
		}
	}
	return found
}
