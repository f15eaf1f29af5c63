// Package trocar traces running programs: it compiles scripts in the bpftrace language to BPF programs, attaches them
// to functions of user-space programs, and hands what they send to a sink.
//
// A request, plain data, is compiled for a machine and run:
//
//	machine, err := trocar.Inspect(ctx)
//	program, err := trocar.Compile(ctx, trocar.Request{
//		Script: `uprobe:libc:malloc { @sizes = hist(arg0); }`,
//		Target: trocar.Target{PID: 812},
//	}, machine)
//	exit, err := program.Run(ctx, nil, sink, trocar.Hooks{})
//
// In place of a script there may be a question about calls of functions, for which the script is written (Ask shows
// it); Run does all of it in one call:
//
//	exit, err := trocar.Run(ctx, trocar.Request{
//		Question: &trocar.Question{Kind: trocar.QuestionTrace, Functions: []string{"handle_*"}},
//		Target:   trocar.Target{Command: []string{"./server", "-v"}},
//	}, os.Environ(), sink, trocar.Hooks{})
//
// The examples are whole programs. What a run yields is in package trocar/result.
//
// Compile changes nothing, needs no more rights than to read the traced files, and gives the same result on every
// machine: the machine is an input. Program.Run changes the kernel, which needs the rights to trace (root), and takes
// it all back. Whatever depends on the environment, like PATH or DEBUGINFOD_URLS, is part of the request: this
// package reads none of it.
package trocar
