package objfile

import (
	"cmp"
	"slices"
	"strings"

	"trocar/internal/order"
)

// Func is one place where functions that fit a query begin. Names are copies.
type Func struct {
	Symbol
	Aliases []string // other names that fitted at this address, with versions

	// Indirect is the name of the indirect function (IFUNC) of which this is one implementation, "" else. Then Name is
	// the implementation's own name, or Indirect where it has none.
	Indirect string

	// Variants are the names of functions that the compiler made of this one for some of its callers, and that the query
	// does not fit.
	Variants []string
}

// Match finds the functions that fit: those of the file's own symbol tables, or else those of its debug file, mini
// debug info and Go's table. There is one Func for an address, whatever number of names it has; functions of the same
// name at several addresses (static functions, versions) are all found. An indirect function comes with IFunc set.
//
// What fits nothing is tried as a readable name too, without its parameters; a name without wildcard then as that of a
// function of which the compiler has left only variants.
//
// A readable name may have stars of its own ("A::f(int*)", "operator*"): a pattern that is a name as a whole means
// that.
//
// What the last pattern fitted is kept: a question asks for it once more when its script is compiled. It is not to be
// changed.
func (f *File) Match(q *Query) (funcs []Func, err error) {
	if !q.Wildcard() {
		return f.matchAnew(q)
	}
	by := patternKey{q.Pattern, q.exact, q.demangle, q.Variants}
	f.matched.Lock()
	defer f.matched.Unlock()
	if f.matched.funcs != nil && f.matched.by == by {
		return f.matched.funcs, nil
	}
	if funcs, err = f.matchAnew(q); err == nil {
		f.matched.by, f.matched.funcs = by, slices.Clip(funcs)
	}
	return funcs, err
}

// patternKey is what tells a pattern's queries apart.
type patternKey struct {
	pattern                   string
	exact, demangle, variants bool
}

func (f *File) matchAnew(q *Query) (funcs []Func, err error) {
	if q.ownStars() {
		if funcs, err = f.match(q.literal()); err != nil || len(funcs) > 0 {
			return funcs, err
		}
	}
	funcs, err = f.match(q)
	if err == nil && len(funcs) == 0 && !q.demangle {
		r := *q
		r.useReadable()
		funcs, err = f.match(&r)
	}
	if err == nil && len(funcs) == 0 && !q.Variants && !q.Wildcard() {
		r := *q
		r.Variants = true
		return f.matchAnew(&r)
	}
	return funcs, err
}

func (f *File) match(q *Query) (funcs []Func, err error) {
	defer Guard(&err)()
	all := *q
	all.Variants = !q.Variants && !q.Wildcard()
	var variants []string
	add := func(s *Symbol) bool {
		// Labels, and the parts of functions that are rarely used, only by their full name: they are not called.
		if all.Variants && !q.Match(s) && all.Match(s) {
			variants = append(variants, strings.Clone(s.Name))
			return true
		}
		if !q.Match(s) || q.Wildcard() && (s.NoType || strings.Contains(s.Name, ".cold") && !strings.Contains(q.Pattern,
			".cold")) {
			return true
		}
		fn := Func{Symbol: *s}
		if f.managed == nil { // else the names were made, and stay
			fn.Name = strings.Clone(s.Name)
		}
		funcs = append(funcs, fn)
		return true
	}
	var want sought
	if !q.Wildcard() && !q.versions {
		want = sought{q.Pattern, q.demangle}
	}
	own := f.table(".symtab")
	if q.Pattern == "*" && f.managed != nil { // all symbols are functions
		funcs = make([]Func, 0, own.len())
	}
	f.walkOwn(want, add)
	if own.len() <= 1 || len(funcs) == 0 {
		f.walkDebug(want, add)
	}
	// Unpacking takes milliseconds, and what is packed is not in the tables before: the last resort for one name.
	if own.len() <= 1 && q.Wildcard() || len(funcs) == 0 {
		f.walkMini(want, add)
		f.tableFunctions(want, add)
	}
	funcs = q.preferred(mergeAliases(funcs))
	if len(funcs) > 0 {
		funcs[0].Variants = variants
	}
	return funcs, nil
}

// byAddress puts functions in the order of their addresses; those of one address keep theirs.
func byAddress(funcs []Func) []Func {
	entries := make([]indexEntry, len(funcs))
	sorted := true
	for i := range funcs {
		entries[i] = indexEntry{addr: funcs[i].Addr, name: uint32(i)}
		sorted = sorted && (i == 0 || funcs[i-1].Addr <= funcs[i].Addr)
	}
	if sorted {
		return funcs
	}
	order.ByKey(entries, func(e *indexEntry) uint64 { return e.addr }, func(a, b *indexEntry) int {
		return cmp.Compare(a.name, b.name)
	})
	list := make([]Func, len(funcs))
	for i := range entries {
		list[i] = funcs[entries[i].name]
	}
	return list
}

// mergeAliases makes one Func of those with the same address; the name that is best to show comes first.
func mergeAliases(funcs []Func) []Func {
	funcs = byAddress(funcs)
	for i := 0; i < len(funcs); {
		j := i + 1
		for j < len(funcs) && funcs[j].Addr == funcs[i].Addr {
			j++
		}
		if j > i+1 {
			order.By(funcs[i:j], func(a, b Func) int {
				return cmp.Or(
					cmp.Compare(rank(a.Bind, a.Size > 0, a.NoType, a.Name), rank(b.Bind, b.Size > 0, b.NoType, b.Name)),
					strings.Compare(a.Name, b.Name),
					// Of one name, that with the version known.
					-strings.Compare(a.Version, b.Version))
			})
		}
		i = j
	}
	out := funcs[:0]
	for _, fn := range funcs {
		if len(out) == 0 || out[len(out)-1].Addr != fn.Addr {
			out = append(out, fn)
			continue
		}
		last := &out[len(out)-1]
		last.IFunc = last.IFunc || fn.IFunc
		last.Size = max(last.Size, fn.Size)
		if fn.Name != last.Name && !slices.Contains(last.Aliases, fn.Name) {
			last.Aliases = append(last.Aliases, fn.Name)
		}
	}
	return out
}
