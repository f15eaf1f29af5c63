package recipe

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"trocar/internal/binary/types"
	"trocar/internal/process/match"
	"trocar/internal/process/probe"
	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// Questions are also about system calls (syscall:NAME), tracepoints (tracepoint:CATEGORY:NAME), what is written to
// (watchpoint:FILE:VARIABLE:w) and the probes that programs have built in (usdt:PATH:NAME), which may be a pair of
// begin and end (usdt:PATH:BEGIN/END).

// eventKind takes the kind of a probe off a pattern; "": it is about functions.
func eventKind(pattern string) (kind, rest string) {
	kind, rest, ok := strings.Cut(pattern, ":")
	switch {
	case !ok || strings.HasPrefix(rest, ":"): // a name of C++ or Rust
		return "", pattern
	case kind == "t":
		kind = "tracepoint"
	case kind == "U":
		kind = "usdt"
	case kind == "py":
		kind = "python"
	case kind == "java":
		kind = "method"
	case kind == "u" || kind == "uprobe":
		return "", rest
	}
	switch kind {
	case "syscall", "tracepoint", "usdt", "python", "method", "watchpoint":
		return kind, rest
	}
	return "", pattern
}

// OfEvents tells whether a question is about no function of a program, so that none need be named.
func (o Question) OfEvents() bool {
	switch o.Kind {
	case "syscalls", "profile", "offcpu", "locks":
		return true
	}
	return len(o.Functions) > 0 && !slices.ContainsFunc(o.Functions, func(f string) bool {
		kind, _ := eventKind(f)
		return kind == ""
	})
}

// OfMemory tells whether a question is about the functions that allocate memory, whatever they are called.
func (o Question) OfMemory() bool { return o.Kind == "leaks" }

// OfLocks tells whether a question is about waits for locks.
func (o Question) OfLocks() bool { return o.Kind == "locks" }

// mostEvents is how many tracepoints a question has, as each takes a program of its own, and system calls, which take
// two.
const mostEvents = 60

// events finds what a pattern of a kind means.
func events(ctx context.Context, o Target, kind, rest string, diags *diag.List) []Function {
	switch kind {
	case "syscall":
		if o.Whole && rest == "*" {
			return []Function{{Name: "syscall:*", Whole: true, Syscalls: true, Probe: rawEnter}}
		}
		return syscalls(o, rest, func(text string) *match.Result { return matchEvents(ctx, o, text, diags) }, diags)
	case "tracepoint":
		if o.Whole && (rest == "syscalls:sys_enter_*" || rest == "syscalls:*") {
			return []Function{{Name: rest, Whole: true, Syscalls: true, Probe: rawEnter}}
		}
		return tracepoints(ctx, o, "tracepoint:"+rest, diags)
	case "python":
		return interpreted(ctx, o, rest, diags)
	case "method":
		return methods(ctx, o, rest, diags)
	case "watchpoint":
		// Where it is is known when there is a process.
		return []Function{{Probe: "watchpoint:" + rest, Name: rest, Event: true, Typed: true}}
	}
	return builtIn(ctx, o, rest, diags)
}

// The tracepoints that all system calls pass.
const (
	rawEnter = "tracepoint:raw_syscalls:sys_enter"
	rawExit  = "tracepoint:raw_syscalls:sys_exit"
)

// matchEvents finds the points of an attach point.
func matchEvents(ctx context.Context, o Target, text string, diags *diag.List) *match.Result {
	var wrong diag.List
	file := syntax.Parse(&diag.Source{Name: text, Text: text + " {}"}, syntax.ParseOptions{}, &wrong)
	if wrong.Errors() > 0 || len(file.Probes) != 1 {
		diags.Errorf(diag.Span{}, "%s is no probe", text)
		return nil
	}
	matched := match.All(ctx, file.Probes, match.Options{
		PID: o.PID, Loading: o.Loading, SearchPath: o.SearchPath, Images: o.Images, Missing: match.MissingRefused,
		Needs: []probe.Needs{{Args: true, ArgN: true, Name: true}}, FloatRegisters: o.FloatRegisters,
	})
	if len(matched.PointsOf(0)) == 0 {
		for _, d := range matched.Diags.All {
			d.Span = diag.Span{} // nobody wrote the text that it is about
			diags.Take(d)
		}
		matched.Close()
		return nil
	}
	return matched
}

func tracepoints(ctx context.Context, o Target, text string, diags *diag.List) (out []Function) {
	matched := matchEvents(ctx, o, text, diags)
	if matched == nil {
		return nil
	}
	defer matched.Close()
	points := matched.PointsOf(0)
	if len(points) > mostEvents {
		tooMany(diags, text, len(points))
		return nil
	}
	for _, p := range points {
		out = append(out, tracepointOf(p))
	}
	return out
}

