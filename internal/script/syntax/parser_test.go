package syntax

import (
	"fmt"
	"strings"
	"testing"

	"trocar/internal/script/diag"
)

// parse reads a script and fails the test if it has errors.
func parse(t *testing.T, text string) *File {
	t.Helper()
	var diags diag.List
	f := Parse(&diag.Source{Name: "stdin", Text: text}, ParseOptions{Params: []string{"one", "two:three"}}, &diags)
	if len(diags.All) > 0 {
		t.Fatalf("parse %q:\n%s", text, format(&diags))
	}
	return f
}

func format(diags *diag.List) string {
	var b strings.Builder
	_ = diags.Format(&b, false)
	return b.String()
}

// expectPrinted checks the canonical form of a script, and that it parses to itself.
func expectPrinted(t *testing.T, text, want string) {
	t.Helper()
	f := parse(t, text)
	got := Print(f)
	if got != want {
		t.Errorf("%s\ngot:\n%s\nwant:\n%s", text, got, want)
	}
	expectSame(t, f, got)
}

// expectSame checks that a printed script parses to the tree that was printed.
func expectSame(t *testing.T, f *File, printed string) {
	t.Helper()
	again := parse(t, printed)
	if a, b := Dump(f), Dump(again); a != b {
		t.Errorf("printed:\n%s\nis the tree:\n%s\ninstead of:\n%s", printed, b, a)
	}
	if twice := Print(again); twice != printed {
		t.Errorf("printed:\n%s\nprinted again:\n%s", printed, twice)
	}
}

