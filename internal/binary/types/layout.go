package types

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"trocar/internal/order"
)

// LayoutLine is one line of a type's layout.
type LayoutLine struct {
	Text   string // as the language writes it, indented
	Offset int    // in the whole type; -1: the line is no member
	Bit    int    // of a bit-field: its lowest bit, from the byte at Offset
	Size   int    // in bytes; of a bit-field in bits
	Bits   bool   // it is a bit-field
	// Gap and GapBits are the bytes, and the bits below a byte, in front of it that no member uses.
	Gap, GapBits int
}

// Layout writes a type as its language does, with the place of each member. Types without a name are written where they
// are used; so are base classes with a name, as members.
func Layout(t *Type) []LayoutLine {
	t = t.Complete()
	l := layout{left: maxDefined, style: t.Lang().traits().style}
	switch {
	case t.Kind == Struct && t.Source != nil && t.Source.Variants != nil:
		l.variants(t)
	case t.Kind == Struct || t.Kind == Union:
		l.open(t, "", 0, 0)
		l.members(t, 0, 1)
		l.close(t, 0)
	case t.Kind == Enum:
		l.enum(t)
	default:
		l.line(0, "%s", Declare(t, ""))
	}
	return l.lines
}

type layout struct {
	lines []LayoutLine
	left  int
	style style
}

func (l *layout) add(n LayoutLine) bool {
	if l.left--; l.left < 0 {
		return false
	}
	l.lines = append(l.lines, n)
	return true
}

func (l *layout) line(depth int, format string, args ...any) bool {
	return l.add(LayoutLine{Text: strings.Repeat("    ", depth) + fmt.Sprintf(format, args...), Offset: -1})
}

// word is the word that begins the definition of a type.
func word(t *Type) string {
	switch {
	case t.Kind == Union:
		return "union"
	case t.Kind == Enum:
		return "enum"
	case t.Source != nil && t.Source.Class:
		return "class"
	}
	return "struct"
}

// open writes the head of a type; name is that of a member of it.
func (l *layout) open(t *Type, name string, depth, at int) bool {
	head := word(t)
	bare := strings.TrimPrefix(t.Name, head+" ")
	indent := strings.Repeat("    ", depth)
	text := ""
	switch {
	case l.style == nameFirst && depth == 0:
		text = strings.TrimSpace("type "+bare) + " " + head + " {"
	case l.style == nameFirst:
		text = strings.TrimSpace(name+" "+head) + " {"
	case bare == "" || depth > 0:
		text = head + " {"
	default:
		text = head + " " + bare + " {"
	}
	n := LayoutLine{Text: indent + text, Offset: -1}
	if depth == 0 {
		n.Offset, n.Size = 0, t.Size
	}
	return l.add(n)
}

func (l *layout) close(t *Type, depth int) {
	end := "};"
	if l.style == nameFirst || l.style == nameColon {
		end = "}"
	}
	l.line(depth, "%s", end)
}

// members writes the members of a type that lies at a place of the whole.
func (l *layout) members(t *Type, at, depth int) {
	used := 0 // bits of t up to the end of the members so far
	fields := t.Fields
	if l.style == nameColon { // rustc orders members as it likes, and lists them as the source does
		fields = slices.Clone(fields)
		order.By(fields, func(a, b Field) int { return a.Offset - b.Offset })
	}
	for _, f := range fields {
		from, size := 8*f.Offset, 8*f.Type.Size
		n := LayoutLine{Offset: at + f.Offset, Size: f.Type.Size}
		if f.BitSize > 0 {
			from, size = from+f.BitOffset, f.BitSize
			n.Offset, n.Bit, n.Bits, n.Size = at+from/8, from%8, true, f.BitSize
		}
		if t.Kind == Struct && !t.hasVBases() {
			n.gap(used, from)
		}
		used = max(used, from+size)
		indent := strings.Repeat("    ", depth)
		base, hole := unnamed(f.Type)
		text := l.declare(f)
		before, after, ok := strings.Cut(text, hole)
		if base == nil || !ok || l.style == nameFirst || l.style == nameColon || depth > maxNesting || base.Kind == Enum {
			n.Text = indent + text
			if !l.add(n) {
				return
			}
			continue
		}
		n.Text = indent + before + word(base) + " {"
		if !l.add(n) {
			return
		}
		inner := f.Type == base || f.Type.Complete() == base
		if inner {
			l.members(base, at+f.Offset, depth+1)
		} else {
			l.members(base, 0, depth+1) // an element's own offsets
		}
		l.line(depth, "}%s", after)
	}
	if t.Source != nil {
		for _, v := range t.Source.VBases {
			l.line(depth, "virtual %s; // where it lies only the object knows", Declare(v, ""))
		}
	}
	if t.Kind == Struct && used > 0 && !t.hasVBases() {
		if n := (LayoutLine{Offset: -1}); n.gap(used, 8*t.Size) {
			l.add(n)
		}
	}
}

