package syntax

import (
	"strings"
	"testing"

	"trocar/internal/script/diag"
)

// isTestBuiltin stands in for the table of builtins.
func isTestBuiltin(name string) bool {
	switch name {
	case "print", "printf", "exit", "errorf", "fail", "cpu", "comm":
		return true
	}
	return false
}

// expand parses and expands a script, and gives the statements of its last probe on one line, or the diagnostics.
func expand(t *testing.T, text string) string {
	t.Helper()
	var diags diag.List
	f := Parse(&diag.Source{Name: "stdin", Text: text}, ParseOptions{}, &diags)
	if diags.Errors() == 0 {
		f = Expand(f, isTestBuiltin, &diags)
	}
	if len(diags.All) > 0 {
		var b strings.Builder
		_ = diags.Format(&b, false)
		return b.String()
	}
	p := &printer{}
	p.block(f.Probes[len(f.Probes)-1].Body)
	lines := strings.Split(p.b.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	if len(lines) == 1 {
		return ""
	}
	return strings.Join(lines[1:len(lines)-1], " ")
}

func TestExpand(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`macro inc($x) { $x += 1; } begin { $a = 1; inc($a); }`, `$a = 1; { $a += 1; }`},
		{`macro inc($x) { $x += 1; $x } begin { $a = 1; $b = inc($a); }`, `$a = 1; $b = { $a += 1; $a };`},
		{`macro set(@x) { @x[1] = 2; } begin { set(@a) }`, `{ @a[1] = 2; }`},
		{`macro one() { 1 } begin { print(one); print(one()) }`, `print({ 1 }); print({ 1 });`},
		{
			`macro dbl(x) { x + x } begin { $a = dbl($b); $c = dbl(@d); $e = dbl(1 + 2) }`,
			`$a = { ({ $b }) + ({ $b }) }; $c = { ({ @d }) + ({ @d }) }; $e = { 1 + 2 + (1 + 2) };`,
		},
		{
			`macro inc(x) { $y = x + 1; $y } begin { $y = 2; $z = inc($y) }`,
			`$y = 2; $z = { $$inc_1_$y = ({ $y }) + 1; $$inc_1_$y };`,
		},
		{`macro a(x) { x + 1 } macro b(y) { y + a(y) } begin { print(b(1)) }`, `print({ 1 + ({ 1 + 1 }) });`},
		{`macro a(x) { x + 1 } begin { print(a(a(1))) }`, `print({ ({ 1 + 1 }) + 1 });`},
		{`macro f(add) { add } macro add() { 2 } begin { print(f(1)) }`, `print({ 1 });`},
		{
			`macro s(@b, $x) { t(@b, $x); } macro t(a, b) { print((a, b)); } begin { s(@d, $y); }`,
			`{ { print(({ @d }, { $y })); } }`,
		},
		{
			`macro o($a, $b) { 1 } macro o(a, b) { 2 } begin { print(o($x, $y)); print(o(1, $y)) }`,
			`print({ 1 }); print({ 2 });`,
		},
		{
			`macro cpu(x) { x } begin { print(cpu("hi")); print(cpu()); print(cpu) }`,
			`print({ "hi" }); print(cpu()); print(cpu);`,
		},
		{`macro cpu() { 3 } begin { print(cpu()); print(cpu) }`, `print({ 3 }); print({ 3 });`},
		{`macro m($x) { for ($i : 0..3) { $x += $i } } begin { m($q) }`, `{ for ($$m_1_$i : 0..3) { $q += $$m_1_$i; } }`},

		{
			`macro sof(a, b) { sizeof(a[2]) + sizeof(b*) + sizeof(b) } begin { print(sof(typeof(uint64*), typeof(struct Foo))) }`,
			`print({ sizeof(uint64*[2]) + sizeof(struct Foo*) + sizeof(struct Foo) });`,
		},
		{
			`macro m(t) { sizeof(t) + 2 } macro n(z) { print(m(typeof(z))); } begin { n(typeof(uint64*)); }`,
			`{ print({ sizeof(uint64*) + 2 }); }`,
		},
		{`macro c(a) { (a*)-1 } begin { print(c(typeof(uint8))) }`, `print({ (uint8*)-1 });`},
		{`macro c(a, b) { (a)b } begin { print(c($x, 1)) }`, `print({ (typeof({ $x }))1 });`},
		{
			`macro s(a) { sizeof(struct a) } begin { print(s(foo)); print(s(typeof(foo))) }`,
			`print({ sizeof(struct foo) }); print({ sizeof(struct foo) });`,
		},
		{`macro u() { 1 } begin { print(sizeof(u)); print(sizeof(u())) }`, `print(sizeof(u)); print(sizeof({ 1 }));`},
		{
			`macro o(t, m) { offsetof(t, m) } begin { print(o(typeof(struct s), a.b.c)); print(o($x, d)) }`,
			`print({ offsetof(struct s, a.b.c) }); print({ offsetof({ $x }, d) });`,
		},
		{
			`begin { $p = container_of($q, typeof(struct foo), bar) }`,
			`$p = { (struct foo*)((void*)({ $q }) - offsetof(struct foo, bar)) };`,
		},
		{`begin { assert($x == 1, "no") }`, `{ if (!($x == 1)) { errorf("assert failed: %s", "no"); exit(1); } }`},
		{`macro assert(x, y) { 5 } begin { print(assert(1, 2)) }`, `print({ 5 });`},
		{`macro fail(x) { 1 } begin { static_assert($a, "s") }`, `{ if comptime (!({ $a })) { fail("s"); } }`},
		{`begin { import "x.h"; print(1) }`, `print(1);`},

		{`macro m($x) { @a = $x; } begin { m($y); }`, `
stdin:1:15-17: ERROR: Unhygienic access to map: @a. Maps must be passed into the macro as arguments.
macro m($x) { @a = $x; } begin { m($y); }
              ~~
stdin:1:34-39: ERROR: expanded from
macro m($x) { @a = $x; } begin { m($y); }
                                 ~~~~~
`},
		{`macro m() { m() } begin { m() }`, `
stdin:1:13-16: ERROR: Recursive macro call detected. Call chain: m > m
macro m() { m() } begin { m() }
            ~~~
stdin:1:27-30: ERROR: expanded from
macro m() { m() } begin { m() }
                          ~~~
`},
		{`macro a() { b() } macro b() { a() } begin { a() }`, `
stdin:1:31-34: ERROR: Recursive macro call detected. Call chain: a > b > a
macro a() { b() } macro b() { a() } begin { a() }
                              ~~~
stdin:1:13-16: ERROR: expanded from
macro a() { b() } macro b() { a() } begin { a() }
            ~~~
stdin:1:45-48: ERROR: expanded from
macro a() { b() } macro b() { a() } begin { a() }
                                            ~~~
`},
		{`macro m($a) { 1 } begin { m(1) }`, `
stdin:1:27-31: ERROR: Call to m() has arguments that do not match any definition.
macro m($a) { 1 } begin { m(1) }
                          ~~~~
stdin:1:29-30: ERROR: Mismatched arg. m() expects a variable for arg $a but got an expression.
macro m($a) { 1 } begin { m(1) }
                            ~
stdin:1:9-11: ERROR: This is the argument in the closest definition.
macro m($a) { 1 } begin { m(1) }
        ~~
`},
		{`macro m($a) { 1 } begin { m() }`, `
stdin:1:27-30: ERROR: Call to m() has arguments that do not match any definition.
macro m($a) { 1 } begin { m() }
                          ~~~
stdin:1:1-8: ERROR: The closest definition of m() has a different number of arguments. Expected: 1 but got 0
macro m($a) { 1 } begin { m() }
~~~~~~~
`},
		{`macro m() { 1 } macro m() { 2 } begin {}`, `
stdin:1:17-24: ERROR: Redefinition of macro: m
macro m() { 1 } macro m() { 2 } begin {}
                ~~~~~~~
stdin:1:1-8: ERROR: This is the original definition.
macro m() { 1 } macro m() { 2 } begin {}
~~~~~~~
`},
		{`macro m($a, $a) { 1 } begin {}`, `
stdin:1:13-15: ERROR: Variable for macro argument has already been used: $a
macro m($a, $a) { 1 } begin {}
            ~~
`},
		{`macro m($a) { let $a = 1; } begin { m($b) }`, `
stdin:1:15-25: ERROR: Variable declaration shadows macro arg $a
macro m($a) { let $a = 1; } begin { m($b) }
              ~~~~~~~~~~
stdin:1:37-42: ERROR: expanded from
macro m($a) { let $a = 1; } begin { m($b) }
                                    ~~~~~
`},
		{`macro m() { $y + 1 } begin { $y = 1; print(m()) }`, `
stdin:1:13-15: WARNING: macro m uses $y of its caller. Variables should be passed into the macro as arguments.
macro m() { $y + 1 } begin { $y = 1; print(m()) }
            ~~
stdin:1:44-47: WARNING: expanded from
macro m() { $y + 1 } begin { $y = 1; print(m()) }
                                           ~~~
`},
		{`begin { print(typeof(int32)) }`, `
stdin:1:15-28: ERROR: When used as a call argument, ` + "`typeof`" +
			` builtin only valid for macro calls that are expecting a type parameter
begin { print(typeof(int32)) }
              ~~~~~~~~~~~~~
`},
	} {
		if got := expand(t, c.text); got != strings.TrimPrefix(c.want, "\n") {
			t.Errorf("%s\ngot:  %s\nwant: %s", c.text, got, c.want)
		}
	}
}

func TestExpandIsBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("macro m0(x) { x + x }\n")
	for i := 1; i < 20; i++ {
		b.WriteString("macro m" + string(rune('A'+i)) + "(x) { m" + prev(i) + "(m" + prev(i) + "(x)) }\n")
	}
	b.WriteString("begin { print(m" + string(rune('A'+19)) + "(1)) }")
	if got := expand(t, b.String()); !strings.Contains(got, "macros expand to more than") {
		t.Errorf("got %.500s", got)
	}
}

func prev(i int) string {
	if i == 1 {
		return "0"
	}
	return string(rune('A' + i - 1))
}
