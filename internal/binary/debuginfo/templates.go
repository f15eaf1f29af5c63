package debuginfo

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"trocar/internal/binary/types"
)

// maxArguments bounds the length of template arguments, and maxArgumentDepth how deep they nest.
const (
	maxArguments     = 1 << 12
	maxArgumentDepth = 8
)

// arguments are the template arguments "<int, char>" of a class of C++ whose name lacks them, as clang writes it with
// -gsimple-template-names (LLVM 14); "" for others. Their own names have the namespaces around them if full: that needs
// in.mu.
func (d *die) arguments(full bool) string { return d.argumentsIn(full, 0) }

func (d *die) argumentsIn(full bool, depth int) string {
	if !d.children || !isType(d.tag) || d.u.load().lang != types.CPlusPlus || depth > maxArgumentDepth {
		return ""
	}
	w := walker{u: d.u, t: d.table, pos: d.next}
	if ab := w.next(); ab == nil || !isArgument(ab.tag) { // before its name is looked at: this is asked for each type
		return ""
	}
	if v, o, ok := d.inherited(atName); !ok || bytes.IndexByte(o.u.strBytes(v), '<') >= 0 {
		return ""
	}
	var list []string
	length := 0
	var add func(a *die) bool
	add = func(a *die) bool {
		switch a.tag {
		case tagTemplateTypeParameter:
			list = append(list, a.typeText(full, depth+1))
		case tagTemplateValueParameter:
			list = append(list, a.constant(full, depth+1))
		case tagGNUTemplateTemplateParam:
			if v, ok := a.get(atGNUTemplateName); ok {
				list = append(list, a.u.str(v))
			}
		case tagGNUTemplatePack:
			a.eachChild(add)
			return length < maxArguments
		default:
			return false
		}
		if n := len(list); n > 0 {
			length += len(list[n-1]) + 2
		}
		return length < maxArguments
	}
	d.eachChild(add)
	return "<" + strings.Join(list, ", ") + ">"
}

func isArgument(tag uint16) bool {
	switch tag {
	case tagTemplateTypeParameter, tagTemplateValueParameter, tagGNUTemplateTemplateParam, tagGNUTemplatePack:
		return true
	}
	return false
}

// typeText writes the type in DW_AT_type as C++ does.
func (d *die) typeText(full bool, depth int) string {
	if _, ok := d.get(atType); !ok {
		return "void"
	}
	t, ok := d.refOf(atType)
	if !ok || depth > maxArgumentDepth {
		return "?"
	}
	inner := func() string { return t.typeText(full, depth+1) }
	behind := func(mark string) string {
		s := inner()
		if strings.HasSuffix(s, "*") || strings.HasSuffix(s, "&") {
			return s + mark
		}
		return s + " " + mark
	}
	switch t.tag {
	case tagTypedef: // arguments are told without them
		return inner()
	case tagPointerType:
		return behind("*")
	case tagReferenceType:
		return behind("&")
	case tagRvalueReferenceType:
		return behind("&&")
	case tagConstType, tagVolatileType:
		word := map[uint16]string{tagConstType: "const", tagVolatileType: "volatile"}[t.tag]
		if s := inner(); !strings.HasSuffix(s, "*") {
			return word + " " + s
		}
		return behind(word)
	case tagArrayType:
		s := inner()
		t.eachChild(func(r *die) bool {
			n, _ := r.num(atCount)
			s += "[" + strconv.FormatUint(n, 10) + "]"
			return true
		})
		return s
	case tagSubroutineType:
		var params []string
		t.eachChild(func(p *die) bool {
			if p.tag == tagFormalParameter {
				params = append(params, p.typeText(full, depth+1))
			}
			return len(params) < maxDimensions
		})
		return inner() + " (" + strings.Join(params, ", ") + ")"
	}
	name := t.fullName() + t.argumentsIn(full, depth)
	if full {
		at := t.declared()
		return at.u.prefix(at.off) + name
	}
	return name
}

// constant writes the value of a template's parameter as clang does in the names of instances.
func (d *die) constant(full bool, depth int) string {
	v, ok := d.get(atConstValue)
	if !ok || v.isBlock() {
		return "?"
	}
	of := d.typeText(full, depth)
	switch suffix, known := map[string]string{
		"int": "", "long": "L", "long long": "LL", "short": "", "signed char": "",
	}[of]; {
	case known:
		return strconv.FormatInt(v.signed(), 10) + suffix
	case of == "bool":
		return strconv.FormatBool(v.u != 0)
	case of == "char" && v.u >= ' ' && v.u < 0x7f:
		return strconv.QuoteRune(rune(v.u))
	}
	suffix := map[string]string{"unsigned int": "U", "unsigned long": "UL", "unsigned long long": "ULL"}[of]
	return strconv.FormatUint(v.u, 10) + suffix
}

// sameLayout tells whether two definitions of a name have the same members at the same places. In C, and in namespaces
// without a name, units may use one name for different types.
func sameLayout(a, b *die) bool {
	if a.key() == b.key() {
		return true
	}
	x, y := a.layout(0), b.layout(0)
	return a.size() == b.size() && slices.Equal(x, y)
}

// sameType is sameLayout of definitions and of typedefs.
func sameType(a, b *die) bool {
	if a.tag != tagTypedef || b.tag != tagTypedef {
		return sameLayout(a, b)
	}
	if a.typeText(true, 0) != b.typeText(true, 0) {
		return false
	}
	x, ok := a.refOf(atType)
	y, ok2 := b.refOf(atType)
	return !ok || !ok2 || x.fullName() != "" || !isType(x.tag) || sameLayout(x, y)
}

// layout writes a line for each member, those of members without a type's name as well.
func (d *die) layout(depth int) (members []string) {
	d.eachChild(func(m *die) bool {
		switch m.tag {
		case tagMember, tagInheritance, tagVariantPart, tagEnumerator:
			s := m.name()
			for _, attr := range []uint16{atDataMemberLoc, atBitSize, atDataBitOffset, atBitOffset, atConstValue} {
				n, _ := m.num(attr)
				s += " " + strconv.FormatUint(n, 10)
			}
			members = append(members, s+" "+m.typeText(true, 0))
			if t, ok := m.refOf(atType); ok && isType(t.tag) && t.fullName() == "" && depth < maxArgumentDepth {
				members = append(members, t.layout(depth+1)...)
			}
		}
		return len(members) < maxMembers
	})
	return members
}
