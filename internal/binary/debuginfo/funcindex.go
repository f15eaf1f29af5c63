package debuginfo

import (
	"sort"
	"sync"

	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
)

// nameIndex finds the entries of functions by name: those with code, and those that were inlined.
type nameIndex struct {
	nameHash
	entries []named // by hash
	far     []*unit // units with inlined copies of functions of other units
	// gone: the entries are those of functions that the linker has taken out, of names of which these are the hashes.
	gone map[uint64]bool
}

type named struct {
	hash uint64
	u    *unit
	off  int
}

// functionNames makes the index. Every function is in it under its name without template arguments, and under its
// linkage name.
func (in *Info) functionNames() (*nameIndex, error) {
	if in.names != nil {
		return in.names, nil
	}
	x := &nameIndex{nameHash: in.hash}
	if err := x.fill(in); err != nil {
		return nil, err
	}
	in.names = x
	return x, nil
}

// fill goes through all units.
func (x *nameIndex) fill(in *Info) error {
	var mu sync.Mutex
	err := in.everyUnit(func(s *scanner, u *unit) bool {
		found, far := x.scan(s, u)
		mu.Lock()
		x.entries = append(x.entries, found...)
		if far {
			x.far = append(x.far, u)
		}
		mu.Unlock()
		return true
	})
	sort.Slice(x.entries, func(i, j int) bool {
		a, b := &x.entries[i], &x.entries[j]
		if a.hash != b.hash {
			return a.hash < b.hash
		}
		if a.u != b.u {
			return a.u.f.id < b.u.f.id || a.u.f == b.u.f && a.u.off < b.u.off
		}
		return a.off < b.off
	})
	return err
}

func (x *nameIndex) scan(s *scanner, u *unit) (found []named, far bool) {
	if u.typeOff != 0 || u.load().err != nil {
		return nil, false
	}
	t, err := s.abbrevs(u)
	if err != nil {
		return nil, false
	}
	for i := range t.list {
		if t.list[i].tag == tagInlinedSubroutine && t.list[i].has&hasFarOrigin != 0 {
			far = true
		}
	}
	inTypes := u.root.lang == types.Rust || u.root.lang == types.OtherLanguage
	w := walker{u: u, t: t, pos: u.first}
	for {
		ab := w.next()
		if w.bad {
			return found, far
		}
		if ab == nil {
			continue
		}
		if ab.tag == tagSubprogram && ab.has&(hasPC|hasInline) != 0 {
			s.die.at(&w, ab)
			found = x.add(s, u, found)
		}
		if ab.children && w.sibling != 0 && (isType(ab.tag) && !inTypes || ab.tag == tagSubprogram && !u.root.nests()) {
			w.pos = w.sibling
		}
	}
}

// nests tells whether functions may be entries within other functions.
func (ro *root) nests() bool { return ro.lang == types.C || ro.lang == types.OtherLanguage }

// add takes up the function that s.die is at.
func (x *nameIndex) add(s *scanner, u *unit, found []named) []named {
	d, off := &s.die, s.die.off
	inline := d.ab.has&hasInline != 0
	if code := d.hasCode(); x.gone == nil && !inline && !code || x.gone != nil && (inline || code) {
		return found
	}
	var name, linkage []byte
	for at, n := d, 0; n < maxOrigins; n++ {
		if v, ok := at.get(atName); ok && name == nil {
			name = at.u.strBytes(v)
		}
		if linkage == nil {
			linkage = at.ownLinkage()
		}
		v, ok := at.completes()
		if !ok {
			break
		}
		if at, ok = s.follow(at.u, v); !ok {
			break
		}
	}
	for _, s := range [][]byte{plain(name), linkage} {
		if len(s) > 0 && (x.gone == nil || x.gone[x.of(s)]) {
			found = append(found, named{x.of(s), u, off})
		}
	}
	return found
}

// find returns the entries under a hash.
func (x *nameIndex) find(name string) []named {
	h := x.of([]byte(name))
	i := sort.Search(len(x.entries), func(i int) bool { return x.entries[i].hash >= h })
	j := i
	for j < len(x.entries) && x.entries[j].hash == h {
		j++
	}
	return x.entries[i:j]
}

