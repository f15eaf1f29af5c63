package debuginfo

import (
	"strings"
	"sync"

	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
)

// Enumerator is a named value of an enum of the program.
type Enumerator struct {
	Enum  *types.Type
	Value int64
	Near  bool // it is of the unit that was asked for
}

// maxEnums bounds the enums that have an enumerator of one name.
const maxEnums = 64

// Enumerators finds the values of a name: "RED", "Color::RED", in C++ also "ns::RED" of an enum in ns. Only different
// ones are told: those of near's unit first (near may be nil).
func (in *Info) Enumerators(name string, near *Function) (found []Enumerator, err error) {
	defer objfile.Guard(&err)()
	in.mu.Lock()
	defer in.mu.Unlock()
	scope, last := "", name
	if i := strings.LastIndex(name, "::"); i >= 0 {
		scope, last = name[:i], name[i+2:]
	}
	add := func(enums []enumPlace, isNear bool) {
		for _, e := range enums {
			d, ok := e.u.at(uint64(e.off))
			if !ok {
				continue
			}
			t := in.conv.get(d, true, 0)
			bare := strings.TrimPrefix(t.Name, "enum ")
			outer := ""
			if i := strings.LastIndex(bare, "::"); i >= 0 {
				outer = bare[:i]
			}
			if scope != "" && !ends(bare, scope) && !ends(outer, scope) {
				continue
			}
			for _, one := range t.Enums {
				if one.Name == last && !listedEnum(found, t, one.Value) {
					found = append(found, Enumerator{t, one.Value, isNear})
				}
			}
		}
	}
	if near != nil {
		enums, err := in.enumsOf(last, near.u)
		if err != nil {
			return nil, err
		}
		if add(enums, true); len(found) > 0 {
			return found, nil
		}
	}
	enums, err := in.enumsOf(last, nil)
	if err != nil {
		return nil, err
	}
	add(enums, false)
	return found, nil
}

// enumPlace is where an enum is.
type enumPlace struct {
	u   *unit
	off int
}

// enumsIn is a question that is asked of each function of a pattern: the enums of a unit, or of all (nil), that have an
// enumerator of a name.
type enumsIn struct {
	name string
	u    *unit
}

// mostEnumsKept is how many answers are kept.
const mostEnumsKept = 1 << 12

func (in *Info) enumsOf(name string, u *unit) (enums []enumPlace, err error) {
	asked := enumsIn{name, u}
	if enums, ok := in.enums[asked]; ok {
		return enums, nil
	}
	var mu sync.Mutex
	visit := func(s *scanner, u *unit) bool {
		s.enumsWith(u, name, func(off int) {
			mu.Lock()
			defer mu.Unlock()
			if len(enums) < maxEnums {
				enums = append(enums, enumPlace{u, off})
			}
		})
		return true
	}
	if u != nil {
		visit(&scanner{in: in}, u)
	} else if err := in.everyUnit(visit); err != nil {
		return nil, err
	}
	if in.enums == nil || len(in.enums) >= mostEnumsKept {
		in.enums = map[enumsIn][]enumPlace{}
	}
	in.enums[asked] = enums
	return enums, nil
}

// ends tells whether a qualified name is, or ends with, another.
func ends(name, end string) bool {
	return name == end || strings.HasSuffix(name, "::"+end)
}

func listedEnum(list []Enumerator, t *types.Type, value int64) bool {
	for _, e := range list {
		if e.Enum.Name == t.Name && e.Value == value {
			return true
		}
	}
	return false
}

// enumsWith calls yield with the enums of a unit that have an enumerator of a name.
func (s *scanner) enumsWith(u *unit, name string, yield func(off int)) {
	if u.load().err != nil {
		return
	}
	t, err := s.abbrevs(u)
	if err != nil {
		return
	}
	w := walker{u: u, t: t, pos: u.first}
	enum := 0
	for depth := 0; depth < maxDepth; {
		ab := w.next()
		switch {
		case w.bad:
			return
		case ab == nil:
			if depth--; depth <= 0 {
				return
			}
			continue
		case ab.tag == tagEnumerationType:
			enum = w.off
		case ab.tag == tagEnumerator && enum > 0:
			if !s.die.read(u, t, w.off) {
				return
			}
			if v, ok := s.die.get(atName); ok && string(u.strBytes(v)) == name {
				yield(enum)
			}
		}
		if ab.children {
			depth++
		}
	}
}
