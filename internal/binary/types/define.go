package types

import (
	"strconv"
	"strings"
)

// maxDefined bounds the members of one written definition.
const maxDefined = 1 << 14

// Define writes the definition of a struct, union or enum as C does, members of unnamed types in place, with a final
// semicolon. Of another type it is the declaration alone.
func Define(t *Type) string {
	d := definer{left: maxDefined}
	switch t = t.Complete(); t.Kind {
	case Struct, Union, Enum:
		d.body(t, 0)
	default:
		d.b.WriteString(Declare(t, ""))
	}
	d.b.WriteByte(';')
	return d.b.String()
}

type definer struct {
	b    strings.Builder
	left int
}

// body writes "struct foo {", the members, and "}".
func (d *definer) body(t *Type, depth int) {
	word := "struct"
	switch t.Kind {
	case Union:
		word = "union"
	case Enum:
		word = "enum"
	}
	d.b.WriteString(word)
	if name := strings.TrimPrefix(t.Name, word+" "); name != "" && (depth == 0 || t.Alias() == "") {
		d.b.WriteString(" " + name)
	}
	d.b.WriteString(" {\n")
	if t.Kind == Enum {
		d.enumerators(t, depth+1)
	} else {
		d.members(t, depth+1)
	}
	d.indent(depth)
	d.b.WriteByte('}')
}

func (d *definer) indent(depth int) {
	for range depth {
		d.b.WriteByte('\t')
	}
}

func (d *definer) enumerators(t *Type, depth int) {
	for _, e := range t.Enums {
		if d.more(depth) {
			d.indent(depth)
			d.b.WriteString(e.Name + " = ")
			if t.Signed {
				d.b.WriteString(strconv.FormatInt(e.Value, 10))
			} else {
				d.b.WriteString(strconv.FormatUint(uint64(e.Value), 10))
			}
			d.b.WriteString(",\n")
		}
	}
}

// more counts a line, and tells of those left out in place of the first.
func (d *definer) more(depth int) bool {
	if d.left--; d.left == 0 {
		d.indent(depth)
		d.b.WriteString("…\n")
	}
	return d.left > 0
}

func (d *definer) members(t *Type, depth int) {
	for _, f := range t.Fields {
		if !d.more(depth) {
			return
		}
		d.indent(depth)
		text := Declare(f.Type, f.Name)
		// A type without a name is written where it is used.
		base, hole := unnamed(f.Type)
		before, after, ok := strings.Cut(text, hole)
		if base == nil || !ok || depth > maxNesting {
			d.b.WriteString(text)
		} else {
			d.b.WriteString(before)
			d.body(base, depth)
			d.b.WriteString(after)
		}
		if f.BitSize > 0 {
			d.b.WriteString(": " + strconv.Itoa(f.BitSize))
		}
		d.b.WriteString(";\n")
	}
}

// unnamed finds the type without a name that a type is built of, and how a declaration mentions it; nil: it has a name.
func unnamed(t *Type) (base *Type, mention string) {
	for range maxNesting {
		if t == nil || t.Alias() != "" {
			return nil, ""
		}
		switch t.Kind {
		case Pointer, Array:
			t = t.Elem
			continue
		case Struct, Union, Enum:
			if t.Name != "" || t.Form() == MethodPointerForm {
				return nil, ""
			}
			return t.Complete(), nameOr(t)
		}
		break
	}
	return nil, ""
}
