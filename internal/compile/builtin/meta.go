package builtin

import (
	"trocar/internal/binary/abi"
	"trocar/internal/binary/types"
)

var meta = []Func{
	{
		ID: SizeOf, Names: []string{"sizeof"}, Min: 1, Max: 1, Group: GroupMeta, CompileTime: true,
		Variants: []string{"uint64 sizeof(TYPE)", "uint64 sizeof(expression)"},
		Doc:      `The size of a type, or of an expression's type, in bytes. The expression is not evaluated.`,
	},
	{
		ID: OffsetOf, Names: []string{"offsetof"}, Min: 2, Max: 2, Group: GroupMeta, CompileTime: true,
		Variants: []string{"uint64 offsetof(STRUCT, field[.field…])", "uint64 offsetof(expression, field[.field…])"},
		Doc:      `Where a field begins in a structure.`,
	},
	{
		ID: TypeOf, Names: []string{"typeof"}, Min: 1, Max: 1, Group: GroupMeta, CompileTime: true,
		Variants: []string{"TYPE typeof(TYPE)", "TYPE typeof(expression)"},
		Doc:      `The type of an expression, where a type is expected: in let, in casts, in sizeof, and as a macro's argument.`,
	},
	{
		ID: TypeInfo, Names: []string{"typeinfo"}, Min: 1, Max: 1, Group: GroupMeta, CompileTime: true,
		Variants: []string{"record typeinfo(expression)"},
		Doc:      `A type as values: base_type ("int", "string", "pointer" …) and full_type ("uint32", "string[16]" …). Unstable.`,
	},
	{
		ID: IsStr, Names: []string{"is_str"}, Min: 1, Max: 1, Group: GroupMeta, CompileTime: true, Result: types.TBool,
		Variants: []string{"bool is_str(expression)"},
		Doc:      `Whether an expression's type is a string.`,
	},
	{
		ID: IsPtr, Names: []string{"is_ptr"}, Min: 1, Max: 1, Group: GroupMeta, CompileTime: true, Result: types.TBool,
		Variants: []string{"bool is_ptr(expression)"},
		Doc:      `Whether it is a pointer.`,
	},
	{
		ID: IsArray, Names: []string{"is_array"}, Min: 1, Max: 1, Group: GroupMeta, CompileTime: true, Result: types.TBool,
		Variants: []string{"bool is_array(expression)"},
		Doc:      `Whether it is an array.`,
	},
	{
		ID: IsInteger, Names: []string{"is_integer"}, Min: 1, Max: 1, Group: GroupMeta, CompileTime: true,
		Result:   types.TBool,
		Variants: []string{"bool is_integer(expression)"},
		Doc:      `Whether it is an integer.`,
	},
	{
		ID: IsUnsignedInteger, Names: []string{"is_unsigned_integer"}, Min: 1, Max: 1, Group: GroupMeta, CompileTime: true,
		Result:   types.TBool,
		Variants: []string{"bool is_unsigned_integer(expression)"},
		Doc:      `Whether it is an integer without a sign.`,
	},
	{
		ID: IsLiteral, Names: []string{"is_literal"}, Min: 1, Max: 1, Group: GroupMeta, CompileTime: true,
		Result:   types.TBool,
		Variants: []string{"bool is_literal(expression)"},
		Doc:      `Whether an expression is a literal: 1, true, "hello" or a tuple of these.`,
	},
	{
		ID: GetOpt, Names: []string{"getopt"}, Min: 1, Max: 3, Group: GroupMeta, CompileTime: true,
		Variants: []string{
			"bool getopt(const string name)", "bool getopt(const string name, const bool default [, const string description])",
			"int getopt(const string name, const int default [, const string description])",
			"string getopt(const string name, const string default [, const string description])",
		},
		Doc: `A named option of the script, given after -- as --name=value. The default decides the type. Without one it is a switch:
--name, or --name=true, 1, false, 0. The same name must have the same default everywhere. --help after -- lists them.`,
	},
	{
		ID: Config, Names: []string{"config"}, Variable: true, Group: GroupMeta, CompileTime: true,
		Variants: []string{"record config"},
		Doc: `The settings in force: config.max_strlen, config.stack_mode … Besides bpftrace's settings there are max_shown_strlen
(bytes of a text whose length is not asked for; by default max_strlen, and 200 inside other values), max_nested_depth (how deep
values inside others are followed to what they refer to; 4) and cpp_params (whether func names the parameters of functions of C++
that a pattern found also where no other of them has the name; true) and filter_target (whether probes fire only in the threads
that -p, -c, --tid or --follow select; true. See traced).`,
	},
	{
		ID: Fail, Names: []string{"fail"}, Min: 1, Max: 128, Group: GroupMeta, CompileTime: true, Result: types.TNone,
		Variants: []string{"void fail(const string fmt, args...)"},
		Doc:      `Refuses to compile, with this message. It makes sense behind an "if comptime"; the arguments must be literals.`,
	},
	{
		ID: StaticAssert, Names: []string{"static_assert"}, Min: 2, Max: 2, Group: GroupMeta, CompileTime: true,
		Result:   types.TNone,
		Variants: []string{"void static_assert(bool condition, const string message)"},
		Doc:      `Refuses to compile unless the condition, which must be known when compiling, is true.`,
	},
	{
		ID: KFuncExist, Names: []string{"kfunc_exist"}, Min: 1, Max: 1, Group: GroupMeta, CompileTime: true,
		Result:   types.TBool,
		Variants: []string{"bool kfunc_exist(const string kfunc)"},
		Doc:      `Whether the kernel has a kfunc of this name.`,
	},
	{
		ID: KFuncAllowed, Names: []string{"kfunc_allowed"}, Min: 1, Max: 1, Group: GroupMeta, CompileTime: true,
		Result:   types.TBool,
		Variants: []string{"bool kfunc_allowed(const string kfunc)"},
		Doc:      `Whether a kfunc may be called in this kind of probe.`,
	},
	{
		ID: Arch, Names: []string{"__builtin_arch"}, Variable: true, Group: GroupMeta, CompileTime: true,
		Variants: []string{"string __builtin_arch"},
		Doc:      "The machine's architecture: " + abi.Having(" or ", nil) + ".",
	},
	{
		ID: SafeMode, Names: []string{"__builtin_safe_mode"}, Variable: true, Group: GroupMeta, CompileTime: true,
		Result:   types.TBool,
		Variants: []string{"bool __builtin_safe_mode"},
		Doc:      `Whether --unsafe was not given.`,
	},
}
