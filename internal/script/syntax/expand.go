package syntax

import (
	"fmt"
	"strings"

	"trocar/internal/script/diag"
)

// Limits of expansion: macros can grow exponentially.
const (
	maxExpanded      = 300_000 // nodes that all expansions of a script may have
	maxExpandedDepth = 20_000  // nesting of expressions in them
)

// Expand gives the script with all macros replaced by their bodies, names from #define by their values, and import
// statements in blocks gone. The file itself is left alone. builtin tells which names have a meaning without macros: a
// call whose arguments fit no macro of that name is then left for them.
//
// Macros are hygienic. A parameter `$x` or `@x` stands for the variable or map of the call. A plain one stands for the
// expression, which is evaluated wherever the body has it and sees the caller's names only; a variable or map is then
// `{ $x }`, so that it can't be changed. Variables that a body assigns are its own and get a new name ($$macro_1_$x) in
// each expansion. Places in an expansion know the call (see diag.Source.From).
func Expand(f *File, builtin func(name string) bool, diags *diag.List) *File {
	e := &expander{
		diags: diags, builtin: builtin, macros: registry{}, defines: map[string]*CDefine{},
		bodies: map[*CDefine]Expr{}, left: maxExpanded,
	}
	for _, d := range f.CDefs {
		if d, ok := d.(*CDefine); ok {
			e.defines[d.Name] = d
		}
	}
	for _, m := range f.Macros {
		e.macros.add(m, diags)
	}
	out := *f
	out.Macros, out.Probes, out.Funcs, out.Comments, out.expanded = nil, nil, nil, nil, true
	for _, p := range f.Probes {
		n := *p
		c := e.copier(nil)
		n.Pred, n.Body = c.expr(p.Pred), c.block(p.Body)
		n.Points = append([]*AttachPoint(nil), p.Points...)
		out.Probes = append(out.Probes, &n)
	}
	for _, fn := range f.Funcs {
		n := *fn
		n.Body = e.copier(nil).block(fn.Body)
		out.Funcs = append(out.Funcs, &n)
	}
	if e.left < 0 {
		diags.Errorf(diag.Span{}, "macros expand to more than %d expressions, or too deep ones", maxExpanded).
			Hint("bind an argument that is used more than once to a variable first: let $x = x;")
	}
	return &out
}

// expander holds what all expansions of a script share.
type expander struct {
	diags   *diag.List
	builtin func(string) bool
	macros  registry
	std     bool // the standard macros are in the registry
	defines map[string]*CDefine
	bodies  map[*CDefine]Expr
	active  []string // names of the #defines being replaced
	count   int      // expansions so far
	left    int      // nodes that may still be made
}

// frame is one expansion of a macro.
type frame struct {
	e       *expander
	up      *frame // the expansion that has the call in its body; nil: a probe has
	macro   *Macro
	prefix  string            // of the names of its variables
	vars    map[string]string // parameters that are variables, and the caller's name for them
	maps    map[string]string // the same for maps
	args    map[string]Expr   // plain parameters
	locals  map[string]bool   // variables that the body assigns
	sources map[*diag.Source]*diag.Source
	call    diag.Span
	depth   int // nesting of the copier around the call
}

// copier copies what is written in a macro's body, or with a nil frame in a probe.
func (e *expander) copier(f *frame) *copier {
	c := &copier{stmtOf: dropMacroStmt}
	c.replace = func(x Expr) (Expr, bool) { return e.replace(c, f, x) }
	if f != nil {
		c.span, c.name, c.retype, c.path = f.span, f.varName, f.retype, f.fieldPath
		c.left, c.depth = &e.left, f.depth
	}
	return c
}

// dropMacroStmt makes a block of a call that is a statement, and drops imports.
func dropMacroStmt(s Stmt) Stmt {
	switch s := s.(type) {
	case *Import:
		return nil
	case *ExprStmt:
		if b, ok := s.X.(*BlockExpr); ok && b.Block.Value == nil {
			return b.Block
		}
	}
	return s
}

// replace is the copier's hook: what stands for something else.
func (e *expander) replace(c *copier, f *frame, x Expr) (Expr, bool) {
	switch x := x.(type) {
	case *Ident:
		return e.ident(c, f, x)
	case *Map:
		if f == nil {
			return nil, false
		}
		n := &Map{c.place(x.Place), x.Name}
		if name, ok := f.maps[x.Name]; ok {
			n.Name = name
		} else {
			e.diags.Errorf(n.Span, "Unhygienic access to map: %s. Maps must be passed into the macro as arguments.", x.Name)
		}
		return n, true
	case *Call:
		n := &Call{c.place(x.Place), x.Name, c.at(x.NameSpan), c.exprs(x.Args)}
		if b := e.call(c, f, n.Span, x.Name, n.Args); b != nil {
			return b, true
		}
		for _, a := range n.Args {
			if t, ok := a.(*TypeExpr); ok {
				e.diags.Errorf(t.Span, "When used as a call argument, `typeof` builtin only valid for macro calls that are "+
					"expecting a type parameter")
			}
		}
		return n, true
	}
	return nil, false
}

