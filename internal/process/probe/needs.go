package probe

// Needs is what the code of a probe asks of its points. It is told from the names alone, before anything is matched.
type Needs struct {
	Args   bool // args: from debug information, or the kernel
	Vars   bool // vars: local variables
	ArgN   bool // arg0, arg1 …, which need types in Go code
	Retval bool // retval, which has a type in some probe kinds
	// Name: probe or func. Without it, names that a pattern found stay mangled.
	Name bool
	// Given: what functions are given, or give back, by registers, whose types are asked for when one has been called.
	Given bool
	// Duration: return probes need the entries of their functions too.
	Duration bool
	// Routine: goid or goframe, which only code with a Call has. Functions that a pattern found and where it is not known
	// are left out.
	Routine bool
}

// Typed tells whether types of arguments or results are asked for.
func (n Needs) Typed() bool { return n.Args || n.Retval }

// Calls tells whether a call has to be told from other open calls.
func (n Needs) Calls() bool { return n.Routine || n.Duration }
