// Package ir builds BPF programs: virtual registers, labels and stack slots in, cilium/ebpf instructions out.
package ir

// Reg is a virtual register.
type Reg int

// Builder collects the instructions of one program.
type Builder struct{}