// ident replaces a parameter, a #define or a macro without arguments.
func (e *expander) ident(c *copier, f *frame, x *Ident) (Expr, bool) {
	if f != nil {
		if arg, ok := f.args[x.Name]; ok {
			return (&copier{left: &e.left, depth: c.depth}).expr(arg), true
		}
	}
	at := c.at(x.Span)
	if d := e.defines[x.Name]; d != nil {
		return e.define(at, d), true
	}
	if b := e.call(c, f, at, x.Name, nil); b != nil {
		return b, true
	}
	return nil, false
}

// call expands the call of a macro. The arguments are expanded already. Nil: there is no macro for it.
func (e *expander) call(c *copier, f *frame, at diag.Span, name string, args []Expr) Expr {
	if !e.std && isStd(name) {
		e.std = true
		for _, m := range stdMacros(e.diags) {
			e.macros.add(m, e.diags)
		}
	}
	m, closest := e.macros.find(name, args, true, f == nil || !f.macro.Std)
	if m == nil {
		if len(closest) > 0 && (e.builtin == nil || !e.builtin(name)) {
			explainMismatch(e.diags, at, name, args, closest[0])
		}
		return nil
	}
	n := 0
	for g := f; g != nil; g = g.up {
		if g.macro == m {
			e.diags.Errorf(at, "Recursive macro call detected. Call chain: %s%s", g.chain(f), m.Name)
			return nil
		}
		n++
	}
	if n > maxDepth {
		e.diags.Errorf(at, "macros are nested too deeply (more than %d levels)", maxDepth)
		return nil
	}
	e.count++
	g := &frame{
		e: e, up: f, macro: m, prefix: fmt.Sprintf("$$%s_%d_", m.Name, e.count), call: at, depth: c.depth,
		vars: map[string]string{}, maps: map[string]string{}, args: map[string]Expr{},
		locals: map[string]bool{}, sources: map[*diag.Source]*diag.Source{},
	}
	for i, p := range m.Params {
		switch p := p.(type) {
		case *Var:
			g.vars[p.Name] = args[i].(*Var).Name
		case *Map:
			g.maps[p.Name] = args[i].(*Map).Name
		case *Ident:
			g.args[p.Name] = protected(args[i])
		}
	}
	g.findLocals()
	return &BlockExpr{Place{at}, e.copier(g).block(m.Body)}
}

// protected is an argument for a plain parameter: a variable or a map is made a value that can't be assigned.
func protected(x Expr) Expr {
	switch x.(type) {
	case *Var, *Map:
		at := Place{x.Pos()}
		return &BlockExpr{at, &Block{Place: at, Value: x}}
	}
	return x
}

// chain names the macros from frame f to frame last, each followed by " > ".
func (f *frame) chain(last *frame) string {
	var names []string
	for g := last; g != f.up; g = g.up {
		names = append([]string{g.macro.Name}, names...)
	}
	return strings.Join(names, " > ") + " > "
}

// define is the value of a #define as an expression.
func (e *expander) define(at diag.Span, d *CDefine) Expr {
	for _, name := range e.active {
		if name == d.Name {
			e.diags.Errorf(at, "Macro recursion: %s", strings.Join(append(e.active, d.Name), "->"))
			return &IntLit{Place: Place{at}}
		}
	}
	x, ok := e.bodies[d]
	if !ok {
		x = defineBody(d)
		e.bodies[d] = x
	}
	if x == nil {
		e.diags.Errorf(at, "unable to expand macro as an expression: %s", d.Body)
		return &IntLit{Place: Place{at}}
	}
	e.active = append(e.active, d.Name)
	defer func() { e.active = e.active[:len(e.active)-1] }()
	c := e.copier(nil)
	c.left = &e.left
	c.span = func(diag.Span) diag.Span { return at }
	return c.expr(x)
}

