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

func goLanguage() *language {
	return &language{
		name:    "go",
		simple:  func(p *program) *typ { return goSimple(p.r, 0) },
		declare: goDeclare,
		pass:    func(*program, *param) {},
		decorate: func(p *program, f *function) {
			f.inlined = p.r.IntN(8) == 0
			if !f.inlined {
				f.attrs = "//go:noinline\n"
			}
			if f.wraps == nil && p.r.IntN(4) == 0 {
				f.method, f.qualifier = true, one(p.r, "(*C%d).", "C%d.")
				f.qualifier = fmt.Sprintf(f.qualifier, f.n)
			}
		},
		raw: func(f *function, i int) string {
			if f.method {
				i++
			}
			return fmt.Sprintf("arg%d", i)
		},
		build: func(r *rng) build {
			c := []string{"go", "build", "-o", "program"}
			for _, f := range []string{
				one(r, "-gcflags=-N -l", "-gcflags=-l", "-gcflags=-N"), "-ldflags=-s -w",
				"-buildmode=pie", "-trimpath",
			} {
				if r.IntN(4) == 0 {
					c = append(c, f)
				}
			}
			return build{commands: [][]string{c}, env: []string{"GOFLAGS=-mod=mod"}}
		},
		patterns: func(p *program) []string { return p.patterns("main.") },
		write: func(p *program, dir string) error {
			w := goWriter{writer{p: p}}
			w.write()
			if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module program\n\ngo 1.18\n"), 0o644); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, "program.go"), []byte(w.b.String()), 0o644)
		},
	}
}

var goNumbers = []typ{
	{kind: integer, size: 1, signed: true, name: "int8"},
	{kind: integer, size: 1, name: "uint8"},
	{kind: integer, size: 2, signed: true, name: "int16"},
	{kind: integer, size: 2, name: "uint16"},
	{kind: integer, size: 4, signed: true, name: "int32"},
	{kind: integer, size: 4, name: "uint32"},
	{kind: integer, size: 8, signed: true, name: "int"},
	{kind: integer, size: 8, signed: true, name: "int64"},
	{kind: integer, size: 8, name: "uint64"},
	{kind: floating, size: 4, name: "float32"},
	{kind: floating, size: 8, name: "float64"},
	{kind: boolean, size: 1, name: "bool"},
}

func goNumber(r *rng) *typ {
	t := goNumbers[r.IntN(len(goNumbers))]
	return &t
}

func goSimple(r *rng, depth int) *typ {
	if depth > 1 {
		return goNumber(r)
	}
	switch r.IntN(12) {
	case 0, 1:
		return &typ{kind: text, name: "string"}
	case 2:
		t := &typ{kind: array, elem: goSimple(r, depth+1), n: r.IntN(4)}
		t.name = fmt.Sprintf("[%d]%s", t.n, t.elem.name)
		return t
	case 3, 4:
		t := &typ{kind: list, elem: goSimple(r, depth+1)}
		t.name = "[]" + t.elem.name
		return t
	case 5:
		if r.IntN(2) == 0 {
			return &typ{kind: complexNumber, size: 8, name: "complex64"}
		}
		return &typ{kind: complexNumber, size: 16, name: "complex128"}
	}
	return goNumber(r)
}

// goDeclare makes a structure, or a name for a number.
func goDeclare(p *program) *typ {
	r, n := p.r, len(p.types)
	if r.IntN(4) == 0 {
		t := goNumber(r)
		return &typ{kind: t.kind, size: t.size, signed: t.signed, name: fmt.Sprintf("E%d", n), elem: t}
	}
	t := &typ{kind: structure, name: fmt.Sprintf("S%d", n)}
	for i := range r.IntN(5) {
		f := field{name: fmt.Sprintf("m%d", i), typ: goSimple(r, 1)}
		if n > 0 && r.IntN(5) == 0 {
			f.typ = p.types[r.IntN(n)]
		}
		t.fields = append(t.fields, f)
	}
	return t
}

// goWriter writes a program in Go.
type goWriter struct{ writer }

func (w *goWriter) write() {
	w.f("package main\n\nimport \"math\"\n\nvar negativeZero = math.Copysign(0, -1)\nvar sink uint64\nvar kept any\n\n")
	w.f("func number[T int8|uint8|int16|uint16|int32|uint32|int|int64|uint64|float32|float64](n T) uint64 { return " +
		"uint64(n) }\n")
	w.f("//go:noinline\nfunc opaque() { sink++ }\n\n")
	for _, t := range w.p.types {
		if t.kind != structure {
			w.f("type %s %s\n", t.name, t.elem.name)
			continue
		}
		w.f("type %s struct {\n", t.name)
		for _, f := range t.fields {
			w.f("\t%s %s\n", f.name, f.typ.name)
		}
		w.f("}\n")
	}
	for _, f := range w.p.funcs {
		w.tables(f)
		w.function(f)
	}
	w.f("func main() {\n")
	w.calls("for i := 0; i < %d; i++", func(f *function, _ bool) { w.call(f) })
	w.f("}\n")
}

