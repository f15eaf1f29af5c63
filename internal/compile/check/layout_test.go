package check

import (
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"trocar/internal/need"
	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// TestLayoutAgainstCompiler lays out random structures and compares them with what the C compiler makes of them.
func TestLayoutAgainstCompiler(t *testing.T) {
	cc := need.Tool(t, "gcc")
	rnd := rand.New(rand.NewSource(7))
	var defs, probes strings.Builder
	var want []string
	var diags diag.List
	for i := range 120 {
		def, fields := randomStruct(rnd, i)
		defs.WriteString(def)
		fmt.Fprintf(&probes, "printf(\"%%zu %%zu\\n\", sizeof(struct s%d), _Alignof(struct s%d));\n", i, i)
		want = append(want, fmt.Sprintf("s%d", i))
		for _, f := range fields {
			fmt.Fprintf(&probes, "printf(\"%%zu\\n\", offsetof(struct s%d, %s));\n", i, f)
			want = append(want, fmt.Sprintf("s%d.%s", i, f))
		}
	}
	dir := t.TempDir()
	src := "#include <stddef.h>\n#include <stdio.h>\n" + defs.String() + "int main(void) {\n" + probes.String() +
		"return 0; }\n"
	if err := os.WriteFile(filepath.Join(dir, "x.c"), []byte(src), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cc, "-w", "-o", filepath.Join(dir, "x"),
		filepath.Join(dir, "x.c")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(filepath.Join(dir, "x")).Output()
	if err != nil {
		t.Fatal(err)
	}
	file := syntax.Load(&diag.Source{Name: "x", Text: defs.String() + "begin { }"}, syntax.ParseOptions{}, &diags)
	if diags.Errors() > 0 {
		t.Fatal(text(&diags))
	}
	// A member that is never named in the script may be left out by the parser: keep all.
	c := &checker{in: &Input{}, file: file, diags: &diags, said: map[string]*diag.Diagnostic{}}
	d := c.define(file.CDefs)
	if diags.Errors() > 0 {
		t.Fatal(text(&diags))
	}
	for i, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		name, field, isField := strings.Cut(want[i], ".")
		st := d.types["struct "+name]
		if st == nil {
			t.Fatalf("%s is missing", name)
		}
		got := fmt.Sprintf("%d %d", st.Size, st.Align)
		if isField {
			f, ok := st.Field(field)
			if !ok {
				t.Fatalf("%s is missing", want[i])
			}
			got = fmt.Sprint(f.Offset)
		}
		if got != line {
			t.Errorf("%s: %s, the compiler says %s", want[i], got, line)
		}
	}
}

// randomStruct makes a structure and lists the members that have an address.
func randomStruct(rnd *rand.Rand, i int) (def string, fields []string) {
	basic := []string{"char", "short", "int", "long", "unsigned char", "unsigned int", "void *", "unsigned long long"}
	var b strings.Builder
	fmt.Fprintf(&b, "struct s%d {\n", i)
	for j := range 1 + rnd.Intn(7) {
		name := fmt.Sprintf("f%d", j)
		switch rnd.Intn(8) {
		case 0, 1, 2:
			fmt.Fprintf(&b, "  %s %s;\n", basic[rnd.Intn(len(basic))], name)
			fields = append(fields, name)
		case 3:
			fmt.Fprintf(&b, "  %s %s[%d][%d];\n", basic[rnd.Intn(4)], name, 1+rnd.Intn(3), 1+rnd.Intn(3))
			fields = append(fields, name)
		case 4, 5:
			base := []string{"int", "unsigned int", "short", "char", "long"}[rnd.Intn(5)]
			width := map[string]int{"int": 32, "unsigned int": 32, "short": 16, "char": 8, "long": 64}[base]
			switch rnd.Intn(6) {
			case 0:
				fmt.Fprintf(&b, "  %s :0;\n", base)
			case 1:
				fmt.Fprintf(&b, "  %s :%d;\n", base, 1+rnd.Intn(width))
			default:
				fmt.Fprintf(&b, "  %s %s:%d;\n", base, name, 1+rnd.Intn(width))
			}
		case 6:
			fmt.Fprintf(&b, "  union { int %sa; char %sb[%d]; short %sc:3; };\n", name, name, 1+rnd.Intn(9), name)
			fields = append(fields, name+"a", name+"b")
		case 7:
			if i > 0 {
				fmt.Fprintf(&b, "  struct s%d %s;\n", rnd.Intn(i), name)
				fields = append(fields, name)
			}
		}
	}
	fmt.Fprintf(&b, "  int end;\n}")
	fields = append(fields, "end")
	switch rnd.Intn(6) {
	case 0:
		b.WriteString(" __attribute__((packed))")
	case 1:
		b.WriteString(" __attribute__((aligned(16)))")
	case 2:
		b.WriteString(" __attribute__((packed)) __attribute__((aligned(2)))")
	}
	b.WriteString(";\n")
	return b.String(), fields
}

// TestBitfields reads values through layouts: the bits of members must be where the compiler puts them.
func TestBitfields(t *testing.T) {
	p,
		diags := compile(t,
		`struct b { unsigned a:4, b:8, c:3, d:1, e:16; } u:/x:f { $x = (struct b *)arg0; print($x.b); print($x.e) }`,
		Input{})
	if p == nil {
		t.Fatal(text(diags))
	}
	word := uint64(1 | 2<<4 | 5<<12 | 0<<15 | 0xffff<<16)
	var got []uint64
	for _, s := range p.Actions[0].Body.Stmts {
		if e, ok := s.(*ExprStmt); ok {
			f := e.X.(*Call).Args[0].Expr.(*Member).Field
			got = append(got, word>>(8*f.Offset+f.BitOffset)&(1<<f.BitSize-1))
		}
	}
	if fmt.Sprint(got) != "[2 65535]" {
		t.Errorf("bits: %v", got)
	}
}
