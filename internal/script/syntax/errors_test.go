package syntax

import (
	"strings"
	"testing"

	"trocar/internal/script/diag"
)

// expectErrors checks the diagnostics of a script as they are shown.
func expectErrors(t *testing.T, text, want string) {
	t.Helper()
	var diags diag.List
	Parse(&diag.Source{Name: "stdin", Text: text}, ParseOptions{}, &diags)
	if got, want := format(&diags), strings.TrimPrefix(want, "\n"); got != want {
		t.Errorf("%s\ngot:\n%s\nwant:\n%s", text, got, want)
	}
}

func TestSyntaxErrors(t *testing.T) {
	// What bpftrace 0.27 says, with the first error of each statement.
	for _, c := range [][2]string{
		{"begin { $a = 1 $b = 2; }", `
stdin:1:16-18: ERROR: syntax: expected ';'
begin { $a = 1 $b = 2; }
               ~~
`},
		{"begin { print(1 }", `
stdin:1:17-18: ERROR: syntax: expected ')'
begin { print(1 }
                ~
`},
		{"begin {", `
stdin:1:8-8: ERROR: syntax: expected '}'
begin {
       
stdin:1:7-8: ERROR: the block begins here
begin {
      ~
`},
		{"begin { } foo", `
stdin:1:14-14: ERROR: syntax: expected '{'
begin { } foo
             
HINT: the body is put in braces, also if it is a single statement
`},
		{"begin { $x = 5;; }", `
stdin:1:16-17: ERROR: syntax: expected expression
begin { $x = 5;; }
               ~
`},
		{`begin { print("a" "b"); }`, `
stdin:1:19-22: ERROR: syntax: expected ')'
begin { print("a" "b"); }
                  ~~~
`},
		{`begin { print("abc`, `
stdin:1:15-19: ERROR: syntax: unterminated string
begin { print("abc
              ~~~~
`},
		{`begin { print("\q"); }`, `
stdin:1:17-18: ERROR: syntax: invalid escape character '\q'
begin { print("\q"); }
                ~
`},
		{`begin { print("\400"); }`, `
stdin:1:16-20: ERROR: syntax: octal escape sequence out of range '\400'
begin { print("\400"); }
               ~~~~
`},
		{"begin { $a.0 = 3; }", `
stdin:1:9-17: ERROR: syntax: Tuples and records are immutable once created. Consider creating a new value and assigning it instead.
begin { $a.0 = 3; }
        ~~~~~~~~
`},
		{"begin { $a[0] = 3; }", `
stdin:1:9-18: ERROR: syntax: invalid assignment target
begin { $a[0] = 3; }
        ~~~~~~~~~
`},
		{"begin { &1; }", `
stdin:1:10-11: ERROR: syntax: address-of operator (&) can only be used on a map or variable
begin { &1; }
         ~
`},
		{"begin { 1++; }", `
stdin:1:10-12: ERROR: syntax: increment/decrement requires a variable or map
begin { 1++; }
         ~~
`},
		{"begin { let x; }", `
stdin:1:13-14: ERROR: syntax: expected variable after 'let'
begin { let x; }
            ~
`},
		{"let x = 3; begin {}", `
stdin:1:1-4: ERROR: syntax: root-level let statements need to be map declarations, e.g. let @a = hash(2);
let x = 3; begin {}
~~~
`},
		{"let @a = hash($1); begin {}", `
stdin:1:15-17: ERROR: syntax: expected positive integer for map declaration max entries
let @a = hash($1); begin {}
              ~~
`},
		{"begin { for (x : 1..2) { } }", `
stdin:1:14-15: ERROR: syntax: expected variable in for loop
begin { for (x : 1..2) { } }
             ~
`},
		{"begin { for ($x : 5) { } }", `
stdin:1:19-20: ERROR: syntax: expected map or range in for loop
begin { for ($x : 5) { } }
                  ~
`},
		{"begin { $x = (a=1, a=2); }", `
stdin:1:20-23: ERROR: syntax: Named argument list already contains name: a
begin { $x = (a=1, a=2); }
                   ~~~
`},
		{"begin { $0 }", `
stdin:1:9-11: ERROR: syntax: param $0 is out of integer range [1, 9223372036854775807]
begin { $0 }
        ~~
`},
		{"macro m(pid) { 1 }", `
stdin:1:9-12: ERROR: syntax: builtin 'pid' can't be used as a macro argument
macro m(pid) { 1 }
        ~~~
`},
		{"uprobe:/bin/bash:$foo { }", `
stdin:1:1-22: ERROR: invalid trailing character for positional param: f. Try quoting this entire part if this is intentional e.g. "$f".
uprobe:/bin/bash:$foo { }
~~~~~~~~~~~~~~~~~~~~~
`},
		{"begin {} config = { a=1 } end {}", `
stdin:1:10-16: ERROR: syntax: config must appear before probes and functions
begin {} config = { a=1 } end {}
         ~~~~~~
HINT: move it up, behind the C definitions
`},
		{"config = {} config = { a=1 } end {}", `
stdin:1:13-19: ERROR: syntax: duplicate config block
config = {} config = { a=1 } end {}
            ~~~~~~
`},
		{"config = { a = - }", `
stdin:1:16-17: ERROR: syntax: expected string, int, boolean, or ident
config = { a = - }
               ~
`},
		{"begin {} import \"x\"; end {}", `
stdin:1:10-16: ERROR: syntax: root imports must appear before probes and functions
begin {} import "x"; end {}
         ~~~~~~
HINT: move it up, behind the C definitions
`},
		{"begin {} struct x { int y; } end {}", `
stdin:1:10-29: ERROR: syntax: C definitions must appear before probes and functions
begin {} struct x { int y; } end {}
         ~~~~~~~~~~~~~~~~~~~
HINT: move it to the top of the script, before config and imports
`},
		{"begin { $x : int32 = 1; $y = (int32[x])1 }", `
stdin:1:12-13: ERROR: syntax: expected ';'
begin { $x : int32 = 1; $y = (int32[x])1 }
           ~
stdin:1:40-41: ERROR: syntax: expected ';'
begin { $x : int32 = 1; $y = (int32[x])1 }
                                       ~
`},
		{"begin { let $x : struct; }", `
stdin:1:24-25: ERROR: syntax: expected identifier
begin { let $x : struct; }
                       ~
`},
		{"begin { let $x : int32[$y]; }", `
stdin:1:24-26: ERROR: syntax: expected ']'
begin { let $x : int32[$y]; }
                       ~~
`},
		{"begin { if ($x) { } else 1; }", `
stdin:1:26-27: ERROR: syntax: expected '{' or 'if' after 'else'
begin { if ($x) { } else 1; }
                         ~
`},
		{"begin { $x = ` }", "\nstdin:1:14-15: ERROR: syntax: expected expression\nbegin { $x = ` }\n             ~\n"},
		// With a way out.
		{"begin { x = 1 }", `
stdin:1:11-12: ERROR: syntax: expected ';'
begin { x = 1 }
          ~
HINT: names of variables begin with $, names of maps with @
`},
		{"begin { $x = 'a' }", `
stdin:1:14-15: ERROR: syntax: expected expression
begin { $x = 'a' }
             ~
HINT: strings are put in double quotes; a single character is written as its number
`},
		{"begin { if ($x) print(1); }", `
stdin:1:17-22: ERROR: syntax: expected '{'
begin { if ($x) print(1); }
                ~~~~~
HINT: the body is put in braces, also if it is a single statement
`},
		{"begin { for ($i = 0; $i < 10; $i++) { } }", `
stdin:1:17-18: ERROR: syntax: expected ':'
begin { for ($i = 0; $i < 10; $i++) { } }
                ~
HINT: a loop over numbers is written as for ($i : 0..10) { … }
`},
		{"begin { $x = 1.5 }", `
stdin:1:14-17: ERROR: syntax: floating-point numbers are not supported
begin { $x = 1.5 }
             ~~~
`},
		{"uprobe:a:f b {}", `
stdin:1:12-13: ERROR: syntax: expected '{'
uprobe:a:f b {}
           ~
HINT: attach points are separated by commas; one with blanks in it is put in quotes
`},
		{"begin { print(1) /* no end }", `
stdin:1:29-29: ERROR: syntax: expected ';'
begin { print(1) /* no end }
                            
stdin:1:18-20: ERROR: this comment has no end
begin { print(1) /* no end }
                 ~~
`},
		// Several errors in one run.
		{"begin { $a = ; print(1); $b = ); @c = 1 } end { f( } self:x { 1 + }", `
stdin:1:14-15: ERROR: syntax: expected expression
begin { $a = ; print(1); $b = ); @c = 1 } end { f( } self:x { 1 + }
             ~
stdin:1:31-32: ERROR: syntax: expected expression
begin { $a = ; print(1); $b = ); @c = 1 } end { f( } self:x { 1 + }
                              ~
stdin:1:52-53: ERROR: syntax: expected expression
begin { $a = ; print(1); $b = ); @c = 1 } end { f( } self:x { 1 + }
                                                   ~
stdin:1:67-68: ERROR: syntax: expected expression
begin { $a = ; print(1); $b = ); @c = 1 } end { f( } self:x { 1 + }
                                                                  ~
`},
		// Over several lines, with tabs and UTF-8.
		{"begin {\n\t$é = 1;\n}", "\nstdin:2:2-3: ERROR: syntax: expected expression\n    $é = 1;\n    ~\n"},
	} {
		expectErrors(t, c[0], c[1])
	}
}

func TestErrorsAreFew(t *testing.T) {
	var diags diag.List
	Parse(&diag.Source{Name: "stdin", Text: "begin { " + strings.Repeat("); ", 1000) + "}"}, ParseOptions{}, &diags)
	if n := len(diags.All); n != maxErrors {
		t.Errorf("%d errors", n)
	}
}

func TestParseExpr(t *testing.T) {
	var diags diag.List
	if x := ParseExpr(&diag.Source{Text: "1 + f(2)"}, &diags); x == nil || PrintExpr(x) != "1 + f(2)" ||
		len(diags.All) > 0 {
		t.Errorf("got %v %s", x, format(&diags))
	}
	for _, bad := range []string{"", "1 +", "1 2", "{"} {
		if ParseExpr(&diag.Source{Text: bad}, &diags) != nil {
			t.Errorf("%q is an expression", bad)
		}
	}
}