func (w *goWriter) tables(f *function) {
	w.f("var i%d int\n", f.n)
	if f.method {
		w.f("type C%d struct { filler uint16 }\nvar object%d = C%d{%d}\n", f.n, f.n, f.n, f.n)
	}
	if f.wraps != nil {
		return
	}
	f.tables(func(name string, t *typ, at func(int) value) {
		w.f("var %s = []%s{", name, t.name)
		for i := range f.rows {
			w.f("%s, ", w.literal(t, at(i)))
		}
		w.f("}\n")
	})
}

func (w *goWriter) function(f *function) {
	var list []string
	for _, prm := range f.params {
		list = append(list, prm.name+" "+prm.typ.name)
	}
	receiver, ret := "", ""
	if f.method {
		receiver = fmt.Sprintf("(c %s) ", strings.Trim(strings.TrimSuffix(f.qualifier, "."), "()"))
	}
	if f.result != nil {
		ret = " " + f.result.name
	}
	w.f("%sfunc %s%s(%s)%s {\n", f.attrs, receiver, f.name, strings.Join(list, ", "), ret)
	if f.wraps != nil {
		w.f("\ti%d++\n\t", f.n)
		if f.result != nil {
			w.f("return ")
		}
		w.f("%s(%s)\n", f.wraps.name, f.names())
	} else {
		w.body(f)
	}
	w.f("}\n")
}

func (w *goWriter) body(f *function) {
	ret := fmt.Sprintf("i%d++; return", f.n)
	if f.result != nil {
		ret += fmt.Sprintf(" r%d[i%d-1]", f.n, f.n)
	}
	number := func(prm *param, l leaf) string {
		name := prm.name + l.path
		if of := l.typ; of.elem != nil {
			name = of.elem.name + "(" + name + ")"
		}
		return "number(" + name + ")"
	}
	w.writer.body(f, &statements{
		leaves: func(prm *param) []leaf { return goLeaves(prm.typ) },
		add:    func(prm *param, l leaf) { w.f("\tsink += %s\n", number(prm, l)) },
		branch: func(prm *param, l leaf) { w.f("\tif %s == 1 { %s }\n", number(prm, l), ret) },
		escape: func(prm *param) { w.f("\tkept = &%s\n", prm.name) },
		change: func(prm *param, _ []leaf) {
			w.f("\t{ var zero %s; %s = zero; kept = %s }\n", prm.typ.name, prm.name, prm.name)
		},
		call:   w.call,
		opaque: "opaque()",
	})
	w.f("\t%s\n", ret)
}

// goLeaves are the numbers of a parameter that code looks at.
func goLeaves(t *typ) (found []leaf) {
	if t.kind == text || t.kind == list {
		return nil
	}
	for _, l := range t.leaves() {
		if l.typ.kind != boolean {
			found = append(found, l)
		}
	}
	return found
}

// call writes a call with the arguments of the next row.
func (w *goWriter) call(g *function) {
	t := g.valued()
	var args []string
	for i, prm := range g.params {
		if g.literals[i] {
			args = append(args, w.literal(prm.typ, g.rows[0][i]))
		} else {
			args = append(args, fmt.Sprintf("t%d_%d[i%d]", t.n, i, g.n))
		}
	}
	name := g.name
	if g.method {
		name = fmt.Sprintf("object%d.%s", g.n, g.name)
	}
	call := fmt.Sprintf("%s(%s)", name, strings.Join(args, ", "))
	if g.result == nil || g.unused {
		w.f("\t%s\n", call)
	} else {
		w.f("\tkept = %s\n", call)
	}
}

// literal is a value as an expression.
func (w *goWriter) literal(t *typ, v value) string {
	switch t.kind {
	case integer:
		return fmt.Sprintf("%s(%s)", t.name, v.(*big.Int))
	case boolean:
		return fmt.Sprintf("%s(%v)", t.name, v)
	case floating:
		return fmt.Sprintf("%s(%s)", t.name, goFloat(v.(float64)))
	case complexNumber:
		c := v.(complex128)
		return fmt.Sprintf("%s(complex(%s, %s))", t.name, goFloat(real(c)), goFloat(imag(c)))
	case text:
		return strconv.Quote(v.(string))
	case structure, array, list:
		return t.name + "{" + strings.Join(t.parts(v, w.literal), ", ") + "}"
	}
	panic(fmt.Sprintf("Go has no kind %d", t.kind))
}

// goFloat writes a number. Go's constants have no negative zero.
func goFloat(f float64) string {
	if f == 0 && math.Signbit(f) {
		return "negativeZero"
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}
