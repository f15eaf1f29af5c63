package recipe

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/image"
	"trocar/internal/binary/objfile"
	"trocar/internal/process/match"
	"trocar/internal/process/probe"
	"trocar/internal/process/target"
	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// Target says which functions are looked for.
type Target struct {
	// Path is the program or library; "": that of the process.
	Path string
	PID  int
	// Loading is as in match.Options.
	Loading match.Loading
	// Spread and FilteredReturns are as in match.Options.
	Spread, FilteredReturns bool
	Runs                    string // as in match.Options
	// SearchPath are the folders in which programs are looked for (PATH).
	SearchPath string
	// Patterns are names as in the source, exact or with wildcards; "lib:func" is in a library; "file.c:42" is a line.
	Patterns []string
	// Images opens the files.
	Images *image.Set
	// VectorsStepped is that of package match's options.
	VectorsStepped func() bool
	// FloatRegisters is that of package match's options.
	FloatRegisters func() (found bool, needs string)
	// Whole: a pattern is one function (Function.Whole): nothing that is asked needs to know more.
	Whole bool
	// Together: a pattern that fits many functions is one function, too, of which calls are shown by their registers.
	Together bool
	// ThreadEnds: the kernel tells when threads end, and whether their process does.
	ThreadEnds bool
	// Onward: where tail calls lead is looked for.
	Onward bool
	// Lines: each call is a line, so that system calls need no probes of their own.
	Lines bool
	Arch  *abi.Arch
	// Confined: no other programs run what is traced, so that probes for all that they may do cost nobody else.
	Confined bool
}

// Find finds functions. A pattern that fits nothing is a warning where others fit; without any, diags has an error:
// nothing fits, or the file cannot be read.
func Find(ctx context.Context, o Target, diags *diag.List) []Function {
	var out []Function
	known := map[string]bool{}
	var missing diag.List
	leaving := &Leaving{ThreadEnds: o.ThreadEnds}
	for _, pattern := range o.Patterns {
		if kind, rest := eventKind(pattern); kind != "" {
			out = append(out, events(ctx, o, kind, rest, &missing)...)
			continue
		} else if rest != pattern {
			pattern = rest
		}
		lib, name, line := splitFunction(pattern)
		if line {
			file, number, _ := strings.Cut(pattern, ":")
			path := syntax.QuoteWord(pathOf(o.Path, o.PID, ""))
			out = append(out, Function{Point: path + "@" + file + ":" + number, Name: pattern, Line: true})
			continue
		}
		path := o.Path
		if lib != "" {
			var loads match.Loads
			switch path, loads = library(ctx, o, lib); {
			case loads == match.LoadsNone:
				missing.Add(diag.Info, diag.Span{}, "%s is a static program, which loads no %s: its own functions are named "+
					"without it", o.Path, lib)
			case loads == match.LoadsOthers && hasItself(ctx, o, name):
				missing.Add(diag.Info, diag.Span{}, "%s does not load %s when it starts, and contains %s itself: to trace that, "+
					"leave out '%[2]s:'", o.Path, lib, name)
			}
		}
		var fns []Function
		var wrong diag.List
		switch {
		case o.Whole && isPattern(name):
			fns = whole(ctx, o, path, name, &wrong)
		case o.Together && isPattern(name):
			fns = together(ctx, o, path, name)
		}
		if len(fns) == 0 && !(o.Whole && isPattern(name)) {
			fns = functions(ctx, o, path, name, &wrong)
		}
		if len(fns) == 0 && lib == "" && o.Path == "" && strings.Contains(name, ".") {
			var other diag.List
			fns = methods(ctx, o, name, &other)
			if len(fns) > 0 || slices.ContainsFunc(other.All, func(d *diag.Diagnostic) bool { return len(d.Hints) > 0 }) {
				wrong = other
			}
		}
		for _, d := range wrong.All {
			missing.Take(d)
		}
		out, fns = once(out, fns, func() []Function { return functions(ctx, o, path, name, &diag.List{}) })
		for _, fn := range fns {
			if i := slices.IndexFunc(out, fn.shares); i >= 0 {
				if out[i].Name != fn.Name {
					out[i].Notices = append(out[i].Notices, sameCode(fn.Name))
				}
				continue
			}
			if !known[fn.Entry()] {
				known[fn.Entry()] = true
				fn.Leaving = leaving
				out = append(out, fn)
			}
		}
	}
	fitRegisters(out)
	unwound := func(f Function) bool { return f.EntryKey != "" && f.Tasks == nil && !f.Managed }
	if o.Confined && slices.ContainsFunc(out, unwound) {
		leaving.unwinders(match.Unwinders(ctx, match.Options{
			PID: o.PID, SearchPath: o.SearchPath, Images: o.Images, VectorsStepped: o.VectorsStepped,
		}, []string{o.Path}))
	}
	for _, d := range missing.All {
		if d.Severity == diag.Error && len(out) > 0 {
			d.Severity = diag.Warning // it is about one of several
		}
		diags.Take(d)
	}
	return out
}

