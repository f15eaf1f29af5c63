package syntax

import (
	"slices"
	"strings"

	"trocar/internal/script/diag"
)

// cParser reads one declaration (ISO C11 6.7). In system headers it gives up in silence on what it doesn't understand.
type cParser struct {
	u      *cUnit
	toks   []ctoken
	pos    int
	depth  int
	quiet  bool
	failed bool
}

// cspecs are the specifiers at the begin of a declaration, and its attributes.
type cspecs struct {
	typ     CType
	typedef bool
	attrs   cattrs
	def     bool // the specifiers define a structure or enum
}

// cattrs are the attributes that change a layout.
type cattrs struct {
	packed bool
	align  int
	mode   string
	vector bool
}

func (p *cParser) peek() ctoken {
	if p.pos < len(p.toks) {
		return p.toks[p.pos]
	}
	return ctoken{}
}

func (p *cParser) got(punct string) bool {
	if p.peek().is(punct) {
		p.pos++
		return true
	}
	return false
}

func (p *cParser) want(punct string) {
	if !p.got(punct) {
		p.fail("expected '%s'", punct)
	}
}

// fail reports an error at the current token and ends the declaration.
func (p *cParser) fail(format string, args ...any) {
	if p.failed {
		return
	}
	p.failed = true
	t := p.peek()
	if t.kind == cEOF && len(p.toks) > 0 {
		t = p.toks[len(p.toks)-1]
	}
	p.pos = len(p.toks)
	if !p.quiet {
		p.u.pp.complain(t.from, t.span(), "syntax: "+format, args...)
	}
}

// failFrom reports an error about the tokens from start to here.
func (p *cParser) failFrom(start int, format string, args ...any) {
	if p.failed {
		return
	}
	end := p.pos
	p.pos = min(start, len(p.toks)-1)
	t := p.peek()
	p.failed, p.pos = true, len(p.toks)
	if !p.quiet {
		span := t.span()
		if end > start {
			span = span.To(p.toks[end-1].span())
		}
		p.u.pp.complain(t.from, span, "syntax: "+format, args...)
	}
}

// spanFrom is the place from a token to the one before the current.
func (p *cParser) spanFrom(start int) diag.Span {
	s := p.toks[min(start, len(p.toks)-1)].span()
	if p.pos > start {
		s = s.To(p.toks[min(p.pos, len(p.toks))-1].span())
	}
	return s
}

// external reads a declaration outside of functions: of its names only typedefs count.
func (p *cParser) external() {
	if p.peek().name("_Static_assert") || p.peek().name("extern") && p.pos+1 < len(p.toks) && p.toks[1].kind == cString {
		return
	}
	var d cspecs
	if !p.specs(&d) {
		p.fail("expected a C definition")
		return
	}
	for !p.failed && p.pos < len(p.toks) {
		start := p.pos
		f := p.declarator(d.typ)
		if d.typedef && f.Name == "" {
			p.fail("expected a name in typedef")
		}
		if p.failed {
			return
		}
		if d.typedef && !d.attrs.vector {
			p.u.typedef(&CTypedef{Span: p.spanFrom(start), Name: f.Name, Type: withMode(f.Type, d.attrs)})
		}
		if p.peek().is("=") || !p.got(",") {
			if d.typedef && p.pos < len(p.toks) {
				p.fail("expected ';'")
			}
			return // variables and functions are not ours
		}
	}
}

// withMode is a type with attribute mode (GCC's).
func withMode(t CType, a cattrs) CType {
	name := map[string]string{
		"QI": "char", "HI": "short", "SI": "int", "DI": "long", "word": "long",
		"pointer": "long",
	}[a.mode]
	if name != "" && len(t.Mods) == 0 {
		if strings.HasPrefix(t.Base, "unsigned") {
			name = "unsigned " + name
		}
		t.Base = name
	}
	return t
}

func (u *cUnit) typedef(t *CTypedef) {
	if u.typedefs[t.Name] != nil {
		return // C allows to say the same again
	}
	u.typedefs[t.Name] = t
	u.defs = append(u.defs, t)
}

