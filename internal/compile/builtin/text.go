package builtin

import "trocar/internal/binary/types"

var text = []Func{
	{
		ID: Str, Names: []string{"str"}, Min: 1, Max: 2, Group: GroupStrings,
		Variants: []string{"string str(char *p [, uint64 length])"},
		Doc: `Reads a string that ends with a NUL from memory, at most length bytes with the NUL, and never more than max_strlen (1024).
A length that the traced program has (arg1, args.len, retval, a field; also kept in a variable or a map, but nothing computed
from it) counts characters, and there need not be a NUL: str(arg0, arg1) is a text of pointer and length in full.
A string that was longer is shown with str_trunc_trailer ("..") behind it. str($1) is a positional parameter as text.`,
	},
	{
		ID: Buf, Names: []string{"buf"}, Min: 1, Max: 2, Group: GroupStrings,
		Variants: []string{"buffer buf(void *p, uint64 length)", "buffer buf(array a)"},
		Doc:      `Reads bytes from memory, at most max_strlen less 4. Print them with %r, %rx or %rh. For an array the length is known.`,
	},
	{
		ID: StrNCmp, Names: []string{"strncmp"}, Min: 3, Max: 3, Group: GroupStrings, Result: types.TUint64,
		Variants: []string{"uint64 strncmp(string a, string b, const uint64 n)"},
		Doc:      `0 if the strings agree in their first n bytes (or up to their ends), else 1. For whole strings use ==.`,
	},
	{
		ID: StrContains, Names: []string{"strcontains"}, Min: 2, Max: 2, Group: GroupStrings, Result: types.TBool,
		Variants: []string{"bool strcontains(string haystack, string needle)"},
		Doc:      `Whether the second string is found in the first.`,
	},
	{
		ID: StrStr, Names: []string{"strstr"}, Min: 2, Max: 2, Group: GroupStrings, Result: types.TInt32,
		Variants: []string{"int32 strstr(string haystack, string needle)"},
		Doc:      `Where the second string begins in the first, from 0; -1 if it is not there.`,
	},
	{
		ID: StrLen, Names: []string{"strlen"}, Min: 1, Max: 1, Group: GroupStrings, Result: types.TUint64,
		Variants: []string{"uint64 strlen(string s)", "uint64 strlen(int8 s[])", "uint64 strlen(int8 *s)"},
		Doc:      `The number of bytes before the NUL.`,
	},
	{
		ID: StrCap, Names: []string{"strcap"}, Min: 1, Max: 1, Group: GroupStrings,
		Variants: []string{"int64 strcap(string s)", "int64 strcap(int8 s[])", "uint64 strcap(int8 *s)"},
		Doc:      `The number of bytes a string or array can hold, known when compiling; for a pointer it is the same as strlen.`,
	},
	{
		ID: StrConcat, Names: []string{"str_concat"}, Min: 2, Max: 2, Group: GroupStrings, Result: types.StringOf(1024),
		Variants: []string{"string str_concat(string a, string b)"},
		Doc:      `The two strings, one behind the other, at most 1023 bytes.`,
	},
	{
		ID: DefaultStrLength, Names: []string{"default_str_length"}, Variable: true, Group: GroupStrings, CompileTime: true,
		Variants: []string{"int16 default_str_length"},
		Doc:      `The capacity of a string that str reads without a length: max_strlen.`,
	},
	{
		ID: StrError, Names: []string{"strerror"}, Min: 1, Max: 1, Group: GroupStrings, Result: types.StringOf(64),
		Variants: []string{"string strerror(int error)"},
		Doc:      `The text of an error number, as strerror(3) has it; the sign does not matter.`,
	},
	{
		ID: ErrnoName, Names: []string{"errno_name"}, Min: 1, Max: 1, Group: GroupStrings, Result: types.StringOf(64),
		Variants: []string{"string errno_name(int error)"},
		Doc:      `The name of an error number as in errno(3): "ENOENT" for 2, "0" for 0. The sign does not matter.`,
	},
	{
		ID: SignalName, Names: []string{"signal_name"}, Min: 1, Max: 1, Group: GroupStrings, Result: types.StringOf(64),
		Variants: []string{"string signal_name(int signal)"},
		Doc:      `What strsignal(3) calls a signal: "Interrupt" for 2.`,
	},
	{
		ID: SyscallName, Names: []string{"syscall_name"}, Min: 1, Max: 1, Group: GroupStrings, Result: types.StringOf(64),
		Variants: []string{"string syscall_name(int number)"},
		Doc:      `The name of a system call of this machine's architecture.`,
	},
	{
		ID: NToP, Names: []string{"ntop"}, Min: 1, Max: 2, Group: GroupStrings, Result: types.TInet,
		Variants: []string{
			"inet ntop([int64 family,] int addr)", "inet ntop([int64 family,] char addr[4])",
			"inet ntop([int64 family,] char addr[16])",
		},
		Doc: `An internet address as text. Integers and 4 bytes are IPv4, 16 bytes IPv6, unless the family (2 or 10) says otherwise.`,
	},
	{
		ID: PToN, Names: []string{"pton"}, Min: 1, Max: 1, Group: GroupStrings, CompileTime: true,
		Variants: []string{"uint8[4] pton(const string addr)", "uint8[16] pton(const string addr)"},
		Doc: "The bytes of an IPv4 or IPv6 address in network order. " +
			`Cast to an integer they can be compared: (uint32)pton("127.0.0.1").`,
	},
	{
		ID: MACAddr, Names: []string{"macaddr"}, Min: 1, Max: 1, Group: GroupStrings, Result: types.TMAC,
		Variants: []string{"mac_address macaddr(char addr[6])"},
		Doc:      `An Ethernet address, printed as 00:11:22:33:44:55.`,
	},
	{
		ID: AssertStr, Names: []string{"assert_str"}, Min: 1, Max: 1, Group: GroupStrings, CompileTime: true,
		Result:   types.TNone,
		Variants: []string{"void assert_str(any value)"},
		Doc:      `Refuses to compile unless the value is a string, or an array of or a pointer to int8.`,
	},
}