// expectBody checks the canonical form of the statements of a probe, on one line.
func expectBody(t *testing.T, body, want string) {
	t.Helper()
	f := parse(t, "begin { "+body+" }")
	got := Print(f)
	lines := strings.Split(strings.TrimSpace(got), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	one := strings.TrimSuffix(strings.TrimPrefix(strings.Join(lines, " "), "begin { "), " }")
	if one != want {
		t.Errorf("%s\ngot:  %s\nwant: %s", body, one, want)
	}
	expectSame(t, f, got)
}

func TestExpressions(t *testing.T) {
	for _, c := range [][2]string{
		// Precedence and grouping.
		{"$x = 1 + 2 * 3", "$x = 1 + 2 * 3;"},
		{"$x = (1 + 2) * 3", "$x = (1 + 2) * 3;"},
		{"$x = 1 - 2 - 3", "$x = 1 - 2 - 3;"},
		{"$x = 1 - (2 - 3)", "$x = 1 - (2 - 3);"},
		{
			"$x = $a || $b && $c | $d ^ $e & $f == $g < $h << $i + $j * $k",
			"$x = $a || $b && $c | $d ^ $e & $f == $g < $h << $i + $j * $k;",
		},
		{
			"$x = ((((((((($a || $b) && $c) | $d) ^ $e) & $f) == $g) < $h) << $i) + $j) * $k",
			"$x = ((((((((($a || $b) && $c) | $d) ^ $e) & $f) == $g) < $h) << $i) + $j) * $k;",
		},
		{"$x = !$a == ~$b", "$x = !$a == ~$b;"},
		{"$x = -(-1)", "$x = -(-1);"},
		{"$x = - -1", "$x = -(-1);"},
		{"$x = -(--$y)", "$x = -(--$y);"},
		{"$x = -$y--", "$x = -$y--;"},
		{"$x = *&$y + *(int8*)$p", "$x = *&$y + *(int8*)$p;"},
		{"$x = (&$y)[0]", "$x = (&$y)[0];"},
		{"$x = $y-->$z", "$x = $y-- > $z;"},

		// Ternary.
		{"$x = $a ? $b : $c ? 1 : 2", "$x = $a ? $b : $c ? 1 : 2;"},
		{"$x = ($a ? $b : $c) ? 1 : 2", "$x = ($a ? $b : $c) ? 1 : 2;"},
		{"$x = $a ?: 5", "$x = $a ?: 5;"},
		{"$x = 1 + ($a ? 2 : 3)", "$x = 1 + ($a ? 2 : 3);"},
		{"$a ? print(1) : print(2)", "$a ? print(1) : print(2);"},

		// Literals.
		{"print(0x1F, 017, 1_000_000, 3e6, 5ms, 10ul, 10UL, 0b101)", "print(0x1F, 017, 1_000_000, 3e6, 5ms, 10ul, 10UL, " +
			"0b101);"},
		{`print("a\n\t\r\"\\\x41\101\0")`, `print("a\n\t\r\"\\AA\x00");`},
		{`print("é\x")`, ""},
		{"print(true, false)", "print(true, false);"},

		// Variables, maps, parameters.
		{"print($1, $#, $12)", "print($1, $#, $12);"},
		{"@ = 1; @x = 2; @[1] = 3; @x[1, 2] = 4; @x[(1, 2)] = 5", "@ = 1; @x = 2; @[1] = 3; @x[1, 2] = 4; @x[(1, 2)] = 5;"},
		{"@x[1][2].y++", ""},
		{"$x++; --$x; @x[1]--; ++@", "$x++; --$x; @x[1]--; ++@;"},
		{
			"$x += 1; $x -= 1; $x *= 1; $x /= 1; $x %= 1; $x &= 1; $x |= 1; $x ^= 1; $x <<= 1; @x[1] >>= 1",
			"$x += 1; $x -= 1; $x *= 1; $x /= 1; $x %= 1; $x &= 1; $x |= 1; $x ^= 1; $x <<= 1; @x[1] >>= 1;",
		},
		{"_ = has_key(@a, 1); _x = 1", ""},
		{"_ = has_key(@a, 1)", "_ = has_key(@a, 1);"},

		// Fields and indexes.
		{"print(args.x.y, $p->x->y, $t.0.1, $a[1][2])", "print(args.x.y, $p->x->y, $t.0.1, $a[1][2]);"},
		{"print((@x)[1])", "print((@x)[1]);"},
		{"print(((struct foo *)arg0).x.y)", "print(((struct foo*)arg0).x.y);"},
		{"print($x . y . 0)", "print($x.y.0);"},
		{"print(curtask->comm)", "print(curtask->comm);"},

		// Tuples and records.
		{"$x = (); $y = (1,); $z = (1, (2, 3)); $w = (1, 2,)", "$x = (); $y = (1,); $z = (1, (2, 3)); $w = (1, 2);"},
		{`$x = (a=1, b="c", d=(e=2))`, `$x = (a=1, b="c", d=(e=2));`},
		{`$x = ("a b"=1, "c"=2, "pid"=3, "\""=4)`, `$x = ("a b"=1, c=2, "pid"=3, "\""=4);`},
		{`$x = ("a" == $y)`, `$x = "a" == $y;`},
		{"$x = (pid == 1)", "$x = pid == 1;"},

		// Casts against parentheses.
		{"$x = (uint32)$z", "$x = (uint32)$z;"},
		{"$x = (int16 *)$z + 1", "$x = (int16*)$z + 1;"},
		{"$x = (myident);", "$x = myident;"},
		{"$x = (myident)*$a", "$x = (myident)*$a;"},
		{"$x = (pid)*tid", "$x = pid * tid;"},
		{"$x = (myident)*arg0", "$x = (myident)*arg0;"},
		{"$x = (myident) + 1", "$x = myident + 1;"},
		{"$x = (myident)->y", "$x = myident->y;"},
		{"$x = (myident) & 1", "$x = myident & 1;"},
		{"$x = (myident)&$y", "$x = (myident)&$y;"},
		{"$x = (int32)(int8)-1", "$x = (int32)(int8)-1;"},
		{"$x = (int8[])\"abc\"", "$x = (int8[])\"abc\";"},
		{"$x = (uint8[8])12345", "$x = (uint8[8])12345;"},
		{"$x = (struct foo*[4]*)arg0", "$x = (struct foo*[4]*)arg0;"},
		{"$x = (enum e)1", "$x = (enum e)1;"},
		{"$x = (unsigned long long)1; $y = (const char *)arg0", "$x = (unsigned long long)1; $y = (char*)arg0;"},
		{"$x = (typeof($y))1; $z = (typeof(int32*))$x", "$x = (typeof($y))1; $z = (typeof(int32*))$x;"},
		{"$x = (a * b)", "$x = a * b;"},
		{"$x = (a[1])", "$x = a[1];"},
		{"$x = ((a)[1])", "$x = a[1];"},

		// Types as arguments.
		{
			"print(sizeof(uint32), sizeof(struct foo), sizeof(int32*[10]), sizeof(x), sizeof($x), sizeof(1 == 1))",
			"print(sizeof(uint32), sizeof(struct foo), sizeof(int32*[10]), sizeof(x), sizeof($x), sizeof(1 == 1));",
		},
		{
			"print(sizeof(ident[1]), sizeof((ident)[1]), sizeof((ident[1])), sizeof((x)))",
			"print(sizeof(ident[1]), sizeof((ident[1])), sizeof((ident[1])), sizeof((x)));",
		},
		{"print(sizeof({ $a = (int8)1; $a }))", "print(sizeof({ $a = (int8)1; $a }));"},
		{"print(offsetof(struct foo, a.b), offsetof($x, a))", "print(offsetof(struct foo, a.b), offsetof($x, a));"},
		{"print(typeinfo(e).base_type == typeinfo(0).base_type)", "print(typeinfo(e).base_type == typeinfo(0).base_type);"},
		{"m(typeof(struct task), typeof($x)*, typeof(x[2]))", "m(typeof(struct task), typeof($x)*, typeof(x[2]));"},
		{"print(sizeof(args))", "print(sizeof(args));"},

		// Blocks, ifs and comptime as values.
		{"$x = { let $y = 1; $y }", "$x = { let $y = 1; $y };"},
		{"$x = if ($y) { 1 } else { 2 }", "$x = if ($y) { 1 } else { 2 };"},
		{"$x = 1 + if $y { 1 } else if $z { 2 } else { 3 }", "$x = 1 + (if ($y) { 1 } else if ($z) { 2 } else { 3 });"},
		{"$x = comptime f(1) + comptime (2 + 3)", "$x = comptime f(1) + comptime (2 + 3);"},
		{"f({ print(1) })", "f({ print(1) });"},
		{"f({ print(1); })", "f({ print(1); });"},
		{"$x = ({ 1 }) + 2", "$x = ({ 1 }) + 2;"},
	} {
		if c[1] == "" {
			var diags diag.List
			Parse(&diag.Source{Text: "begin { " + c[0] + " }"}, ParseOptions{}, &diags)
			if diags.Errors() == 0 && !strings.HasPrefix(c[0], "@x[1][2]") {
				t.Errorf("%s: no error", c[0])
			}
			continue
		}
		expectBody(t, c[0], c[1])
	}
}

func TestStatements(t *testing.T) {
	for _, c := range [][2]string{
		{"", "begin {}"},
		{"print(1)", "print(1);"},
		{"print(1);", "print(1);"},
		{"let $x; let $y = 1; let $z : int32*; let $w : typeof($x) = 2", "let $x; let $y = 1; let $z : int32*; let $w : " +
			"typeof($x) = 2;"},
		{
			"if ($x) { print(1) } else if $y { print(2) } else { print(3); }",
			"if ($x) { print(1); } else if ($y) { print(2); } else { print(3); }",
		},
		{"if comptime ($x) { 1 }", "if comptime ($x) { 1; }"},
		{
			"if comptime is_str(@x) { print(1); } else if comptime __builtin_safe_mode { }",
			"if comptime (is_str(@x)) { print(1); } else if comptime (__builtin_safe_mode) {}",
		},
		{"if ($x) { }; print(1)", "if ($x) {} print(1);"},
		{"if ($x) { 1 } ++$y;", "if ($x) { 1; }; ++$y;"},
		{"{ 1 } --$y; { let $x; }", "{ 1; }; --$y; { let $x; }"},
		{"if ($x) { 1 }; *$y; { 2 }; -1; { 3 }; (1, 2)", "if ($x) { 1; }; *$y; { 2; }; -1; { 3; } (1, 2);"},
		{"while ($x < 10) { break; continue } while 1 { return }", "while ($x < 10) { break; continue; } while (1) { " +
			"return; }"},
		{"unroll (3) { print(1) } unroll 3 { }", "unroll (3) { print(1); } unroll (3) {}"},
		{"for ($kv : @x) { print($kv.0) } for $kv : @x { }", "for ($kv : @x) { print($kv.0); } for ($kv : @x) {}"},
		{
			"for ($i : 0..$n) { } for $i : $a.0..ncpus { } for ($i : (1+2)..-$x) { }",
			"for ($i : 0..$n) {} for ($i : $a.0..ncpus) {} for ($i : (1 + 2)..-$x) {}",
		},
		{"return 1 + 2; return", "return 1 + 2; return;"},
		{"import \"x.h\"; print(1)", "import \"x.h\"; print(1);"},
		{"print(1) // comment\n", "print(1); // comment"},
		{"/* a */ print(/* b */ 1); /* c\n d */", "/* a */ /* b */ print(1); /* c d */"},
		{"for_each(1); iffy; letter", "for_each(1); iffy; letter;"},
	} {
		if c[1] == "" {
			var diags diag.List
			Parse(&diag.Source{Text: "begin { " + c[0] + " }"}, ParseOptions{}, &diags)
			if diags.Errors() == 0 {
				t.Errorf("%s: no error", c[0])
			}
			continue
		}
		expectBody(t, c[0], c[1])
	}
}

func TestTopLevel(t *testing.T) {
	for _, c := range [][2]string{
		{"BEGIN{}END{}", "BEGIN {}\n\nEND {}\n"},
		{"#!/usr/bin/env bpftrace -q\nbegin {}", "#!/usr/bin/env bpftrace -q\nbegin {}\n"},
		{
			"config = { BPFTRACE_STACK_MODE=perf; max_map_keys=0x10; license=\"GPL v2\"; print_maps_on_exit=false }",
			"config = {\n  stack_mode = perf;\n  max_map_keys = 16;\n  license = \"GPL v2\";\n  print_maps_on_exit = " +
				"false;\n}\n",
		},
		{"import \"a.bt\"; config = {} import \"b\"; begin {}", "import \"a.bt\";\n\nconfig = {\n}\n\nimport " +
			"\"b\";\n\nbegin {}\n"},
		{"let @a = hash(100); let @b = percpulruhash(1_000)", "let @a = hash(100);\nlet @b = percpulruhash(1_000);\n"},
		{"macro add($a, @b, c) { $a + c }", "macro add($a, @b, c) {\n  $a + c\n}\n"},
		{"macro none() { }", "macro none() {}\n"},
		{
			"fn f($a : int32, $b : struct foo*) : void { return; }",
			"fn f($a : int32, $b : struct foo*) : void {\n  return;\n}\n",
		},
		{"begin / pid == 1 && comm != \"x\" / {}", "begin /pid == 1 && comm != \"x\"/ {}\n"},
		{"begin/ *$x /{}", "begin / *$x / {}\n"},
		{"begin /10/2 == 5/ // why\n{}", "// why\nbegin /10 / 2 == 5/ {}\n"},
		{"begin /@x[10/5] > (1/2)/ {}", "begin /@x[10 / 5] > 1 / 2/ {}\n"},
		{"begin /$x = 1/ {}", ""},
	} {
		if c[1] == "" {
			var diags diag.List
			Parse(&diag.Source{Text: c[0]}, ParseOptions{}, &diags)
			if diags.Errors() == 0 {
				t.Errorf("%s: no error", c[0])
			}
			continue
		}
		expectPrinted(t, c[0], c[1])
	}
}

func TestAttachPoints(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"begin {}", "begin"},
		{"begin,end{}", "begin | end"},
		{"kprobe:f, kprobe:g,\n  kprobe:h, {}", "kprobe f | kprobe g | kprobe h"},
		{"uprobe:/bin/bash:readline/pid/ {}", "uprobe /bin/bash readline/pid/"},
		{"uprobe:/bin/bash:readline /pid/ {}", "uprobe /bin/bash readline"},
		{"uprobe:libc:malloc* {}", "uprobe libc malloc*"},
		{"uprobe:/bin/bash:readline+4 {}", "uprobe /bin/bash readline+4"},
		{"uprobe:./a@file.c:42:7 {}", "uprobe ./a@file.c 42 7"},
		{`uprobe:/a:cpp:"A::b(int, char)" {}`, `uprobe /a cpp "A::b(int, char)"`},
		{`uprobe:"/x/y.apk!/lib/z.so":f {}`, `uprobe "/x/y.apk!/lib/z.so" f`},
		{`usdt:"/a \"b\" \\":p {}`, `usdt "/a "b" \" p`},
		{"interval:s:1 {}", "interval s 1"},
		{"interval:1s {}", "interval 1s"},
		{"tracepoint:a:b { } tracepoint:c:d { }", "tracepoint a b | tracepoint c d"},
		{"k:$1 {}", "k one"},
		{"k:a$1b {}", "k aoneb"},
		{"$2 {}", "two three"},
		{"k:$9 {}", "k "},
		{`k:"$x" {}`, `k "$x"`},
		{"k: {}", "k "},
		{"name=begin {}", "name=begin"},
		{"struct:x {}", "struct x"},
		{"config:x {}", "config x"},
		{"watchpoint:0x10000000:8:rw {}", "watchpoint 0x10000000 8 rw"},
	} {
		var diags diag.List
		f := Parse(&diag.Source{Name: "stdin", Text: c.text}, ParseOptions{Params: []string{"one", "two:three"}}, &diags)
		var list []string
		for _, p := range f.Probes {
			for _, a := range p.Points {
				s := a.Kind
				if p.Name != "" {
					s = p.Name + "=" + s
				}
				for i, part := range a.Parts {
					if a.Quoted[i] {
						part = `"` + part + `"`
					}
					s += " " + part
				}
				list = append(list, s)
			}
		}
		if got := strings.Join(list, " | "); got != c.want || (diags.Errors() > 0) != (c.want == "") {
			t.Errorf("%s\ngot:  %s\nwant: %s\n%s", c.text, got, c.want, format(&diags))
		}
		if c.want != "" && !strings.Contains(c.text, "$") {
			expectSame(t, f, Print(f))
		}
	}
}

