package recipe

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
	"trocar/internal/process/match"
	"trocar/internal/process/probe"
	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// A question that asks nothing of a function's own, no argument and no result, is one clause over the pattern, as
// somebody would write it: then a command costs what the script costs, and what cannot be probed of the functions is
// left out and counted as in scripts.

// ofNoFunction are the words of expressions that mean the same in all functions.
var ofNoFunction = []string{
	"comm", "pid", "tid", "uid", "gid", "username", "cpu", "nsecs", "elapsed", "cgroup", "probe", "func", "ustack",
	"kstack",
}

// Whole tells whether a question's patterns can be clauses.
func (o Question) Whole() bool {
	if slices.ContainsFunc(o.Functions, func(f string) bool { _, _, line := splitFunction(f); return line }) {
		return false // lines have names of their own, beside those of functions
	}
	if o.Kind == "latency" && slices.ContainsFunc(o.Functions,
		func(f string) bool { kind, _ := eventKind(f); return kind != "" }) &&
		!(len(o.Functions) == 1 && o.Functions[0] == "syscall:*" && o.Min == 0) {
		return false
	}
	words := ofNoFunction
	switch o.Kind {
	case "count", "stack":
	case "latency", "dist":
		words = append(slices.Clone(words), "duration")
	default:
		return false
	}
	if o.Kind == "dist" {
		value := syntax.ParseExpr(&diag.Source{Text: o.Value}, &diag.List{})
		if value == nil || !mentions(value, "duration") || o.OfEvents() {
			return false
		}
	}
	for _, text := range append(slices.Clone(o.By), o.If, o.Value) {
		if text == "" {
			continue
		}
		for _, l := range syntax.ParseExprs(&diag.Source{Text: text}, &diag.List{}) {
			if !onlyWords(l.Expr, words) {
				return false
			}
		}
	}
	return true
}

// onlyWords tells whether an expression has no names but these.
func onlyWords(x syntax.Expr, words []string) bool {
	ok := true
	syntax.Inspect(x, func(n syntax.Node) bool {
		if id, is := n.(*syntax.Ident); is && !slices.Contains(words, id.Name) {
			ok = false
		}
		return ok
	})
	return ok
}

// isPattern tells a pattern from a name with a star of its own: of C++'s operators and types, and Go's pointers.
func isPattern(name string) bool {
	return strings.Contains(name, "*") && !strings.ContainsAny(name, "(<") && !strings.Contains(name, "operator")
}

// mostParted is how many functions are looked at one by one since some are parts of others, whose calls those belong
// to, or share their code. Of more the parts are functions of their own, as they are in scripts.
const mostParted = 2000

// Together tells whether functions of a pattern can share a clause that shows each call by the registers that its
// function is given values in (funcargs), if they are many: nothing is asked of single ones.
func (o Question) Together() bool {
	if o.Kind != "trace" || len(o.Args) > 0 || len(o.Results) > 0 {
		return false
	}
	libs := map[string]bool{}
	for _, f := range o.Functions { // one function is not to be in two clauses
		lib, _, _ := splitFunction(f)
		if libs[lib] {
			return false
		}
		libs[lib] = true
	}
	cond := syntax.Expr(nil)
	if o.If != "" {
		cond = syntax.ParseExpr(&diag.Source{Text: o.If}, &diag.List{})
	}
	return cond == nil || onlyWords(cond, append(slices.Clone(ofNoFunction), "duration"))
}

// together makes one function of all that a pattern fits; none, if they are so few that each is looked at.
func together(ctx context.Context, o Target, path, pattern string) (out []Function) {
	matched := match.All(ctx, []*syntax.Probe{pointOf("uprobe", path, pattern, false)}, match.Options{
		PID: o.PID, Demangle: true, SearchPath: o.SearchPath, Images: o.Images, VectorsStepped: o.VectorsStepped,
		Spread: o.Spread, FilteredReturns: o.FilteredReturns, Needs: []probe.Needs{{}}, Missing: match.MissingRefused,
		Plain: true,
	})
	defer matched.Close()
	points := matched.PointsOf(0)
	if len(points) <= fewFunctions {
		return nil
	}
	for i, fn := range filesOf(o, path, pattern, points) {
		var first *probe.Point // of code that a runtime runs, if there is some
		for _, p := range points {
			if fileOf(o, path, p) == fn.file && (first == nil || first.Call == nil && p.Call != nil) {
				first = p
			}
		}
		one := &candidate{Function: fn.Function, point: first, arch: o.Arch}
		if first.Call != nil { // of such code nothing is asked but what the runtime tells
			one.known = matched.InFile(first)
		} else {
			one.known = matched.Known(first)
		}
		one.Typed = one.known.Info != nil
		one.EntryKey = "pid(init), (int64)callframe"
		if c := first.Call; c != nil {
			one.EntryKey, one.Tasks = taskKey(&c.Tasks), &c.Tasks
			if r, ok := match.RuntimeOf(one.known.File); ok {
				one.NoDebug = r.NoDebug
			}
		}
		one.ReturnKey, one.BareKey = one.EntryKey, one.EntryKey
		one.Managed = one.known.File != nil && one.known.File.Managed() != nil
		one.Panics = one.known.Func != nil && one.known.Func.Lang == types.Rust
		one.Result, one.ResultExpr = &Value{Name: "retval"}, "funcretval"
		if i == 0 && one.Typed {
			one.Notices = []string{fmt.Sprintf("of the arguments and results of %d functions those in registers are shown: "+
				"numbers, addresses and texts; select fewer functions to see all", fn.Count)}
		}
		out = append(out, one.Function)
	}
	return out
}

