package main

import (
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// C and C++.

// cInteger are the integers, by size and sign; compilers' own names say what __int128 is.
var cIntegers = []typ{
	{kind: integer, size: 1, signed: true, name: "signed char"},
	{kind: integer, size: 1, name: "unsigned char"},
	{kind: integer, size: 1, signed: true, name: "char"},
	{kind: integer, size: 2, signed: true, name: "short"},
	{kind: integer, size: 2, name: "unsigned short"},
	{kind: integer, size: 4, signed: true, name: "int"},
	{kind: integer, size: 4, signed: true, name: "int"},
	{kind: integer, size: 4, name: "unsigned"},
	{kind: integer, size: 8, signed: true, name: "long"},
	{kind: integer, size: 8, name: "unsigned long long"},
	{kind: integer, size: 16, signed: true, name: "__int128"},
	{kind: integer, size: 16, name: "unsigned __int128"},
}

// cString is the type of texts in C.
const cString = "const char *"

var cFloats = []typ{
	{kind: floating, size: 4, name: "float"},
	{kind: floating, size: 8, name: "double"},
	{kind: floating, size: 16, name: "long double"},
}

func cLanguage(cpp bool) *language {
	l := &language{name: "c", build: func(r *rng) build { return buildC(r, cpp) }}
	if cpp {
		l.name = "cpp"
	}
	l.simple = func(p *program) *typ { return cSimple(p.r, cpp) }
	l.declare = func(p *program) *typ { return cDeclare(p, cpp) }
	l.pass = func(p *program, prm *param) {
		prm.ref = cpp && prm.typ.kind != void && p.r.IntN(6) == 0
	}
	l.decorate = func(p *program, f *function) { cDecorate(p, f, cpp) }
	l.patterns = func(p *program) []string { return p.patterns("") }
	l.write = func(p *program, dir string) error {
		w := cWriter{writer{p: p}, cpp}
		return w.write(dir)
	}
	return l
}

func cSimple(r *rng, cpp bool) *typ {
	switch r.IntN(10) {
	case 0, 1, 2, 3, 4:
		t := cIntegers[r.IntN(len(cIntegers))]
		return &t
	case 5:
		t := cFloats[r.IntN(len(cFloats))]
		return &t
	case 6:
		if cpp {
			return &typ{kind: boolean, size: 1, name: "bool"}
		}
		return &typ{kind: boolean, size: 1, name: "_Bool"}
	case 7:
		if cpp && r.IntN(2) == 0 {
			return &typ{kind: text, name: "std::string"}
		}
		return &typ{kind: text, name: cString}
	case 8:
		if cpp {
			e := cSimple(r, false)
			for e.kind == boolean || e.kind == complexNumber {
				e = cSimple(r, false)
			}
			if r.IntN(2) == 0 {
				return &typ{kind: optional, elem: e, name: "std::optional<" + e.name + ">"}
			}
			return &typ{kind: list, elem: e, name: "std::vector<" + e.name + ">"}
		}
		if f := 4 << r.IntN(2); r.IntN(3) > 0 {
			return &typ{kind: complexNumber, size: 2 * f, name: map[int]string{4: "float _Complex", 8: "double _Complex"}[f]}
		}
	}
	t := cIntegers[r.IntN(len(cIntegers))]
	return &t
}

// cDeclare makes a structure or an enum.
func cDeclare(p *program, cpp bool) *typ {
	r := p.r
	n := len(p.types)
	if r.IntN(4) == 0 {
		t := &typ{kind: enumeration, size: 4, name: fmt.Sprintf("enum e%d", n)}
		at := int64(-r.IntN(5))
		for i := range 2 + r.IntN(4) {
			t.names, t.numbers = append(t.names, fmt.Sprintf("e%d_%d", n, i)), append(t.numbers, at)
			at += 1 + int64(r.IntN(3)*r.IntN(50))
		}
		t.signed = t.numbers[0] < 0
		return t
	}
	t := &typ{kind: structure, name: fmt.Sprintf("struct s%d", n)}
	for i := range 1 + r.IntN(5) {
		f := field{name: fmt.Sprintf("m%d", i), typ: cSimple(r, cpp)}
		switch {
		case f.typ.kind == integer && f.typ.size <= 4 && r.IntN(5) == 0:
			f.bits = 1 + r.IntN(8*f.typ.size)
		case n > 0 && r.IntN(6) == 0:
			f.typ = p.types[r.IntN(n)]
		case r.IntN(8) == 0 && f.typ.kind == integer && f.typ.name != "char": // which would be text
			f.typ = &typ{kind: array, elem: f.typ, n: 1 + r.IntN(4), name: f.typ.name}
		}
		t.fields = append(t.fields, f)
	}
	if r.IntN(12) == 0 {
		t.attr = " __attribute__((packed))"
	}
	return t
}

func cDecorate(p *program, f *function, cpp bool) {
	r := p.r
	f.unit = r.IntN(2)
	f.static = r.IntN(3) == 0
	if f.static {
		f.unit = 1 // where main is
	}
	switch r.IntN(6) {
	case 0:
		f.inlined = true
	case 1:
		f.attrs = "__attribute__((noinline, cold)) "
	case 2:
		f.attrs = "__attribute__((noinline, hot)) "
	default:
		f.attrs = "__attribute__((noinline)) "
	}
	if !cpp && r.IntN(10) == 0 {
		f.attrs += "__attribute__((ms_abi)) "
	}
	if cpp && r.IntN(3) == 0 {
		f.qualifier = "space::"
	}
	if cpp && f.wraps == nil && r.IntN(4) == 0 {
		f.method, f.qualifier, f.static = true, fmt.Sprintf("Class%d::", f.n), false
	}
}

// cWriter writes a program in C or C++.
type cWriter struct {
	writer
	cpp bool
}

func (w *cWriter) write(dir string) error {
	suffix := ".c"
	if w.cpp {
		suffix = ".cc"
	}
	w.header()
	if err := w.save(filepath.Join(dir, "types.h")); err != nil {
		return err
	}
	for unit := range 2 {
		w.f("#include \"types.h\"\n")
		for _, f := range w.p.funcs {
			if f.unit == unit {
				w.tables(f)
			}
		}
		for _, f := range w.p.funcs {
			if f.unit == unit {
				w.function(f)
			}
		}
		if unit == 1 {
			w.main()
		}
		if err := w.save(filepath.Join(dir, string(rune('a'+unit))+suffix)); err != nil {
			return err
		}
	}
	return nil
}

func (w *cWriter) save(path string) error {
	err := os.WriteFile(path, []byte(w.b.String()), 0o644)
	w.b.Reset()
	return err
}

func (w *cWriter) header() {
	if w.cpp {
		w.f("#include <string>\n#include <vector>\n#include <optional>\n")
	}
	w.f("extern volatile long sink;\n")
	w.f("#define ESCAPE(x) __asm__ volatile(\"\" :: \"r\"(x) : \"memory\")\n")
	w.f("void opaque(void);\n")
	for _, t := range w.p.types {
		if t.kind == enumeration {
			w.f("%s {", t.name)
			for i, name := range t.names {
				w.f(" %s = %d,", name, t.numbers[i])
			}
			w.f(" };\n")
			continue
		}
		w.f("%s {", t.name)
		for _, f := range t.fields {
			switch {
			case f.bits > 0:
				w.f(" %s %s : %d;", f.typ.name, f.name, f.bits)
			case f.typ.kind == array:
				w.f(" %s %s[%d];", f.typ.name, f.name, f.typ.n)
			default:
				w.f(" %s %s;", f.typ.name, f.name)
			}
		}
		w.f(" }%s;\n", t.attr)
	}
	for _, f := range w.p.funcs {
		space := f.qualifier == "space::"
		if space {
			w.f("namespace space { ")
		}
		if f.method {
			w.f("struct Class%d { int filler; %s%s; };\nextern Class%d object%d;", f.n, f.attrs, w.signature(f, f.name), f.n,
				f.n)
		} else if !f.static || f.unit == 1 {
			static := ""
			if f.static {
				static = "static "
			}
			w.f("%s%s%s;", static, f.attrs, w.signature(f, f.name))
		}
		if space {
			w.f(" }")
		}
		w.f("\n")
		w.f("extern int i%d;\n", f.n)
		if f.wraps != nil {
			continue
		}
		for i, prm := range f.params {
			w.f("extern %s t%d_%d[];\n", prm.typ.name, f.n, i)
		}
		if f.result != nil {
			w.f("extern %s r%d[];\n", f.result.name, f.n)
		}
	}
}

func (w *cWriter) signature(f *function, name string) string {
	var list []string
	for _, prm := range f.params {
		ref := ""
		if prm.ref {
			ref = "&"
		}
		list = append(list, prm.typ.name+" "+ref+prm.name)
	}
	if len(list) == 0 {
		list = []string{"void"}
	}
	result := "void"
	if f.result != nil {
		result = f.result.name
	}
	return fmt.Sprintf("%s %s(%s)", result, name, strings.Join(list, ", "))
}

// tables are the values that are passed and returned.
func (w *cWriter) tables(f *function) {
	w.f("int i%d;\n", f.n)
	if f.method {
		w.f("Class%d object%d;\n", f.n, f.n)
	}
	if f.wraps != nil {
		return
	}
	f.tables(func(name string, t *typ, at func(int) value) {
		w.f("%s %s[] = {", t.name, name)
		for i := range f.rows {
			w.f(" %s,", w.literal(t, at(i)))
		}
		if len(f.rows) == 0 {
			w.f(" {}")
		}
		w.f(" };\n")
	})
}

func (w *cWriter) function(f *function) {
	if f.qualifier == "space::" {
		w.f("namespace space {\n")
	}
	static, name := "", f.name
	if f.static {
		static = "static "
	}
	if f.method {
		name = f.qualifier + f.name
	}
	w.f("%s%s%s {\n", static, map[bool]string{true: "", false: f.attrs}[f.method], w.signature(f, name))
	if f.wraps != nil {
		w.f("\ti%d++;\n\t", f.n)
		if f.result != nil {
			w.f("return ")
		}
		w.f("%s%s(%s);\n", f.wraps.qualifier, f.wraps.name, f.names())
	} else {
		w.body(f)
	}
	w.f("}\n")
	if f.qualifier == "space::" {
		w.f("}\n")
	}
}

func (w *cWriter) body(f *function) {
	ret := fmt.Sprintf("i%d++; return", f.n)
	if f.result != nil {
		ret = fmt.Sprintf("return r%d[i%d++]", f.n, f.n)
	}
	w.writer.body(f, &statements{
		leaves: w.leaves,
		add:    func(prm *param, l leaf) { w.f("\tsink += (long)%s%s;\n", prm.name, l.path) },
		branch: func(prm *param, l leaf) { w.f("\tif (%s%s == 1) { %s; }\n", prm.name, l.path, ret) },
		escape: func(prm *param) { w.f("\tESCAPE(&%s);\n", prm.name) },
		change: func(prm *param, leaves []leaf) {
			if !prm.ref && prm.typ.kind != text && len(leaves) > 0 && leaves[0].typ.kind != enumeration {
				w.f("\t%s%s = 0;\n", prm.name, leaves[0].path)
			}
			w.f("\tESCAPE(&%s);\n", prm.name)
		},
		call:   func(g *function) { w.call(g, false) },
		opaque: "opaque();",
	})
	w.f("\t%s;\n", ret)
}

// leaves are the numbers of a parameter that code looks at.
func (w *cWriter) leaves(prm *param) []leaf {
	switch prm.typ.kind {
	case text:
		if prm.typ.name == cString {
			return []leaf{{"[0]", &cIntegers[0]}}
		}
	}
	return prm.typ.leaves()
}

// call writes a call with the arguments of the next row.
func (w *cWriter) call(g *function, literal bool) {
	t := g.valued()
	var args []string
	for i, prm := range g.params {
		if g.literals[i] && !prm.ref {
			args = append(args, w.literal(prm.typ, g.rows[0][i]))
		} else {
			args = append(args, fmt.Sprintf("t%d_%d[i%d]", t.n, i, g.n))
		}
	}
	call := fmt.Sprintf("%s%s(%s)", g.qualifier, g.name, strings.Join(args, ", "))
	if g.method {
		call = fmt.Sprintf("object%d.%s(%s)", g.n, g.name, strings.Join(args, ", "))
	}
	if g.result == nil || g.unused {
		w.f("\t%s;\n", call)
		return
	}
	if w.cpp {
		w.f("\t{ auto r = %s; ESCAPE(&r); }\n", call)
	} else {
		w.f("\t{ %s r = %s; ESCAPE(&r); }\n", g.result.name, call)
	}
}

func (w *cWriter) main() {
	w.f("volatile long sink;\n__attribute__((noinline)) void opaque(void) { __asm__ volatile(\"\" ::: \"memory\"); }\n")
	w.f("int main(void) {\n")
	for _, f := range w.p.funcs {
		w.f("\tESCAPE(&i%d);", f.n)
		if f.wraps == nil {
			for i := range f.params {
				w.f(" ESCAPE(t%d_%d);", f.n, i)
			}
			if f.result != nil {
				w.f(" ESCAPE(r%d);", f.n)
			}
		}
		w.f("\n")
	}
	w.calls("for (int k = 0; k < %d; k++)", w.call)
	w.f("\treturn 0;\n}\n")
}

// literal is a value as an initializer.
func (w *cWriter) literal(t *typ, v value) string {
	switch t.kind {
	case integer:
		return cInt(t, v.(*big.Int))
	case boolean:
		if v.(bool) {
			return "1"
		}
		return "0"
	case enumeration:
		return fmt.Sprintf("(%s)%d", t.name, v.(*big.Int))
	case floating:
		return cFloat(t.size, v.(float64))
	case complexNumber:
		c := v.(complex128)
		return fmt.Sprintf("__builtin_complex(%s, %s)", cFloat(t.size/2, real(c)), cFloat(t.size/2, imag(c)))
	case text:
		return quoted([]byte(v.(string)), `\%03o`)
	case structure, array, list:
		body := "{" + strings.Join(t.parts(v, w.literal), ", ") + "}"
		if t.kind != list {
			return body
		}
		return t.name + body
	case optional:
		if v == nil {
			return t.name + "()"
		}
		return t.name + "(" + w.literal(t.elem, v.(choice).v) + ")"
	}
	panic(fmt.Sprintf("C has no kind %d", t.kind))
}

func cInt(t *typ, n *big.Int) string {
	if t.size == 16 {
		u := new(big.Int).And(n, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 128), big.NewInt(1)))
		high := new(big.Int).Rsh(u, 64)
		low := new(big.Int).And(u, new(big.Int).SetUint64(math.MaxUint64))
		return fmt.Sprintf("(%s)((unsigned __int128)%#xULL << 64 | %#xULL)", t.name, high, low)
	}
	if n.Sign() < 0 {
		return fmt.Sprintf("(%s)(-%sLL - 1)", t.name, new(big.Int).Sub(new(big.Int).Neg(n), big.NewInt(1)))
	}
	return fmt.Sprintf("(%s)%sULL", t.name, n)
}

func cFloat(size int, f float64) string {
	s := strconv.FormatFloat(f, 'x', -1, 64)
	return s + map[int]string{4: "f", 8: "", 16: "L"}[size]
}
