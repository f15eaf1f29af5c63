// Package golang reads what a Go program tells of itself, which stays when debug information is stripped off: the
// descriptions of types that its runtime and reflection need, the methods in these with their signatures, and the
// shapes of functions' arguments that tracebacks show.
//
//	p := golang.Open(file)                    // file: *objfile.File
//	fn, ok := p.Function(addr)                // what is known of arguments and results
//	t, ok := p.TypeNamed("net/http.Request")  // as debug information would have it
//	t, ok := p.Dynamic(addr)                  // the type of what is in an interface
//
// # What is known, and what is not
//
// A type is described if the program may turn a value of it into an interface, or if another described type has it as a
// part; with its fields' names and offsets. A method of such a type is in its table, with its signature if reflection
// or an interface may ask for it, so that the places of arguments and results are as sure as with debug information.
// The receiver's type follows from the function's name. Names of parameters are nowhere.
//
// Exported functions and methods of the standard library have the signatures that its promise of compatibility fixes:
// those of packages that people trace are in a table (signatures.z, made by genstd.go), and are taken if the shape of
// the arguments agrees.
//
// Of other functions the shape of the arguments is known: how many words of which size, in which groups, at most ten of
// them. It doesn't tell a number from a pointer, nor a string from two integers. Nor does it tell floating-point
// numbers, which are passed in other registers and so decide in which register all others are; but where a function
// checks its stack, it saves its arguments before the stack grows, and that code names each register. Without it, only
// what no floating-point number can precede has a place.
//
// # Versions
//
// Go 1.21 to 1.26, 64 bits. The layouts are those of internal/abi/{type,symtab}.go, runtime/{symtab,symtabinl}.go and,
// for the save of arguments, cmd/internal/obj/x86/obj6.go in the Go source.
package golang
