package syntax

import (
	"math"

	"trocar/internal/script/diag"
)

// Limits of C definitions.
const (
	maxCDecl   = 1 << 18 // tokens of one declaration
	maxCFields = 1 << 16 // members of all structures of a script
)

// cUnit reads the C definitions of a script and its headers, in one go as if they were one file.
type cUnit struct {
	pp     *cpp
	diags  *diag.List
	defs   []CDef
	fields int

	structs   map[string]*CStruct // by "struct x" or "union x"
	typedefs  map[string]*CTypedef
	constants map[string]int64 // enumerators
}

func newCUnit(opts IncludeOptions, diags *diag.List) *cUnit {
	u := &cUnit{
		pp: newCPP(opts, diags), diags: diags, structs: map[string]*CStruct{}, typedefs: map[string]*CTypedef{},
		constants: map[string]int64{},
	}
	for _, name := range opts.Files {
		src, err := u.pp.headers.read(name)
		if src == nil && err == nil {
			src, _, _, err = u.pp.headers.find(name, true, ".", 0)
		}
		switch {
		case err != nil:
			diags.Errorf(diag.Span{}, "cannot read '%s': %s", name, err)
		case src == nil:
			diags.Errorf(diag.Span{}, "'%s' file not found", name)
		default:
			u.read(&creader{src: src, from: ofHeader, dir: dirOf(name)})
		}
	}
	return u
}

// read takes in the definitions of a text.
func (u *cUnit) read(r *creader) {
	u.pp.push(r)
	for {
		decl, ok := u.declaration()
		if len(decl) > 0 {
			p := &cParser{u: u, toks: decl}
			p.external()
		}
		if !ok {
			break
		}
	}
	if *u.pp.left < 0 {
		u.diags.Errorf(diag.Span{Source: r.src}, "the C definitions and headers are too large (more than %d tokens)",
			maxCTokens)
		u.pp.readers, u.pp.pending = nil, nil
	}
}

// declaration collects the tokens of the next declaration, without its ';'. The body of a function is left out and ends
// the declaration. It is false at the end of the text.
func (u *cUnit) declaration() ([]ctoken, bool) {
	var list []ctoken
	var last ctoken // what stands before a '{' and decides what that is
	depth, skipped := 0, false
	for {
		t := u.pp.next()
		switch {
		case t.kind == cEOF:
			return list, false
		case t.is(";") && depth == 0:
			return list, true
		case t.text == "__attribute__" || t.text == "__attribute" || t.text == "__asm__" || t.text == "asm" ||
			t.text == "__declspec":
			group := u.parenGroup()
			if t.text[:3] == "__a" && t.text[2:6] == "attr" {
				list = append(append(list, t), group...)
			}
			continue
		case t.is("{") && depth == 0 && last.is(")"):
			u.skipBraces()
			return nil, true
		case t.is("(") || t.is("[") || t.is("{"):
			depth++
		case t.is(")") || t.is("]") || t.is("}"):
			depth--
			if depth < 0 { // a stray brace, as of extern "C"
				depth = 0
				continue
			}
		}
		last = t
		if len(list) < maxCDecl {
			list = append(list, t)
		} else if !skipped {
			skipped = true
			u.pp.complain(t.from, t.span(), "the declaration has more than %d tokens", maxCDecl)
		}
	}
}

// parenGroup reads a group in parentheses if there is one.
func (u *cUnit) parenGroup() []ctoken {
	var list []ctoken
	depth := 0
	for {
		t := u.pp.next()
		switch {
		case t.kind == cEOF:
			return list
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		}
		if depth == 0 && len(list) == 0 || depth < 0 { // no group
			u.pp.pending = append(u.pp.pending, t)
			return list
		}
		list = append(list, t)
		if depth == 0 || len(list) > maxCDecl {
			return list
		}
	}
}

// skipBraces skips to the '}' that closes a '{' that was read.
func (u *cUnit) skipBraces() {
	for depth := 1; depth > 0; {
		t := u.pp.raw()
		switch {
		case t.kind == cEOF:
			return
		case t.is("{"):
			depth++
		case t.is("}"):
			depth--
		}
	}
}

// finish adds the object-like macros to the definitions.
func (u *cUnit) finish() []CDef {
	for _, m := range u.pp.order {
		if m.undone || m.fn || len(m.body) == 0 {
			continue
		}
		d := &CDefine{Span: m.at, Name: m.name, Body: tokensText(m.body)}
		for i, t := range m.body {
			if fn := u.pp.macros[t.text]; fn != nil && fn.fn && i+1 < len(m.body) && m.body[i+1].is("(") {
				d.calls = true
			}
		}
		d.value = func() (int64, bool) { return u.constant(u.pp.expandList(m.body)) }
		u.defs = append(u.defs, d)
	}
	return u.defs
}

