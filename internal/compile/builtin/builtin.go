// Package builtin is the table of the language's builtin variables and functions: name, signature, documentation, and for
// those that are a few instructions the code.
//
// One entry is one builtin; docs/builtins.md is generated from the table. Entries whose code needs more than their
// arguments (output, maps, strings) have no Emit: codegen has a case for their ID.
package builtin

import (
	"strings"
	"sync"

	"trocar/internal/binary/types"
	"trocar/internal/compile/ir"
)

// ID names a builtin for codegen: its first name.
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
	// MapArg marks functions whose first argument is a whole map (or may be one).
	MapArg bool
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

// Groups lists the groups in the reference's order, with their titles.
var groupTitles = [...]string{
	Process:      "Process and thread",
	ProbeInfo:    "Probe",
	Time:         "Time",
	Output:       "Output",
	MapOps:       "Maps",
	Aggregations: "Aggregations",
	Strings:      "Strings and addresses as text",
	Memory:       "Memory and symbols",
	Stacks:       "Stacks and symbol names",
	Meta:         "Evaluated when compiling",
	System:       "System and control",
}

func (g Group) String() string { return groupTitles[g] }

// All lists the table, in the order of the reference.
func All() []*Func {
	var all []*Func
	for _, group := range [][]Func{process, probeInfo, clocks, output, mapOps, aggregations, text, memory, stacks, meta, system} {
		for i := range group {
			all = append(all, &group[i])
		}
	}
	return all
}

var index = sync.OnceValue(func() map[string]*Func {
	m := make(map[string]*Func, 192)
	for _, f := range All() {
		for _, n := range f.Names {
			m[n] = f
		}
	}
	return m
})

// Lookup finds a builtin by one of its names. arg0, arg1 … are the builtin "argN".
func Lookup(name string) *Func {
	if f := index()[name]; f != nil {
		return f
	}
	if _, ok := ArgNumber(name); ok {
		return index()["argN"]
	}
	// bpftrace's inner names of its own builtins.
	if inner, ok := strings.CutPrefix(name, "__builtin_"); ok {
		return index()[inner]
	}
	return nil
}

// ArgNumber is the N of argN.
func ArgNumber(name string) (int, bool) {
	digits, ok := strings.CutPrefix(name, "arg")
	if !ok || digits == "" || len(digits) > 3 {
		return 0, false
	}
	n := 0
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, true
}

// IsAggregation tells whether the builtin makes a map an aggregation.
func (f *Func) IsAggregation() bool { return f.Group == Aggregations }
