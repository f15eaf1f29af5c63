package recipe

import (
	"strings"

	"trocar/internal/compile/record"
	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// Syscalls writes a script that counts system calls, with their durations and errors.
func Syscalls(_ []Function, o Question, diags *diag.List) Script {
	s := &script{o: o}
	if !s.parse(diags) {
		return s.done()
	}
	s.quiet = true
	s.syscalls()
	s.line("\n%s", rawExit)
	s.failed()
	s.line("{\n  @errors[%s] = count();\n}", s.columned(
		append([]string{"syscall_name(args.id)", errorText}, s.texts(s.by)...),
		s.columnsOf([]string{"syscall", "error"}, s.by)))
	s.every(latencyMap)
	if s.o.Every > 0 {
		s.every("@errors")
	}
	s.timer()
	s.line("\nend {\n  @open = len(@entered);\n  %s\n  print(@errors);\n}", s.last(latencyMap))
	s.totals = append(s.totals, Total{
		Map: "@open", One: "1 system call had not returned", Many: "%d system calls had not returned",
	})
	return s.done()
}

// errorText names an error; those from 512 on are the kernel's own (include/linux/errno.h): the call begins anew.
const errorText = `args.ret > -512 ? strerror(args.ret) : "interrupted, begun anew"`

// failed is the condition that a system call has failed: errors are -4095 to -1 (MAX_ERRNO).
func (s *script) failed() {
	cond := s.threads()
	text := "args.ret < 0 && args.ret >= -4095"
	if cond != nil {
		text += " && (" + syntax.PrintExpr(cond) + ")"
	}
	s.line("/%s/", text)
}

// syscalls times all system calls. A thread is in one at a time.
func (s *script) syscalls() {
	s.tables = true
	var set []string
	if s.quiet {
		set = append(set, "print_maps_on_exit = false")
	}
	s.settings(set)
	s.line("let %s = percpuhash(%d);", latencyMap, timesEntries)
	s.line("let @entered = hash(%d);", record.MaxOpenCalls)
	s.line("\n%s", rawEnter)
	if cond := s.threads(); cond != nil {
		s.line("/%s/", syntax.PrintExpr(cond))
	}
	s.line("{\n  @entered[tid] = (int64)nsecs;\n}")
	s.line("\n%s\n{", rawExit)
	s.line("  if (has_key(@entered, tid)) {")
	s.line("    $took = (uint64)((int64)nsecs - @entered[tid]);")
	s.line("    _ = delete(@entered, tid);")
	keys := append([]string{"syscall_name(args.id)"}, s.texts(s.by)...)
	s.line("    %s[%s] = times($took);", latencyMap, s.columned(keys, s.columnsOf([]string{"syscall"}, s.by)))
	s.line("  }\n}")
}

// countSyscalls counts all system calls.
func (s *script) countSyscalls(by []string) {
	s.line("\n%s", rawEnter)
	if cond := s.threads(); cond != nil {
		s.line("/%s/", syntax.PrintExpr(cond))
	}
	keys := append(append([]string{"syscall_name(args.id)"}, s.texts(s.by)...), by...)
	columns := s.columnsOf([]string{"syscall"}, s.by)
	if len(by) > 0 {
		columns = append(columns, "stack")
	}
	s.line("{\n  @calls[%s] = count();\n}", s.columned(keys, columns))
}

// texts are expressions as they are written.
func (s *script) texts(exprs []syntax.Expr) (texts []string) {
	for _, x := range exprs {
		texts = append(texts, strings.TrimSpace(syntax.PrintExpr(x)))
	}
	return texts
}