func tooMany(diags *diag.List, text string, n int) {
	d := diags.Errorf(diag.Span{}, "%s fits %d tracepoints: a question has at most %d programs", text, n, mostEvents)
	d.Hint("narrow the pattern, or ask for all system calls (syscall:*)")
}

// tracepointOf describes a tracepoint.
func tracepointOf(p *probe.Point) Function {
	_, name, _ := strings.Cut(p.Name, ":")
	fn := Function{Probe: p.Name, Name: name, Event: true, Typed: true}
	fn.fields(p.Scope)
	return fn
}

// textFields are the pointers to texts that tracepoints of system calls have: of others the type does not tell whether
// they are texts, nor whether these are there when the call begins.
var textFields = []string{
	"filename", "pathname", "path", "oldname", "newname", "oldpath", "newpath", "dev_name", "dir_name", "dir", "name",
	"from_pathname", "to_pathname", "fs_name", "special", "specialfile", "new_root", "put_old", "uname",
}

// fields are the parameters of a tracepoint, without those that all have.
func (fn *Function) fields(scope *probe.Scope) {
	known := paramTypes{}
	if scope == nil || scope.ArgsType == nil {
		return
	}
	for _, f := range scope.ArgsType.Fields {
		if f.Name == "__syscall_nr" || f.Name == "" {
			continue
		}
		v := Value{Name: f.Name, Type: types.Declare(f.Type, ""), Size: max(8, f.Type.Size)}
		words := strings.Fields(strings.ReplaceAll(v.Type, "*", " *"))
		if slices.Equal(words, []string{"char", "*"}) && slices.Contains(textFields, f.Name) {
			v.Show = ByStr
		}
		fn.Params = append(fn.Params, v)
		known[f.Name] = f.Type
	}
	fn.ShowOf = func(text string) (Show, int) {
		for i := range fn.Params {
			if p := &fn.Params[i]; p.Name == text {
				return p.Show, p.Size
			}
		}
		return known.show(text)
	}
}

// builtIn finds the probes that a program has built in.
func builtIn(ctx context.Context, o Target, rest string, diags *diag.List) (out []Function) {
	begin, end, paired := rest, "", false
	if i := strings.LastIndexByte(rest, ':'); i >= 0 {
		var name string
		if name, end, paired = strings.Cut(rest[i+1:], "/"); paired {
			begin, end = rest[:i+1]+name, rest[:i+1]+end
		}
	}
	if !strings.Contains(begin, ":") { // of the program that is asked about
		path := syntax.QuoteWord(pathOf(o.Path, o.PID, ""))
		begin, end = path+":"+begin, path+":"+end
	}
	matched := matchEvents(ctx, o, "usdt:"+begin, diags)
	if matched == nil {
		return nil
	}
	defer matched.Close()
	points := matched.PointsOf(0)
	names := map[string]bool{}
	for _, p := range points {
		if names[p.Name] {
			continue // it is in several places
		}
		names[p.Name] = true
		fn := Function{Probe: p.Name, Name: p.Name[strings.LastIndexByte(p.Name, ':')+1:], Event: !paired}
		if p.Scope != nil && len(p.Scope.Args) > 0 {
			fn.parametersOf(p.Scope)
		} else if p.Scope != nil {
			fn.Args = len(p.Scope.ArgN)
		}
		if paired {
			fn.Returns = []string{"usdt:" + end}
			fn.EntryKey, fn.ReturnKey = "tid, (int64)0", "tid, (int64)0"
			fn.Name += "/" + end[strings.LastIndexByte(end, ':')+1:]
		}
		out = append(out, fn)
	}
	if paired && len(out) > 1 {
		diags.Errorf(diag.Span{}, "usdt:%s fits %d probes: the begin of a pair is one", begin, len(out))
		return nil
	}
	if len(out) > mostEvents {
		diags.Errorf(diag.Span{}, "usdt:%s fits %d probes, at most %d can be asked about", begin, len(out), mostEvents)
		return nil
	}
	return out
}

// Entry is the attach point of a function's entry, with its kind.
func (fn *Function) Entry() string {
	if fn.Probe != "" {
		return fn.Probe
	}
	return "uprobe:" + fn.Point
}

// byNumber are the arguments of a probe that have no names.
func (fn *Function) byNumber() (exprs []syntax.Expr) {
	for i := range fn.Args {
		exprs = append(exprs, &syntax.Ident{Name: fmt.Sprintf("arg%d", i)})
	}
	return exprs
}