func TestSpans(t *testing.T) {
	text := "uprobe:a:b /pid/ { $x = f(1 , 2) + (int32) $y.z; @m[1] = (1, 2); }"
	f := parse(t, text)
	want := map[string]bool{
		"$x = f(1 , 2) + (int32) $y.z": true, "f(1 , 2)": true, "(int32) $y.z": true, "$y.z": true, "@m[1]": true,
		"(1, 2)": true,
		"pid":    true, "uprobe:a:b": true, "@m[1] = (1, 2)": true,
	}
	Inspect(f.Probes[0], func(n Node) bool {
		delete(want, text[n.Pos().Start:n.Pos().End])
		return true
	})
	for s := range want {
		t.Errorf("no node spans %q", s)
	}
}

func TestIntegers(t *testing.T) {
	for _, c := range []struct {
		text     string
		value    uint64
		unsigned bool
		err      string
	}{
		{"0", 0, false, ""},
		{"0123", 83, false, ""},
		{"0x10", 16, false, ""},
		{"0XfF", 255, false, ""},
		{"0b11", 3, false, ""},
		{"1_000_123", 1000123, false, ""},
		{"2e3", 2000, false, ""},
		{"9e18", 9e18, false, ""},
		{"18446744073709551615", 1<<64 - 1, false, ""},
		{"10u", 10, true, ""},
		{"10ULL", 10, true, ""},
		{"10LU", 10, true, ""},
		{"10l", 10, false, ""},
		{"5us", 5000, false, ""},
		{"1m", 60e9, false, ""},
		{"2h", 7200e9, false, ""},
		{"1d", 86400e9, false, ""},
		{"3e2s", 300e9, false, ""},
		{"18446744073709551616", 0, false, "overflow error, maximum value is 18446744073709551615: 18446744073709551616"},
		{"9e19", 0, false, "overflow error, maximum value is 18446744073709551615: 9e19"},
		{"300000d", 0, false, "overflow error, maximum value is 18446744073709551615: 300000d"},
		{"5000000000u", 0, false, "overflow error, maximum value is 4294967295: 5000000000u"},
		{"12e3", 0, false, "coefficient part of scientific literal must be 1-9: 12e3"},
		{"1_", 0, false, "trailing underscore in integer literal"},
		{"08", 0, false, "invalid integer: 08"},
		{"0x", 0, false, "invalid integer: 0x"},
		{"1zz", 0, false, "invalid integer suffix 'zz'"},
		{"1e0", 0, false, "invalid integer suffix 'e0'"},
		{"1S", 0, false, "invalid integer suffix 'S'"},
		{"99e99999999999999999999", 0, false, "coefficient part of scientific literal must be 1-9: 99e99999999999999999999"},
		{"9e99999999999999999999", 0, false, "overflow error, maximum value is 18446744073709551615: 9e99999999999999999999"},
	} {
		v, u, err := ParseInt(c.text)
		msg := ""
		if err != nil {
			msg = err.Error()
		}
		if v != c.value || u != c.unsigned || msg != c.err {
			t.Errorf("%s: got %d %v %q, want %d %v %q", c.text, v, u, msg, c.value, c.unsigned, c.err)
		}
	}
}

