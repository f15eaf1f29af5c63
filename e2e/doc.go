// Package e2e traces real programs on the running kernel.
//
// Each file in script/ is one case (see testscript's documentation for the form); the programs that they trace are in
// testdata/ and are built when a case asks for them. A case waits for events, never for time. Besides testscript's own
// commands there are:
//
//	fixture SOURCE [NAME [FLAG…]]   build testdata/SOURCE as ./NAME (default: SOURCE without suffix); a flag like
//	                                GOARCH=386 is put into the compiler's environment; CC=clang++ is another compiler
//	status N CMD ARG…               run in the foreground; its exit status must be N
//	start NAME CMD ARG…             run in the background, until it says "ready"; $NAME_pid is its process id
//	attach NAME CMD ARG…            the same for a tracer, until its probes are attached
//	go NAME                         let a fixture go on (a line on its stdin), until it says "done"
//	await NAME REGEXP               until a line of its output matches
//	finish [-SIGNAL] NAME [N]       signal (default INT; -0: just wait), then wait for its end; its exit status must be N
//	                                (default 0); then `stdout` and `stderr` look at all its output
//	tracefs FILE                    a tracing file of the kernel, for `stdout`, wherever it is mounted or not
//
// Conditions: [tool:NAME] (a compiler or other program; a missing one fails the case if TROCAR_REQUIRE_TOOLS is set),
// [file:PATH] (something that not all kernels or machines have), [runs:386] (a kernel that runs 32-bit programs) and
// [fires:breakpoint] (a machine whose debug registers work).
//
// TestSteps executes each form of the CPU's instructions with and without a probe (testdata/steps.c), a part of them
// unless it is given -every-form; docs/hazards.md has what it finds. TestSoftware asks every question about all
// functions of the programs that are installed, with -all-software of the largest, too.
package e2e
