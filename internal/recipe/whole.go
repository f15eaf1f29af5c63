package recipe

import (
	"context"
	"slices"
	"strings"

	"trocar/internal/binary/objfile"
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
	case "latency":
		words = append(slices.Clone(words), "duration")
	default:
		return false
	}
	for _, text := range append(slices.Clone(o.By), o.If) {
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
// to. Of more the parts are functions of their own, as they are in scripts.
const mostParted = 2000

// whole makes one function of all that a pattern fits.
func whole(ctx context.Context, o Target, path, pattern string, diags *diag.List) []Function {
	probes := []*syntax.Probe{pointOf("uprobe", path, pattern, false)}
	matched := match.All(ctx, probes, match.Options{
		PID: o.PID, Demangle: true, SearchPath: o.SearchPath, Images: o.Images, VectorsStepped: o.VectorsStepped,
		Spread: o.Spread, FilteredReturns: o.FilteredReturns, Needs: []probe.Needs{{}}, Missing: match.MissingRefused,
		Plain: true,
	})
	defer matched.Close()
	points := matched.PointsOf(0)
	if len(points) == 0 {
		for _, d := range matched.Diags.All {
			diags.Take(d)
		}
		return nil
	}
	if len(points) <= mostParted && len(partsOf(matched, points)) > 0 {
		return functions(ctx, o, path, pattern, diags)
	}
	// Methods may be in several of a process's files.
	var out []Function
	at := map[string]int{}
	for _, p := range points {
		file := fileOf(o, path, p)
		i, known := at[file]
		if !known {
			i = len(out)
			at[file] = i
			point := syntax.QuoteWord(file) + ":" + syntax.QuoteWord(pattern)
			if beyond(points, pattern) {
				point = syntax.QuoteWord(file) + ":" + readable + ":" + syntax.QuoteWord(pattern)
			}
			out = append(out, Function{
				Point: point, Returns: []string{"uretprobe:" + point}, Name: pattern, Called: true, Whole: true,
			})
		}
		out[i].Count++
		out[i].Mangled = out[i].Mangled || objfile.IsMangled(p.Func)
	}
	return out
}

// readable is the word of attach points by which patterns are compared with names as in the source.
const readable = "cpp"

// beyond tells whether a pattern fits names as in the source that it would not be compared with in a script.
func beyond(points []*probe.Point, pattern string) bool {
	return !strings.Contains(pattern, "::") && slices.ContainsFunc(points, func(p *probe.Point) bool {
		return objfile.IsMangled(p.Func) && !objfile.MatchGlob(pattern, p.Func)
	})
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
