// Package check turns a parsed script and its matched probes into a typed program: names resolved, types inferred over
// the whole script, constants folded, conversions explicit, unsafe calls refused.
//
// What leaves this package needs no more decisions about meaning: codegen only chooses instructions. It never looks at
// anything by itself: what a script names outside is asked of Input.Lookup, and the kernel's abilities are
// Input.Features.
//
// Check runs these steps, one file or two each:
//
//	config     defaults, config block, environment
//	cdefs      C definitions to types, by the ABI
//	lower      syntax tree to nodes, per group of points for which the code may differ (group)
//	fold       literals and parameters
//	maps       which maps have keys; options: getopt
//	scope      which variable a name means
//	infer      rules (infer, assign, ops, calls, args, typeexpr), their solution (solve), pairs of types (promote);
//	           again after each `if comptime` that types decide (transform)
//	build      nodes to the typed tree of program.go (build, expr, cast, convert, buildcall, buildargs)
//
// The language and its types are bpftrace's (0.27): the same script has the same types, warnings and errors here. Where
// the order of inference decides a type, the order is the same too (see solver).
//
// It is more than 4,000 lines because it is one decision: every step works on the same nodes, and none is of use alone.
package check
