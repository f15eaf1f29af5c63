package check

import "testing"

// Expected types are bpftrace's (0.27.1, -d types) for the same script.

func TestLiterals(t *testing.T) {
	for value, typ := range map[string]string{
		"0": "int8", "127": "int8", "128": "int16", "-128": "int8", "-129": "int16", "32768": "int32", "2147483648": "int64",
		"9223372036854775807": "int64", "9223372036854775808": "uint64", "18446744073709551615": "uint64",
		"-9223372036854775808": "int64",
		"true":                 "bool", `"abc"`: "string[4]", `""`: "string[1]", "1s": "int32", "~1": "uint64", "!1": "bool",
		"-0":    "int8",
		"1 + 1": "int8", "200 + 100": "int16", "1 == 2": "bool", "(1, -5)": "(int8,int8)",
		"(a=1, b=\"x\")": "record { .a = int8, .b = string[2] }",
		"sizeof(int32)":  "int8", "()": "()", "(1,)": "(int8)", "1 - 2": "int8", "3 - 500": "int16",
	} {
		expectTypes(t, "begin { $x = "+value+"; }", map[string]string{"$x": typ})
	}
}

func TestBuiltinTypes(t *testing.T) {
	for value, typ := range map[string]string{
		"pid": "uint32", "tid": "uint32", "uid": "uint64", "gid": "uint64", "comm": "string[16]", "nsecs": "uint64",
		"elapsed": "uint64",
		"cpu":     "uint64", "ncpus": "uint64", "numaid": "uint64", "rand": "uint64", "jiffies": "uint64", "cgroup": "uint64",
		"username": "username_t", "probe": "string[6]", "probetype": "string[8]", "usermode": "int8", "cpid": "uint64",
		"has_cpid": "bool",
		"curtask":  "struct task_struct *", "ppid": "int32", "pcomm": "string[17]", "kstack(3)": "kstack_bpftrace_3",
		"ustack": "ustack_bpftrace_127", "ustack(perf, 9)": "ustack_perf_9", "strlen(\"abc\")": "uint64",
		"strcap(\"abc\")":     "int8",
		"strstr(\"a\",\"b\")": "int32", "strcontains(\"a\",\"b\")": "bool", "str_concat(\"a\",\"b\")": "string[1024]",
		"strerror(3)": "string[64]", "bswap((uint16)3)": "uint16", "bswap(0x12345678)": "uint32", "ksym(1)": "ksym_t",
		"usym(1)":      "usym_t",
		`buf("abc",2)`: "buffer[6]", "ntop(1)": "inet[24]", `pton("1.2.3.4")`: "uint8[4]", `pton("::1")`: "uint8[16]",
		"cgroup_path(1)": "cgroup_path_t", `strftime("%H",nsecs)`: "timestamp", `strncmp("a","b",1)`: "uint64",
		"str(0)":        "string[2]",
		"str((int8*)0)": "string[1024]", "str((int8*)0, 5)": "string[6]", "memcmp(1,2,1)": "int32", `getopt("a")`: "bool",
		`getopt("b",5)`: "uint64", `getopt("c",-5)`: "int64", "is_err((int8*)0)": "bool", "kptr(1)": "int8",
		"uptr((int8*)0)":    "int8 *",
		"config.max_strlen": "int16", "config.stack_mode": "string[9]", "default_str_length()": "int16",
		"nsecs(boot)": "uint64", "pid(init)": "uint32",
		"len(ustack)": "int64", "$#": "int8", "is_str(\"a\")": "bool", "macaddr(0)": "mac_address", "__builtin_cpu": "uint64",
		"typeinfo(pid).full_type": "string[7]", "offsetof(struct task_struct, real_parent)": "int8",
	} {
		expectTypes(t, "config = { unstable_typeinfo=enable } begin { $x = "+value+"; }", map[string]string{"$x": typ})
	}
}

