// Package symbolize turns addresses of processes and of the kernel into frames: symbol, offset, module.
//
// Names must survive the process, so what is needed is taken while it lives: Snapshot keeps its executable mappings,
// and every ELF file mapped is opened as the very inode that is mapped and kept. A process that was gone before anybody
// looked has no mappings, but one thing is known of it: it hit a probe, so the probed instruction of the probed file
// was at the instruction pointer. From this Anchor all addresses in that file can be named. What is in other files
// stays without name rather than being guessed.
//
// A process may execute another program, and its id may be given to another process. A set of mappings is therefore a
// generation of a process; an anchor or the process's start and stack addresses tell when it is out of date.
//
//	s := symbolize.New(symbolize.Options{})
//	defer s.Close()
//	s.Watch()                                           // if any process may be hit; then Poll regularly
//	f := s.Probed("/usr/bin/bash")                      // at attach
//	s.Snapshot(pid)                                     // at attach, and at the first record of each process
//	frames = s.Stack(frames[:0], symbolize.Hit{PID: pid, File: f, Offset: point.Offset, IP: addrs[0]}, addrs)
package symbolize
