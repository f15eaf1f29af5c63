package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"trocar"
	"trocar/internal/recipe"
	"trocar/internal/script/diag"
)

// recipeFlags are what the commands that write a script have in common.
type recipeFlags struct {
	settings
	path   string // -x
	script bool   // --script
	depth  int
	linear string // --linear
	value  bool   // the last word is an expression
	o      recipe.Options
}

// recipes makes a command of a recipe.
func recipes(a *app, use, short, long string, flags func(*recipeFlags, *cobra.Command), write func([]recipe.Function, recipe.Options, *diag.List) recipe.Script) *cobra.Command {
	r := &recipeFlags{}
	r.bare = true
	cmd := &cobra.Command{
		Use:   use + " {-p PID | -x PATH | -c COMMAND} FUNC…  [-- COMMAND ARG…]",
		Short: short,
		Long:  short + ".\n\n" + long,
		RunE: func(cmd *cobra.Command, words []string) error {
			return a.recipe(cmd, r, words, write)
		},
		DisableFlagsInUseLine: true,
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &statusError{exitUsage, err} })
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&r.pid, "pid", "p", "", "a process")
	f.StringVarP(&r.path, "exe", "x", "", "a program or library, in all processes")
	f.StringVarP(&r.command, "cmd", "c", "", "a command to run, held until attached (or behind --)")
	f.StringVar(&r.container, "container", "", "the processes of a container, by its name or id")
	f.BoolVar(&r.follow, "follow", false, "and what the process or command starts")
	f.StringVar(&r.o.Comm, "comm", "", "only threads of this name")
	f.StringVar(&r.o.If, "if", "", "only calls for which this holds, as in 'size > 4096'")
	flags(r, cmd)
	f.DurationVar(&r.o.For, "for", 0, "end after this time, as in 10s")
	f.StringVarP(&r.format, "format", "f", "text", "form of results: text, json")
	f.StringVarP(&r.output, "output", "o", "", "write results to this file")
	f.StringVarP(&r.buffering, "buffering", "B", "line", "buffering of results: line, full, none")
	f.BoolVarP(&r.quiet, "quiet", "q", false, "no word of attaching")
	f.BoolVar(&r.noWarnings, "no-warnings", false, "no warnings and notices")
	f.StringArrayVar(&r.debugInfo, "debuginfo", nil, "directories of debug files")
	defer r.completions(cmd)
	f.BoolVar(&r.script, "script", false, "show the script instead of running it")
	return cmd
}

const functionsHelp = `FUNC is a function's name as in the source, exact or with wildcards, of C, C++, Rust or Go;
"lib:func" is in a library, "file.c:42" a line. A function of the C library needs its library: libc:malloc.`

func newTrace(a *app) *cobra.Command {
	return recipes(a, "trace", "Show each call with its arguments, result and duration",
		functionsHelp+`
A call is shown when it returns, and at the end if it has not.

    trocar trace -x ./server handle_request
    trocar trace -p 812 'Shop::*' --min 10ms
    trocar trace handle --args 'req->path, req->size' --if 'req->size > 4096' -- ./server -v`,
		func(r *recipeFlags, cmd *cobra.Command) {
			f := cmd.Flags()
			f.StringArrayVar(&r.o.Args, "args", nil, "show these expressions, parted by commas, instead of all arguments")
			f.DurationVar(&r.o.Min, "min", 0, "only calls that took at least this, as in 10ms")
			f.BoolVar(&r.o.Stack, "stack", false, "with the stack")
			f.IntVar(&r.o.Strlen, "strlen", 0, "bytes of a text that are shown at most (1024, and 200 inside other values)")
			f.IntVar(&r.depth, "depth", -1, "how deep values inside others are followed to what they refer to (4)")
			f.IntVarP(&r.o.Lines, "lines", "n", 0, "end after so many lines")
		}, recipe.Trace)
}

func newCount(a *app) *cobra.Command {
	return recipes(a, "count", "Count calls of functions", functionsHelp+`

    trocar count -p 812 'http_*' --for 10s
    trocar count -x libc 'str*' --by comm -i 1s
    trocar count libc:open --by 'str(arg0)' -- ls`,
		func(r *recipeFlags, cmd *cobra.Command) {
			cmd.Flags().StringArrayVar(&r.o.By, "by", nil, "count by these expressions, parted by commas, as well")
			r.every(cmd)
		}, recipe.Count)
}

