// Package jvm knows the HotSpot virtual machine of Java in a running process: which version it is, what its start-up
// flags permit to see, and how to have it write the names of the methods that it has compiled.
//
// That is done by HotSpot's own attach protocol, as jcmd does it: a file .attach_pidN in /tmp and the signal SIGQUIT
// make the virtual machine listen at the socket /tmp/.java_pidN, N being its process id in its own namespace; the
// command Compiler.perfmap (since JDK 17) writes /tmp/perf-N.map. A virtual machine that does not catch SIGQUIT would
// be ended by it, and one that may not be attached to would print all its threads: such ones are left alone.
package jvm