func sameCode(name string) string {
	return name + " has the same code: its calls are shown as those of this one"
}

// library is the library of a name: the one that the program will load, which may be another than most programs do. The
// program may be static, and load none.
func library(ctx context.Context, o Target, name string) (path string, loads match.Loads) {
	if o.PID != 0 || o.Path == "" || strings.Contains(name, "/") {
		return name, match.LoadsIt
	}
	opts := match.Options{SearchPath: o.SearchPath, Images: o.Images}
	path, loads = match.LibraryOf(ctx, opts, o.Path, name)
	if path == "" {
		path = name
	}
	return path, loads
}

// hasItself tells whether the program has functions that a pattern fits.
func hasItself(ctx context.Context, o Target, name string) bool {
	_, fns := match.Fitting(ctx, pointOf("uprobe", o.Path, name, false).Points[0], match.Options{
		SearchPath: o.SearchPath, Images: o.Images,
	})
	return len(fns) > 0
}

// shares tells whether two functions have the same code.
func (f *Function) shares(o Function) bool { return f.start != (start{}) && f.start == o.start }

// splitFunction takes "lib:func" and "file.c:42" apart. A name of C++ or Rust has colons in pairs.
func splitFunction(pattern string) (lib, name string, line bool) {
	for i := 0; i < len(pattern); i++ {
		switch {
		case strings.ContainsRune("(<[ ", rune(pattern[i])):
			return "", pattern, false
		case pattern[i] == ':' && i+1 < len(pattern) && pattern[i+1] == ':':
			i++
		case pattern[i] == ':':
			lib, name = pattern[:i], pattern[i+1:]
			if _, err := strconv.ParseUint(name, 10, 31); err == nil && strings.Contains(lib, ".") {
				return "", pattern, true
			}
			return lib, name, false
		}
	}
	return "", pattern, false
}

func functions(ctx context.Context, o Target, path, name string, diags *diag.List) (out []Function) {
	if strings.Contains(name, "*") && !isPattern(name) {
		// A name with a star of its own; else it was meant as a pattern after all.
		var none diag.List
		if out := functionsOf(ctx, o, path, name, true, &none); len(out) > 0 {
			return out
		}
	}
	return functionsOf(ctx, o, path, name, false, diags)
}

// functionsOf are the functions of a name, which is no pattern if it is exact.
func functionsOf(ctx context.Context, o Target, path, name string, exact bool, diags *diag.List) (out []Function) {
	const entry, ret = 0, 1
	probes := []*syntax.Probe{entry: pointOf("uprobe", path, name, exact), ret: pointOf("uretprobe", path, name, exact)}
	opts := match.Options{
		PID: o.PID, Loading: o.Loading, Demangle: true, SearchPath: o.SearchPath, Images: o.Images, OutOfLine: true,
		Variants: true, VectorsStepped: o.VectorsStepped, FloatRegisters: o.FloatRegisters,
		Missing:      "ignore", // at first
		Plain:        true,
		Instructions: true, // the keys of calls go by it
		Spread:       o.Spread, FilteredReturns: o.FilteredReturns, Runs: o.Runs,
		// Results are typed, but what is not known of them does not hide where calls end.
		Needs: []probe.Needs{
			entry: {Args: true, Retval: true, ArgN: true, Name: true}, ret: {Args: true, ArgN: true, Name: true},
		},
	}
	matched := match.All(ctx, probes, opts)
	defer func() { matched.Close() }()
	found := func() bool { return len(matched.PointsOf(entry)) > 0 && firstError(matched.About(entry)) == "" }
	if !found() && ctx.Err() == nil {
		// It may have no code of its own.
		opts.OutOfLine, opts.Missing = false, match.MissingRefused
		inlined := match.All(ctx, probes, opts)
		matched.Close()
		matched = inlined
	}
	if !found() {
		for _, d := range matched.Diags.All {
			if !slices.Contains(matched.About(ret), d) { // those follow
				diags.Take(d)
			}
		}
		return nil
	}
	points := matched.PointsOf(entry)
	noReturn := firstError(matched.About(ret))
	first := map[start]*probe.Point{} // of several returns
	tails := map[start][]uint64{}
	for _, r := range matched.PointsOf(ret) {
		c := startOf(r)
		if r.Tail {
			tails[c] = append(tails[c], r.Addr)
		}
		if first[c] == nil || first[c].Tail || first[c].Made != nil {
			first[c] = r
		}
	}
	made := madeOf(matched.PointsOf(entry), matched.PointsOf(ret))
	points = made.without(points)
	twins, said := twinsOf(points), warnings(matched.About(entry))
	parts, bare := partsOf(matched, points), bareNames(matched, points)
	if isPattern(name) { // they are about functions that are not among these
		for _, d := range matched.About(entry) {
			if d.Severity == diag.Warning {
				d.Span = diag.Span{}
				diags.Take(d)
			}
		}
		said = nil
	}
	for _, p := range points {
		if ctx.Err() != nil {
			return nil
		}
		if _, is := parts[startOf(p)]; is && !p.Inlined {
			continue
		}
		known := matched.Known(p)
		fn := describe(known, p, fileOf(o, path, p), len(points) > maxShapes)
		if twins[nameOf(p)] > 1 && !p.Inlined {
			// The name means all of them: the address is this one.
			fn.Point = fmt.Sprintf("%s:%#x", syntax.QuoteWord(fn.path), p.FunctionStart())
		}
		if p.Inlined {
			fn.NoReturn = "it is an inlined instance, which does not return"
			out = append(out, fn.Function)
			continue
		}
		if name := bare[startOf(p)]; name != "" && fn.Name == p.Func {
			fn.Name, fn.Called = name, false
		}
		fn.start = startOf(p)
		fn.returns(first[startOf(p)], noReturn)
		fn.leaves(tails[startOf(p)])
		if made.has(p) {
			fn.madeAnew()
		} else if o.Onward {
			fn.onward()
		}
		for _, whole := range parts {
			if whole == startOf(p) {
				fn.Notices = append(fn.Notices, "a part of it, a function of its own, belongs to its calls; "+
					"inlined instances go there directly, and are not shown")
				break
			}
		}
		fn.Unseen = said
		if len(said) > 0 && (len(fn.Returns) == 0 || known.Throws()) {
			fn.Notices = append(fn.Notices, said...)
		}
		out = append(out, fn.Function)
	}
	return out
}