// defineBody reads what a #define stands for: an expression of the script, or of C if only C can read it; else nil.
func defineBody(d *CDefine) Expr {
	if !d.calls {
		var quiet diag.List
		if x := ParseExpr(&diag.Source{Name: d.Name, Text: d.Body}, &quiet); x != nil {
			return x
		}
	}
	if d.value == nil {
		return nil
	}
	v, ok := d.value()
	switch {
	case !ok:
		return nil
	case v < 0:
		return &Unary{Op: "-", X: &IntLit{Value: uint64(-v), Unsigned: v == -v}}
	}
	return &IntLit{Value: uint64(v)}
}

// findLocals finds the variables that the body assigns.
func (f *frame) findLocals() {
	local := func(v *Var) {
		if _, ok := f.vars[v.Name]; !ok {
			f.locals[v.Name] = true
		}
	}
	Inspect(f.macro.Body, func(n Node) bool {
		switch n := n.(type) {
		case *Assign:
			if v, ok := n.LHS.(*Var); ok {
				local(v)
			}
		case *VarDecl:
			if _, ok := f.vars[n.Var.Name]; ok {
				f.e.diags.Errorf(f.span(n.Span), "Variable declaration shadows macro arg %s", n.Var.Name)
			}
			local(n.Var)
		case *ForMap:
			local(n.Var)
		case *ForRange:
			local(n.Var)
		}
		return true
	})
}

// span is a place of the body as part of this expansion.
func (f *frame) span(s diag.Span) diag.Span {
	if s.Source == nil {
		return s
	}
	src := f.sources[s.Source]
	if src == nil {
		src = s.Source.Expanded(f.call)
		f.sources[s.Source] = src
	}
	return diag.Span{Source: src, Start: s.Start, End: s.End}
}

// varName is the name of a variable of the body. One that is neither a parameter nor assigned is the caller's: not what
// the language promises, but what bpftrace does, so scripts may live by it.
func (f *frame) varName(v *Var) string {
	if name, ok := f.vars[v.Name]; ok {
		return name
	}
	if f.locals[v.Name] {
		return f.prefix + v.Name
	}
	f.e.diags.Warnf(f.span(v.Span), "macro %s uses %s of its caller. Variables should be passed into the macro as "+
		"arguments.",
		f.macro.Name, v.Name)
	return v.Name
}

// retype replaces a parameter that is used as a type, or as a part of one.
func (f *frame) retype(t *TypeExpr) (*TypeExpr, Expr) {
	tag, name, tagged := strings.Cut(t.Base, " ")
	if !tagged || tag != "struct" && tag != "union" && tag != "enum" {
		tag, name = "", t.Base
	}
	arg, ok := f.args[name]
	if !ok || name == "" {
		return nil, nil
	}
	at := Place{f.span(t.Span)}
	base := "" // what can stand behind `struct`
	switch a := arg.(type) {
	case *Ident:
		base = a.Name
	case *TypeExpr:
		inner := a
		if a.OfType != nil && len(a.Mods) == 0 {
			inner = a.OfType
		}
		if tag == "" {
			return &TypeExpr{
				Place: at, Base: inner.Base, Quoted: inner.Quoted, Of: Clone(inner.Of), OfType: inner.OfType,
				Mods: append(append([]TypeMod(nil), inner.Mods...), t.Mods...),
			}, nil
		}
		if len(inner.Mods) == 0 && !strings.Contains(inner.Base, " ") {
			base = inner.Base
		}
	default:
		if tag == "" && len(t.Mods) == 0 {
			return nil, (&copier{left: &f.e.left}).expr(arg)
		}
	}
	if base == "" {
		p := &printer{}
		p.typ(t)
		f.e.diags.Errorf(arg.Pos(), "Invalid replacement for macro '%s' type parameter '%s' which makes up the type '%s'",
			f.macro.Name, name, p.b.String())
		base = name
	}
	if tag != "" {
		base = tag + " " + base
	}
	return &TypeExpr{Place: at, Base: base, Mods: t.Mods}, nil
}

// fieldPath replaces a parameter that is the member in offsetof.
func (f *frame) fieldPath(path []string) []string {
	if len(path) != 1 {
		return path
	}
	arg, ok := f.args[path[0]]
	if !ok {
		return path
	}
	var names []string
	for x := arg; ; {
		switch y := x.(type) {
		case *Ident:
			return append([]string{y.Name}, names...)
		case *Field:
			names = append([]string{y.Name}, names...)
			x = y.X
			continue
		}
		if len(names) > 0 {
			f.e.diags.Errorf(arg.Pos(), "FieldAccess expressions must be made up entirely of idents (e.g. a.b.c) to replace "+
				"the second argument in `offsetof`")
		}
		return path
	}
}
