package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/cobra"

	"trocar"
	"trocar/internal/ui/output"
	"trocar/result"
)

// recipeFlags are what the commands that write a script have in common.
type recipeFlags struct {
	settings
	script bool // --script
	depth  int
	linear string // --linear
	diff   string // --diff
	q      trocar.Question
}

// questionCommand is a command that asks a question about calls of functions.
type questionCommand struct {
	kind        string // of the question, and the command's name
	words       string // that it takes behind the target
	short, long string
	flags       func(*recipeFlags, *cobra.Command) // adds its own
}

// use is how the command is called.
func (q questionCommand) use() string {
	switch q.kind {
	case trocar.QuestionProfile, trocar.QuestionOffCPU, trocar.QuestionLocks:
		return q.kind + " [-p PID | -c COMMAND] [-- COMMAND ARG…]"
	case trocar.QuestionLeaks:
		return q.kind + " {-p PID | -c COMMAND} [-- COMMAND ARG…]"
	}
	return q.kind + " {-p PID | -x PATH | -c COMMAND} " + q.words + "  [-- COMMAND ARG…]"
}

// noFunctions tells whether a question is about no functions.
func (r *recipeFlags) noFunctions() bool {
	switch r.q.Kind {
	case trocar.QuestionSyscalls, trocar.QuestionProfile, trocar.QuestionOffCPU, trocar.QuestionLeaks,
		trocar.QuestionLocks:
		return true
	}
	return false
}

func (q questionCommand) make(a *app) *cobra.Command {
	r := &recipeFlags{q: trocar.Question{Kind: q.kind}}
	r.bare = true
	cmd := &cobra.Command{
		Use:   q.use(),
		Short: q.short,
		Long:  q.short + ".\n\n" + q.long,
		RunE: func(cmd *cobra.Command, words []string) error {
			return a.ask(cmd, r, words)
		},
		DisableFlagsInUseLine: true,
	}
	cmd.SetFlagErrorFunc(a.wrongFlag)
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&r.pid, "pid", "p", "", "trace this process; several: -p 12,34")
	f.IntVar(&r.thread, "tid", 0, "trace this thread")
	switch q.kind {
	case trocar.QuestionProfile, trocar.QuestionOffCPU, trocar.QuestionLeaks, trocar.QuestionLocks:
	default:
		f.StringVarP(&r.q.Path, "exe", "x", "", "trace this program or library, in all processes")
	}
	f.StringVarP(&r.command, "cmd", "c", "", "run this command when probes are attached (also: after --)")
	f.StringVar(&r.container, "container", "", "trace the processes of this container, given by name or ID")
	f.BoolVar(&r.follow, "follow", false, "also trace child processes")
	f.StringVar(&r.q.Comm, "comm", "", "trace only threads of this name")
	switch q.kind {
	case trocar.QuestionProfile:
		f.StringVar(&r.q.If, "if", "", "only samples for which this is true, such as 'cpu == 0'")
	case trocar.QuestionOffCPU, trocar.QuestionLocks:
		f.StringVar(&r.q.If, "if", "", "only waits of threads for which this is true, such as 'tid != 812'")
	case trocar.QuestionLeaks:
		f.StringVar(&r.q.If, "if", "", "only allocations of threads for which this is true, such as 'tid != 812'")
	default:
		f.StringVar(&r.q.If, "if", "", "only calls for which this is true, such as 'size > 4096'")
	}
	q.flags(r, cmd)
	span(f, &r.q.For, "for", "", "exit after this time, such as 10s")
	r.registerOutput(f)
	f.BoolVar(&r.full, "full", false, "print long names and lines whole on a terminal, too")
	f.BoolVarP(&r.quiet, "quiet", "q", false, "do not report attached probes")
	f.BoolVarP(&r.verbose, "verbose", "v", false, "print the location of each probe, and each warning")
	f.BoolVar(&r.noWarnings, "no-warnings", false, "do not print warnings and notices")
	f.StringArrayVar(&r.debugInfo, "debuginfo", nil, "directories to search for debug files")
	defer r.completions(cmd)
	f.BoolVar(&r.script, "script", false, "print the script instead of running it")
	return cmd
}

