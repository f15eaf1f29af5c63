// Package uapi knows the system calls of Linux as programs call them: which parameters each has, what these point to,
// and the words for their numbers (O_RDONLY|O_CLOEXEC).
//
// It is data, in a form that is close to how it is read: calls.go has a line for each system call and words.go one for
// each kind of number. The names of parameters are the kernel's, so that they are those of its tracepoints. What
// differs between CPUs is asked of the abi.Arch.
package uapi
