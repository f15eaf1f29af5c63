package check

import (
	"testing"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/types"
)

func TestErrors(t *testing.T) {
	for _, c := range [][2]string{
		{
			`begin { @x = ""; @x = 5 }`,
			"stdin:1:18-24: ERROR: Type mismatch for @x: trying to assign value of type 'int8' when map " +
				"already has a type 'string[1]'",
		},
		{
			`begin { $x = "a"; $x = 5 }`,
			"stdin:1:19-25: ERROR: Type mismatch for $x: trying to assign value of type 'int8' when variable " +
				"already has a type 'string[2]'",
		},
		{`begin { foo(1) }`, "stdin:1:9-15: ERROR: Unknown function: 'foo'"},
		{`begin { prinft("x") }`, "HINT: did you mean print or printf?"},
		{`begin { print(foo) }`, "stdin:1:15-18: ERROR: Unknown identifier: 'foo'"},
		{`begin { print(nil) }`, "stdin:1:15-18: ERROR: Unknown identifier: 'nil'"},
		{`begin { if (nil == nil) { } }`, "Unknown identifier: 'nil'"},
		{`begin { if (nil != 1) { } }`, "'int8' is never nil: pointers, interfaces, slices, maps, channels and functions can be"},
		{`begin { print(nescs) }`, "HINT: did you mean nsecs?"},
		{`begin { print($foo) }`, "stdin:1:15-19: ERROR: Undefined or undeclared variable: $foo"},
		{`begin { $start = 1; print($strat) }`, "HINT: did you mean $start?"},
		{`begin { print(@foo) }`, "Undefined map: @foo"},
		{`begin { @count[1] = 1; print(@cuont) }`, "HINT: did you mean @count?"},
		{
			`begin { printf("%d %s", 1) }`,
			"stdin:1:9-27: ERROR: not enough arguments for format string (1 supplied, 2 expected)",
		},
		{`begin { printf("%d", 1, 2) }`, "too many arguments for format string (2 supplied, 1 expected)"},
		{
			`begin { printf("%s %d", 1, "a") }`,
			"stdin:1:9-32: ERROR: unsupported format specifier for type 'string[2]': d",
		},
		{`begin { printf("%r", 1) }`, "unsupported format specifier for type 'int8': r"},
		{`begin { printf("%f", 1) }`, "unsupported format specifier: f"},
		{`begin { printf("%s", print(1)) }`, "unable to print none type for specifier: s"},
		{`begin { printf(1) }`, "printf() expects a string literal (int provided)"},
		{`begin { str() }`, "str() requires at least one argument (0 provided)"},
		{`begin { printf() }`, "printf() requires at least one argument (0 provided)"},
		{`begin { strftime("x") }`, "strftime() requires 2 arguments (1 provided)"},
		{`begin { exit(1, 2) }`, "exit() takes up to one argument (2 provided)"},
		{`begin { @ = count(1) }`, "count() requires no arguments (1 provided)"},
		{`i:s:1 { reg("xx") }`, "'xx' is not a valid register on this architecture (x86_64)"},
		{`begin { reg("ip") }`, `reg can not be used with "begin" probes`},
		{`begin { $a = printf("x"); }`, "Value 'void' cannot be assigned to a scratch variable."},
		{`begin { $a = 1/0; }`, "unable to fold literals due to overflow or underflow"},
		{`begin { $b = 1 << 64; }`, "unable to fold literals due to overflow or underflow"},
		{`begin { $b = 18446744073709551615 + 1 }`, "unable to fold literals due to overflow or underflow"},
		{`begin { $x = "a" - "b" }`, "illegal literal operation with strings"},
		{
			`begin { let $a; let $a; }`,
			"Variable $a was already declared. Variable shadowing is not allowed.",
		},
		{`begin { $a = 1; if (1) { let $a = 2 } }`, "This is the initial assignment."},
		{`begin { $i = 1; for ($i : 0..3) { } }`, "Loop declaration shadows existing variable: $i"},
		{`begin { if (1) { $b = 1 } print($b) }`, "Undefined or undeclared variable: $b"},
		{
			`begin { let $a: uint16 = -1; }`,
			"Type mismatch for $a: trying to assign value of type 'int8' when variable already has a type 'uint16'",
		},
		{`begin { let $a: sum_t; }`, "Invalid variable declaration type: sum_t"},
		{
			`begin { @x = 1; @x[1] = 1 }`,
			"@x used as a map with an explicit key (non-scalar map), previously used without an explicit key " +
				"(scalar map)",
		},
		{
			`begin { @x[1] = 1; @x = 1 }`,
			"@x used as a map without an explicit key (scalar map), previously used with an explicit key " +
				"(non-scalar map)",
		},
		{
			`begin { @x = 1; for ($kv : @x) { } }`,
			"@x has no explicit keys (scalar map), and cannot be used for iteration",
		},
		{`begin { @x[1] = hist(1); for ($kv : @x) { print($kv) } }`, "Loop expression does not support type: hist_t"},
		{
			`begin { @g = 2; if (has_key(@g, 2)) { } }`,
			"call to has_key() expects a map with explicit keys (non-scalar map)",
		},
		{
			`begin { @g[1, "hi"] = 2; if (has_key(@g, (1, 2))) { } }`,
			"Argument mismatch for @g: trying to access with arguments: '(int8,int8)' when map expects " +
				"arguments: '(int8,string[3])'",
		},
		{
			`begin { @ = 0; print(len(@)) }`,
			"call to len() expects a map with explicit keys (non-scalar map)",
		},
		{
			`begin { print(len(5)) }`,
			"call to len() expects a map, ustack, or kstack",
		},
		{`begin { clear(1) }`, "clear() expects a map argument"},
		{
			`begin { @[1] = 1; delete(@) }`,
			"expects a map without explicit keys (scalar map)",
		},
		{
			`begin { @x = count(); @y = @x }`,
			"Add a cast to integer if you want the value of the aggregate, e.g. `@y = (int64)@x;`.",
		},
		{
			`begin { @x = count(); @x = 5 }`,
			"Type mismatch for @x: trying to assign value of type 'int8' when map already has a type 'count_t'",
		},
		{
			`begin { @x = count(); @x = sum(5) }`,
			"trying to assign value of type 'sum_t' when map already has a type 'count_t'",
		},
		{
			`begin { $x = count() }`,
			"count() must be assigned directly to a map",
		},
		{
			`begin { @x = sum("a") }`,
			"sum() only supports integer arguments (string[2] provided)",
		},
		{
			`begin { @x = hist("a") }`,
			"hist() only supports int arguments (string provided)",
		},
		{`begin { @x = hist(1, 6) }`, "hist: bits 6 must be 0..5"},
		{
			`begin { @x = hist(1, 1); @x = hist(1, 2) }`,
			"Different bits in a single hist unsupported",
		},
		{
			`begin { @x = lhist(1, 0, 10, 1); @x = lhist(1, 0, 20, 1) }`,
			"Different lhist bounds in a single map unsupported",
		},
		{
			`begin { @x = lhist(1, 10, 0, 1) }`,
			"lhist() min must be less than max (provided min 10 and max 0)",
		},
		{
			`begin { @x = lhist(1, 0, 10, 0) }`,
			"lhist() step must be >= 1 (0 provided)",
		},
		{
			`begin { @x = lhist(1, 0, 10000, 1) }`,
			"lhist() too many buckets, must be <= 1000 (would need 10000)",
		},
		{
			`begin { @x = lhist(1, 0, 5, 10) }`,
			"lhist() step is too large for the given range (provided step 10 for range 5)",
		},
		{
			`begin { @x = lhist(1, pid, 5, 10) }`,
			"lhist: invalid min value (must be non-negative literal)",
		},
		{
			`begin { @x = tseries(1, 1s, 5, "med") }`,
			"tseries() expects one of the following aggregation functions: avg, max, min, sum (\"med\" provided)",
		},
		{
			`begin { @x = tseries(1, 0, 5) }`,
			"tseries() interval_ns must be >= 1 (0 provided)",
		},
		{`begin { unroll(101) { } }`, "unroll maximum value is 100"},
		{`begin { unroll(0) { } }`, "unroll minimum value is 1"},
		{`begin { unroll(pid) { } }`, "invalid unroll value"},
		{
			`begin { break; }`,
			"'break' statement is not allowed in a probe",
		},
		{
			`begin { return "a"; }`,
			"Probe return values can only be integers. Found string[2]",
		},
		{
			`begin { if ("a" == 5) { } }`,
			"Type mismatch for '==': comparing string[2] with int8",
		},
		{
			`begin { if (comm < "a") { } }`,
			"The < operator can not be used on expressions of types string[16], string[2]",
		},
		{
			`begin { $a = (int8*)1; $b = $a * 2 }`,
			"The * operator can not be used on expressions of types int8 *, int8",
		},
		{
			`begin { $a = (int8*)1; $b = 2 - $a }`,
			"The - operator can not be used on expressions of types int8, int8 *",
		},
		{
			`begin { $a = -comm }`,
			"The - operator can not be used on expressions of type 'string[16]'",
		},
		{
			`begin { $a = !comm }`,
			"The ! operator can not be used on expressions of type 'string[16]'",
		},
		{`begin { if (comm) { } }`, "Invalid condition: string"},
		{
			`begin { $a = pid ? 1 : "a" }`,
			"Branches must return the same type or compatible types: have 'int8' and 'string[2]'",
		},
		{
			`begin { $a = (1, 2); print($a.2) }`,
			"Invalid tuple index: 2. Found 2 elements in tuple.",
		},
		{
			`begin { $a = 1; print($a.0) }`,
			"Can not access index '0' on expression of type 'int8'",
		},
		{
			`begin { $a = (1, 2); print($a[pid]) }`,
			"Array-style access for tuples only valid for integer literals",
		},
		{
			`begin { $a = (x=1); print($a.y) }`,
			"Record does not contain a field named 'y'",
		},
		{
			`begin { $a = 1; print($a.y) }`,
			"Can not access field 'y' on expression of type 'int8'",
		},
		{
			`struct S { int first; } begin { $s = (struct S *)0; print($s.frist) }`,
			"Struct/union of type 'struct S' does not contain a field named 'frist'",
		},
		{`struct S { int first; } begin { $s = (struct S *)0; print($s->fisrt) }`, "HINT: did you mean first?"},
		{
			`begin { $s = (struct Nope *)0; print($s.a) }`,
			"Unknown struct/union: 'struct Nope'",
		},
		{
			`begin { $x = (nope)5 }`,
			"Cannot resolve unknown type \"nope\"",
		},
		{`begin { $x = (unit32)5 }`, "HINT: did you mean uint32?"},
		{
			`struct A { int x[4]; } u:/x:f { $a = (struct A *) arg0; $x = $a.x[5]; }`,
			"the index 5 is out of bounds for array of size 4",
		},
		{
			`struct A { int x[4]; } u:/x:f { $a = (struct A *) arg0; $i = -1; $x = $a.x[$i]; }`,
			"The array index operator [] only accepts non-negative integer indices. Got: int8",
		},
		{
			`begin { $a = (void *)1; print($a[1]) }`,
			"The array index operator [] cannot be used on a pointer to an unsized type (void *).",
		},
		{
			`begin { $a = 5; print($a[1]) }`,
			"The array index operator [] can only be used on arrays, pointers, and tuples, found int8.",
		},
		{
			`begin { $a = (void *)1; print(*$a) }`,
			"cannot read what a 'void *' points to",
		},
		{
			`begin { $a = (int32)"abc" }`,
			"Cannot cast from \"string[4]\" to \"int32\"",
		},
		{`begin { $a = (int8[3])12345 }`, ""},
		{
			`begin { $a = (uint32)pton("::1") }`,
			"Cannot cast from \"uint8[16]\" to \"uint32\"",
		},
		{
			`begin { $a = (string[2])"abc" }`,
			"Cannot cast from \"string[4]\" to \"string[2]\"",
		},
		{
			`enum E { A = 1 }; begin { $a = (enum E)5 }`,
			"Enum: E doesn't contain a variant value of 5",
		},
		{`begin { $a = (enum F)5 }`, "Unknown enum: F"},
		{
			`begin { $a = pton("localhost") }`,
			"pton() expects an string argument of an IPv4/IPv6 address, got localhost",
		},
		{
			`begin { $a = pton("1.2.3") }`,
			"pton() expects a valid IPv4/IPv6 address, got 1.2.3",
		},
		{
			`begin { system("ls") }`,
			"system() is an unsafe function being used in safe mode",
		},
		{
			`u:/x:f { signal(9) }`,
			"signal() is unsafe. To use you need the --unsafe flag",
		},
		{
			`begin { signal(9) }`,
			"signal() can not be used for this probetype special",
		},
		{
			`t:syscalls:open { write_user(args.filename, "x", 1); }`,
			"write_user() is unsafe. To use you need the --unsafe flag",
		},
		{
			`begin { print(arg0) }`,
			"The arg0 builtin can only be used with 'kprobes', 'uprobes' and 'usdt' probes",
		},
		{
			`u:/x:f { print(arg6) }`,
			"x86_64 doesn't support arg6",
		},
		{
			`begin { print(retval) }`,
			"The retval builtin can only be used with 'kretprobe' and 'uretprobe' and 'fentry' probes",
		},
		{
			`begin { print(func) }`,
			"The func builtin can not be used with 'begin' probes",
		},
		{
			`begin { print(args) }`,
			"The args builtin can only be used with tracepoint, rawtracepoint, fentry/fexit, and uprobe probes " +
				"(special used here)",
		},
		{`u:/x:plain { print(args) }`, "Cannot read function parameters"},
		{`u:/x:f { print(args.m) }`, "Can't find function parameter m"},
		{`t:syscalls:open { print(args.common_type) }`, "BPF does not support accessing common tracepoint fields"},
		{`u:/x:f { print(*uaddr("nope")) }`, "no symbol \"nope\" in /bin/x"},
		{`begin { print(uaddr("counter")) }`, `uaddr can not be used with "begin" probes`},
		{`begin { kaddr("asdfzzzzzzz") }`, "Failed to resolve kernel symbol: asdfzzzzzzz"},
		{
			`begin { print(ustack(2000)) }`,
			"ustack([int limit]): limit shouldn't exceed 1024, 2000 given",
		},
		{`begin { print(kstack(build_id, 3)) }`, "'build_id' stack mode can only be used for ustack"},
		{
			`begin { print(ustack(fancy)) }`,
			"Invalid value for stack_mode: valid values are bpftrace, raw, perf, and build_id.",
		},
		{`begin { print(nsecs(fast)) }`, "Invalid timestamp mode: fast"},
		{
			`begin { print(pid(other)) }`,
			"Invalid PID namespace mode: other (expects: curr_ns or init)",
		},
		{`begin { print(strftime("%H", -5)) }`, "strftime() does not accept negative timestamps"},
		{`begin { print(strftime("%H", nsecs(monotonic))) }`, "strftime() can not take a monotonic timestamp"},
		{
			`begin { strcontains("foo", 1) }`,
			"string-like values must be either strings, arrays or pointers",
		},
		{`begin { strncmp("a", "b", pid) }`, "Builtin strncmp requires a non-negative literal"},
		{`begin { strncmp(1, "b", 2) }`, "strncmp() only supports string arguments (int provided)"},
		{`begin { print(buf(pid)) }`, "buf() expects a length argument for non-array type int"},
		{
			`begin { print(@x[1]); @x[1] = hist(1) }`,
			"Map type hist_t cannot print the value of individual keys. You must print the whole map.",
		},
		{`begin { @x[1] = 1; print(@x, pid) }`, "print() expects a int literal (int provided)"},
		{`begin { print(1, 2) }`, "Non-map print() only takes 1 argument, 2 found"},
		{`begin { @[stats(1)] = 1 }`, "stats() must be assigned directly to a map"},
		{`begin { $x = &5 }`, "address-of operator (&)"},
		{
			`let @a = hash(2); begin { @a[1] = count() }`,
			"Incompatible map types. Type from declaration: hash. Type from value/key type: percpuhash",
		},
		{`let @a = heap(2); begin { @a[1] = 1 }`, "Invalid bpf map type: heap"},
		{
			`config = { bad_config=raw } begin {}`,
			"stdin:1:12-26: ERROR: bad_config: not a known configuration option",
		},
		{`config = { max_mapkeys=5 } begin {}`, "HINT: did you mean max_map_keys?"},
		{
			`config = { stack_mode=fancy } begin {}`,
			"stack_mode: Invalid value for stack_mode: valid values are bpftrace, raw, perf, and build_id.",
		},
		{
			`config={license="Potato"} begin { }`,
			"Invalid value for license. Found: Potato. Valid values: Dual MIT/GPL, Dual BSD/GPL, Dual MPL/GPL, " +
				"GPL and additional rights, GPL v2, GPL.",
		},
		{`config={max_strlen=abc} begin { }`, "max_strlen: expecting a number, got abc"},
		{`struct A { struct B b; }; begin { print(sizeof(struct A)) }`, "field has incomplete type 'struct B'"},
		{`struct A { foo_t x; }; begin { print(sizeof(struct A)) }`, "unknown type name 'foo_t'"},
		{`begin { print(offsetof(struct task_struct, pids)) }`, "'struct task_struct' has no field named 'pids'"},
		{`begin { print(sizeof({ @x = 1; 1 })) }`, "Map assignments not allowed inside of sizeof"},
		{
			`begin { print(getopt(pid)) }`,
			"First argument to 'getopt' must be a string literal.",
		},
		{
			`begin { print((getopt("a", 1), getopt("a", 2))) }`,
			"Command line option 'a' needs to have the same default value in all places it is used. Previous " +
				"default value: 1",
		},
		{`begin { fail(pid) }`, "fail() arguments need to be literals"},
		{`begin { print(sarg0) }`, "sarg* is deleted"},
	} {
		src, want := c[0], c[1]
		expectError(t, src, want)
	}
}

