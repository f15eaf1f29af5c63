// Package target owns everything we know of the processes that are traced: whether they exist, what they run, which
// files are mapped where, which root and namespaces they live in; and it starts the process of -c, held at its first
// instruction until the probes are attached.
//
// It reads /proc and the file system and never changes a process that it didn't start. What it reads may have been made
// by a process that we don't trust: paths are looked up inside the root of the process they come from, only regular
// files are opened, sizes are bounded.
package target
