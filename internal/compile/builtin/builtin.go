// Package builtin is the table of the language's builtin variables and functions: name, signature and documentation of
// each.
//
// One entry is one builtin; docs/builtins.md is generated from the table. What a builtin means is told by its ID in
// check (types, arguments) and codegen (code).
package builtin

import (
	"strings"
	"sync"

	"trocar/internal/binary/types"
)

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
}

// Group orders the reference.
type Group uint8

// Groups.
const (
	GroupProcess Group = iota
	GroupProbeInfo
	GroupTime
	GroupOutput
	GroupMapOps
	GroupAggregations
	GroupStrings
	GroupMemory
	GroupStacks
	GroupMeta
	GroupSystem
)

// groupTitles lists the groups in the reference's order, with their titles.
var groupTitles = [...]string{
	GroupProcess:      "Process and thread",
	GroupProbeInfo:    "Probe",
	GroupTime:         "Time",
	GroupOutput:       "Output",
	GroupMapOps:       "Maps",
	GroupAggregations: "Aggregations",
	GroupStrings:      "Strings and addresses as text",
	GroupMemory:       "Memory and symbols",
	GroupStacks:       "Stacks and symbol names",
	GroupMeta:         "Evaluated when compiling",
	GroupSystem:       "System and control",
}

func (g Group) String() string { return groupTitles[g] }

// All lists the table, in the order of the reference.
func All() []*Func {
	var all []*Func
	for _, group := range [][]Func{
		process, probeInfo, clocks, output, mapOps, aggregations, text, memory, stacks, meta,
		system,
	} {
		for i := range group {
			all = append(all, &group[i])
		}
	}
	return all
}

// byID lists the table by ID.
var byID = sync.OnceValue(func() *[NumIDs]*Func {
	var t [NumIDs]*Func
	for _, f := range All() {
		t[f.ID] = f
	}
	return &t
})

// Get is the entry of an ID, nil of None.
func Get(id ID) *Func {
	if id >= NumIDs {
		return nil
	}
	return byID()[id]
}

// String is the builtin's first name, without the prefix of bpftrace's inner names.
func (id ID) String() string {
	f := Get(id)
	if f == nil {
		return "none"
	}
	return strings.TrimPrefix(f.Names[0], innerPrefix)
}

// innerPrefix is in front of bpftrace's inner names of its own builtins.
const innerPrefix = "__builtin_"

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
	if inner, ok := strings.CutPrefix(name, innerPrefix); ok {
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
func (f *Func) IsAggregation() bool { return f.Group == GroupAggregations }
