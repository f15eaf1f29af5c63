// Package builtin is the table of the language's builtin variables and functions: name, signature, documentation, and for
// those that are a few instructions the code.
//
// One entry is one builtin; docs/builtins.md is generated from the table. Entries whose code needs more than their
// arguments (output, maps, strings) have no Emit: codegen has a case for their ID.
package builtin

import (
	"trocar/internal/binary/types"
	"trocar/internal/compile/ir"
)

// ID names a builtin for codegen.
type ID string

// Func is one builtin variable or function.
type Func struct {
	ID          ID
	Names       []string // the first is shown; others are aliases
	Variable    bool     // may be used without parentheses
	Min, Max    int      // number of arguments; Max -1: any
	Variants    []string // signatures as shown in the reference
	Doc         string
	Group       Group
	Async       bool // carried out by user space when the record arrives
	Unsafe      bool // needs --unsafe
	CompileTime bool
	// Result is the type of the value where it does not depend on the arguments; nil: check decides.
	Result *types.Type
	// Emit makes the value of builtins that need nothing but the program's context. args are 64-bit values.
	Emit func(b *ir.Builder, ctx ir.Reg, args []ir.Reg) ir.Reg
}

// Group orders the reference.
type Group uint8

// Groups.
const (
	Process Group = iota
	ProbeInfo
	Time
	Output
	MapOps
	Aggregations
	Strings
	Memory
	Stacks
	Meta
	System
)
