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

// scope is an entry that gives its name to what is declared in it: a namespace, class, struct or union. Offsets count
// from the unit's beginning.
type scope struct {
	off, end uint32
	parent   int32 // index, -1: none
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

// wholeAfter is how many questions about one unit are answered by going through it up to the answer, before what is in
// it is listed once for all.
const (
	wholeAfter     = 8
	wholeFuncAfter = 3 // functions: going up to the answer takes half as long as listing them
)

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
	var ranges []Range
	// Only rustc (before 1.60) puts the code of a method into its type, and GCC that of lambdas.
	inTypes := ro.lang == types.Rust || ro.lang == types.OtherLanguage
	around := codeTypes{}
	w := walker{u: u, t: t, pos: u.first}
	for {
		ab := w.next()
		if w.bad {
			break
		}
		around.step(ab)
		if ab == nil {
			continue
		}
		if ab.tag == tagSubprogram && ab.has&hasPC != 0 {
			ranges = d.at(&w, ab).appendRanges(ranges[:0], maxRanges)
			for _, r := range ranges {
				ro.funcs = append(ro.funcs, funcRange{r, w.off})
			}
		}
		if ab.children && w.sibling != 0 && !inTypes && isType(ab.tag) && !around.hold(ab) {
			w.pos = w.sibling
			around.skip()
		}
	}
	sort.SliceStable(ro.funcs, func(i, j int) bool { return ro.funcs[i].Low < ro.funcs[j].Low })
	u.f.info.keep(u, len(ro.funcs)*24)
	return ro.funcs, nil
}

