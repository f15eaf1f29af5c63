package trocar

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"trocar/internal/compile/builtin"
	"trocar/result"
)

// words are arguments of every kind that the language has, among them such as have no value.
var words = []string{
	"1", "-1", `"s"`, `"%d"`, "true", "$v", "$text", "$pair", "$tuple", "@n", "@text", "@agg", "@keys", "@keys[1]",
	"@hist", "*$v",
	"(uint8)2", "(1, 2)", "print(1)", "count()", "ustack", "kstack(2)", `buf("abc", 2)`, "ntop(1)", "usym(1)",
	"nsecs", "comm",
	"args", "struct pair", "int32", "curr_ns", "none", "{ 1 }",
}

// prelude gives the variables and maps among words a type.
const (
	prelude = `struct pair { int a; char text[8]; };
BEGIN { @n = 1; @text = "t"; @agg = sum(1); @keys[1] = 2; @hist = hist(3); }
`
	variables = `$v = (int64)1; $text = "text"; $pair = (struct pair *)1; $tuple = (1, "t"); `
)

// right are calls that have to be compiled, of builtins that take no words.
var right = map[builtin.ID]string{
	builtin.LHist: "@r = lhist(1, 0, 10, 1)", builtin.Reg: `print(reg("sp"))`, builtin.PToN: `print(pton("1.2.3.4"))`,
	builtin.Find: "print(find(@keys, 1, $v))", builtin.UAddr: `print(uaddr("main.serve"))`, builtin.Signal: `signal(9)`,
	builtin.SignalThread: `signal_thread("TERM")`, builtin.WriteUser: "write_user(1, &$v, 8)",
	builtin.RoutineID: "print(goid)",
	builtin.OffsetOf:  "print(offsetof(struct pair, text))", builtin.TypeOf: "let $y : typeof($v); print($y)",
	builtin.ArgN: "print(arg0)", builtin.AssertStr: `assert_str("s")`,
	builtin.Avg: "@r = avg(1)", builtin.Count: "@r = count()", builtin.Hist: "@r = hist(1)", builtin.Max: "@r = max(1)",
	builtin.Min: "@r = min(1)", builtin.Stats: "@r = stats(1)", builtin.Sum: "@r = sum(1)",
	builtin.TSeries:     `@r = tseries(1, 1s, 5)`,
	builtin.StrContains: `print(strcontains($text, "t"))`, builtin.StrNCmp: `print(strncmp($text, "t", 1))`,
	builtin.MemCmp: "print(memcmp($text, $text, 1))", builtin.Len: "print(len(@keys))",
	builtin.StrConcat: `print(str_concat($text, "s"))`,
	builtin.StrFTime:  `print(strftime("%S", nsecs))`, builtin.StrStr: `print(strstr($text, "t"))`,
	builtin.Cat: `cat("/proc/uptime")`, builtin.System: `system("true")`,
	builtin.Printf: `printf("%d", 1)`, builtin.Debugf: `debugf("%d", 1)`, builtin.Errorf: `errorf("%d", 1)`,
	builtin.Warnf:        `warnf("%d", 1)`,
	builtin.RoutineFrame: "print(goframe)", builtin.Clear: "clear(@keys)", builtin.Zero: "zero(@keys)",
}

// refused are the builtins that cannot be compiled here, and on which machines: all, or those with this CPU or kernel.
var refused = map[builtin.ID]string{
	// Of this one the kernel's types are not known.
	builtin.PPID: "7.0", builtin.PComm: "7.0", builtin.LeaderTID: "7.0", builtin.LeaderComm: "7.0",
	builtin.RetVal: "", builtin.FuncRetVal: "", builtin.FuncReturn: "", builtin.Duration: "", // not at an entry
	builtin.SyscallArgs: "", builtin.SyscallDone: "", builtin.SyscallResult: "", // not of system calls
	builtin.KAddr: "", builtin.PerCPUKAddr: "", builtin.Path: "", builtin.SkbOutput: "", builtin.SocketCookie: "",
	builtin.Override: "",
	builtin.CgroupID: "", builtin.Fail: "", builtin.TypeInfo: "", builtin.ContainerOf: "",
	builtin.SyscallID:   "5.10",
	builtin.StrContains: "5.10", builtin.StrStr: "5.10", builtin.RoutineID: "arm64", builtin.RoutineFrame: "arm64",
	builtin.CallFrame: "arm64",
}

