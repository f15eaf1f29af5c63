package recipe

import (
	"fmt"
	"slices"
	"strings"

	"trocar/internal/binary/uapi"
	"trocar/internal/process/match"
	"trocar/internal/process/probe"
	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// The arguments of a system call are one value (syscall_args), which is completed where the call ends (syscall_done): a
// text may be in memory only then, and what the call writes is.

// syscallBytes is the size of it beside its two texts.
const syscallBytes = 8 + 6*8 + 2*16 + 72

// syscallArgs shows all arguments.
func (s *script) syscallArgs() part {
	return part{
		field: "args_", expr: "syscall_args", exit: "syscall_done($call.args_)", all: true,
		size: syscallBytes + 2*s.bytes(ByStr, 0),
	}
}

// syscallPart shows one of them.
func (s *script) syscallPart(c *call, p *part, name string) {
	if !c.pairs() {
		p.expr = "syscall_args." + name
		return
	}
	p.exit = "syscall_done($call.args_)." + name
	if !slices.ContainsFunc(c.extra, func(e part) bool { return e.field == "args_" }) {
		all := s.syscallArgs()
		c.extra = append(c.extra, part{label: all.field, field: all.field, expr: all.expr, size: all.size})
	}
}

// fewSyscalls is up to how many system calls have probes of their own, which cost others nothing; more are told apart
// by their numbers, at the probes that all of them pass.
const fewSyscalls = 8

// syscalls finds those that a pattern means.
func syscalls(o Target, rest string, found func(text string) *match.Result, diags *diag.List) []Function {
	if rest == "*" && o.Lines {
		return []Function{o.together("syscall:*", nil)}
	}
	matched := found("tracepoint:syscalls:sys_enter_" + uapi.Tracepoint(rest))
	if matched == nil {
		return nil
	}
	defer matched.Close()
	points := matched.PointsOf(0)
	if len(points) <= fewSyscalls || !o.Lines {
		var out []Function
		for _, p := range points {
			fn := syscallOf(p)
			out = append(out, fn)
		}
		if len(out) > mostEvents {
			tooMany(diags, "tracepoint:syscalls:sys_enter_"+rest, len(out))
			return nil
		}
		return out
	}
	var numbers []int
	for _, p := range points {
		if n, ok := o.Arch.Syscall(syscallNamed(p)); ok {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return []Function{o.together("syscall:"+rest, numbers)}
}

// together are several system calls, all by default, as one function.
func (o Target) together(name string, numbers []int) Function {
	fn := Function{Name: name, Syscalls: true, Numbers: numbers, Probe: rawEnter}
	for _, n := range [...]string{"exit", "exit_group"} {
		if n, ok := o.Arch.Syscall(n); ok && (len(numbers) == 0 || slices.Contains(numbers, n)) {
			fn.Final = append(fn.Final, n)
		}
	}
	fn.returnsResult(rawExit)
	return fn
}

// ends is the condition that a call is one that does not return.
func (fn *Function) ends() string {
	if fn.together() {
		return "funcreturns == 0"
	}
	return isOneOf(fn.Final)
}

func isOneOf(numbers []int) string {
	var is []string
	for _, n := range numbers {
		is = append(is, fmt.Sprintf("args.id == %d", n))
	}
	return strings.Join(is, " || ")
}

// ofSyscalls tells whether all functions are system calls.
func ofSyscalls(fns []Function) bool {
	return len(fns) > 0 && !slices.ContainsFunc(fns, func(f Function) bool { return !f.Syscall && !f.Syscalls })
}

func (fn *Function) returnsResult(exit string) {
	fn.Returns, fn.Typed, fn.Errno = []string{exit}, true, true
	// A thread is in one system call at a time.
	fn.EntryKey, fn.ReturnKey = "tid, (int64)0", "tid, (int64)0"
	fn.Result, fn.ResultExpr = &Value{Name: "retval", Type: "long", Size: 8}, "args.ret"
}

// syscallNamed is the name of the system call that a tracepoint is about.
func syscallNamed(p *probe.Point) string {
	return uapi.Named(p.Name[strings.Index(p.Name, "sys_enter_")+len("sys_enter_"):])
}

// syscallOf describes a system call by the tracepoint at its begin.
func syscallOf(p *probe.Point) Function {
	fn := Function{Probe: p.Name, Name: syscallNamed(p), Syscall: true}
	fn.returnsResult(strings.Replace(p.Name, "sys_enter_", "sys_exit_", 1))
	fn.fields(p.Scope)
	return fn
}

// among is the condition that a system call is one of those that are meant; nil: all are. What the tracer does itself
// is left out where all processes are traced: each line that it writes would be another call.
func (s *script) among(fn *Function) (cond syntax.Expr) {
	if len(fn.Numbers) > 0 {
		cond = syntax.ParseExpr(&diag.Source{Text: isOneOf(fn.Numbers)}, &diag.List{})
	}
	if fn.Syscall || fn.Syscalls {
		cond = both(cond, s.others())
	}
	return cond
}

// others is the condition that a thread is not the tracer's own; nil: those are meant, too.
func (s *script) others() syntax.Expr {
	if s.o.Own {
		return nil
	}
	return &syntax.Unary{Op: "!", X: &syntax.Ident{Name: "tracer"}}
}

// threads is the condition that a thread is one of those that the question is about.
func (s *script) threads() syntax.Expr { return both(s.others(), both(s.comm, s.cond)) }

// condition is that of the question. What it says of a text that a system call is given holds where the call ends: when
// it begins the text may not be in memory yet. Of exec it is gone then.
func (s *script) condition(fn *Function) syntax.Expr {
	if s.cond == nil || !fn.Syscall || s.counts || strings.HasPrefix(fn.Name, "exec") ||
		!slices.ContainsFunc(fn.Params, func(p Value) bool { return p.Show == ByStr && mentions(s.cond, p.Name) }) {
		return s.cond
	}
	return &syntax.Call{Name: atEndWord, Args: []syntax.Expr{s.cond}}
}
