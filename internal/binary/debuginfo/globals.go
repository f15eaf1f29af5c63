package debuginfo

import (
	"fmt"
	"sort"
	"sync"

	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
)

// Global is a variable that is in no function, and always at one place.
type Global struct {
	Name      string // without namespaces and classes
	Qualified string // "ns::Class::name"
	Linkage   string // the symbol, or "" if that is the name
	File      string // where it is declared
	Line      int
	External  bool // visible outside of its unit
	Type      *types.Type
	Place     types.Place

	u *unit
}

// maxGlobals bounds the variables of one name that are looked at.
const maxGlobals = 1 << 12

// Globals returns the variables of a name, which may have namespaces and classes in front. Those that are only declared
// are not among them. ErrNotFound (wrapped): there is none.
func (in *Info) Globals(name string) (list []Global, err error) {
	defer objfile.Guard(&err)()
	in.mu.Lock()
	defer in.mu.Unlock()
	if list, ok := in.globals[name]; ok && len(list) > 0 {
		return list, nil
	} else if ok {
		return nil, fmt.Errorf("variable %q: %w", name, ErrNotFound)
	}
	type entry struct {
		u   *unit
		off int
	}
	var found []entry
	var mu sync.Mutex
	last := lastPart(name)
	err = in.everyUnit(func(s *scanner, u *unit) bool {
		all := globalsOf(s, u, last)
		mu.Lock()
		defer mu.Unlock()
		for _, off := range all {
			found = append(found, entry{u, off})
		}
		return len(found) <= maxGlobals
	})
	if err != nil {
		return nil, err
	}
	if len(found) > maxGlobals {
		return nil, fmt.Errorf("more than %d variables are named %s", maxGlobals, last)
	}
	sort.Slice(found, func(i, j int) bool {
		a, b := found[i], found[j]
		return a.u.f.id < b.u.f.id || a.u.f == b.u.f && a.off < b.off
	})
	for _, e := range found {
		d, ok := e.u.at(uint64(e.off))
		if !ok {
			continue
		}
		g := Global{
			Name: d.fullName(), Qualified: d.qualified(), Linkage: string(d.linkage()), u: e.u,
			External: d.inheritedFlag(atExternal),
		}
		if !fitsGlobal(&g, name) {
			continue
		}
		g.File, g.Line = d.declaredAt()
		if t, o, ok := d.inherited(atType); ok {
			g.Type = in.conv.of(o.u, t)
		}
		env := &exprEnv{in: in, u: e.u}
		g.Place = env.variable(d)
		if p := &g.Place; p.Kind == types.InMemory && len(p.Ops) == 0 && len(p.Derefs) == 0 && p.Reg == in.src.Arch.PC() {
			g.Place = types.Loaded(uint64(p.Offset))
		}
		list = append(list, g)
	}
	if in.globals == nil {
		in.globals = make(map[string][]Global)
	}
	in.globals[name] = list
	if len(list) == 0 {
		return nil, fmt.Errorf("variable %q: %w", name, ErrNotFound)
	}
	return list, nil
}

// fitsGlobal tells whether a name means a variable.
func fitsGlobal(g *Global, name string) bool {
	if g.Name == name || g.Qualified == name {
		return true
	}
	n := len(g.Qualified) - len(name)
	return n > 2 && g.Qualified[n:] == name && g.Qualified[n-2:n] == "::"
}

// globalsOf finds the variables of a unit that have a name in the end and are in no function.
func globalsOf(s *scanner, u *unit, name string) (found []int) {
	if u.typeOff != 0 || u.load().err != nil {
		return nil
	}
	t, err := s.abbrevs(u)
	if err != nil {
		return nil
	}
	around := codeTypes{}
	w := walker{u: u, t: t, pos: u.first}
	for {
		ab := w.next()
		if w.bad {
			return found
		}
		around.step(ab)
		if ab == nil {
			continue
		}
		if ab.tag == tagVariable && around.inFunc == 0 && ab.has&hasDeclaration == 0 && s.named(&w, ab, name) {
			found = append(found, w.off)
		}
		if ab.children && w.sibling != 0 && (isType(ab.tag) || ab.tag == tagSubprogram) {
			w.pos = w.sibling
			around.skip()
		}
	}
}

// named tells whether the entry that a walk is at, or the declaration that it completes, has a name.
func (s *scanner) named(w *walker, ab *abbrev, name string) bool {
	d := s.die.at(w, ab)
	for range maxOrigins {
		if v, ok := d.get(atName); ok {
			return string(d.u.strBytes(v)) == name
		}
		v, ok := d.completes()
		if !ok {
			return false
		}
		if d, ok = s.follow(d.u, v); !ok {
			return false
		}
	}
	return false
}

// Beside tells whether a variable is of the unit that a function is of.
func (g *Global) Beside(fn *Function) bool { return fn != nil && fn.u == g.u }
