// Package abi owns what trocar must know of a CPU and of the rules by which functions call each other on it: registers
// by their DWARF numbers, where the kernel keeps them (struct pt_regs), and where arguments and results are by the
// calling conventions of C, Go and Rust.
//
// All CPUs are known on every machine: what is compiled is for the CPU of the traced program, not for that of the
// tracer. So no file here has a name that Go would build for one CPU only.
package abi

//go:generate go run gensyscalls.go