func TestPromotion(t *testing.T) {
	tests := []struct {
		src  string
		want map[string]string
	}{
		{`begin { $a = 1; $a = (uint64)2 }`, map[string]string{"$a": "uint64"}},
		{`begin { $a = 1; $b = -1000; $a = $b }`, map[string]string{"$a": "int16", "$b": "int16"}},
		{`begin { $a = (uint64)1; $b = (int64)-1; $a = $b }`, map[string]string{"$a": "int64", "$b": "int64"}},
		{`begin { $a = (uint32)1; $a = (int8)1 }`, map[string]string{"$a": "int64"}},
		{`begin { $a = (uint8)1; $a = (int16)1 }`, map[string]string{"$a": "int16"}},
		{`begin { $a = 1; $a = $a + 1 }`, map[string]string{"$a": "int64"}},
		{`begin { let $a; $a = $a + 1; $a = 1 }`, map[string]string{"$a": "int64"}},
		{
			`begin { $a = (uint64)1 - (uint64)2; $b = (uint64)((uint64)1 - (uint64)2) }`,
			map[string]string{"$a": "int64", "$b": "uint64"},
		},
		{
			`begin { $a = (uint8)1; $b = $a + 1; $c = -$a; $d = ~$a; $e = $a << 1 }`,
			map[string]string{"$b": "uint64", "$c": "uint64", "$d": "uint64", "$e": "uint64"},
		},
		{`begin { $a = "a"; $a = "hello" }`, map[string]string{"$a": "string[6]"}},
		{`begin { $a = ("hi", 1); $a = ("hello", 500); @[$a] = 1 }`, map[string]string{
			"$a":  "(string[6],int16)",
			"@[]": "(string[6],int16)",
		}},
		{
			`begin { $a = (x=1, y="a"); $a = (y="hello", x=(uint32)1) }`,
			map[string]string{"$a": "record { .x = uint32, .y = string[6] }"},
		},
		{`begin { @ = 1 } end { @ = -70000 }`, map[string]string{"@": "int32"}},
		{
			`begin { @a[(int16)-1, ((int32)-2, 3)] = 10; @a[5, (6, 7)] = 11; $c = ((int8)-4, ((int16)-5, -6)); @a[$c] = 12; }`,
			map[string]string{"@a[]": "(int16,(int32,int8))", "@a": "int8"},
		},
		{`begin { @a++; @b += 1; @c--; @d = (uint8)1; @d++ }`, map[string]string{
			"@a": "int64", "@b": "int64", "@c": "int64",
			"@d": "uint64",
		}},
		{`begin { $x = (uint8)1; $x++; let $y: uint8 = 1; $y++ }`, map[string]string{"$x": "uint64", "$y": "uint8"}},
		{`begin { $y = (int16*)0; $y++; $z = $y + 1 }`, map[string]string{"$y": "int16 *", "$z": "int16 *"}},
		{
			`begin { @ = count(); @s = sum(5); @u = sum(pid); @m = min(-1); $x = @; @k[@, @s] = 1 }`,
			map[string]string{
				"@": "count_t", "@s": "sum_t", "@u": "usum_t", "@m": "min_t", "$x": "uint64",
				"@k[]": "(uint64,int64)",
			},
		},
		{
			`begin { $a = pid ? "yes" : "no, thanks"; $b = nsecs ? (uint8)1 : (int32)-1 }`,
			map[string]string{"$a": "string[11]", "$b": "int32"},
		},
		{`begin { $c = true; $d = $c + 1; $e = $c + $c }`, map[string]string{"$d": "uint64", "$e": "bool"}},
		{
			`begin { @m[1,"ab"] = 5; for ($kv : @m) { $k = $kv.0; $v = $kv.1 } }`,
			map[string]string{"$kv": "((int8,string[3]),int8)", "$k": "(int8,string[3])", "$v": "int8"},
		},
		{`begin { @m[1] = count(); for ($kv : @m) { } }`, map[string]string{"$kv": "(int8,uint64)"}},
		{`begin { for ($i : 0..500) { } }`, map[string]string{"$i": "int16"}},
		{
			`begin { @c[1, ("hello", (int8)5)] = 0; _ = has_key(@c, (1, ("hello", (int32)5))) }`,
			map[string]string{"@c[]": "(int8,(string[6],int32))"},
		},
		{`begin { @m[1] = "abc"; let $v; if (find(@m, 1, $v)) { print($v) } }`, map[string]string{"$v": "string[4]"}},
		{
			`begin { let $a: string = "hi"; let $b: string[64] = "hi"; let $c: uint16; $c = 1 }`,
			map[string]string{"$a": "string[3]", "$b": "string[64]", "$c": "uint16"},
		},
		{`begin { $a = 5; let $b: typeof($a) = 1; $c = (typeof($a))3 }`, map[string]string{"$b": "int8", "$c": "int8"}},
		{
			`begin { @x[1,2] = 5; let $k: typeof(@x) = (3,4); let $v: typeof(@x[1,2]) = 1 }`,
			map[string]string{"$k": "(int8,int8)", "$v": "int8"},
		},
		{
			`enum E { A = 1, B = 2 }; begin { $a = A; $b = A + 1; $c = (enum E)2 }`,
			map[string]string{"$a": "enum E", "$b": "uint64", "$c": "enum E"},
		},
		{
			`begin { $a = (int8[8])12345; $b = (uint64)$a; $c = (int8[])"hey"; $d = (bool[2])(uint16)1; $e = $a[0] }`,
			map[string]string{"$a": "int8[8]", "$b": "uint64", "$c": "int8[4]", "$d": "bool[2]", "$e": "int8"},
		},
		// The sign that a literal takes depends on when it meets its partner.
		{
			`begin { $a = 1; $b = (uint64)2; $a = $b; @x[$a, "hi"] = $a + 3; }`,
			map[string]string{"@x": "int64", "@x[]": "(uint64,string[3])"},
		},
	}
	for _, test := range tests {
		expectTypes(t, test.src, test.want)
	}
}

