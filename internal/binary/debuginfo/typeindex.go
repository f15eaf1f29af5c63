package debuginfo

import (
	"fmt"
	"hash/maphash"
	"path"
	"sort"
	"strings"
	"sync"

	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
)

// typeIndex finds the definitions of types by their qualified names.
type typeIndex struct {
	entries []typeEntry // by hash
}

type typeEntry struct {
	hash uint64
	size uint64
	u    *unit
	off  int
	line uint32 // of the source: types of one name and size differ
	tag  uint16
	own  bool // it is in the unit's own file, and no header that others have
}

// maxSame bounds the definitions of one name that are kept: programs have different types of one name in different
// units.
const maxSame = 8

// typeNames makes the index.
func (in *Info) typeNames() (*typeIndex, error) {
	if in.typeIdx != nil {
		return in.typeIdx, nil
	}
	type same struct {
		hash, size uint64
		line       uint32
		tag        uint16
		own        *unit
	}
	keyOf := func(e *typeEntry) same {
		k := same{e.hash, e.size, e.line, e.tag, nil}
		if e.own {
			k.own = e.u
		}
		return k
	}
	x := new(typeIndex)
	var mu sync.Mutex
	seen := make(map[same]bool)
	count := make(map[uint64]int)
	err := in.everyUnit(func(s *scanner, u *unit) bool {
		var found []typeEntry
		local := make(map[same]bool)
		s.eachType(u, func(e typeEntry) {
			if k := keyOf(&e); !local[k] {
				local[k] = true
				found = append(found, e)
			}
		})
		mu.Lock()
		defer mu.Unlock()
		for _, e := range found {
			if k := keyOf(&e); !seen[k] && count[e.hash] < maxSame {
				seen[k] = true
				count[e.hash]++
				x.entries = append(x.entries, e)
			}
		}
		return true
	})
	if err != nil {
		return nil, err
	}
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
	in.typeIdx = x
	return x, nil
}

// hasher hashes qualified names part by part. Blanks don't count: compilers and people set them differently.
type hasher struct{ h maphash.Hash }

func (h *hasher) add(b []byte) {
	for len(b) > 0 {
		i := 0
		for i < len(b) && b[i] != ' ' {
			i++
		}
		h.h.Write(b[:i])
		for i < len(b) && b[i] == ' ' {
			i++
		}
		b = b[i:]
	}
}

// hashOf hashes a whole qualified name.
func (n nameHash) hashOf(name string) uint64 {
	var h hasher
	h.h.SetSeed(n.seed)
	h.add([]byte(name))
	return h.h.Sum64()
}

// typeScope is a namespace or type on the way to an entry.
type typeScope struct {
	name  []byte
	depth int
	skip  bool // unnamed or inline namespaces are found with and without their name
}