func TestLimits(t *testing.T) {
	var bomb, callBomb strings.Builder
	bomb.WriteString("#define a0 1\n")
	callBomb.WriteString("#define f0(x) x x\n")
	for i := 1; i < 60; i++ {
		fmt.Fprintf(&bomb, "#define a%d a%d + a%d\n", i, i-1, i-1)
		fmt.Fprintf(&callBomb, "#define f%d(x) f%d(f%d(x))\n", i, i-1, i-1)
	}
	for name, text := range map[string]string{
		"parentheses": "begin { $x = " + strings.Repeat("(", 20000),
		"blocks":      "begin " + strings.Repeat("{", 20000),
		"unary":       "begin { $x = " + strings.Repeat("!", 20000) + "1 }",
		"sum":         "begin { $x = 1" + strings.Repeat("+1", 20000) + " }",
		"fields":      "begin { $x = $y" + strings.Repeat(".a", 20000) + " }",
		"else if":     "begin { if (1) {}" + strings.Repeat(" else if (1) {}", 20000) + " }",
		"ternary":     "begin { $x = 1" + strings.Repeat("?1:1", 20000) + " }",
		"casts":       "begin { $x = " + strings.Repeat("(int8)", 20000) + "1 }",
		"typeof":      "begin { $x = " + strings.Repeat("(typeof(", 20000) + "1 }",
		"pointers":    "begin { $x = (int8" + strings.Repeat("*", 20000) + ")1 }",
		"keys":        "begin { $x = " + strings.Repeat("@a[", 20000) + "1 }",
		"calls":       "begin { $x = " + strings.Repeat("f(", 20000) + "1 }",
		"records":     "begin { $x = " + strings.Repeat("(a=", 20000) + "1 }",
		"struct":      strings.Repeat("struct a { ", 20000),
		"arrays":      "struct a { int x" + strings.Repeat("[1]", 20000) + "; }",
		"C macros":    bomb.String() + "struct a { int x[a59]; };",
		"C calls":     callBomb.String() + "struct a { int x[f59(1)]; };",
		"C nested": "#define f(x) x\nstruct a { int x[" + strings.Repeat("f(", 20000) + "1" + strings.Repeat(")", 20000) +
			"]; };",
		"#if":   strings.Repeat("#if 1\n", 20000),
		"large": strings.Repeat("begin { } ", 1000000),
	} {
		t.Run(name, func(t *testing.T) {
			var diags diag.List
			Parse(&diag.Source{Name: "stdin", Text: text}, ParseOptions{}, &diags)
			if diags.Errors() == 0 || len(diags.All) > maxErrors+1 {
				t.Errorf("%d errors", len(diags.All))
			}
		})
	}
}
