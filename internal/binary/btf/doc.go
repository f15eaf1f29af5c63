// Package btf reads type information in the kernel's own format (Documentation/bpf/btf.rst): what the kernel's
// structures, enums and functions look like, and the numbers that programs call its functions by.
//
//	types := btf.New(btf.Kernel())
//	task := types.Type("struct task_struct")
//
// Nothing is read until something is asked for, and then only that: a name is found by one walk over the types (less
// than a millisecond), a structure behind a pointer is converted when somebody looks into it. There is nothing to
// close: what is open stays so for as long as types lead to it.
package btf