// eachType calls yield for each named, complete type of a unit that is not local to a function.
func (s *scanner) eachType(u *unit, yield func(typeEntry)) {
	if u.load().err != nil {
		return
	}
	t, err := s.abbrevs(u)
	if err != nil {
		return
	}
	hasScopes := u.root.lang.HasScopes()
	var scopes []typeScope
	var h hasher
	// declared has the hashes of declarations, whose definitions follow outside of their scope.
	declared := make(map[uint64][]uint64)
	hash := func(name []byte, all bool) uint64 {
		h.h.SetSeed(s.in.hash.seed)
		for _, sc := range scopes {
			if all || !sc.skip {
				h.add(sc.name)
				h.add([]byte("::"))
			}
		}
		h.add(name)
		return h.h.Sum64()
	}
	hashes := func(name []byte) []uint64 {
		list := []uint64{hash(name, true)}
		for _, sc := range scopes {
			if sc.skip {
				return append(list, hash(name, false))
			}
		}
		return list
	}
	w := walker{u: u, t: t, pos: u.first}
	first := uint64(1) // the number of the unit's own file
	if u.version >= 5 && !strings.HasPrefix(u.root.producer, "GNU") {
		first = 0
	}
	asked, twice := u.main() != u, false
	own := func(file uint64) bool {
		if file == first || first != 0 || file != 1 {
			return file == first
		}
		// Where the folders of source and build begin alike, clang lists the file again in terms of what they share.
		if !asked {
			asked = true
			if lt, err := u.lineHeader(); err == nil && lt != nil {
				twice = lt.path(0) == lt.path(1)
			}
		}
		return twice
	}
	depth, inFunc := 0, -1
	for depth < maxDepth {
		ab := w.next()
		if w.bad {
			return
		}
		if ab == nil {
			depth--
			if n := len(scopes); n > 0 && scopes[n-1].depth == depth {
				scopes = scopes[:n-1]
			}
			if depth == inFunc {
				inFunc = -1
			}
			continue
		}
		off, next, sibling := w.off, w.pos, w.sibling
		d := &s.die
		switch ab.tag {
		case tagStructureType, tagClassType, tagUnionType, tagInterfaceType, tagEnumerationType, tagTypedef, tagBaseType:
			if inFunc >= 0 || ab.has&(hasName|hasSpecification) == 0 {
				break
			}
			if !d.read(u, t, off) {
				return
			}
			v, _ := d.get(atName)
			name := u.strBytes(v)
			if args := d.arguments(false); args != "" {
				name = append(name[:len(name):len(name)], args...)
			}
			var found []uint64
			if spec, ok := d.get(atSpecification); ok {
				found = declared[spec.u]
			} else if len(name) > 0 && len(name) < maxQualified {
				found = hashes(name)
			}
			if d.flag(atDeclaration) {
				if hasScopes && ab.tag != tagTypedef {
					declared[uint64(off)] = found
				}
			} else {
				size, _ := d.num(atByteSize)
				line, _ := d.num(atDeclLine)
				file, told := d.num(atDeclFile)
				e := typeEntry{u: u, off: off, tag: ab.tag, size: size, line: uint32(line), own: told && own(file)}
				for _, e.hash = range found {
					yield(e)
				}
			}
			if ab.children && hasScopes && ab.tag != tagEnumerationType {
				scopes = append(scopes, typeScope{name: name, depth: depth})
			}
		case tagNamespace:
			if ab.children && inFunc < 0 && d.read(u, t, off) {
				name := []byte(d.scopeName())
				scopes = append(scopes, typeScope{name, depth, d.flag(atExportSymbols) || name[0] == '('})
			}
		case tagSubprogram:
			if ab.children && inFunc < 0 {
				if sibling != 0 {
					w.pos = sibling
					continue
				}
				inFunc = depth
			}
		}
		if w.pos = next; ab.children {
			if !hasScopes && sibling != 0 && isType(ab.tag) {
				w.pos = sibling
				continue
			}
			depth++
		}
	}
}

// wanted is a type's name as a script writes it.
type wanted struct {
	name string
	word string // "struct", "union", "enum", "class", or ""
}

func parseTypeName(name string) wanted {
	name = strings.TrimSpace(name)
	for _, word := range []string{"struct", "union", "enum", "class"} {
		if rest, ok := strings.CutPrefix(name, word+" "); ok {
			return wanted{strings.TrimSpace(rest), word}
		}
	}
	return wanted{name, ""}
}

// fits tells whether an entry of a unit's language is what the word asks for. In C the names of structs, unions and
// enums are apart from those of typedefs; a struct may still be asked for by its name alone.
func (w wanted) fits(tag uint16) bool {
	switch w.word {
	case "struct", "class":
		return tag == tagStructureType || tag == tagClassType || tag == tagInterfaceType
	case "union":
		return tag == tagUnionType
	case "enum":
		return tag == tagEnumerationType
	}
	return true
}

// rank orders definitions of one name: without a word, a typedef or basic type hides a struct's tag in C.
func (w wanted) rank(e typeEntry) int {
	switch {
	case e.tag == tagTypedef && e.u.root.lang == types.Go:
		return 2
	case e.tag == tagTypedef, e.tag == tagBaseType:
		return 0
	}
	return 1
}

// TypeNamed returns the type of a name: "struct foo", "foo_t", "ns::Class", Go's "main.T", Rust's path. Where units
// have different types of that name, the one of near's unit counts (near may be nil), else it is ErrAmbiguous
// (wrapped); ErrNotFound (wrapped) if there is none.
func (in *Info) TypeNamed(name string, near *Function) (t *types.Type, err error) {
	defer objfile.Guard(&err)()
	in.mu.Lock()
	defer in.mu.Unlock()
	w := parseTypeName(name)
	d, err := in.typeNamed(w, near)
	if err != nil {
		return nil, err
	}
	if other := spelled(w.name); d == nil && other != w.name {
		if d, err = in.typeNamed(wanted{other, w.word}, near); err != nil {
			return nil, err
		}
	}
	if d == nil {
		return nil, fmt.Errorf("type %q: %w", name, ErrNotFound)
	}
	return in.conv.get(d, true, 0), nil
}