func newLatency(a *app) *cobra.Command {
	return recipes(a, "latency", "Show how long calls of functions take, as histograms in microseconds",
		functionsHelp+`
Calls that call themselves count each; what is called counts as part of the caller.

    trocar latency -p 812 handle_request --for 10s
    trocar latency -p 812 handle_request --by 'req->method' -i 1s
    trocar latency libc:read --if 'arg0 == 3' -- cat /etc/services`,
		func(r *recipeFlags, cmd *cobra.Command) {
			f := cmd.Flags()
			f.StringArrayVar(&r.o.By, "by", nil, "a histogram for each value of these expressions, parted by commas")
			f.DurationVar(&r.o.Min, "min", 0, "only calls that took at least this, as in 10ms")
			r.every(cmd)
		}, recipe.Latency)
}

func newDist(a *app) *cobra.Command {
	cmd := recipes(a, "dist", "Show how the values of an expression are distributed over the calls of functions",
		functionsHelp+`
EXPR is over the arguments, or of retval and duration (in nanoseconds). Numbers are shown in ranges of powers of two, or of
one width with --linear; texts, and everything with --values, each by itself.

    trocar dist libc:malloc arg0 -- ls
    trocar dist -p 812 handle_request 'req->size' --by 'req->method'
    trocar dist -p 812 handle_request retval --values --for 10s
    trocar dist libc:read retval --linear 0,4096,512 -- cat /etc/services`,
		func(r *recipeFlags, cmd *cobra.Command) {
			f := cmd.Flags()
			f.StringArrayVar(&r.o.By, "by", nil, "for each value of these expressions, parted by commas")
			f.StringVar(&r.linear, "linear", "", "ranges of one width: MIN,MAX,STEP")
			f.BoolVar(&r.o.Table, "values", false, "each value by itself, with how often it came")
			f.DurationVar(&r.o.Min, "min", 0, "only calls that took at least this, as in 10ms")
			r.every(cmd)
			r.value = true
		}, recipe.Dist)
	cmd.Use = strings.Replace(cmd.Use, "FUNC… ", "FUNC… EXPR ", 1)
	return cmd
}

func newStack(a *app) *cobra.Command {
	return recipes(a, "stack", "Count calls of functions by the stack that led to them",
		functionsHelp+`

    trocar stack -p 812 libc:malloc --for 5s
    trocar stack handle_request --if 'req->size > 4096' -- ./server`,
		func(r *recipeFlags, cmd *cobra.Command) { r.every(cmd) }, recipe.Stack)
}

// every adds the flag of the commands that count.
func (r *recipeFlags) every(cmd *cobra.Command) {
	cmd.Flags().DurationVarP(&r.o.Every, "interval", "i", 0, "show what came so often, as in 1s, and begin anew")
}

// parseLinear reads MIN,MAX,STEP.
func parseLinear(text string) (*recipe.Linear, error) {
	parts := strings.Split(text, ",")
	var n [3]int64
	ok := len(parts) == len(n)
	for i := 0; ok && i < len(n); i++ {
		var err error
		n[i], err = strconv.ParseInt(strings.TrimSpace(parts[i]), 0, 64)
		ok = err == nil
	}
	if !ok {
		return nil, usageErrorf("--linear takes three numbers: MIN,MAX,STEP, as in 0,4096,512 (not %q)", text)
	}
	return &recipe.Linear{Min: n[0], Max: n[1], Step: n[2]}, nil
}