// specs reads the specifiers of a declaration.
func (p *cParser) specs(d *cspecs) bool {
	var words []string // of an arithmetic type
	start := p.pos
	for {
		t := p.peek()
		if t.kind != cName {
			break
		}
		switch strings.Trim(t.text, "_") {
		case "typedef":
			d.typedef = true
			p.pos++
			continue
		case "extern", "static", "inline", "const", "volatile", "register", "Noreturn", "Thread_local", "thread", "restrict",
			"extension", "auto", "Atomic", "user", "kernel", "rcu", "percpu", "iomem", "force":
			if t.text != "user" && t.text != "kernel" && t.text != "rcu" && t.text != "percpu" && t.text != "iomem" &&
				t.text != "force" && t.text != "thread" && t.text != "extension" {
				p.pos++
				continue
			}
		case "Alignas":
			p.pos++
			p.alignArg(&d.attrs)
			continue
		case "attribute":
			p.attribute(&d.attrs)
			continue
		case "struct", "union":
			if d.typ.Base != "" || d.typ.Inline != nil || len(words) > 0 {
				return false
			}
			p.structSpec(d)
			continue
		case "enum":
			if d.typ.Base != "" || len(words) > 0 {
				return false
			}
			p.enumSpec(d)
			continue
		case "typeof":
			p.pos++
			p.skipGroup()
			d.typ.Base = "typeof"
			continue
		}
		if w := cTypeWord(t.text); w != "" {
			if d.typ.Base != "" || d.typ.Inline != nil {
				break
			}
			words = append(words, w)
			p.pos++
			continue
		}
		if len(words) > 0 || d.typ.Base != "" || d.typ.Inline != nil || d.typ.InlineEnum != nil {
			break
		}
		d.typ.Base = t.text // a typedef's name
		p.pos++
	}
	if len(words) > 0 {
		d.typ.Base = cArithmetic(words)
		if d.typ.Base == "" {
			p.pos = start
			p.fail("invalid combination of type specifiers '%s'", strings.Join(words, " "))
			return false
		}
	}
	return !p.failed && (d.typ.Base != "" || d.typ.Inline != nil || d.typ.InlineEnum != nil)
}

// cTypeWord tells the words that C's arithmetic types are made of; "" for others.
func cTypeWord(w string) string {
	switch w {
	case "void", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "__int128":
		return w
	case "_Bool":
		return "bool"
	case "__signed__", "__signed":
		return "signed"
	case "__int128_t":
		return "__int128"
	case "_Complex", "__complex__":
		return "_Complex"
	}
	return ""
}

// cArithmetic is the one spelling of an arithmetic type, whatever the order of its words.
func cArithmetic(words []string) string {
	count := map[string]int{}
	for _, w := range words {
		count[w]++
	}
	longs, unsigned := count["long"], count["unsigned"] > 0
	sign := count["signed"] + count["unsigned"]
	delete(count, "signed")
	delete(count, "unsigned")
	if sign > 1 {
		return ""
	}
	base := ""
	for _, w := range []string{"void", "bool", "float", "double", "char", "short", "__int128"} {
		if count[w] == 1 {
			base = w
			delete(count, w)
			break
		}
	}
	switch base {
	case "void", "bool", "float":
		if sign > 0 {
			return ""
		}
	case "double":
		if sign > 0 || longs > 1 {
			return ""
		}
		if longs == 1 {
			delete(count, "long")
			base = "long double"
		}
	case "char":
		if sign > 0 && !unsigned {
			base = "signed char"
		}
	case "short":
		delete(count, "int")
	case "":
		base = [...]string{"int", "long", "long long", ""}[min(longs, 3)]
		delete(count, "int")
		delete(count, "long")
	}
	if len(count) > 0 || base == "" {
		return ""
	}
	if unsigned {
		base = "unsigned " + base
	}
	return base
}

