package debuginfo

import (
	"sort"
	"strings"

	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
)

// Functions calls yield with each function that has code of its own, unit by unit, until it returns false. The Info may
// be used by yield.
func (in *Info) Functions(yield func(*Function) bool) (err error) {
	defer objfile.Guard(&err)()
	in.mu.Lock()
	units := in.main.unitList()
	in.mu.Unlock()
	seen := make(map[uint64]bool)
	for _, u := range units {
		for _, fn := range in.functionsOf(u) {
			if seen[fn.Entry] {
				continue
			}
			seen[fn.Entry] = true
			if !yield(fn) {
				return nil
			}
		}
	}
	return nil
}

// InlinedOnly calls yield with each function that has no code of its own, as it was inlined everywhere, until it
// returns false.
func (in *Info) InlinedOnly(yield func(*Function) bool) (err error) {
	defer objfile.Guard(&err)()
	in.mu.Lock()
	only, err := in.inlinedOnly()
	in.mu.Unlock()
	if err != nil {
		return err
	}
	for _, key := range only {
		in.mu.Lock()
		var fn *Function
		if d, ok := in.entry(key); ok {
			if fn = in.function(d); !in.belongs(fn) {
				fn = nil
			}
		}
		in.mu.Unlock()
		if fn != nil && !yield(fn) {
			return nil
		}
	}
	return nil
}

// inlinedOnly lists one abstract entry of each function that no unit has code of.
func (in *Info) inlinedOnly() ([]entryKey, error) {
	x, err := in.functionNames()
	if err != nil {
		return nil, err
	}
	first := make(map[uint64]entryKey)
	body := make(map[uint64]bool)
	entries := append([]named(nil), x.entries...)
	sort.Slice(entries, func(i, j int) bool {
		a, b := &entries[i], &entries[j]
		if a.u != b.u {
			return a.u.f.id < b.u.f.id || a.u.f == b.u.f && a.u.off < b.u.off
		}
		return a.off < b.off
	})
	for i, e := range entries {
		if i > 0 && entries[i-1].u == e.u && entries[i-1].off == e.off {
			continue
		}
		d, ok := e.u.at(uint64(e.off))
		if !ok {
			continue
		}
		id := in.identity(d.abstract(), nil)
		if d.hasCode() {
			body[id] = true
		} else if _, ok := first[id]; !ok {
			first[id] = d.key()
		}
	}
	var only []entryKey
	for id, key := range first {
		if !body[id] {
			only = append(only, key)
		}
	}
	sortKeys(only)
	return only, nil
}

// belongs tells whether a function without code is one of this program: dwz's common file has those of others too.
func (in *Info) belongs(fn *Function) bool {
	if fn.u.f == in.main || fn.u.f.dwo {
		return true
	}
	n, err := in.copyCount(fn)
	return err == nil && n > 0
}

// functionsOf reads the functions of one unit.
func (in *Info) functionsOf(u *unit) []*Function {
	in.mu.Lock()
	defer in.mu.Unlock()
	if u.typeOff != 0 {
		return nil
	}
	in.passed(u)
	u, err := u.full(in)
	if err != nil || u.load().err != nil {
		return nil
	}
	t, err := u.table()
	if err != nil {
		return nil
	}
	var fns []*Function
	d := new(die)
	inTypes := u.root.lang == types.Rust || u.root.lang == types.OtherLanguage
	w := walker{u: u, t: t, pos: u.first}
	for {
		ab := w.next()
		if w.bad {
			return fns
		}
		if ab == nil {
			continue
		}
		if ab.tag == tagSubprogram && ab.has&hasPC != 0 && d.at(&w, ab).hasCode() {
			fns = append(fns, in.function(d))
		}
		if ab.children && w.sibling != 0 && (isType(ab.tag) && !inTypes || ab.tag == tagSubprogram && !u.root.nests()) {
			w.pos = w.sibling
		}
	}
}

// CopyCount is the number of places where a function was inlined. The copies of all functions are counted once.
func (in *Info) CopyCount(fn *Function) (n int, err error) {
	defer objfile.Guard(&err)()
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.copyCount(fn)
}

func (in *Info) copyCount(fn *Function) (int, error) {
	if in.parent != nil {
		return in.parent.CopyCount(fn)
	}
	x, err := in.inlineCounts()
	if err != nil {
		return 0, err
	}
	return x.count[fn.identity], nil
}

// Signature is a function's declaration.
type Signature struct {
	Params  []Var // types without members
	Results []Var // of Go; else one without a name, or none for void
	Vararg  bool
}

// Signature returns what a function takes and returns. Types are as for display: see types.Type.Complete.
func (in *Info) Signature(fn *Function) (sig Signature, err error) {
	defer objfile.Guard(&err)()
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.signature(fn), nil
}