// recipe finds the functions, writes the script, and runs or shows it.
func (a *app) recipe(cmd *cobra.Command, r *recipeFlags, words []string, write func([]recipe.Function, recipe.Options, *diag.List) recipe.Script) error {
	argv := []string(nil)
	if at := cmd.ArgsLenAtDash(); at >= 0 {
		words, argv = words[:at], words[at:]
	}
	if len(argv) > 0 && r.command != "" {
		return usageErrorf("the command is given twice: by -c and behind --")
	}
	if err := r.check(); err != nil {
		return err
	}
	if r.process != 0 && len(argv) > 0 {
		return usageErrorf("either a process (-p) or a command, not both")
	}
	path := r.path
	if path == "" && r.process == 0 {
		switch {
		case len(argv) > 0:
			path = argv[0]
		case r.command != "":
			path, _, _ = strings.Cut(r.command, " ")
		case r.o.Comm != "":
			var err error
			if path, err = programOf(r.o.Comm); err != nil {
				return a.fail(&r.settings, err)
			}
		default:
			return usageErrorf("what is to be traced? -p PID, --container NAME, --comm NAME, -x PATH, -c COMMAND, or a command behind --")
		}
	}
	if r.value {
		if len(words) < 2 {
			return usageErrorf("which function, and which expression? As in: %s dist -p 812 libc:malloc arg0", a.name)
		}
		r.o.Value, words = words[len(words)-1], words[:len(words)-1]
	}
	if r.linear != "" {
		var err error
		if r.o.Linear, err = parseLinear(r.linear); err != nil {
			return err
		}
	}
	if len(words) == 0 {
		return usageErrorf("which functions? Their names, or a pattern like 'http_*' (%s list shows what there is)", a.name)
	}
	r.o.JSON = r.format == "json"
	switch {
	case r.depth == 0 && cmd.Flags().Changed("depth"):
		r.o.Depth = -1
	case r.depth > 0:
		r.o.Depth = r.depth
	}
	var diags diag.List
	found := recipe.Find(recipe.Target{Path: path, PID: r.process, Patterns: words, DebugDirs: r.debugDirs()}, &diags)
	if diags.Errors() > 0 {
		return a.fail(&r.settings, &trocar.CompileError{Diags: diags.All, NoMatch: true})
	}
	script := write(found, r.o, &diags)
	if diags.Errors() > 0 {
		return a.fail(&r.settings, &trocar.CompileError{Diags: diags.All})
	}
	if r.script {
		_, err := io.WriteString(a.out, script.Text)
		for _, n := range script.Notices {
			fmt.Fprintf(a.err, "INFO: %s\n", n)
		}
		return err
	}
	if os.Geteuid() != 0 {
		// Without rights not even what the kernel can do is known, and the script would be blamed for that.
		if missing := trocar.Inspect().MissingCaps; len(missing) > 0 {
			return a.fail(&r.settings, &statusError{exitNotPermitted, fmt.Errorf("tracing needs %s: run as root (%s doctor tells more)", strings.Join(missing, ", "), a.name)})
		}
	}
	r.tally, r.made = script.Tally, true
	err := a.traceWith(cmd.Context(), &r.settings, trocar.Options{
		Script: script.Text, ScriptName: cmd.Name(), PID: r.process, Command: r.command, Argv: argv, Follow: r.follow, DebugDirs: r.debugDirs(),
	}, script.Notices...)
	if s := (*statusError)(nil); errors.As(err, &s) && s.status == exitUsage && s.err == nil && r.format != "json" {
		for i := range found[:min(len(found), 3)] {
			fmt.Fprintf(a.err, "HINT: %s\n", argumentsOf(&found[i]))
		}
		fmt.Fprintf(a.err, "HINT: --script shows the script that was made\n")
	}
	return err
}

// argumentsOf tells by which names the arguments of a function are known.
func argumentsOf(f *recipe.Function) string {
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
		return f.Name + " has no arguments that have names"
	}
	return "no debug information tells the arguments of " + f.Name
}

// programOf finds the program that the processes of a name run.
func programOf(comm string) (string, error) {
	programs := map[string]int{} // a process of each
	trocar.Processes(func(p trocar.Process) {
		if p.Comm == comm {
			programs[p.Program] = p.PID
		}
	})
	if len(programs) == 0 {
		return "", &statusError{exitNoMatch, fmt.Errorf("no process is called %q; threads that are need -p or -x as well", comm)}
	}
	if len(programs) > 1 {
		names := slices.Sorted(maps.Keys(programs))
		return "", &statusError{exitUsage, fmt.Errorf("processes called %q run different programs, name one with -x: %s", comm, strings.Join(names, ", "))}
	}
	for _, pid := range programs {
		return fmt.Sprintf("/proc/%d/exe", pid), nil
	}
	return "", nil
}
