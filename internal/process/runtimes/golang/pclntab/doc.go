// Package pclntab reads what Go's linker writes into every program: the table of functions, which stays in stripped
// ones, with their lines, what was inlined into them and how they use the stack, and where the description of the
// program is.
//
//	f.ReadTables(pclntab.Read)
//	t := pclntab.Of(f)
//	fn, ok := t.Func(addr)
//
// The layouts are those of runtime/symtab.go, internal/abi/symtab.go and debug/gosym/pclntab.go of the Go source.
package pclntab
