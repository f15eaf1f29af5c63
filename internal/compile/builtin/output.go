package builtin

import "trocar/internal/binary/types"

var output = []Func{
	{
		ID: Printf, Names: []string{"printf"}, Min: 1, Max: 128, Group: GroupOutput, Async: true, Result: types.TNone,
		Variants: []string{"void printf(const string fmt, args...)"},
		Doc: `Prints values. The format must be a literal. Conversions are those of C (%d %i %u %x %X %o %c %p %s with -, +, #, 0,
width, precision and the length modifiers hh h l ll j z t), where %s prints any value as print would, enumerators by name.
Text by itself is printed as it is; text in a structure, list or another value of the traced program is in quotes, with
control characters escaped.
In addition:

| conversion | prints |
|---|---|
| %#s | any value on one line: control characters, bytes that are no UTF-8, backslashes, and quotes in strings are escaped |
| %+s | the same, where text by itself is in quotes, too, so that it can be told from NULL, nil and a reason in <> |
| %r | a buffer: printable ASCII as it is, other bytes as \xNN |
| %rx | a buffer, every byte as \xNN |
| %rh | a buffer, bytes in hexadecimal with blanks between |
| %gr | a number as the kernel's GFP flags |`,
	},
	{
		ID: Print, Names: []string{"print"}, Min: 1, Max: 3, Group: GroupOutput, Async: true, Result: types.TNone,
		MapArg:   true,
		Variants: []string{"void print(any value)", "void print(map m [, uint64 top [, uint64 div]])"},
		Doc: `Prints a value, or a whole map. top limits a map to the entries with the largest values, div divides the values before
they are shown. A map is read when the record arrives, not when print runs, so a print in a loop may show later values.`,
	},
	{
		ID: Errorf, Names: []string{"errorf"}, Min: 1, Max: 128, Group: GroupOutput, Async: true, Result: types.TNone,
		Variants: []string{"void errorf(const string fmt, args...)"},
		Doc:      `Like printf, but prints an error message with the place in the script. Tracing goes on.`,
	},
	{
		ID: Warnf, Names: []string{"warnf"}, Min: 1, Max: 128, Group: GroupOutput, Async: true, Result: types.TNone,
		Variants: []string{"void warnf(const string fmt, args...)"},
		Doc:      `Like errorf, but prints a warning; --no-warnings silences it.`,
	},
	{
		ID: Debugf, Names: []string{"debugf"}, Min: 1, Max: 128, Group: GroupOutput, Result: types.TNone,
		Variants: []string{"void debugf(const string fmt, args...)"},
		Doc: `Writes to the kernel's trace buffer (/sys/kernel/tracing/trace_pipe). At most three arguments, and only %d %u %x %p
and %s. Every user of the machine's trace buffer sees it, and it is slow: for debugging only.`,
	},
	{
		ID: Snapshot, Names: []string{"snapshot"}, Min: 1, Max: 2, Group: GroupOutput,
		Variants: []string{"any snapshot(any value [, const uint64 length])"},
		Doc: `The value as print would show it now, to be kept in a map and printed later: with the text and the first elements that
lie elsewhere in the program, of what a reference refers to, and the text that a char pointer points to.
A text by itself is kept up to length bytes (max_strlen).`,
	},
	{
		ID: Join, Names: []string{"join"}, Min: 1, Max: 2, Group: GroupOutput, Async: true, Result: types.TNone,
		Variants: []string{"void join(char *arr[] [, const string sep])"},
		Doc: `Prints the strings of an array of pointers that ends with a null pointer (as argv does), with sep (a blank) between,
and a line break.`,
	},
	{
		ID: Cat, Names: []string{"cat"}, Min: 1, Max: 128, Group: GroupOutput, Async: true, Result: types.TNone,
		Variants: []string{"void cat(const string fmt, args...)"},
		Doc:      `Prints the beginning of a file (max_cat_bytes, 10240). The name is formatted as by printf: cat("/proc/%d/maps", pid).`,
	},
	{
		ID: System, Names: []string{"system"}, Min: 1, Max: 128, Group: GroupOutput, Async: true, Result: types.TNone,
		Unsafe:   true,
		Variants: []string{"void system(const string fmt, args...)"},
		Doc: `Runs a command with sh -c, with trocar's rights, and prints what it prints. The command is formatted as by printf. Events
wait until it ends.`,
	},
}
