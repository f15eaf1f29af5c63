package demo

// Registers are those of the first three arguments of the kitchen's functions, as scripts name them.
func Registers() [3]string { return [3]string{"r0", "r1", "r2"} }
