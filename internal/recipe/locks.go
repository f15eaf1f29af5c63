package recipe

import (
	"cmp"
	"context"
	"fmt"

	"trocar/internal/process/match"
	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// Threads and goroutines that wait at a time, and locks with stacks that are told apart.
const (
	mostWaiting = 1 << 14
	lockEntries = 1 << 13
	lockDepth   = 48
)

// FindLocks finds the functions in which what waits for a lock does not wait in the kernel.
func FindLocks(ctx context.Context, o Target, _ *diag.List) (out []Function) {
	if o.Path == "" && o.PID == 0 {
		return nil
	}
	var missing diag.List // most programs have no such function
	for _, r := range match.Runtimes() {
		if r.Parks == "" {
			continue
		}
		for _, fn := range functionsOf(ctx, o, o.Path, r.Parks, true, &missing) {
			if fn.EntryKey != "" && len(fn.Returns) > 0 && fn.Probe == "" {
				if regs := o.Arch.OwnIntegers(); len(fn.Params) == 0 && len(regs) > 0 { // an old program without debug information
					name, _ := o.Arch.ScriptName(regs[0])
					fn.Lock = fmt.Sprintf("reg(%q)", name)
				}
				out = append(out, fn)
			}
		}
	}
	return out
}

// Locks writes a script that measures how long threads wait in the kernel for a word in their memory to change
// (futex(2)), by the word's address, which is the lock, and by stack. All locks of C, C++ and Rust end there when they
// are taken already, and nothing is told of those that are free, which costs nothing; so does what is waited for
// otherwise, such as a condition variable. Which of them it is, the functions of the stack tell, to whoever shows them.
//
// Goroutines wait in their runtime.
func Locks(fns []Function, o Question, diags *diag.List) Script {
	s := &script{o: o}
	if !s.parse(diags) {
		return s.done()
	}
	s.o.Top = 0 // all are shown: whoever shows them selects
	s.config(true)
	s.line("let @waiting = hash(%d);", mostWaiting)
	s.line("let @locks = percpuhash(%d);", lockEntries)
	began := "(start=(int64)nsecs, lock=%s, thread=comm, stack=ustack(%d))"
	shown := waits{"@locks", "lock=(void *)$wait.lock, thread=$wait.thread, stack=$wait.stack"}
	open := []string{"@waiting"}
	cond := s.threads()
	s.line("\ntracepoint:syscalls:sys_enter_futex")
	if cond != nil {
		s.line("/%s/", syntax.PrintExpr(cond))
	}
	s.line("{\n  $op = args.op & 0x7f;")
	s.line("  // FUTEX_WAIT, FUTEX_LOCK_PI, FUTEX_WAIT_BITSET, FUTEX_WAIT_REQUEUE_PI, FUTEX_LOCK_PI2")
	s.line("  if ($op == 0 || $op == 6 || $op == 9 || $op == 11 || $op == 13) {")
	s.line("    @waiting[tid] = "+began+";\n  }\n}", "(uint64)args.uaddr", lockDepth)
	s.line("\ntracepoint:syscalls:sys_exit_futex\n{\n  if (has_key(@waiting, tid)) {\n    $wait = @waiting[tid];")
	s.line("    _ = delete(@waiting, tid);")
	s.waited(shown)
	s.line("  }\n}")
	for i := range fns {
		fn := &fns[i]
		if i == 0 {
			s.line("let @parked = hash(%d);", mostWaiting)
			open = append(open, "@parked")
		}
		s.points([]string{fn.Entry()})
		if cond != nil {
			s.line("/%s/", syntax.PrintExpr(cond))
		}
		s.line("{\n  @parked["+fn.EntryKey+"] = "+began+";\n}", cmp.Or(fn.Lock, "arg0"), lockDepth)
		s.points(fn.Returns)
		s.line("{\n  if (has_key(@parked, (%s))) {\n    $wait = @parked[%[1]s];", fn.ReturnKey)
		s.line("    _ = delete(@parked, (%s));", fn.ReturnKey)
		s.waited(shown)
		s.line("  }\n}")
	}
	if len(fns) > 0 {
		// Threads come out of their system call as they end; what a runtime has parked stays where it is.
		s.line("\n// A process ends, and with it what waits in it.\ntracepoint:sched:sched_process_exit\n/tid == pid/\n{")
		s.line("  for ($kv : @parked) {\n    $wait = $kv.1;\n    if ($kv.0.0 == pid(init)) {")
		s.line("      _ = delete(@parked, $kv.0);")
		s.waited(shown)
		s.line("    }\n  }\n}")
	}
	s.showWaits(shown, open...)
	return s.done()
}