const functionsHelp = `FUNC is the name of a C, C++, Rust or Go function as in the source; it may contain wildcards.
"lib:func" is a function of a library, "file.c:42" a source line. C library functions need the prefix: libc:malloc.
"syscall:NAME" is a system call, "tracepoint:CATEGORY:NAME" a kernel tracepoint, "usdt:PATH:NAME" a static probe (USDT) of
a program, and "usdt:PATH:BEGIN/END" a pair of them that marks the begin and end of a call. With -p,
"python:MODULE.FUNCTION" is a Python function, and CLASS.METHOD may be a Java method. With -p or a command,
"watchpoint:FILE:VARIABLE:w" is a write to a global variable.`

func newTrace(a *app) *cobra.Command {
	return questionCommand{
		kind: trocar.QuestionTrace, words: "FUNC…", short: "Print each call with its arguments, result and duration",
		long: functionsHelp + `
A call is printed when it returns, or when tracing ends if it has not returned. Calls of functions that usually do not
return, such as exit and execve, are printed when they begin. Arguments have their values at entry, also in --if;
--result prints expressions with their values at return, and result(EXPR) is such a value in other expressions. errno
in these is the name of the thread's last error. retval.err is the error that a Go function returns, whatever its name;
it may be nil.

    trocar trace -x ./server handle_request
    trocar trace -p 812 libssl:SSL_read --args num --result 'str(buf, retval)'
    trocar trace -p 812 libc:open --if 'retval < 0' --result errno
    trocar trace -p 812 'main.*' --if 'retval.err != nil'
    trocar trace -p 812 'Shop::*' --min 10ms
    trocar trace -p 812 java.util.HashMap.resize
    trocar trace python:app.main -- python3 app.py
    trocar trace handle --args 'req->path, req->size' --if 'req->size > 4096' -- ./server -v`,
		flags: func(r *recipeFlags, cmd *cobra.Command) {
			f := cmd.Flags()
			f.StringArrayVar(&r.q.Args, "args", nil,
				"print these expressions, separated by commas, instead of all arguments; q=r.Question names one")
			f.StringArrayVar(&r.q.Results, "result", nil, "also print these expressions as they are on return, separated "+
				"by commas")
			span(f, &r.q.Min, "min", "", "only calls that took at least this long, such as 10ms")
			f.BoolVar(&r.q.Stack, "stack", false, "print the call stack of each call")
			f.BoolVar(&r.q.Enter, "enter", false, "print each call when it begins, and again when it returns")
			f.IntVar(&r.q.Strlen, "strlen", 0, "print at most N bytes of a string (1024, and 200 inside other values)")
			f.IntVar(&r.depth, "depth", -1, "follow pointers inside values to this depth (4)")
			f.IntVarP(&r.q.Lines, "lines", "n", 0, "exit after N lines")
		},
	}.make(a)
}

func newCount(a *app) *cobra.Command {
	return questionCommand{
		kind: trocar.QuestionCount, words: "FUNC…", short: "Count calls of functions",
		long: functionsHelp + `

    trocar count -p 812 'http_*' --for 10s
    trocar count -x libc 'str*' --by comm -i 1s
    trocar count libc:open --by 'str(arg0)' -- ls`,
		flags: func(r *recipeFlags, cmd *cobra.Command) {
			cmd.Flags().StringArrayVar(&r.q.By, "by", nil, "also count by these expressions, separated by commas")
			r.every(cmd)
		},
	}.make(a)
}

func newLatency(a *app) *cobra.Command {
	return questionCommand{
		kind: trocar.QuestionLatency, words: "FUNC…",
		short: "Show how long calls take: number, sum, mean, percentiles",
		long: functionsHelp + `
The duration of a call includes its callees; each level of a recursion is a call of its own.

    trocar latency -p 812 'handle_*' --for 10s --top 20
    trocar latency -p 812 handle_request --by 'req->method' -i 1s
    trocar latency libc:read --if 'arg0 == 3' -- cat /etc/services`,
		flags: func(r *recipeFlags, cmd *cobra.Command) {
			f := cmd.Flags()
			f.StringArrayVar(&r.q.By, "by", nil, "one line for each value of these expressions, separated by commas")
			f.BoolVar(&r.q.Histogram, "hist", false, "also print histograms")
			span(f, &r.q.Min, "min", "", "only calls that took at least this long, such as 10ms")
			r.every(cmd)
		},
	}.make(a)
}