func TestTuplesOfHugeNumbers(t *testing.T) {
	expectError(t, `begin { if (((int64)pid, "x") == (18446744073709551615, "x")) { } }`, "Type mismatch for '=='")
}

func TestWarnings(t *testing.T) {
	for _, c := range [][2]string{
		{
			`begin { $b = -1; let $a: uint16 = $b; print($a) }`,
			"Expression of type: int8 being cast to type: uint16. This may cause unexpected results.",
		},
		{`begin { 1 }`, "Return value discarded."},
		{`begin { @x[1] = 1; delete(@x, 1); }`, "Return value discarded."},
		{`begin { _ = { print(1); 1 } }`, ""},
		{`begin { let $a; }`, "Variable $a was never assigned to."},
		{
			`begin { let $a; print($a); $a = 1 }`,
			"Variable used before it was assigned: $a",
		},
		{`begin { exit(); print(1) }`, "Unreachable statement."},
		{`begin { $i = 0; while ($i < 5) { $i++ } }`, "While loops are deprecated"},
		{
			`begin { print($1) }`,
			"Positional parameter $1 is empty or not provided.",
		},
		{`let @a = hash(1); begin { }`, "Unused map: @a"},
		{
			`begin { $a = (int8*)1; $b = (int16*)2; if ($a == $b) { } }`,
			"comparison of distinct pointer types: int8, int16",
		},
		{
			`begin { $a = (uint32)pid; print($a) }`,
			"Unnecessary cast: expression is already of type uint32",
		},
		{
			`begin { @x[1] = 1; for ($i : 0..3) { print(@x) } }`,
			"Due to it's asynchronous nature using 'print()' in a loop",
		},
		{
			`begin { @x = stats(1); print(@x, 5) }`,
			"print()'s top and div arguments are ignored when used on stats() maps.",
		},
		{
			`begin { @x = tseries(1, 1s, 5) }`,
			"Script is using an unstable feature: tseries.",
		},
		{`config = { unstable_tseries=enable } begin { @x = tseries(1, 1s, 5) }`, ""},
		{
			`config = { strlen=99 } begin { }`,
			"strlen has been renamed, please use max_strlen",
		},
		{
			`config = { symbol_source=x } begin { }`,
			"symbol_source is deprecated and has no effect",
		},
		{
			`u:/x:f { print(str(arg0, 5000)) }`,
			"length param (5000) is too long and will be shortened to 1024 bytes (see BPFTRACE_MAX_STRLEN)",
		},
		{`begin { print("abc" + 5) }`, "literal string will always be empty"},
		{`begin { print(kstack); }`, ""},
		{
			`config = { stack_mode=build_id } begin { print(kstack); }`,
			"'build_id' stack mode can only be used for ustack. Falling back to 'raw' mode.",
		},
	} {
		src, want := c[0], c[1]
		expectWarning(t, src, want)
	}
}

