package types

import (
	"strconv"
	"strings"
)

// maxNesting bounds how deep a declaration is written: types come from files that may say anything.
const maxNesting = 32

// Declare writes the declaration of a variable as the type's language does: "char *argv[]" as "char *argv[]", Go's
// "s []string", Rust's "s: &str". An empty name gives the type alone.
func Declare(t *Type, name string) string {
	if t == nil {
		t = TVoid
	}
	switch t.Lang().traits().style {
	case nameFirst:
		if name == "" {
			return plainName(t, 0)
		}
		return name + " " + plainName(t, 0)
	case nameColon:
		if name == "" {
			return rustName(t, 0)
		}
		return name + ": " + rustName(t, 0)
	}
	return cDeclare(t, name, 0)
}

// cDeclare writes C's declarations from the inside out: the name with what binds to it, then what that leads to.
func cDeclare(t *Type, inner string, depth int) string {
	if t == nil {
		t = TVoid
	}
	if depth > maxNesting {
		return join("…", inner)
	}
	if alias := t.Alias(); alias != "" {
		return join(quals(t)+alias, inner)
	}
	switch t.Kind {
	case Pointer:
		if t.Name != "" && t.Elem == TVoid { // nullptr_t
			return join(t.Name, inner)
		}
		sign := "*"
		switch t.Source.ref() {
		case LValueRef:
			sign = "&"
		case RValueRef:
			sign = "&&"
		}
		if q := quals(t); q != "" {
			sign += strings.TrimSuffix(q, " ")
			if inner != "" {
				sign += " "
			}
		}
		inner = sign + inner
		if e := t.Elem; e != nil && e.Alias() == "" && (e.Kind == Array || e.Kind == Func) {
			inner = "(" + inner + ")"
		}
		return cDeclare(t.Elem, inner, depth+1)
	case Array:
		if t.Form() == VectorForm {
			return cDeclare(t.Elem, join("__vector("+strconv.Itoa(t.Len)+")", inner), depth+1)
		}
		dim := "[]"
		if t.Len >= 0 {
			dim = "[" + strconv.Itoa(t.Len) + "]"
		}
		return cDeclare(t.Elem, inner+dim, depth+1)
	case Func:
		var b strings.Builder
		b.WriteString(inner + "(")
		for i, p := range t.Source.params() {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(cDeclare(p, "", depth+1))
		}
		if t.Source != nil && t.Source.Vararg {
			if len(t.Source.Params) > 0 {
				b.WriteString(", ")
			}
			b.WriteString("...")
		}
		b.WriteString(")")
		return cDeclare(t.Elem, b.String(), depth+1)
	case Struct:
		if t.Form() == MethodPointerForm {
			return cDeclare(t.Elem, "("+t.Name+inner+")", depth+1)
		}
	}
	return join(quals(t)+nameOr(t), inner)
}

// join puts a name behind a type: "int" and "*p" become "int *p".
func join(base, inner string) string {
	switch {
	case inner == "":
		return base
	case inner[0] == '[' || inner[0] == '(' && !strings.HasPrefix(inner, "(*") && !strings.HasPrefix(inner, "(&"):
		if inner[0] == '(' {
			return base + " " + inner
		}
		return base + inner
	}
	return base + " " + inner
}

func quals(t *Type) string {
	q := t.Quals()
	var b strings.Builder
	for _, w := range []struct {
		q    Qualifiers
		word string
	}{{Const, "const "}, {Volatile, "volatile "}, {Restrict, "restrict "}, {Atomic, "_Atomic "}} {
		if q&w.q != 0 {
			b.WriteString(w.word)
		}
	}
	return b.String()
}

func nameOr(t *Type) string {
	if t.Name != "" {
		return t.Name
	}
	switch t.Kind {
	case Struct:
		if t.Source != nil && t.Source.Class {
			return "class {…}"
		}
		return "struct {…}"
	case Union:
		return "union {…}"
	case Enum:
		return "enum {…}"
	case Void:
		return "void"
	}
	return "?"
}

func (s *Source) ref() RefKind {
	if s == nil {
		return PlainPointer
	}
	return s.Ref
}

func (s *Source) params() []*Type {
	if s == nil {
		return nil
	}
	return s.Params
}

func plainName(t *Type, depth int) string {
	if depth > maxNesting {
		return "…"
	}
	if t.Name != "" {
		return t.Name
	}
	switch t.Kind {
	case Pointer:
		return "*" + plainName(t.Elem, depth+1)
	case Array:
		return "[" + strconv.Itoa(t.Len) + "]" + plainName(t.Elem, depth+1)
	}
	return nameOr(t)
}

func rustName(t *Type, depth int) string {
	if depth > maxNesting {
		return "…"
	}
	if t.Name != "" {
		return t.Name
	}
	switch t.Kind {
	case Pointer:
		return "*" + rustName(t.Elem, depth+1)
	case Array:
		return "[" + rustName(t.Elem, depth+1) + "; " + strconv.Itoa(t.Len) + "]"
	case Func:
		var b strings.Builder
		b.WriteString("fn(")
		for i, p := range t.Source.params() {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(rustName(p, depth+1))
		}
		b.WriteString(")")
		if t.Elem != nil && t.Elem.Kind != Void {
			b.WriteString(" -> " + rustName(t.Elem, depth+1))
		}
		return b.String()
	}
	return nameOr(t)
}