// skipGroup skips a group in parentheses if there is one.
func (p *cParser) skipGroup() []ctoken {
	if !p.peek().is("(") {
		return nil
	}
	start, depth := p.pos, 0
	for ; p.pos < len(p.toks); p.pos++ {
		switch {
		case p.peek().is("("):
			depth++
		case p.peek().is(")"):
			if depth--; depth == 0 {
				p.pos++
				return p.toks[start+1 : p.pos-1]
			}
		}
	}
	p.fail("expected ')'")
	return nil
}

// attribute reads `__attribute__((…))`.
func (p *cParser) attribute(a *cattrs) {
	p.pos++
	group := p.skipGroup()
	if len(group) < 2 || !group[0].is("(") {
		if !p.failed {
			p.fail("__attribute__ syntax error, expected '(('")
		}
		return
	}
	sub := &cParser{u: p.u, toks: group[1 : len(group)-1], quiet: p.quiet}
	for sub.pos < len(sub.toks) {
		name := sub.peek()
		sub.pos++
		if name.kind != cName {
			continue
		}
		switch strings.Trim(name.text, "_") {
		case "packed":
			a.packed = true
		case "aligned":
			if sub.peek().is("(") {
				sub.alignArg(a)
			} else {
				a.align = max(a.align, 16)
			}
		case "mode":
			if g := sub.skipGroup(); len(g) == 1 {
				a.mode = strings.Trim(g[0].text, "_")
			}
		case "vector_size":
			a.vector = true
		default:
			sub.skipGroup()
		}
	}
}

// alignArg reads the argument of aligned or _Alignas.
func (p *cParser) alignArg(a *cattrs) {
	at := p.pos
	v, ok := p.u.constant(p.skipGroup())
	if !ok || v < 1 || v > 1<<20 || v&(v-1) != 0 {
		p.failFrom(at, "the alignment is not a power of two")
		return
	}
	a.align = max(a.align, int(v))
}

// structSpec reads `struct name { members }` or a mention of it.
func (p *cParser) structSpec(d *cspecs) {
	start := p.pos
	word := p.peek().text
	p.pos++
	s := &CStruct{Union: word == "union"}
	var attrs cattrs
	for p.peek().kind == cName && strings.Trim(p.peek().text, "_") == "attribute" {
		p.attribute(&attrs)
	}
	if p.peek().kind == cName {
		s.Name = p.peek().text
		p.pos++
	}
	key := word + " " + s.Name
	if !p.peek().is("{") {
		if s.Name == "" {
			p.fail("expected identifier or '{'")
			return
		}
		d.typ.Base = key
		return
	}
	if p.depth++; p.depth > 60 {
		p.fail("structures are nested too deeply")
		return
	}
	p.pos++
	for !p.failed && !p.peek().is("}") {
		if p.pos >= len(p.toks) {
			p.fail("expected '}'")
			return
		}
		p.member(s)
	}
	p.depth--
	p.want("}")
	for p.peek().kind == cName && strings.Trim(p.peek().text, "_") == "attribute" {
		p.attribute(&attrs)
	}
	if p.failed {
		return
	}
	s.Packed, s.Align = attrs.packed, attrs.align
	s.Span = p.spanFrom(start)
	d.def = true
	if s.Name == "" {
		d.typ.Inline = s
		return
	}
	d.typ.Base = key
	if old := p.u.structs[key]; old != nil {
		if old.Span != s.Span && p.toks[start].from == ofScript && !p.quiet {
			p.u.diags.Errorf(s.Span, "redefinition of '%s'", key).Note(old.Span, "previous definition is here")
		}
		return
	}
	p.u.structs[key] = s
	p.u.defs = append(p.u.defs, s)
}