func TestOptions(t *testing.T) {
	opt := func(name, value string, has bool) Option { return Option{Name: name, Value: value, HasValue: has} }
	src := `begin { print((getopt("aa", 20), getopt("bb", -1), getopt("cc", true), getopt("dd"), getopt("ee", ` +
		`"hello"))); }`
	p, diags := compile(t, src, Input{Options: []Option{
		opt("dd", "", false), opt("aa", "0xffffffffffffffff", true), opt("bb", "-10", true), opt("cc", "False", true),
	}})
	if p == nil {
		t.Fatal(text(diags))
	}
	if got, want := dump(t, p),
		`print((18446744073709551615:uint64, -10:int64, false, true, `+
			`"hello"):(uint64,int64,bool,bool,string[6]))`; !contains(got,
		want) {
		t.Errorf("%s\nwant %s", got, want)
	}
	in := func(o ...Option) Input { return Input{Options: o} }
	expectErrorIn(t, `begin { print(getopt("aa", 10)); }`, in(opt("aa", "False", true)),
		"program command line option --aa invalid integer (value: False)")
	expectErrorIn(t, `begin { print(getopt("aa", 10)); }`, in(opt("bb", "", false)),
		"unexpected program command line options: --bb\nHINT: expected program options: --aa")
	expectErrorIn(t, `begin { print((getopt("aa", 10, "Description of aa"), getopt("cc"))); }`,
		in(opt("help", "", false)),
		"HINT: expected program options:\n--aa: Description of aa\n--cc")
	expectErrorIn(t, `begin { print(getopt("aa", 10)); }`, in(opt("aa", "", false)),
		"--aa expects an integer (value: true)")
	expectErrorIn(t, `begin { print(getopt("aa", true)); }`, in(opt("aa", "maybe", true)),
		"--aa expects a boolean (e.g. 'true') (value: maybe)")
	expectErrorIn(t, `begin { print(getopt("aa", -1)); }`, in(opt("aa", "99999999999999999999", true)),
		"--aa value is out of range")
}