// whole makes one function of all that a pattern fits.
func whole(ctx context.Context, o Target, path, pattern string, diags *diag.List) []Function {
	probes := []*syntax.Probe{pointOf("uprobe", path, pattern, false)}
	opts := match.Options{
		PID: o.PID, Demangle: true, SearchPath: o.SearchPath, Images: o.Images, VectorsStepped: o.VectorsStepped,
		Spread: o.Spread, FilteredReturns: o.FilteredReturns, Needs: []probe.Needs{{}}, Missing: match.MissingRefused,
		Plain: true,
	}
	if file, fns := match.Fitting(ctx, probes[0].Points[0], opts); len(fns) > mostParted {
		many := manyOf(pathOf(path, o.PID, file), pattern, fns)
		for i := 0; len(o.Patterns) > 1 && i < len(fns); i++ {
			many.stands(start{file, fns[i].Addr})
		}
		return []Function{many}
	}
	matched := match.All(ctx, probes, opts)
	defer matched.Close()
	points := matched.PointsOf(0)
	if len(points) == 0 {
		for _, d := range matched.Diags.All {
			diags.Take(d)
		}
		return nil
	}
	if len(points) <= mostParted && (len(partsOf(matched, points)) > 0 || anyFolded(matched, points)) {
		return functions(ctx, o, path, pattern, diags)
	}
	var out []Function
	for _, fn := range filesOf(o, path, pattern, points) {
		out = append(out, fn.Function)
	}
	return out
}

// anyFolded tells whether functions of the source share code, so that the builtin func names one of them only.
func anyFolded(matched *match.Result, points []*probe.Point) bool {
	return slices.ContainsFunc(points, func(p *probe.Point) bool {
		if k := matched.InFile(p); p.Inlined || k.File == nil || len(k.File.NamesAt(p.FunctionStart())) < 2 {
			return false // most: debug information need not be read
		}
		k := matched.Known(p)
		return len(k.Folded()) > 0
	})
}

// ofFile is a function that stands for all of a file.
type ofFile struct {
	Function
	file string
}

// filesOf makes one function of all that a pattern fits: methods may be in several of a process's files.
func filesOf(o Target, path, pattern string, points []*probe.Point) (out []ofFile) {
	at := map[string]int{}
	beyond := false
	for _, p := range points {
		beyond = beyond || fitsBeyond(pattern, p.Func)
	}
	for _, p := range points {
		file := fileOf(o, path, p)
		i, known := at[file]
		if !known {
			i = len(out)
			at[file] = i
			out = append(out, ofFile{file: file, Function: wholeOf(file, pattern, beyond)})
		}
		out[i].Count++
		if len(o.Patterns) > 1 {
			out[i].stands(startOf(p))
		}
		out[i].Mangled = out[i].Mangled || objfile.IsMangled(p.Func)
	}
	return out
}

// wholeOf is the function that stands for all of a file that a pattern fits; beyond: also such as a script's would not.
func wholeOf(file, pattern string, beyond bool) Function {
	point := syntax.QuoteWord(file) + ":"
	if beyond {
		point += readable + ":"
	}
	point += syntax.QuoteWord(pattern)
	return Function{Point: point, Returns: []string{"uretprobe:" + point}, Name: pattern, Called: true, Whole: true}
}

// manyOf is the function that stands for very many of a file, of which no more than the names is looked at.
func manyOf(file, pattern string, fns []objfile.Func) Function {
	mangled, beyond := false, false
	for i := range fns {
		mangled = mangled || objfile.IsMangled(fns[i].Name)
		beyond = beyond || fitsBeyond(pattern, fns[i].Name)
	}
	fn := wholeOf(file, pattern, beyond)
	fn.Mangled, fn.Count = mangled, len(fns)
	return fn
}

// readable is the word of attach points by which patterns are compared with names as in the source.
const readable = "cpp"

// fitsBeyond tells whether a pattern fits a name as in the source, with which it would not be compared in a script.
func fitsBeyond(pattern, name string) bool {
	return !strings.Contains(pattern, "::") && objfile.IsMangled(name) && !objfile.MatchGlob(pattern, name)
}

// pointOf is a probe of functions of a file. Patterns are of names as in the source.
func pointOf(kind, path, name string, exact bool) *syntax.Probe {
	p := &syntax.AttachPoint{
		Text: kind + ":" + path + ":" + name, Kind: kind, Parts: []string{path, name}, Quoted: []bool{true, true},
	}
	switch {
	case isPattern(name):
		p.Parts, p.Quoted = []string{path, readable, name}, []bool{true, false, true}
	case exact:
		p.Parts, p.Quoted = []string{path, objfile.Exact, name}, []bool{true, false, true}
	}
	return &syntax.Probe{Points: []*syntax.AttachPoint{p}}
}
