package main

import (
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

func rustLanguage() *language {
	return &language{
		name:     "rust",
		simple:   func(p *program) *typ { return rustSimple(p.r, 0) },
		declare:  rustDeclare,
		pass:     func(p *program, prm *param) { prm.ref = p.r.IntN(5) == 0 },
		decorate: rustDecorate,
		build:    buildRust,
		patterns: func(p *program) []string { return p.patterns("program::") },
		write: func(p *program, dir string) error {
			w := rustWriter{writer{p: p}}
			w.write()
			return os.WriteFile(filepath.Join(dir, "program.rs"), []byte(w.b.String()), 0o644)
		},
	}
}

func buildRust(r *rng) build {
	c := []string{"rustc", "--edition", "2021", "-Awarnings", "-g", "-C", "opt-level=" +
		one(r, "0", "1", "2", "2", "3", "s")}
	c = append(c, some(r, 5,
		"-C target-cpu=native", "-C codegen-units=1", "-C lto=fat", "-C panic=abort", "-C force-frame-pointers=yes",
		"-C symbol-mangling-version=v0", "-C overflow-checks=yes", "-C relocation-model=static",
		"-C link-arg=-fuse-ld=lld -C link-arg=-Wl,--icf=all", "-C target-cpu=znver3")...)
	return build{commands: [][]string{append(c, "-o", "program", "program.rs")}}
}

var rustNumbers = []typ{
	{kind: integer, size: 1, signed: true, name: "i8"},
	{kind: integer, size: 1, name: "u8"},
	{kind: integer, size: 2, signed: true, name: "i16"},
	{kind: integer, size: 2, name: "u16"},
	{kind: integer, size: 4, signed: true, name: "i32"},
	{kind: integer, size: 4, name: "u32"},
	{kind: integer, size: 8, signed: true, name: "i64"},
	{kind: integer, size: 8, name: "u64"},
	{kind: integer, size: 8, name: "usize"},
	{kind: integer, size: 16, signed: true, name: "i128"},
	{kind: integer, size: 16, name: "u128"},
	{kind: floating, size: 4, name: "f32"},
	{kind: floating, size: 8, name: "f64"},
	{kind: boolean, size: 1, name: "bool"},
	{kind: character, size: 4, name: "char"},
}

func rustNumber(r *rng) *typ {
	t := rustNumbers[r.IntN(len(rustNumbers))]
	return &t
}

func rustSimple(r *rng, depth int) *typ {
	if depth > 1 {
		return rustNumber(r)
	}
	switch r.IntN(16) {
	case 0:
		return &typ{kind: text, name: "&'static str", unowned: true}
	case 1:
		return &typ{kind: text, name: "String"}
	case 2:
		t := &typ{kind: tuple}
		var names []string
		for i := range 2 + r.IntN(2) {
			f := field{name: strconv.Itoa(i), typ: rustSimple(r, depth+1)}
			t.fields, names = append(t.fields, f), append(names, f.typ.name)
		}
		t.name = "(" + strings.Join(names, ", ") + ")"
		return t
	case 3:
		t := &typ{kind: array, elem: rustNumber(r), n: 1 + r.IntN(4)}
		t.name = fmt.Sprintf("[%s; %d]", t.elem.name, t.n)
		return t
	case 4, 5:
		t := &typ{kind: optional, elem: rustSimple(r, depth+1)}
		t.name = "Option<" + t.elem.name + ">"
		return t
	case 6:
		t := &typ{kind: result, elem: rustSimple(r, depth+1), other: rustSimple(r, depth+1)}
		t.name = "Result<" + t.elem.name + ", " + t.other.name + ">"
		return t
	case 7:
		t := &typ{kind: list, elem: rustSimple(r, depth+1)}
		t.name = "Vec<" + t.elem.name + ">"
		return t
	case 8:
		t := &typ{kind: list, elem: rustNumber(r), unowned: true}
		t.name = "&'static [" + t.elem.name + "]"
		return t
	}
	return rustNumber(r)
}

// rustDeclare makes a structure or an enum.
func rustDeclare(p *program) *typ {
	r, n := p.r, len(p.types)
	member := func() *typ {
		if n > 0 && r.IntN(5) == 0 {
			return p.types[r.IntN(n)]
		}
		return rustSimple(r, 1)
	}
	switch r.IntN(4) {
	case 0:
		t := &typ{kind: enumeration, name: fmt.Sprintf("E%d", n), size: 1}
		at := int64(r.IntN(3))
		for i := range 2 + r.IntN(4) {
			t.names, t.numbers = append(t.names, fmt.Sprintf("V%d", i)), append(t.numbers, at)
			at += 1 + int64(r.IntN(3)*r.IntN(20))
		}
		return t
	case 1:
		t := &typ{kind: tagged, name: fmt.Sprintf("D%d", n)}
		for i := range 2 + r.IntN(3) {
			v := variant{name: fmt.Sprintf("V%d", i)}
			switch r.IntN(4) {
			case 0:
			case 1, 2:
				v.typ = member()
			case 3:
				v.typ = &typ{kind: structure}
				for k := range 1 + r.IntN(3) {
					v.typ.fields = append(v.typ.fields, field{name: fmt.Sprintf("m%d", k), typ: member()})
				}
			}
			t.cases = append(t.cases, v)
		}
		if t.cases[0].typ == nil {
			t.cases[0].typ = rustNumber(r) // without any it is an enum of the other kind
		}
		return t
	}
	t := &typ{kind: structure, name: fmt.Sprintf("S%d", n)}
	for i := range 1 + r.IntN(4) {
		t.fields = append(t.fields, field{name: fmt.Sprintf("m%d", i), typ: member()})
	}
	return t
}

func rustDecorate(p *program, f *function) {
	r := p.r
	switch r.IntN(8) {
	case 0:
		f.inlined = true
	case 1:
		f.attrs = "#[inline(never)] extern \"C\" "
	case 2:
		f.attrs = "#[inline(never)] #[cold] "
	case 3:
		f.attrs = "#[inline(never)] pub "
	default:
		f.attrs = "#[inline(never)] "
	}
	if f.wraps == nil && r.IntN(4) == 0 {
		f.method, f.qualifier = true, fmt.Sprintf("C%d::", f.n)
		f.attrs = strings.Replace(f.attrs, "extern \"C\" ", "", 1)
	}
}

// rustWriter writes a program in Rust.
type rustWriter struct{ writer }

func (w *rustWriter) write() {
	w.f("#![allow(static_mut_refs, improper_ctypes_definitions)]\nuse std::hint::black_box;\n")
	w.f("static mut SINK: u64 = 0;\n#[inline(never)] fn opaque() { black_box(unsafe { &mut SINK }); }\n")
	for _, t := range w.p.types {
		w.declare(t)
	}
	for _, f := range w.p.funcs {
		w.tables(f)
		w.function(f)
	}
	w.f("fn main() {\n")
	w.calls("for _ in 0..black_box(%d)", func(f *function, _ bool) { w.call(f) })
	w.f("\tblack_box(unsafe { SINK });\n}\n")
}

func (w *rustWriter) declare(t *typ) {
	fields := func(list []field) {
		w.f("{ ")
		for _, f := range list {
			w.f("%s: %s, ", f.name, f.typ.name)
		}
		w.f("}")
	}
	switch t.kind {
	case enumeration:
		w.f("#[derive(Clone, Copy, PartialEq)] enum %s { ", t.name)
		for i, name := range t.names {
			w.f("%s = %d, ", name, t.numbers[i])
		}
		w.f("}\n")
	case tagged:
		w.f("#[derive(Clone)] enum %s { ", t.name)
		for _, c := range t.cases {
			w.f("%s", c.name)
			switch {
			case c.typ == nil:
			case c.typ.name == "":
				fields(c.typ.fields)
			default:
				w.f("(%s)", c.typ.name)
			}
			w.f(", ")
		}
		w.f("}\n")
	default:
		w.f("#[derive(Clone)] struct %s ", t.name)
		fields(t.fields)
		w.f("\n")
	}
}

// constant tells whether values of the type can be written into a static.
func (t *typ) constant() bool {
	if t.name == "String" || t.kind == list && !t.unowned || t.elem != nil && !t.elem.constant() || t.other != nil &&
		!t.other.constant() {
		return false
	}
	for _, f := range t.fields {
		if !f.typ.constant() {
			return false
		}
	}
	for _, c := range t.cases {
		if c.typ != nil && !c.typ.constant() {
			return false
		}
	}
	return true
}

func (w *rustWriter) tables(f *function) {
	w.f("static mut I%d: usize = 0;\n", f.n)
	if f.method {
		w.f("#[derive(Clone)] struct C%d { filler: u32 }\n", f.n)
	}
	if f.wraps != nil {
		return
	}
	f.tables(func(name string, t *typ, at func(int) value) {
		if len(f.rows) == 0 {
			return
		}
		if t.constant() {
			w.f("static %s: [%s; %d] = [", strings.ToUpper(name), t.name, len(f.rows))
			for i := range f.rows {
				w.f("%s, ", w.literal(t, at(i)))
			}
			w.f("];\nfn %s(i: usize) -> %s { black_box(&%s)[i].clone() }\n", name, t.name, strings.ToUpper(name))
			return
		}
		w.f("#[inline(never)] fn %s(i: usize) -> %s { match i { ", name, t.name)
		for i := range f.rows[1:] {
			w.f("%d => %s, ", i+1, w.literal(t, at(i+1)))
		}
		w.f("_ => %s } }\n", w.literal(t, at(0)))
	})
}

func (w *rustWriter) function(f *function) {
	var list []string
	if f.method {
		w.f("impl C%d { ", f.n)
		list = append(list, "&self")
	}
	for _, prm := range f.params {
		ref := ""
		if prm.ref {
			ref = "&"
		}
		list = append(list, prm.name+": "+ref+prm.typ.name)
	}
	ret := ""
	if f.result != nil {
		ret = " -> " + f.result.name
	}
	w.f("%sfn %s(%s)%s {\n", f.attrs, f.name, strings.Join(list, ", "), ret)
	next := fmt.Sprintf("unsafe { I%d += 1; I%d - 1 }", f.n, f.n)
	if f.wraps != nil {
		w.f("\t%s;\n\t%s%s(%s)\n", next, f.wraps.qualifier, f.wraps.name, f.names())
	} else {
		w.body(f, next)
	}
	w.f("}\n")
	if f.method {
		w.f("}\n")
	}
}

func (w *rustWriter) body(f *function, next string) {
	last := fmt.Sprintf("unsafe { I%d += 1 };", f.n)
	if f.result != nil {
		last = fmt.Sprintf("r%d(%s)", f.n, next)
	}
	if len(f.rows) == 0 {
		last = "loop {}"
	}
	early := last + " return"
	if f.result != nil {
		early = "return " + last
	}
	w.writer.body(f, &statements{
		leaves: rustLeaves,
		add: func(prm *param, l leaf) {
			w.f("\tunsafe { SINK = SINK.wrapping_add(%s%s as u64) };\n", prm.name, l.path)
		},
		branch: func(prm *param, l leaf) { w.f("\tif %s%s as u64 == 1 { %s }\n", prm.name, l.path, early) },
		escape: func(prm *param) { w.f("\tblack_box(&%s);\n", prm.name) },
		change: func(prm *param, _ []leaf) {
			if !prm.ref {
				w.f("\tlet mut %s = %s; black_box(&mut %s);\n", prm.name, prm.name, prm.name)
			} else {
				w.f("\tblack_box(%s);\n", prm.name)
			}
		},
		call:   w.call,
		opaque: "opaque();",
	})
	w.f("\t%s\n", last)
}

// rustLeaves are the numbers of a parameter that code looks at.
func rustLeaves(prm *param) []leaf {
	var found []leaf
	switch prm.typ.kind {
	case text, list:
		return []leaf{{".len()", &rustNumbers[8]}}
	case optional:
		return []leaf{{".is_some()", &rustNumbers[13]}}
	case result:
		return []leaf{{".is_ok()", &rustNumbers[13]}}
	}
	for _, l := range prm.typ.leaves() {
		if prm.ref && l.path == "" {
			l.path = ".clone()"
		}
		found = append(found, l)
	}
	return found
}

// call writes a call with the arguments of the next row.
func (w *rustWriter) call(g *function) {
	t := g.valued()
	if len(t.rows) == 0 {
		return
	}
	var args []string
	for i, prm := range g.params {
		arg := fmt.Sprintf("t%d_%d(unsafe { I%d })", t.n, i, g.n)
		if g.literals[i] {
			arg = w.literal(prm.typ, g.rows[0][i])
		}
		if prm.ref {
			arg = "&" + arg
		}
		args = append(args, arg)
	}
	name := g.name
	if g.method {
		name = fmt.Sprintf("black_box(&C%d { filler: 1 }).%s", g.n, g.name)
	}
	call := fmt.Sprintf("%s(%s)", name, strings.Join(args, ", "))
	if g.result == nil || g.unused {
		w.f("\t%s;\n", call)
	} else {
		w.f("\tblack_box(&%s);\n", call)
	}
}

// literal is a value as an expression.
func (w *rustWriter) literal(t *typ, v value) string {
	switch t.kind {
	case integer:
		return fmt.Sprintf("(%s%s)", v.(*big.Int), t.name)
	case boolean:
		return fmt.Sprint(v)
	case character:
		return fmt.Sprintf("'\\u{%x}'", v)
	case floating:
		return fmt.Sprintf("(%s%s)", strconv.FormatFloat(v.(float64), 'e', -1, 64), t.name)
	case enumeration:
		for i, n := range t.numbers {
			if v.(*big.Int).Int64() == n {
				return t.name + "::" + t.names[i]
			}
		}
	case text:
		s := quoted([]rune(v.(string)), `\u{%x}`)
		if !t.unowned {
			s = "String::from(" + s + ")"
		}
		return s
	case structure:
		return t.name + w.members(t, v)
	case tuple:
		return "(" + strings.Join(t.parts(v, w.literal), ", ") + ")"
	case array:
		return "[" + strings.Join(t.parts(v, w.literal), ", ") + "]"
	case list:
		s := "[" + strings.Join(t.parts(v, w.literal), ", ") + "]"
		if t.unowned {
			return "&" + s
		}
		return "vec!" + s
	case optional:
		if v == nil {
			return "None"
		}
		return "Some(" + w.literal(t.elem, v.(choice).v) + ")"
	case result:
		if c := v.(choice); c.of == 0 {
			return "Ok(" + w.literal(t.elem, c.v) + ")"
		}
		return "Err(" + w.literal(t.other, v.(choice).v) + ")"
	case tagged:
		c := v.(choice)
		one := &t.cases[c.of]
		name := t.name + "::" + one.name
		switch {
		case one.typ == nil:
			return name
		case one.typ.name == "":
			return name + w.members(one.typ, c.v)
		}
		return name + "(" + w.literal(one.typ, c.v) + ")"
	}
	panic(fmt.Sprintf("Rust has no kind %d", t.kind))
}

func (w *rustWriter) members(t *typ, v value) string {
	var s []string
	for i, f := range t.fields {
		s = append(s, f.name+": "+w.literal(f.typ, v.([]value)[i]))
	}
	return " { " + strings.Join(s, ", ") + " }"
}