func TestParams(t *testing.T) {
	for _, c := range [][2]string{
		{`begin { print($1) }`, "print(42:int8)"},
		{`begin { print($2) }`, `print("hello")`},
		{`begin { print(str($1)) }`, `print("42")`},
		{`begin { print(str($2 + 1)) }`, `print("ello")`},
		{`begin { print(str($2, 2)) }`, `print("he")`},
		{`begin { print($#) }`, "print(4:int8)"},
		{`begin { print(-$1) }`, "print(-42:int8)"},
		{`begin { print($3) }`, "print(-7:int8)"},
		{`begin { print($4) }`, "print(18446744073709551615:uint64)"},
		{`begin { print(str($9)) }`, `print("")`},
		{`begin { @ = lhist(0, 0, $1, 1) }`, "@ <- lhist_t(0:int64)"},
		{`begin { if ($1 == 42) { print(1) } }`, "if true {"},
		{`begin { unroll ($1) { print(1) } }`, "unroll 42 {"},
		{`begin { print(strncmp("hello", "hell", $1)) }`, `strncmp("hello", "hell", 42:uint64)`},
	} {
		src, want := c[0], c[1]
		p, diags := compile(t, src, Input{Params: []string{"42", "hello", "-7", "0xffffffffffffffff"}})
		if p == nil {
			t.Errorf("%s\n%s", src, text(diags))
		} else if got := dump(t, p); !contains(got, want) {
			t.Errorf("%s\n%s\nwant %s", src, got, want)
		}
	}
}