func TestComptime(t *testing.T) {
	enable := "config = { unstable_typeinfo=enable } "
	for src, want := range map[string]map[string]string{
		`begin { $a = 1; if comptime (typeinfo($a).full_type == "uint64") { @map = 1; } else { @map = "str"; }
			$a = (uint64)2; }`: {"@map": "int8"},
		`begin { $a = 1; if comptime (typeinfo($a).full_type == "uint64") { @map = 1; } else { @map = "str"; }
			}`: {"@map": "string[4]"},
		`begin { if comptime is_str(comm) { @a = 1 } else { @a = "no" } }`:               {"@a": "int8"},
		`begin { if comptime (probetype == "special") { @a = 1 } else { nonsense(1) } }`: {"@a": "int8"},
		`begin { $x = comptime (1 + 2 * 3); @ = $x }`:                                    {"@": "int8"},
		`begin { $x = comptime (sizeof((1, "abc"))); }`:                                  {"$x": "int8"},
		`begin { if comptime (is_integer(pid) && is_unsigned_integer(pid) && !is_ptr(pid)) { @a = "u" }
			else { @a = 1 } }`: {"@a": "string[2]"},
		`begin { if comptime is_literal(5) { if comptime (sizeof(int64) == 8) { @a = 1 } } }`: {"@a": "int8"},
		`begin { @m = 1; if comptime is_scalar(@m) { @a = 1 } else { @a = "x" } }`:            {"@a": "int8"},
	} {
		expectTypes(t, enable+src, want)
	}
	expectError(t, `begin { $a = 1; if comptime ($a == 1) { print(1) } }`, "Unable to resolve comptime expression")
	expectError(t,
		enable+`begin { $a = 1; if comptime (typeinfo($a).full_type == "uint32") { $a = (uint64)3; } $a = (uint32)2; }`,
		"this type has been locked")
	expectError(t, `begin { print(typeinfo(1).full_type) }`, "typeinfo feature is not enabled by default")
	expectError(t, `begin { if comptime (1 > 2) { fail("x %d", 5) } }`, "")
	expectError(t, `begin { if (1 > 2) { fail("x %d, %s", 5, "y") } }`, "ERROR: x 5, y")
	expectError(t, `begin { static_assert(sizeof(int8) == 2, "int8 is small"); }`, "int8 is small")
}

func TestAddressOfNumber(t *testing.T) {
	for src, want := range map[string]string{
		`begin { print((uint8*)-1) }`:                 "print((uint8 *)0xff)",
		`begin { $a = (int16)-1; print((uint8*)$a) }`: "print((uint8 *)(uint64)(uint16)$a)",
		`begin { print((uint64)(int8)200) }`:          "print(18446744073709551560:uint64)",
		`begin { print((int32)200 % 18446744073709551615) }`: "print((int64)(200:uint64 % " +
			"18446744073709551615:uint64):uint64)",
		`begin { $a = -1; print($a < 18446744073709551615) }`: "print(((uint64)$a < 18446744073709551615:uint64):bool)",
	} {
		p, diags := compile(t, src, Input{})
		if p == nil {
			t.Errorf("%s\n%s", src, text(diags))
		} else if got := dump(t, p); !contains(got, want) {
			t.Errorf("%s\n%s\nwant %s", src, got, want)
		}
	}
}

// TestWideText: strings of UTF-16 are kept and compared as texts, not by where they are.
func TestWideText(t *testing.T) {
	for src, want := range map[string]string{
		`uprobe:/bin/x:wide { @[args.w] = 1 }`:      "@[snapshot(args#0:string):string] = 1",
		`uprobe:/bin/x:wide { @[1, args.w] = 1 }`:   "(1:int8, snapshot(args#0:string):string)",
		`uprobe:/bin/x:wide { @ = args.w }`:         "@ = snapshot(args#0:string):string",
		`uprobe:/bin/x:wide { @[str(args.w)] = 1 }`: "@[snapshot(args#0:string):string] = 1",
		`uprobe:/bin/x:wide { print(args.w == args.w) }`: "(snapshot(args#0:string):string == " +
			"snapshot(args#0:string):string):bool",
		`uprobe:/bin/x:wide { print(str(args.w) == "x") }`:               `(args#0:string == "x"):bool`,
		`uprobe:/bin/x:wide { $s = args.w; print(len($s)); @[$s] = 1; }`: "@[snapshot($s):string] = 1",
	} {
		p, diags := compile(t, src, Input{})
		if p == nil {
			t.Errorf("%s\n%s", src, text(diags))
		} else if got := dump(t, p); !contains(got, want) {
			t.Errorf("%s\n%s\nwant %s", src, got, want)
		}
	}
}