// bareNames are the names without parameters of functions that no debug information names, where that is one's alone.
func bareNames(matched *match.Result, points []*probe.Point) map[start]string {
	names, count := map[start]string{}, map[string]int{}
	for _, p := range points {
		if known := matched.Known(p); known.Func == nil && known.File != nil && strings.Contains(p.Func, "(") {
			if sym, ok := known.File.Lookup(p.FunctionStart()); ok && objfile.IsMangled(sym.Name) {
				name := objfile.DemangleBare(sym.Name)
				names[startOf(p)] = name
				count[name]++
			}
		}
	}
	maps.DeleteFunc(names, func(_ start, name string) bool { return count[name] > 1 })
	return names
}

// partsOf finds the functions that are parts of others among them, with those.
func partsOf(matched *match.Result, points []*probe.Point) map[start]start {
	var parts map[start]start
	for _, p := range points {
		if p.Inlined || !strings.Contains(p.Func, match.PartMark) {
			continue // most: files need not be looked at
		}
		k := matched.Known(p)
		if k.File == nil {
			continue
		}
		sym, ok := k.File.Lookup(p.FunctionStart())
		if !ok {
			continue
		}
		addr, ok := k.File.SymbolAddr(match.WholeOf(sym.Name))
		whole := start{p.Path, addr}
		if !ok || !slices.ContainsFunc(points, func(p *probe.Point) bool { return startOf(p) == whole }) {
			continue
		}
		if parts == nil {
			parts = map[start]start{}
		}
		parts[startOf(p)] = whole
	}
	return parts
}

// start is where a function begins.
type start struct {
	path string
	addr uint64
}

func startOf(p *probe.Point) start { return start{p.Path, p.FunctionStart()} }

// twinsOf counts the functions of each name: a file may have several, each known in its own source file only.
func twinsOf(points []*probe.Point) map[[2]string]int {
	twins, seen := map[[2]string]int{}, map[start]bool{}
	for _, p := range points {
		if c := startOf(p); !p.Inlined && !seen[c] {
			seen[c] = true
			twins[nameOf(p)]++
		}
	}
	return twins
}

func nameOf(p *probe.Point) [2]string { return [2]string{p.Path, p.Func} }

func warnings(diags []*diag.Diagnostic) (texts []string) {
	for _, d := range diags {
		if d.Severity == diag.Warning {
			texts = append(texts, d.Text)
		}
	}
	return texts
}

func firstError(diags []*diag.Diagnostic) string {
	for _, d := range diags {
		if d.Severity == diag.Error {
			return d.Text
		}
	}
	return ""
}

// fileOf is the path of the file of a point as scripts have it: methods of .NET are in other files than the program.
func fileOf(o Target, path string, p *probe.Point) string {
	if path != "" || o.PID == 0 || !objfile.IsMethod(p.Func) {
		return pathOf(path, o.PID, p.Path)
	}
	file := p.Path
	if root, err := target.PID(o.PID).Root(); err == nil {
		file = root.Path(file)
	}
	if _, member, ok := strings.Cut(p.Name, "!/"); ok { // the path is that of what has it
		member, _, _ = strings.Cut(member, ":")
		file += "!/" + member
	}
	return file
}

// pathOf is the path of a file as scripts have it: as it was asked for, or that of the process's program.
func pathOf(path string, pid int, found string) string {
	if path != "" {
		return path
	}
	if exe, _, err := target.PID(pid).Program(); pid != 0 && err == nil {
		return exe
	}
	return found
}
