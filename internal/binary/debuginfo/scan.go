package debuginfo

import (
	"sort"

	"trocar/internal/binary/types"
)

// funcRange is a piece of code of a function: an entry DW_TAG_subprogram.
type funcRange struct {
	Range
	off int
}

// scope is an entry that gives its name to what is declared in it: a namespace, class, struct, union or function.
type scope struct {
	off, end int
	parent   int // index, -1: none
	tag      uint16
}

// maxDepth bounds the nesting of entries; compilers stay below 100.
const maxDepth = 1 << 12

// isType tells whether an entry is a type that may have members.
func isType(tag uint16) bool {
	switch tag {
	case tagClassType, tagStructureType, tagUnionType, tagInterfaceType, tagEnumerationType:
		return true
	}
	return false
}

// functions returns the code of the unit's functions by address. The unit is gone through once.
func (u *unit) functions() ([]funcRange, error) {
	ro := u.load()
	t, err := u.table()
	if err != nil {
		return nil, err
	}
	if ro.haveFuncs {
		return ro.funcs, nil
	}
	ro.haveFuncs = true
	var d die
	// Only rustc (before 1.60) puts the code of a method into its type.
	inTypes := ro.lang == types.Rust || ro.lang == types.OtherLanguage
	w := walker{u: u, t: t, pos: u.first}
	for {
		ab := w.next()
		if w.bad {
			break
		}
		if ab == nil {
			continue
		}
		if ab.tag == tagSubprogram && ab.has&hasPC != 0 && d.read(u, t, w.off) {
			for _, r := range d.pcRanges(maxRanges) {
				ro.funcs = append(ro.funcs, funcRange{r, w.off})
			}
		}
		if ab.children && w.sibling != 0 && !inTypes && isType(ab.tag) {
			w.pos = w.sibling
		}
	}
	sort.SliceStable(ro.funcs, func(i, j int) bool { return ro.funcs[i].Low < ro.funcs[j].Low })
	u.f.info.keep(u, len(ro.funcs)*24)
	return ro.funcs, nil
}

// functionAt returns the entry of the innermost function that has code at an address, 0 if there is none.
func (u *unit) functionAt(addr uint64) (int, error) {
	funcs, err := u.functions()
	if err != nil {
		return 0, err
	}
	i := sort.Search(len(funcs), func(i int) bool { return funcs[i].Low > addr }) - 1
	for n := 0; i >= 0 && n < 64; i, n = i-1, n+1 {
		if funcs[i].Contains(addr) {
			return funcs[i].off, nil
		}
	}
	return 0, nil
}

// scopeList returns the unit's scopes in order.
func (u *unit) scopeList() []scope {
	ro := u.load()
	if ro.haveScopes {
		return ro.scopes
	}
	ro.haveScopes = true
	t, err := u.table()
	if err != nil {
		return nil
	}
	type level struct{ scope, depth int }
	var open []level // scopes whose end isn't known yet
	w := walker{u: u, t: t, pos: u.first}
	depth := 0
	for depth < maxDepth {
		ab := w.next()
		if w.bad {
			break
		}
		if ab == nil {
			depth--
			if n := len(open); n > 0 && open[n-1].depth == depth {
				ro.scopes[open[n-1].scope].end = w.pos
				open = open[:n-1]
			}
			continue
		}
		if !ab.children {
			continue
		}
		switch ab.tag {
		case tagNamespace, tagClassType, tagStructureType, tagUnionType, tagInterfaceType, tagEnumerationType, tagVariantPart:
			parent := -1
			if n := len(open); n > 0 {
				parent = open[n-1].scope
			}
			open = append(open, level{len(ro.scopes), depth})
			ro.scopes = append(ro.scopes, scope{off: w.off, end: u.end, parent: parent, tag: ab.tag})
		default:
			// Nothing that is looked up has its name from other entries. Types in functions have, but no language writes it.
			if w.sibling != 0 && ab.tag != tagSubprogram && ab.tag != tagLexicalBlock && depth > 0 {
				w.pos = w.sibling
				continue
			}
		}
		depth++
	}
	u.f.info.keep(u, len(ro.scopes)*32)
	return ro.scopes
}

// scopesOf returns the entries around the entry at off, outermost first.
func (u *unit) scopesOf(off int) []int {
	list := u.scopeList()
	i := sort.Search(len(list), func(i int) bool { return list[i].off >= off }) - 1
	var chain []int
	for ; i >= 0; i = list[i].parent {
		if off < list[i].end {
			chain = append(chain, list[i].off)
		}
	}
	for l, r := 0, len(chain)-1; l < r; l, r = l+1, r-1 {
		chain[l], chain[r] = chain[r], chain[l]
	}
	return chain
}