// TestNotOnThisCPU: what is not known of a CPU is refused with the reason.
func TestNotOnThisCPU(t *testing.T) {
	expectErrorIn(t, `begin { print(syscall_name(1)) }`, Input{Arch: abi.I386}, "syscall_name is not available on i686")
	expectErrorIn(t, `begin { print(syscall_name(1)) }`, Input{Arch: abi.ARM64}, "")
	expectErrorIn(t, `uprobe:/bin/x:f { print(usermode) }`, Input{Arch: abi.ARM64},
		"'usermode' builtin is only supported on x86_64")
	expectErrorIn(t, `uprobe:/bin/x:f { print(arg7) }`, Input{Arch: abi.ARM64}, "")
	expectErrorIn(t, `uprobe:/bin/x:f { print(arg7) }`, Input{Arch: abi.AMD64}, "x86_64 doesn't support arg7")
	expectErrorIn(t, `uprobe:/bin/x:f { print(reg("r30")) }`, Input{Arch: abi.ARM64}, "")
	expectErrorIn(t, `uprobe:/bin/x:f { print(reg("ax")) }`, Input{Arch: abi.ARM64},
		"'ax' is not a valid register on this architecture (aarch64)")
}

// TestRefusedWithReason: what the language has and this version has not is refused with the reason.
func TestRefusedWithReason(t *testing.T) {
	expectError(t, `begin { print(comm(1)) }`,
		"comm(PID) is not available: how this kernel keeps processes by number is not known: it has no "+
			"task_struct.thread_pid")
	expectErrorIn(t, `begin { print(comm(1)) }`,
		Input{Lookup: Lookup{KernelType: func(string) *types.Type { return nil }}},
		"comm(PID) is not available: the kernel provides no type information")
	expectError(t, `begin { print(comm) }`, "")
	expectError(t, `fentry:f { print(path((uint8 *)0)) }`, "path() can't be used in fentry:f:f: the kernel makes names")
	expectError(t, `begin { print(percpu_kaddr("runqueues")) }`,
		"percpu_kaddr is not available: the kernel provides no type information")
}