func newDist(a *app) *cobra.Command {
	return questionCommand{
		kind: trocar.QuestionDist, words: "FUNC… EXPR",
		short: "Show the distribution of an expression's values over calls",
		long: functionsHelp + `
EXPR may use the arguments, retval and duration (in nanoseconds). Numbers are shown as a histogram with power-of-two
buckets, or as a linear one with --linear. Each string is counted by itself, and with --values each number too.

    trocar dist libc:malloc arg0 -- ls
    trocar dist -p 812 handle_request 'req->size' --by 'req->method'
    trocar dist -p 812 handle_request retval --values --for 10s
    trocar dist libc:read retval --linear 0,4096,512 -- cat /etc/services`,
		flags: func(r *recipeFlags, cmd *cobra.Command) {
			f := cmd.Flags()
			f.StringArrayVar(&r.q.By, "by", nil, "one distribution for each value of these expressions, separated by commas")
			f.StringVar(&r.linear, "linear", "", "linear histogram from MIN to MAX in steps of STEP")
			f.BoolVar(&r.q.Table, "values", false, "count each value instead of a histogram")
			span(f, &r.q.Min, "min", "", "only calls that took at least this long, such as 10ms")
			r.every(cmd)
		},
	}.make(a)
}

func newStack(a *app) *cobra.Command {
	return questionCommand{
		kind: trocar.QuestionStack, words: "FUNC…", short: "Count calls of functions by call stack",
		long: functionsHelp + "\n" + picturesHelp + "\n" + diffHelp + `

    trocar stack -p 812 libc:malloc --for 5s
    trocar stack -p 812 libc:malloc --for 5s -o malloc.html
    trocar stack handle_request --if 'req->size > 4096' -- ./server`,
		flags: func(r *recipeFlags, cmd *cobra.Command) {
			r.every(cmd)
			r.compares(cmd)
		},
	}.make(a)
}

func newSyscalls(a *app) *cobra.Command {
	return questionCommand{
		kind: trocar.QuestionSyscalls, short: "Count system calls with their durations and errors",
		long: `Without a target, all processes except trocar itself are traced.

    trocar syscalls -p 812 --for 10s
    trocar syscalls --by comm --top 20 --for 5s
    trocar syscalls -- ls /nowhere`,
		flags: func(r *recipeFlags, cmd *cobra.Command) {
			cmd.Flags().StringArrayVar(&r.q.By, "by", nil, "also count by these expressions, separated by commas")
			cmd.Flags().BoolVar(&r.q.Histogram, "hist", false, "also print histograms")
			r.every(cmd)
		},
	}.make(a)
}

// every adds the flag of the commands that count.
func (r *recipeFlags) every(cmd *cobra.Command) {
	span(cmd.Flags(), &r.q.Every, "interval", "i", "print and clear the results at this interval, such as 1s")
	cmd.Flags().IntVar(&r.q.Top, "top", 0, "print only the N largest")
}

// parseLinear reads MIN,MAX,STEP.
func parseLinear(text string) (n [3]int64, err error) {
	parts := strings.Split(text, ",")
	ok := len(parts) == len(n)
	for i := 0; ok && i < len(n); i++ {
		n[i], err = strconv.ParseInt(strings.TrimSpace(parts[i]), 0, 64)
		ok = err == nil
	}
	switch {
	case !ok || n[2] <= 0:
		return n, usageErrorf("--linear takes three numbers: MIN,MAX,STEP, such as 0,4096,512 (not %q)", text)
	case n[0] >= n[1]:
		return n, usageErrorf("--linear %s: the minimum must be less than the maximum", text)
	}
	return n, nil
}