// spelled is a name with the integer types among its arguments as GCC writes them: "Box<long int>" for "Box<long>".
func spelled(name string) string {
	at := strings.IndexByte(name, '<')
	if at < 0 || len(name) > maxQualified {
		return name
	}
	var b strings.Builder
	b.WriteString(name[:at])
	unsigned, short, long, other := false, false, 0, ""
	flush := func() {
		var words []string
		add := func(is bool, w string) {
			if is {
				words = append(words, w)
			}
		}
		add(short, "short")
		add(long > 0, "long")
		add(long > 1, "long")
		add(unsigned, "unsigned")
		add(other == "" && (unsigned || short || long > 0), "int")
		add(other != "", other)
		b.WriteString(strings.Join(words, " "))
		unsigned, short, long, other = false, false, 0, ""
	}
	word := ""
	end := func() {
		switch word {
		case "":
		case "unsigned":
			unsigned = true
		case "short":
			short = true
		case "long":
			long++
		case "int", "signed":
			if other == "" && !short && long == 0 && !unsigned {
				other = word
			}
		default:
			if other == "int" && word == "char" {
				other = ""
			}
			if other != "" {
				flush()
				b.WriteByte(' ')
			}
			other = word
		}
		word = ""
	}
	for _, c := range name[at:] {
		switch {
		case c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c > 0x7f:
			word += string(c)
		case c == ' ':
			end()
		default:
			end()
			flush()
			b.WriteRune(c)
		}
	}
	end()
	flush()
	return b.String()
}

func (in *Info) typeNamed(w wanted, near *Function) (*die, error) {
	hash := in.hash.hashOf(w.name)
	pick := func(list []typeEntry) *die {
		best := -1
		for i, e := range list {
			if !w.fits(e.tag) || best >= 0 && w.rank(list[best]) <= w.rank(e) {
				continue
			}
			best = i
		}
		if best < 0 {
			return nil
		}
		d, _ := list[best].u.at(uint64(list[best].off))
		return d
	}
	if near != nil {
		s := scanner{in: in}
		var list []typeEntry
		s.eachType(near.u, func(e typeEntry) {
			if e.hash == hash && len(list) < maxSame {
				list = append(list, e)
			}
		})
		if d := pick(list); d != nil {
			return d, nil
		}
	}
	x, err := in.typeNames()
	if err != nil {
		return nil, err
	}
	list := x.find(hash)
	best := pick(list)
	if best == nil || !isType(best.tag) && best.tag != tagTypedef {
		return best, nil
	}
	for _, e := range list {
		if e.u == best.u && e.off == best.off || isType(e.tag) != isType(best.tag) || !w.fits(e.tag) || w.rank(e) == 2 {
			continue
		}
		if other, ok := e.u.at(uint64(e.off)); ok && !sameType(best, other) {
			file, line := best.declaredAt()
			otherFile, otherLine := other.declaredAt()
			return nil, fmt.Errorf("%w: %s:%d and %s:%d", ErrAmbiguous, path.Base(file), line, path.Base(otherFile), otherLine)
		}
	}
	return best, nil
}

func (x *typeIndex) find(hash uint64) []typeEntry {
	i := sort.Search(len(x.entries), func(i int) bool { return x.entries[i].hash >= hash })
	j := i
	for j < len(x.entries) && x.entries[j].hash == hash {
		j++
	}
	return x.entries[i:j]
}

// definition returns the definition of a type that is only declared where it is used; nil if there is none, or units
// define different types of that name.
func (in *Info) definition(d *die) *die {
	name := d.qualified()
	if name == "" {
		return nil
	}
	w := wanted{name, structWord(d.tag)}
	if d.tag == tagEnumerationType {
		w.word = "enum"
	}
	x, err := in.typeNames()
	if err != nil {
		return nil
	}
	var def *die
	args := d.arguments(true)
	unnamed := strings.Contains(name, unnamedNamespace) // whose types are those of one unit
	for _, e := range x.find(in.hash.hashOf(w.name)) {
		if !w.fits(e.tag) || e.u.root.lang.HasScopes() != d.u.root.lang.HasScopes() {
			continue
		}
		one, ok := e.u.at(uint64(e.off))
		if !ok || args != "" && one.arguments(true) != args && !strings.Contains(one.fullName(), "<") {
			continue
		}
		if strings.Contains(one.qualified(), unnamedNamespace) != unnamed || unnamed && e.u != d.u {
			continue
		}
		if def != nil && !sameLayout(def, one) {
			return nil
		}
		def = one
	}
	return def
}

// TypesNamed returns all different types of a name.
func (in *Info) TypesNamed(name string) (list []*types.Type, err error) {
	defer objfile.Guard(&err)()
	in.mu.Lock()
	defer in.mu.Unlock()
	w := parseTypeName(name)
	x, err := in.typeNames()
	if err != nil {
		return nil, err
	}
	for _, e := range x.find(in.hash.hashOf(w.name)) {
		if !w.fits(e.tag) || w.rank(e) == 2 {
			continue
		}
		if d, ok := e.u.at(uint64(e.off)); ok {
			list = append(list, in.conv.get(d, true, 0))
		}
	}
	return list, nil
}