// calls are the calls of a builtin with all that could be its arguments, each with how it is used.
func calls(f *builtin.Func) (texts []string) {
	if r, ok := right[f.ID]; ok {
		texts = append(texts, r+";")
	}
	name := f.Names[0]
	if f.ID == builtin.ArgN {
		name = "arg1"
	}
	uses := func(call string) {
		for _, use := range []string{
			"#;", "print(#);", "$x = #; print($x);", "@r = #;", "@r[#] = 1;", "@r[#, 1] = count();",
			"if (#) { exit(); }",
			`printf("%s", #);`, `printf("%d", #);`, "print((#, 1));", "print(# + 1);", "for ($e : #) { print($e); }",
			"#.a = 1;", "print(#[0]);",
		} {
			texts = append(texts, strings.ReplaceAll(use, "#", call))
		}
	}
	if f.Variable {
		uses(name)
	}
	last := f.Max
	if last < 0 {
		last = f.Min + 2
	}
	if f.Min == 0 {
		uses(name + "()")
	}
	for n := max(f.Min, 1); n <= min(last, 4); n++ {
		// Each argument takes each word, the others what they usually are.
		for i := range n {
			for _, w := range words {
				for _, first := range []string{"1", "$text", "@keys"} {
					args := []string{first, "1", "$text", "1"}[:n]
					args[i] = w
					call := name + "(" + strings.Join(args, ", ") + ")"
					if i == 0 {
						uses(call)
						break
					}
					texts = append(texts, call+";", "print("+call+");", "@r = "+call+";", "@r["+call+"] = 1;")
				}
			}
		}
	}
	return texts
}

// TestTotality: each builtin, with whatever arguments, is compiled for every CPU, old kernels and new ones, or refused
// with a reason. What the compiler says of itself is no reason.
func TestTotality(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tasks := tasksKernel(t)
	type job struct {
		f    *builtin.Func
		m    *Machine
		from int // of the calls, one in so many
	}
	var jobs []job
	for i, cpu := range []string{"amd64", "arm64"} {
		build(t, filepath.Join(dir, "shop."+cpu), cpu)
		for j, release := range []string{"5.10", "7.0"} {
			for _, f := range builtin.All() {
				m, err := NewMachine(cpu, release)
				if err != nil {
					t.Fatal(err)
				}
				if release == "5.10" {
					m.KernelTypes = tasks
				}
				jobs = append(jobs, job{f, m, 2*i + j})
			}
		}
	}
	queue := make(chan job)
	var wait sync.WaitGroup
	ctx, done := WithFiles(t.Context())
	defer done()
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for j := range queue {
				compiled := 0
				try := func(at, call string) {
					if total(ctx, t, j.m, at, call) {
						compiled++
					}
				}
				uprobe := "uprobe:" + dir + "/shop." + j.m.CPU + ":main.serve"
				all := calls(j.f)
				for i, call := range all {
					switch {
					case i == 0:
						try(uprobe, call)
					case i%17 == j.from: // another part for each machine; all takes a minute
						try("begin", call)
					}
				}
				where, no := refused[j.f.ID]
				no = no && (where == "" || where == j.m.CPU || where == j.m.Release)
				for i := 0; i < len(all) && compiled == 0 && !no; i++ {
					try("begin", all[i])
				}
				if no != (compiled == 0) {
					t.Errorf("Linux %s, %s: %d calls of %s() were compiled", j.m.Release, j.m.CPU, compiled, j.f.ID)
				}
			}
		})
	}
	for _, j := range jobs {
		queue <- j
	}
	close(queue)
	wait.Wait()
}

// total compiles a call, and complains if it is neither compiled nor refused with a reason.
func total(ctx context.Context, t *testing.T, m *Machine, at, call string) (compiled bool) {
	wrong := func(what string, args ...any) {
		t.Helper()
		t.Errorf("Linux %s, %s: %s { %s }: "+what, append([]any{m.Release, m.CPU, at, call}, args...)...)
	}
	defer func() {
		if p := recover(); p != nil {
			wrong("panic: %v", p)
		}
	}()
	p, err := Compile(ctx, Request{Script: prelude + at + " { " + variables + call + " }", Unsafe: true}, m)
	if err == nil {
		p.Close()
		return true
	}
	var e *CompileError
	if !errors.As(err, &e) {
		wrong("%v", err)
		return false
	}
	reasons := 0
	for _, d := range e.Diagnostics {
		if d.Severity == result.Error {
			reasons++
		}
		if strings.HasPrefix(d.Text, "internal") || strings.TrimSpace(d.Text) == "" || strings.Contains(d.Text, "%!") {
			wrong("says %q", d.Text)
		}
	}
	if reasons == 0 {
		wrong("refused without a reason")
	}
	return false
}
