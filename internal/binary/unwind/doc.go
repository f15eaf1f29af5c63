// Package unwind makes of a program's call frame information the tables by which stacks are walked: compact ones, for
// code that has to find a row among a million in a few steps.
//
//	rules := unwind.NewRules()
//	table, err := unwind.Compile(file, frames, rules)
//	rule := rules.At(table.Find(0x401136))
//
// A table is two arrays of words. One word of the index stands for a block of 256 bytes of code and says where its rows
// are and how many; a row is the low byte of an address with the number of the rule that holds from there on. Each
// block begins with a row, so a search never leaves it. The rules, of which all files together have some thousand, are
// shared.
//
// Files are not trusted: what they say is bounded, and where it cannot be expressed the rule is None.
package unwind