func (in *Info) signature(fn *Function) (sig Signature) {
	d, ok := fn.u.at(uint64(fn.off))
	if !ok {
		return sig
	}
	if v, o, ok := d.inherited(atType); ok {
		sig.Results = append(sig.Results, Var{Type: in.conv.name(o.u, v)})
	}
	// The abstract entry has all parameters, a copy those that it needs.
	at := d.abstract()
	hasParams := false
	add := func(p *die) {
		hasParams = true
		v := Var{Name: p.fullName(), Artificial: p.inheritedFlag(atArtificial), Result: p.inheritedFlag(atVariableParameter)}
		if t, o, ok := p.inherited(atType); ok {
			v.Type = in.conv.name(o.u, t)
		}
		if Added(fn.Lang, v.Name, listed(sig.Params, v.Name) || listed(sig.Results, v.Name)) {
			return
		}
		if v.Result {
			sig.Results = append(sig.Results, v)
		} else {
			sig.Params = append(sig.Params, v)
		}
	}
	at.eachParam(add)
	if !hasParams && at != d {
		d.eachParam(add)
	}
	at.eachChild(func(c *die) bool {
		sig.Vararg = sig.Vararg || c.tag == tagUnspecifiedParameters
		return !sig.Vararg
	})
	return sig
}

func listed(vars []Var, name string) bool {
	for i := range vars {
		if vars[i].Name == name {
			return true
		}
	}
	return false
}

// Prototype is a function's declaration as its language writes it.
func (in *Info) Prototype(fn *Function) (text string, err error) {
	defer objfile.Guard(&err)()
	in.mu.Lock()
	defer in.mu.Unlock()
	return fn.prototype(in.signature(fn)), nil
}

func (fn *Function) prototype(sig Signature) string {
	switch fn.Lang {
	case types.Go:
		return fn.goPrototype(sig)
	case types.Rust:
		return fn.rustPrototype(sig)
	}
	var b strings.Builder
	for _, p := range sig.Params {
		if p.Artificial {
			continue // this
		}
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		b.WriteString(types.Declare(p.Type, p.Name))
	}
	if sig.Vararg {
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		b.WriteString("...")
	}
	if b.Len() == 0 && fn.Lang == types.C && fn.Prototyped {
		b.WriteString("void")
	}
	decl := fn.Qualified + "(" + b.String() + ")"
	if fn.isConstMethod(sig) {
		decl += " const"
	}
	if len(sig.Results) == 0 {
		if fn.isStructor() {
			return decl
		}
		return "void " + decl
	}
	return types.Declare(sig.Results[0].Type, decl)
}

// isConstMethod tells a method that promises not to change its object: this points to a const class.
func (fn *Function) isConstMethod(sig Signature) bool {
	if len(sig.Params) == 0 || !sig.Params[0].Artificial || sig.Params[0].Name != "this" {
		return false
	}
	t := sig.Params[0].Type
	return t.Kind == types.Pointer && t.Elem.Quals()&types.Const != 0
}

// isStructor tells constructors and destructors, which have no result type.
func (fn *Function) isStructor() bool {
	if fn.Lang != types.CPlusPlus {
		return false
	}
	if strings.HasPrefix(fn.Name, "~") {
		return true
	}
	class, ok := strings.CutSuffix(fn.Qualified, "::"+fn.Name)
	return ok && string(plain([]byte(lastPart(class)))) == fn.Name
}

func (fn *Function) goPrototype(sig Signature) string {
	var b strings.Builder
	b.WriteString("func " + fn.Name + "(")
	params := sig.Params
	if recv := goMethod(fn.Name); recv && len(params) > 0 {
		params = params[1:] // its type is in the name
	}
	goList(&b, params)
	b.WriteString(")")
	switch len(sig.Results) {
	case 0:
	case 1:
		if r := sig.Results[0]; r.Name == "" || strings.HasPrefix(r.Name, "~") {
			b.WriteString(" " + types.Declare(r.Type, ""))
			break
		}
		fallthrough
	default:
		b.WriteString(" (")
		goList(&b, sig.Results)
		b.WriteString(")")
	}
	return b.String()
}

// goMethod tells whether a Go function's name is that of a method with its receiver: "pkg.(*T).M", "pkg.T.M".
func goMethod(name string) bool {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[i+1:]
	}
	name = string(plainGo(name))
	if strings.Contains(name, ".func") || strings.HasSuffix(name, "-fm") {
		return false
	}
	return strings.Contains(name, ".(") || strings.Count(name, ".") >= 2
}

// plainGo is a Go name without type arguments.
func plainGo(name string) string {
	if i := strings.IndexByte(name, '['); i >= 0 {
		if j := strings.LastIndexByte(name, ']'); j > i {
			return name[:i] + name[j+1:]
		}
	}
	return name
}

func goList(b *strings.Builder, vars []Var) {
	for i, v := range vars {
		if i > 0 {
			b.WriteString(", ")
		}
		name := v.Name
		if strings.HasPrefix(name, "~") {
			name = ""
		}
		b.WriteString(types.Declare(v.Type, name))
	}
}

func (fn *Function) rustPrototype(sig Signature) string {
	name := fn.Qualified
	if objfile.IsMangled(fn.Linkage) { // it has the names of types and traits where debug info only numbers them
		name = objfile.Demangle(fn.Linkage)
	}
	var b strings.Builder
	b.WriteString("fn " + name + "(")
	for i, p := range sig.Params {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(types.Declare(p.Type, p.Name))
	}
	b.WriteString(")")
	if len(sig.Results) > 0 {
		b.WriteString(" -> " + types.Declare(sig.Results[0].Type, ""))
	}
	return b.String()
}
