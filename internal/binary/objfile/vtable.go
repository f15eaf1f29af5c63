package objfile

import (
	"sort"
	"strings"
)

// Virtual tables of C++ have symbols of their own ("_ZTV" and the class, Itanium C++ ABI, 5.1.4.1). One symbol spans
// the tables of all parts of an object.

// sttObject is the type of symbols of variables.
const sttObject = 1

// maxClasses bounds the virtual tables of a file that are known.
const maxClasses = 1 << 18

// vtable is where the virtual tables of a class are.
type vtable struct {
	addr, end uint64
	name      string // mangled; "": of several classes
}

// ClassAt names the class whose virtual table an address is in, as in the source; false if there is none, or if the
// linker has put those of several classes in one place.
func (f *File) ClassAt(addr uint64) (class string, ok bool) {
	all := f.vtables.get(func(all *[]vtable) { *all = f.findVTables() })
	i := sort.Search(len(all), func(i int) bool { return all[i].addr > addr }) - 1
	if i < 0 || addr >= all[i].end || all[i].name == "" {
		return "", false
	}
	return strings.CutPrefix(Demangle(all[i].name), "vtable for ")
}

func (f *File) findVTables() (all []vtable) {
	tables := []symTable{f.table(".symtab"), f.dynTable()}
	if tables[0].len() <= 1 {
		if d := f.Debug(); d != nil {
			tables = append(tables, d.table(".symtab"))
		}
	}
	for i := range tables {
		t := &tables[i]
		for j := 1; j < t.len() && len(all) < maxClasses; j++ {
			r := t.at(j)
			if r.shndx == shnUndef || r.typ() != sttObject || r.size == 0 || r.value+r.size < r.value {
				continue
			}
			if name := cString(t.strs, uint64(r.name)); strings.HasPrefix(name, "_ZTV") {
				all = append(all, vtable{r.value, r.value + r.size, strings.Clone(name)})
			}
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].addr < all[j].addr })
	merged := all[:0]
	for _, v := range all {
		switch n := len(merged); {
		case n == 0 || merged[n-1].end <= v.addr:
			merged = append(merged, v)
		case merged[n-1] != v:
			merged[n-1].name, merged[n-1].end = "", max(merged[n-1].end, v.end)
		}
	}
	return merged
}