// member reads one line of a structure: specifiers and any number of names.
func (p *cParser) member(s *CStruct) {
	if p.got(";") {
		return
	}
	if p.peek().name("_Static_assert") || p.peek().name("static_assert") {
		p.pos++
		p.skipGroup()
		return
	}
	var d cspecs
	start := p.pos
	if !p.specs(&d) {
		p.fail("expected a type")
		return
	}
	if p.peek().is(";") || p.peek().is("}") {
		// An unnamed structure's members count as members of this one (C11 6.7.2.1, 13).
		if d.typ.Inline != nil {
			p.addField(s, CField{Span: p.spanFrom(start), Type: d.typ, Bits: -1, Align: d.attrs.align})
		}
		p.got(";")
		return
	}
	for !p.failed {
		at := p.pos
		f := CField{Bits: -1}
		attrs := d.attrs
		if !p.peek().is(":") {
			n := p.declarator(d.typ)
			if n.Name == "" {
				p.fail("expected the name of a member")
				return
			}
			f.Name, f.Type = n.Name, n.Type
		} else {
			f.Type = d.typ
		}
		if p.got(":") {
			at := p.pos
			v, ok := p.u.constant(p.until(",", ";", "}"))
			if !ok || v < 0 || v > 64 {
				p.failFrom(at, "invalid width of a bit-field")
				return
			}
			f.Bits = int(v)
		}
		for p.peek().kind == cName && strings.Trim(p.peek().text, "_") == "attribute" {
			p.attribute(&attrs)
		}
		if p.failed {
			return
		}
		f.Align, f.Packed = attrs.align, attrs.packed
		f.Type = withMode(f.Type, attrs)
		f.Span = p.spanFrom(at)
		p.addField(s, f)
		if !p.got(",") {
			break
		}
	}
	if !p.peek().is("}") {
		p.want(";")
	}
}

func (p *cParser) addField(s *CStruct, f CField) {
	if p.u.fields++; p.u.fields > maxCFields {
		p.fail("too many members in all structures (more than %d)", maxCFields)
		return
	}
	s.Fields = append(s.Fields, f)
}

// until takes tokens up to one of the given ones, outside of brackets.
func (p *cParser) until(ends ...string) []ctoken {
	start, depth := p.pos, 0
	for ; p.pos < len(p.toks); p.pos++ {
		t := p.peek()
		if t.kind != cPunct {
			continue
		}
		if depth == 0 && slices.Contains(ends, t.text) {
			break
		}
		switch t.text {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			depth--
		}
	}
	return p.toks[start:p.pos]
}

// enumSpec reads `enum name { … }` or a mention of it.
func (p *cParser) enumSpec(d *cspecs) {
	start := p.pos
	p.pos++
	e := &CEnum{}
	var attrs cattrs
	for p.peek().kind == cName && strings.Trim(p.peek().text, "_") == "attribute" {
		p.attribute(&attrs)
	}
	if p.peek().kind == cName {
		e.Name = p.peek().text
		p.pos++
	}
	if p.got(":") { // C23 and C++: the type of its values
		p.specs(&cspecs{})
	}
	if !p.got("{") {
		if e.Name == "" {
			p.fail("expected identifier or '{'")
			return
		}
		d.typ.Base = "enum " + e.Name
		return
	}
	next := int64(0)
	for !p.failed && !p.peek().is("}") {
		name := p.peek()
		if name.kind != cName {
			p.fail("expected the name of an enumerator")
			return
		}
		p.pos++
		for p.peek().kind == cName && strings.Trim(p.peek().text, "_") == "attribute" {
			p.attribute(&attrs)
		}
		if p.got("=") {
			at := p.pos
			v, ok := p.u.constant(p.until(",", "}"))
			if !ok {
				p.failFrom(at, "the value of %s is not an integer constant", name.text)
				return
			}
			next = v
		}
		if p.u.fields++; p.u.fields > maxCFields {
			p.fail("too many enumerators (more than %d)", maxCFields)
			return
		}
		e.Names, e.Values = append(e.Names, name.text), append(e.Values, next)
		if !p.quiet {
			p.u.constants[name.text] = next
		}
		next++
		if !p.got(",") {
			break
		}
	}
	p.want("}")
	for p.peek().kind == cName && strings.Trim(p.peek().text, "_") == "attribute" {
		p.attribute(&attrs)
	}
	if p.failed {
		return
	}
	e.Span = p.spanFrom(start)
	d.def = true
	d.typ.Base = "enum " + e.Name
	if e.Name == "" {
		d.typ.Base, d.typ.InlineEnum = "", e
	}
	if !p.quiet {
		p.u.defs = append(p.u.defs, e)
	}
}
