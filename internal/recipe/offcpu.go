package recipe

import (
	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// Threads that are waiting at a time, and stacks that are told apart.
const (
	mostAway      = 1 << 14
	offCPUEntries = 1 << 15
	awayDepth     = 48 // frames of a program
	awayInKernel  = 24
)

// OffCPU writes a script that measures how long threads do not run, from where a CPU leaves them to where one takes
// them up again, and adds it up by why they wait and by stack. The kernel tells of both at once, at a moment when the
// thread that leaves is still the current one. The raw tracepoint is taken, of Linux 5.18 on: the other kind is passed
// over in a system call that reads or writes a map, such as the tracer's own (bpf_disable_instrumentation).
//
// Why it waits is the system call that it is in. It may also be in none, having touched a page that is not in memory,
// or being a thread of the kernel, or not want to wait at all.
func OffCPU(_ []Function, o Question, diags *diag.List) Script {
	s := &script{o: o}
	if !s.parse(diags) {
		return s.done()
	}
	s.o.Top = 0 // all are shown: whoever shows them selects
	s.line("config = { print_maps_on_exit = false; filter_target = false }")
	s.line("let @away = hash(%d);", mostAway)
	s.line("let @offcpu = percpuhash(%d);", offCPUEntries)
	shown := waits{"@offcpu", "why=$wait.why, thread=$wait.thread, stack=$wait.stack, kernel=$wait.kernel"}
	cond := both(&syntax.Ident{Name: "traced"}, s.threads())
	s.line("\nrawtracepoint:sched_switch\n{")
	s.line("  $next = args.next.pid;")
	s.line("  if (has_key(@away, $next)) {")
	s.line("    $wait = @away[$next];")
	s.line("    _ = delete(@away, $next);")
	s.waited(shown)
	s.line("  }")
	s.line("  // Neither the CPU's own thread (0), nor one that has ended (TASK_DEAD).")
	s.line("  if (%s && args.prev.pid != 0 && (args.prev_state & 0x80) == 0) {", syntax.PrintExpr(cond))
	// Without a state it wants to run on.
	s.line(`    $why = args.preempt || args.prev_state == 0 ? "%s" : syscall_id < 0 ? "%s" : syscall_name(syscall_id);`,
		waitsForCPU, waitsInside)
	s.line("    if (has_key(@away, args.prev.pid)) {\n      @missed++;\n    }")
	s.line("    @away[args.prev.pid] = (start=(int64)nsecs, why=$why, thread=comm, stack=ustack(%d), kernel=kstack(%d));",
		awayDepth, awayInKernel)
	s.line("  }\n}")
	s.showWaits(shown, "@away")
	s.totals = append(s.totals, Total{
		Map: "@missed", One: "1 wait is missing: the kernel did not tell of its end", Many: "%d waits are missing: the " +
			"kernel did not tell of their ends",
	})
	return s.done()
}

// Words for why a thread waits that is in no system call, or does not want to.
const (
	waitsForCPU = "[CPU]"
	waitsInside = "[kernel]"
)