// functionAt returns the entry of the innermost function that has code at an address, 0 if there is none.
func (u *unit) functionAt(addr uint64) (int, error) {
	if ro := u.load(); !ro.haveFuncs && ro.funcQuestions < wholeFuncAfter {
		ro.funcQuestions++
		if off, err := u.searchFunction(addr); off != 0 || err != nil || ro.lang != types.CPlusPlus {
			return off, err
		}
	}
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

// codeTypes follows a walk through a unit and tells which types may have the code of functions: GCC puts that of a
// lambda into its type, which has no name, and that of a class of a function into that class.
type codeTypes struct {
	depth, inFunc int // inFunc is the depth inside of the outermost function around, 0: there is none
}

// step takes up the entry that the walk has come to.
func (c *codeTypes) step(ab *abbrev) {
	switch {
	case ab == nil:
		if c.depth--; c.depth < c.inFunc {
			c.inFunc = 0
		}
	case ab.children:
		if c.depth++; c.inFunc == 0 && ab.tag == tagSubprogram {
			c.inFunc = c.depth
		}
	}
}

// skip tells that the walk does not go into the entry after all.
func (c *codeTypes) skip() {
	if c.depth--; c.depth < c.inFunc {
		c.inFunc = 0
	}
}

// hold tells whether the type that the walk has come to may have code.
func (c *codeTypes) hold(ab *abbrev) bool {
	return c.inFunc > 0 || ab.has&hasName == 0
}

// searchFunction is functionAt without a list.
func (u *unit) searchFunction(addr uint64) (int, error) {
	ro := u.load()
	t, err := u.table()
	if err != nil {
		return 0, err
	}
	var d die
	var ranges []Range
	found := 0
	inTypes := ro.lang == types.Rust || ro.lang == types.OtherLanguage
	for w := (walker{u: u, t: t, pos: u.first}); ; {
		ab := w.next()
		if w.bad {
			return found, nil
		}
		if ab == nil {
			continue
		}
		if ab.tag == tagSubprogram && ab.has&hasPC != 0 {
			if ranges = d.at(&w, ab).appendRanges(ranges[:0], maxRanges); contains(ranges, addr) {
				found = w.off
				if !ro.nests() {
					return found, nil
				}
			}
		}
		if ab.children && w.sibling != 0 && (isType(ab.tag) && !inTypes || ab.tag == tagSubprogram && !ro.nests()) {
			w.pos = w.sibling
		}
	}
}

// searchPrefix is the names of the scopes around an entry, found without a list.
func (u *unit) searchPrefix(off int) string {
	t, err := u.table()
	if err != nil {
		return ""
	}
	type level struct {
		off int
		tag uint16
	}
	var around []level
	w := walker{u: u, t: t, pos: u.first}
	for w.off < off && len(around) < maxDepth {
		ab := w.next()
		switch {
		case w.bad:
			return ""
		case w.off >= off:
		case ab == nil:
			if len(around) > 0 {
				around = around[:len(around)-1]
			}
		case ab.children && w.sibling != 0 && w.sibling <= off:
			w.pos = w.sibling
		case ab.children:
			around = append(around, level{w.off, ab.tag})
		}
	}
	prefix := ""
	for _, l := range around {
		if l.tag == tagSubprogram {
			break
		}
		if !isScope(l.tag) || len(prefix) > maxQualified {
			continue
		}
		if d, ok := u.at(uint64(l.off)); ok && l.tag != tagVariantPart {
			prefix += d.scopeName() + "::"
		}
	}
	return prefix
}

func isScope(tag uint16) bool {
	return tag == tagNamespace || tag == tagVariantPart || isType(tag)
}

// scopeList returns the unit's scopes in order. What is local to a function is not among them: no language writes the
// function's name before it.
func (u *unit) scopeList() []scope {
	ro := u.load()
	if ro.haveScopes {
		return ro.scopes
	}
	ro.haveScopes = true
	t, err := u.table()
	if err != nil || u.end-u.off > 1<<32-1 {
		return nil
	}
	type level struct{ scope, depth int }
	var open []level // scopes whose end isn't known yet
	w := walker{u: u, t: t, pos: u.first}
	depth, inFunc := 0, -1
	for depth < maxDepth {
		ab := w.next()
		if w.bad {
			break
		}
		if ab == nil {
			depth--
			if n := len(open); n > 0 && open[n-1].depth == depth {
				ro.scopes[open[n-1].scope].end = uint32(w.pos - u.off)
				open = open[:n-1]
			}
			if depth == inFunc {
				inFunc = -1
			}
			continue
		}
		if !ab.children {
			continue
		}
		switch {
		case inFunc >= 0:
		case isScope(ab.tag):
			parent := -1
			if n := len(open); n > 0 {
				parent = open[n-1].scope
			}
			open = append(open, level{len(ro.scopes), depth})
			ro.scopes = append(ro.scopes, scope{uint32(w.off - u.off), uint32(u.end - u.off), int32(parent), ab.tag})
		case w.sibling != 0 && depth > 0:
			w.pos = w.sibling
			continue
		case ab.tag == tagSubprogram:
			inFunc = depth
		}
		depth++
	}
	u.f.info.keep(u, len(ro.scopes)*16)
	return ro.scopes
}

// scopeOf returns the index of the innermost scope around the entry at off, -1 if there is none.
func (u *unit) scopeOf(off int) int {
	list := u.scopeList()
	at := uint32(off - u.off)
	i := sort.Search(len(list), func(i int) bool { return list[i].off >= at }) - 1
	for i >= 0 && at >= list[i].end {
		i = int(list[i].parent)
	}
	return i
}

// scopePrefix is what the names of entries in a scope begin with.
func (u *unit) scopePrefix(i int) string {
	if i < 0 {
		return ""
	}
	ro := u.root
	if prefix, ok := ro.prefixes[i]; ok {
		return prefix
	}
	sc := ro.scopes[i]
	prefix := u.scopePrefix(int(sc.parent))
	if d, ok := u.at(uint64(sc.off) + uint64(u.off)); ok && sc.tag != tagVariantPart && len(prefix) < maxQualified {
		prefix += d.scopeName() + "::"
	}
	if ro.prefixes == nil {
		ro.prefixes = make(map[int]string)
	}
	ro.prefixes[i] = prefix
	u.f.info.keep(u, 64+len(prefix))
	return prefix
}