// constant evaluates tokens of a constant expression whose macros are replaced.
func (u *cUnit) constant(toks []ctoken) (int64, bool) {
	e := &ceval{toks: toks, typ: u.typeAt, name: func(n string) (int64, bool) { v, ok := u.constants[n]; return v, ok }}
	v, ok := e.value()
	return int64(v.bits), ok
}

// typeAt reads a type name (as in sizeof and casts) at the begin of tokens.
func (u *cUnit) typeAt(toks []ctoken) (ctypeInfo, int) {
	p := &cParser{u: u, toks: toks, quiet: true}
	var d cspecs
	if !p.specs(&d) {
		return ctypeInfo{}, 0
	}
	if d.typ.Inline == nil && !u.known(d.typ.Base) {
		return ctypeInfo{}, 0
	}
	f := p.declarator(d.typ)
	if p.failed || f.Name != "" {
		return ctypeInfo{}, 0
	}
	size, _ := u.sizeOf(f.Type, 0)
	info := ctypeInfo{size: size, integer: len(f.Type.Mods) == 0}
	base, _ := u.resolve(f.Type, 0)
	switch base.Base {
	case "unsigned char", "unsigned short", "unsigned int", "unsigned long", "unsigned long long", "bool":
		info.unsigned = true
	case "char", "signed char", "short", "int", "long", "long long":
	default:
		info.integer = false
	}
	return info, p.pos
}

// known tells whether a name is a type.
func (u *cUnit) known(base string) bool {
	if _, ok := u.typedefs[base]; ok {
		return true
	}
	return cBaseSize(base) > 0 || base == "void" || u.structs[base] != nil || len(base) > 5 && base[:5] == "enum "
}

// resolve follows typedefs to a type that is none.
func (u *cUnit) resolve(t CType, depth int) (CType, bool) {
	for ; len(t.Mods) == 0 && !t.Func; depth++ {
		td := u.typedefs[t.Base]
		if td == nil || depth > maxDepth {
			break
		}
		t = td.Type
	}
	return t, depth <= maxDepth
}

// cBaseSize is the size of one of C's own types on a 64-bit machine (System V ABI, 3.1.2); 0: it is none.
func cBaseSize(base string) int {
	switch base {
	case "char", "signed char", "unsigned char", "bool":
		return 1
	case "short", "unsigned short":
		return 2
	case "int", "unsigned int", "float":
		return 4
	case "long", "unsigned long", "long long", "unsigned long long", "double":
		return 8
	case "long double", "__int128", "unsigned __int128":
		return 16
	}
	return 0
}

// sizeOf gives size and alignment of a type; 0: unknown.
func (u *cUnit) sizeOf(t CType, depth int) (size, align int) {
	if depth > maxDepth {
		return 0, 0
	}
	if t.Func && len(t.Mods) == 0 {
		return 0, 0
	}
	n, pointer := 1, false
	mods := t.Mods
	for len(mods) > 0 && !pointer {
		m := mods[len(mods)-1]
		if pointer = m.Pointer; !pointer {
			n *= m.Len
		}
		if n < 0 || n > math.MaxInt32 {
			return 0, 0
		}
		mods = mods[:len(mods)-1]
	}
	if pointer {
		return 8 * n, 8
	}
	switch {
	case t.Inline != nil:
		size, align = u.structSize(t.Inline, depth)
	case t.InlineEnum != nil || len(t.Base) > 5 && t.Base[:5] == "enum ":
		size, align = 4, 4
	case u.structs[t.Base] != nil:
		size, align = u.structSize(u.structs[t.Base], depth)
	case u.typedefs[t.Base] != nil:
		size, align = u.sizeOf(u.typedefs[t.Base].Type, depth+1)
	default:
		size = cBaseSize(t.Base)
		align = size
	}
	if size > math.MaxInt32/max(n, 1) {
		return 0, 0
	}
	return size * n, align
}

// structSize lays a structure out; 0: a member's type is unknown. Constant expressions hardly ever need it.
func (u *cUnit) structSize(s *CStruct, depth int) (size, align int) {
	align = 1
	bits := 0
	for i := range s.Fields {
		f := &s.Fields[i]
		fs, fa := u.sizeOf(f.Type, depth+1)
		if fa == 0 {
			return 0, 0
		}
		if s.Packed {
			fa = 1
		}
		fa = max(fa, f.Align)
		if s.Union {
			bits = 0
		}
		switch {
		case f.Bits < 0:
			bits = (bits + 8*fa - 1) / (8 * fa) * (8 * fa)
			bits += 8 * fs
		case f.Bits == 0:
			bits = (bits + 8*fs - 1) / (8 * fs) * (8 * fs)
		default:
			if unit := 8 * max(fs, 1); bits/unit != (bits+f.Bits-1)/unit && !s.Packed {
				bits = (bits + unit - 1) / unit * unit
			}
			bits += f.Bits
		}
		align = max(align, fa)
		size = max(size, (bits+7)/8)
		if bits > 8*math.MaxInt32 {
			return 0, 0
		}
	}
	align = max(align, s.Align)
	return (size + align - 1) / align * align, align
}
