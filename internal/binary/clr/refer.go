package clr

import (
	"bytes"
	"slices"
)

// Name is a type's name: its namespace, and the names of the types that it is nested in and its own, the outermost
// first.
type Name struct {
	Space string
	Path  []string
}

// TypeDef is the number of the type that a signature's type is, if it is declared in this file.
func (im *Image) TypeDef(t *Type) (row uint32, ok bool) {
	ok = !t.Foreign && t.Table == tTypeDef && t.Row > 0 && t.Row <= im.meta.tables[tTypeDef].count
	return t.Row, ok
}

// Refers tells which type of which other assembly a signature's type is.
func (im *Image) Refers(t *Type) (assembly string, name Name, ok bool) {
	m := &im.meta
	if t.Foreign || t.Table != tTypeRef || t.Row == 0 {
		return "", Name{}, false
	}
	of, row := tTypeRef, t.Row
	for range maxNesting {
		name.Space = m.text(m.cell(tTypeRef, row, typeSpace))
		name.Path = append(name.Path, m.text(m.cell(tTypeRef, row, typeName)))
		if of, row = decode(m.cell(tTypeRef, row, 0), resolutionScope); of != tTypeRef {
			break
		}
	}
	slices.Reverse(name.Path)
	return m.text(m.cell(tAssemblyRef, row, assemblyRefName)), name, of == tAssemblyRef
}

// Find looks for a type by its name. assembly is where the file says that it is instead (II.22.14), if it does.
func (im *Image) Find(name Name) (row uint32, assembly string, ok bool) {
	m, last := &im.meta, len(name.Path)-1
	if last < 0 {
		return 0, "", false
	}
	own := []byte(name.Path[last])
	for row = 1; row <= m.tables[tTypeDef].count; row++ {
		if !bytes.Equal(m.raw(m.cell(tTypeDef, row, typeName)), own) {
			continue
		}
		links := m.chain(nil, tTypeDef, row)
		if slices.EqualFunc(links, name.Path, func(l link, s string) bool { return string(l.name) == s }) &&
			string(links[0].space) == name.Space {
			return row, "", true
		}
	}
	const exportedName, exportedSpace, exportedIn = 2, 3, 4
	for row = 1; row <= m.tables[tExportedType].count; row++ {
		if m.text(m.cell(tExportedType, row, exportedName)) == name.Path[0] &&
			m.text(m.cell(tExportedType, row, exportedSpace)) == name.Space {
			if of, at := decode(m.cell(tExportedType, row, exportedIn), implementation); of == tAssemblyRef {
				return 0, m.text(m.cell(tAssemblyRef, at, assemblyRefName)), false
			}
		}
	}
	return 0, "", false
}

// Base is what a type is derived from; ok is false for System.Object, interfaces, and what cannot be read.
func (im *Image) Base(typ uint32) (t Type, ok bool) {
	m := &im.meta
	t.Element = Class
	t.Table, t.Row = decode(m.cell(tTypeDef, typ, typeBase), typeDefOrRef)
	if t.Table == tTypeSpec {
		r := reader{data: m.bytes(m.cell(tTypeSpec, t.Row, 0))}
		t = r.typ(0)
		return t, !r.bad
	}
	return t, t.Row != 0 && t.Table != noTable
}

// TypeOf is a type of this file, by its number, with its own type parameters.
func (im *Image) TypeOf(typ uint32) Type {
	t := Type{Element: Class, Table: tTypeDef, Row: typ}
	if n := len(im.meta.generics(tTypeDef, typ)); n > 0 {
		t.Element = Instance
		for i := range n {
			t.Args = append(t.Args, Type{Element: TypeParam, Number: i})
		}
	}
	return t
}

// Types is how many types are declared in the file.
func (im *Image) Types() uint32 { return im.meta.tables[tTypeDef].count }