// everywhere says that a library named beside a program is traced in all programs, which may not be what was meant.
func (r *recipeFlags) everywhere(command bool) string {
	if r.q.Path == "" || command || r.process != 0 || r.command != "" || r.q.Comm != "" || r.container != "" {
		return ""
	}
	for _, w := range r.q.Functions {
		lib, fn, ok := strings.Cut(w, ":")
		_, line := strconv.Atoi(fn)
		if ok && line != nil && inProgram(w) && lib != "" && fn != "" && fn[0] != ':' && !strings.ContainsAny(lib, "(< ") {
			program := path.Base(r.q.Path)
			return result.Messagef("%s is traced in all processes, not only in those of %s: -p PID or --comm %s chooses", w,
				program, shellquote.Join(program))
		}
	}
	return ""
}

// inProgram tells words about functions of programs from those about events.
func inProgram(w string) bool {
	return !slices.ContainsFunc([]string{"tracepoint:", "syscall:", "usdt:", "watchpoint:"}, func(kind string) bool {
		return strings.HasPrefix(w, kind)
	})
}

// question reads the words of a command: the functions, the expression, and the command to run.
func (r *recipeFlags) question(a *app, cmd *cobra.Command, words []string) (argv []string, err error) {
	if at := cmd.ArgsLenAtDash(); at >= 0 {
		words, argv = words[:at], words[at:]
	}
	if len(argv) > 0 && r.command != "" {
		return nil, usageErrorf("the command is given twice: by -c and after --")
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	if r.process != 0 && len(argv) > 0 {
		return nil, usageErrorf("either a process (-p) or a command, not both")
	}
	events := r.noFunctions() && r.q.Kind != trocar.QuestionLeaks ||
		len(words) > 0 && !slices.ContainsFunc(words, inProgram)
	if !events && r.q.Path == "" && r.process == 0 && len(argv) == 0 && r.command == "" && r.q.Comm == "" {
		err := usageErrorf("nothing to trace; give " +
			"-p PID, --container NAME, --comm NAME, -x PATH, -c COMMAND, or a command after --")
		lib, fn, _ := strings.Cut(strings.Join(words, " "), ":")
		if len(words) == 1 && lib != "" && fn != "" && fn[0] != ':' {
			return nil, &hinted{err, "to trace it in all processes: " + shellquote.Join(a.name, r.q.Kind, "-x", lib, fn)}
		}
		return nil, err
	}
	if r.q.Kind == trocar.QuestionDist {
		if len(words) < 2 {
			return nil, usageErrorf("a function and an expression are required, such as: %s dist -p 812 libc:malloc arg0",
				a.name)
		}
		r.q.Value, words = words[len(words)-1], words[:len(words)-1]
	}
	if r.linear != "" {
		if r.q.Linear, err = parseLinear(r.linear); err != nil {
			return nil, err
		}
	}
	if r.noFunctions() {
		if len(words) > 0 && r.q.Kind != trocar.QuestionSyscalls {
			return nil, usageErrorf("%s takes no functions; a command to run stands after --", r.q.Kind)
		}
		if len(words) > 0 {
			return nil, usageErrorf("%s takes no functions; %[1]s syscall:NAME is for latency, count and trace", r.q.Kind)
		}
	} else if len(words) == 0 || slices.Contains(words, "") {
		return nil, usageErrorf("a function name is required, or a pattern such as 'http_*' (%s list prints them)",
			a.name)
	}
	r.q.Functions, r.q.Values = words, r.machine()
	switch {
	case r.depth == 0 && cmd.Flags().Changed("depth"):
		r.q.Depth = -1
	case r.depth > 0:
		r.q.Depth = r.depth
	}
	if len(argv) == 0 {
		argv = r.words
	}
	return argv, nil
}

// ask has the script written, and runs or shows it.
func (a *app) ask(cmd *cobra.Command, r *recipeFlags, words []string) error {
	if r.format == "json" {
		r.format = output.RecordsName // bpftrace's form is for scripts
	}
	if path, ok := r.secondFile(cmd, words); ok {
		return a.compareFiles(r, cmd, path)
	}
	argv, err := r.question(a, cmd, words)
	if err != nil {
		return err
	}
	if err := r.picture(); err != nil {
		return err
	}
	// What the question finds is looked at again by the script.
	ctx, done := trocar.WithFiles(cmd.Context())
	defer func() {
		if ctx.Err() == nil { // else it may still be in use (promptly), and the process ends
			done()
		}
	}()
	request := trocar.Request{Name: cmd.Name(), Question: &r.q, Target: r.target(), Files: r.files()}
	request.Target.Command, request.Failures = argv, r.verbose
	machine, err := trocar.Inspect(ctx)
	if err != nil {
		return a.fail(&r.settings, true, err)
	}
	if len(argv) > 0 && len(request.Awaits()) > 0 {
		if r.started, err = a.started(ctx, &request); err != nil {
			return a.fail(&r.settings, true, err)
		}
		defer r.started.Close() // one that ran has ended
	}
	found := a.waiting(&r.settings, "looking for functions …")
	script, err := promptly(ctx, func() (*trocar.Script, error) { return machine.Ask(ctx, request) })
	found()
	if err != nil {
		return a.fail(&r.settings, true, err)
	}
	if r.script {
		_, err := io.WriteString(a.out, script.Text)
		for _, n := range script.Notices {
			fmt.Fprintf(a.said(true), "INFO: %s\n", result.ShownLine(n))
		}
		return err
	}
	if err := a.permitted(cmd.Context()); err != nil {
		return a.fail(&r.settings, true, err)
	}
	request.Question, request.Script, request.Totals, request.Asked = nil, script.Text, script.Totals, r.q.Functions
	request.Settings = script.Settings
	if r.drawn != nil && !r.drawn.file() && r.q.Kind == trocar.QuestionProfile && request.Target.PID == 0 &&
		request.Target.Container == "" && len(argv) == 0 && r.q.Comm == "" && r.q.Path == "" {
		// Reading the debug information of all programs of a machine costs more than all else.
		saveMemory()
		request.Settings["show_debug_info"] = "false"
	}
	r.made, r.locks = true, r.q.Kind == trocar.QuestionLocks
	r.asked = asked{
		texts: r.texts(), filters: r.filters(), waits: len(argv) == 0,
		samples: r.q.Kind == trocar.QuestionProfile, memory: r.q.Kind == trocar.QuestionLeaks,
		waiting: r.q.Kind == trocar.QuestionOffCPU || r.q.Kind == trocar.QuestionLocks, words: len(r.q.Functions),
	}
	for _, w := range r.q.Functions {
		if !inProgram(w) {
			r.asked.events++
		}
	}
	whole := func(f trocar.Function) bool { return f.Whole }
	if r.q.Kind != trocar.QuestionLeaks && !slices.ContainsFunc(script.Functions, whole) {
		r.asked.functions = len(script.Functions)
	}
	if text := r.everywhere(len(argv) > 0); text != "" {
		script.Notices = append(script.Notices, text)
	}
	err = a.traceWith(ctx, &r.settings, request, script.Notices...)
	if s := (*statusError)(nil); !r.compiled && errors.As(err, &s) && s.status == exitUsage && s.err == nil &&
		!r.machine() {
		for i := range script.Functions[:min(len(script.Functions), 3)] {
			fmt.Fprintf(a.said(true), "HINT: %s\n", result.ShownLine(argumentsOf(&script.Functions[i])))
		}
	}
	return err
}

// permitted tells what rights are missing: without them not even what the kernel can do is known, and the script
// would be blamed for that.
func (a *app) permitted(ctx context.Context) error {
	if os.Geteuid() == 0 {
		return nil
	}
	r, err := report(ctx)
	if err != nil || len(r.MissingCaps) == 0 {
		return err
	}
	return &statusError{exitNotPermitted, fmt.Errorf("tracing needs %s: run as root (see %s doctor)",
		strings.Join(r.MissingCaps, ", "), a.name)}
}

// argumentsOf tells by which names the arguments of a function are known.
func argumentsOf(f *trocar.Function) string {
	var names []string
	for _, p := range f.Params {
		if p.Name != "" {
			names = append(names, p.Name)
		}
	}
	switch {
	case len(names) > 0:
		return fmt.Sprintf("the arguments of %s are %s", f.Name, strings.Join(names, ", "))
	case f.Typed:
		return f.Name + " has no named arguments"
	}
	return "no debug information describes the arguments of " + f.Name
}