// maxNamed bounds the functions of one name that are looked at: a template or inline function has one in each unit.
const maxNamed = 1 << 18

// FunctionsNamed returns the functions of a name: a linkage name, a name with all its namespaces and classes, or one
// with only the inner ones; template arguments at the end may be left out. Functions that were inlined everywhere are
// among them, with Entry 0. There is no error if there is none.
func (in *Info) FunctionsNamed(name string) (fns []*Function, err error) {
	defer objfile.Guard(&err)()
	in.mu.Lock()
	defer in.mu.Unlock()
	x, err := in.functionNames()
	if err != nil {
		return nil, err
	}
	seen := make(map[entryKey]bool)
	bodies := make(map[uint64]bool)        // entries
	abstract := make(map[uint64]*Function) // by identity, if no code has been found
	own := make(map[uint64]bool)
	var order []uint64
	for _, key := range []string{name, string(plain([]byte(lastPart(name))))} {
		entries := x.find(key)
		for _, e := range entries[:min(len(entries), maxNamed)] {
			d, ok := e.u.at(uint64(e.off))
			if !ok || seen[d.key()] {
				continue
			}
			seen[d.key()] = true
			fn := in.function(d)
			if !fn.Is(name) {
				continue
			}
			id := fn.identity
			if fn.Entry != 0 {
				if !bodies[fn.Entry] {
					bodies[fn.Entry] = true
					fns = append(fns, fn)
				}
				own[id] = true
			} else if abstract[id] == nil {
				abstract[id] = fn
				order = append(order, id)
			}
		}
	}
	for _, id := range order {
		if !own[id] && in.belongs(abstract[id]) {
			fns = append(fns, abstract[id])
		}
	}
	return fns, nil
}

// NamedBeside are FunctionsNamed and GoneNamed of the unit that a function is of.
func (in *Info) NamedBeside(fn *Function, name string) (fns []*Function, err error) {
	defer objfile.Guard(&err)()
	in.mu.Lock()
	defer in.mu.Unlock()
	s := scanner{in: in}
	x := &nameIndex{nameHash: in.hash}
	for range 2 {
		found, _ := x.scan(&s, fn.u)
		for _, e := range found {
			d, ok := e.u.at(uint64(e.off))
			if !ok || e.hash != x.of([]byte(name)) {
				continue
			}
			if other := in.function(d); other.Is(name) {
				fns = append(fns, other)
			}
		}
		x.gone = map[uint64]bool{x.of([]byte(name)): true}
	}
	return fns, nil
}

// Is tells whether a name means the function: see FunctionsNamed.
func (fn *Function) Is(name string) bool {
	if fn.Linkage == name || fn.Name == name {
		return true
	}
	for _, full := range []string{fn.Qualified, string(plain([]byte(fn.Qualified)))} {
		if full == name {
			return true
		}
		if fn.Lang.HasScopes() && len(full) > len(name)+2 && full[len(full)-len(name):] == name &&
			full[len(full)-len(name)-2:len(full)-len(name)] == "::" {
			return true
		}
	}
	return false
}

// GoneNamed returns a function of a name (of C, or a linkage name) of which the linker has taken the code out, as it
// has put another one's in its place. wanted are all names that will be asked for; it is called once.
func (in *Info) GoneNamed(name string, wanted func() []string) (fn *Function, err error) {
	defer objfile.Guard(&err)()
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.gone == nil {
		x := &nameIndex{nameHash: in.hash, gone: map[uint64]bool{}}
		for _, s := range wanted() {
			x.gone[x.of([]byte(s))] = true
		}
		if err := x.fill(in); err != nil {
			return nil, err
		}
		in.gone = x
	}
	for _, e := range in.gone.find(name) {
		if d, ok := e.u.at(uint64(e.off)); ok {
			if fn := in.function(d); fn.Linkage == name || fn.Linkage == "" && fn.Name == name {
				return fn, nil
			}
		}
	}
	return nil, ErrNotFound
}