// gap notes bits that no member has, and tells whether there are any.
func (n *LayoutLine) gap(from, to int) bool {
	if to <= from {
		return false
	}
	n.Gap, n.GapBits = (to-from)/8, (to-from)%8
	return true
}

func (t *Type) hasVBases() bool { return t.Source != nil && len(t.Source.VBases) > 0 }

// declare writes one member.
func (l *layout) declare(f Field) string {
	switch l.style {
	case nameFirst:
		// The type says the name, unless it is a named array or the like, of which only the elements are known.
		if text := Declare(f.Type, ""); f.Embedded && text[strings.LastIndexAny(text, ".*")+1:] == f.Name {
			return text
		}
		return Declare(f.Type, f.Name)
	case nameColon:
		return Declare(f.Type, f.Name) + ","
	}
	text := Declare(f.Type, f.Name)
	if f.BitSize > 0 {
		text += " : " + strconv.Itoa(f.BitSize)
	}
	text += ";"
	if f.Base {
		text = strings.TrimSuffix(text, ";") + "; // base class"
	}
	return text
}

func (l *layout) enum(t *Type) {
	l.add(LayoutLine{Text: strings.TrimSpace("enum "+strings.TrimPrefix(t.Name, "enum ")) + " {", Size: t.Size})
	for _, e := range t.Enums {
		value := strconv.FormatUint(uint64(e.Value), 10)
		if t.Signed {
			value = strconv.FormatInt(e.Value, 10)
		}
		if !l.line(1, "%s = %s,", e.Name, value) {
			return
		}
	}
	l.close(t, 0)
}

// variants writes an enum of Rust.
func (l *layout) variants(t *Type) {
	l.add(LayoutLine{Text: "enum " + t.Name + " {", Size: t.Size})
	v := t.Source.Variants
	if v.Discr.Type != nil {
		l.add(LayoutLine{
			Text: "    // discriminant: " + Declare(v.Discr.Type, ""), Offset: v.Discr.Offset,
			Size: v.Discr.Type.Size,
		})
	}
	for _, w := range v.List {
		var held []string
		for _, r := range w.Discrs {
			text := strconv.FormatUint(r.Low, 10)
			if r.High != r.Low {
				text += "..=" + strconv.FormatUint(r.High, 10)
			}
			held = append(held, text)
		}
		if w.Default {
			held = append(held, "any other")
		}
		members := w.Type.Complete()
		if members == nil || len(members.Fields) == 0 {
			l.line(1, "%s, // %s", w.Name, strings.Join(held, ", "))
			continue
		}
		if !l.line(1, "%s { // %s", w.Name, strings.Join(held, ", ")) {
			return
		}
		from := len(l.lines)
		l.members(members, w.Offset, 2)
		l.lines = slices.DeleteFunc(l.lines, func(n LayoutLine) bool { return n.Text == "" })
		for i := from; i < len(l.lines); i++ {
			l.lines[i].Gap, l.lines[i].GapBits = 0, 0 // other variants may use it
		}
		l.line(1, "},")
	}
	l.close(t, 0)
}
