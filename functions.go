package trocar

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
	"trocar/internal/process/target"
	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// FunctionsOptions say which functions are looked for.
type FunctionsOptions struct {
	// Path is the program or library; "": that of the process.
	Path string
	PID  int
	// Patterns are names as in the source, exact or with wildcards; "lib:func" is in a library; "file.c:42" is a line.
	Patterns []string
	// DebugDirs are folders in which debug files are looked for first.
	DebugDirs []string
}

// Function is a function of a program with what can be shown of its calls.
type Function struct {
	// Point is the attach point of its entry, without "uprobe:".
	Point string
	// Returns are the attach points of its return, with their kind; none for the reason NoReturn.
	Returns  []string
	NoReturn string
	// Leaves are the attach points, with their kind, where it goes on in another function, which returns in its place.
	Leaves []string
	// Name is the name as in the source, without parameters.
	Name string
	// Called tells that the builtin func shows Name.
	Called bool
	Line   bool // it is a line of the source

	Typed  bool // debug information tells the parameters
	Params []Param
	Result *Param // nil: it returns nothing, or that is not known
	// ResultExpr gives the result where the return is probed.
	ResultExpr string

	// EntryKey and ReturnKey are what tells a call from all others that are open, as keys of a map: the same where the
	// entry and where the return is probed. "": not known.
	EntryKey, ReturnKey string
	Goroutines          bool // it is run by goroutines
	// Notices are what else is to be said, like inlined copies that are left out.
	Notices []string

	path  string
	types map[string]*types.Type
}

// Param is a parameter or a result.
type Param struct {
	Name string
	Type string // as in the source
	Size int    // bytes that it takes to keep what is shown, texts by themselves aside
	Show Show
	Why  string // Hidden: the reason
}

// Show is how a value is shown.
type Show uint8

// Ways of showing values.
const (
	ShowValue  Show = iota // as it is; it can be kept for later
	ShowText               // a C string: str() of it is its text
	ShowString             // a string of the program's language
	ShowWhole              // parts of it are read elsewhere: snapshot() of it can be kept
	Hidden                 // not to be had
)

// Functions finds functions. Errors are *CompileError: nothing fits, or the file cannot be read.
func Functions(o FunctionsOptions) ([]Function, error) {
	var out []Function
	for _, pattern := range o.Patterns {
		lib, name, line := splitFunction(pattern)
		if line {
			file, number, _ := strings.Cut(pattern, ":")
			out = append(out, Function{Point: quoteWord(pathOf(o.Path, o.PID, "")) + "@" + file + ":" + number, Name: pattern, Line: true})
			continue
		}
		path := o.Path
		if lib != "" {
			path = lib
		}
		fns, err := functions(o, path, name)
		if err != nil {
			return nil, err
		}
		for _, fn := range fns {
			if !slices.ContainsFunc(out, func(f Function) bool { return f.Point == fn.Point }) {
				out = append(out, fn)
			}
		}
	}
	return out, nil
}

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

func functions(o FunctionsOptions, path, name string) ([]Function, error) {
	point := func(kind string) *syntax.Probe {
		return &syntax.Probe{Points: []*syntax.AttachPoint{{
			Text: kind + ":" + path + ":" + name, Kind: kind, Parts: []string{path, name}, Quoted: []bool{true, true},
		}}}
	}
	opts := probe.Options{PID: o.PID, Demangle: true, DebugDirs: o.DebugDirs, OutOfLine: true, Variants: true}
	matched := probe.MatchAll([]*syntax.Probe{point("uprobe")}, opts)
	if matched.Diags.Errors() > 0 {
		// It may have no code of its own.
		opts.OutOfLine = false
		matched.Close()
		matched = probe.MatchAll([]*syntax.Probe{point("uprobe")}, opts)
	}
	defer matched.Close()
	if matched.Diags.Errors() > 0 {
		return nil, &CompileError{Diags: matched.Diags.All, NoMatch: true}
	}
	returns := probe.MatchAll([]*syntax.Probe{point("uretprobe")}, opts)
	defer returns.Close()
	noReturn := firstError(&returns.Diags)
	first := map[start]*probe.Point{} // of several returns
	for _, r := range allPoints(returns) {
		if c := startOf(r); first[c] == nil {
			first[c] = r
		}
	}
	twins := twinsOf(allPoints(matched))
	var out []Function
	for _, p := range allPoints(matched) {
		known := matched.Known(p)
		fn := describe(known, p, path, o.PID)
		if twins[nameOf(p)] > 1 && !p.Inlined {
			// The name means all of them: the address is this one.
			fn.Point = fmt.Sprintf("%s:%#x", quoteWord(fn.path), p.FunctionStart())
		}
		if p.Inlined {
			fn.NoReturn = "it was inlined, and inlined code does not return"
			if !slices.ContainsFunc(out, func(f Function) bool { return f.Point == fn.Point }) {
				out = append(out, fn)
			}
			continue
		}
		fn.returns(known, p, first[startOf(p)], noReturn)
		if len(fn.Returns) == 0 || known.Throws() {
			fn.Notices = append(fn.Notices, warnings(&matched.Diags)...)
		}
		out = append(out, fn)
	}
	return out, nil
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

// word is the name of the function in attach points, "" if others have it too.
func (fn *Function) word(k probe.Known, p *probe.Point) string {
	if strings.HasSuffix(fn.Point, fmt.Sprintf(":%#x", p.FunctionStart())) {
		return ""
	}
	word, _ := symbolOf(k, p)
	return word
}

// returns tells where the return of a function is probed; ret is its return probe, if it can have one.
func (fn *Function) returns(k probe.Known, p, ret *probe.Point, noReturn string) {
	if k.Throws() && !fn.Goroutines && arch().RetOnStack {
		if returns, tails, why := exitsOf(k, p, fn.path, fn.word(k, p)); why == "" && len(tails) > 0 {
			fn.Leaves, fn.ReturnKey = tails, frameKey("sp", 8)
			if len(returns) == 0 {
				return
			}
		}
	}
	if ret == nil {
		fn.NoReturn = noReturn
		if noReturn == "" {
			fn.NoReturn = "its return cannot be probed"
		}
		return
	}
	var result *probe.Var
	if fn.Typed && ret.Scope != nil && ret.Scope.Retval != nil && !ret.Scope.Nothing() && ret.Scope.Retval.Type.Name != "()" {
		result = ret.Scope.Retval
		fn.Result, fn.ResultExpr = paramOf(*result), "retval"
	}
	at := "uretprobe:" + strings.TrimSuffix(fn.Point, "+0")
	switch {
	case ret.AtReturn:
		if arch().RetOnStack && !fn.Goroutines {
			fn.ReturnKey = frameKey("sp", 8)
		}
	case k.Throws():
		fn.NoReturn = "not all instructions with which it returns are known, and a return probe would break exceptions and panics that pass it"
		return
	case callsItself(k, p):
		points, tails, why := exitsOf(k, p, fn.path, fn.word(k, p))
		if why == "" && len(tails) > 0 {
			why = "it ends in a jump to another function"
		}
		if why != "" {
			fn.Notices = append(fn.Notices, fmt.Sprintf("the kernel sees the returns of only %d calls that are open in each other: deeper ones are shown as not returned", maxReturnDepth))
			break
		}
		fn.Returns = points
		if arch().RetOnStack {
			fn.ReturnKey = frameKey("sp", 8)
		}
		if fn.Result != nil && fn.Result.Show != Hidden {
			if fn.ResultExpr = resultExpr(result); fn.ResultExpr == "" {
				fn.Result.Show, fn.Result.Why = Hidden, fmt.Sprintf("a result of type %s is not read in functions that call themselves", fn.Result.Type)
			}
		}
		return
	}
	fn.Returns = []string{at}
}

func allPoints(r *probe.Result) (points []*probe.Point) {
	for _, matches := range r.Matches {
		for _, m := range matches {
			points = append(points, m.Points...)
		}
	}
	return points
}

func warnings(diags *diag.List) (texts []string) {
	for _, d := range diags.All {
		if d.Severity == diag.Warning {
			texts = append(texts, d.Text)
		}
	}
	return texts
}

func firstError(diags *diag.List) string {
	for _, d := range diags.All {
		if d.Severity == diag.Error {
			return d.Text
		}
	}
	return ""
}

// describe tells what is known of the function of an entry point.
func describe(k probe.Known, p *probe.Point, path string, pid int) Function {
	display := p.Func
	path = pathOf(path, pid, p.Path)
	word, mark := symbolOf(k, p)
	fn := Function{Point: quoteWord(path) + ":" + quoteWord(word), Name: display, Called: true, path: path}
	fn.keys(k, p)
	if p.Copied {
		fn.Point += "+0" // its own code alone: only that returns
	}
	if k.Func == nil || p.Inlined {
		fn.params(p.Scope, debuginfo.Signature{})
		return fn
	}
	if k.Func.Inlined {
		fn.Point += "+0" // its own code alone: only that returns
	}
	if name := sourceName(k.Func, display) + mark; name != display {
		fn.Name, fn.Called = name, false
	}
	sig, err := k.Info.Signature(k.Func)
	if err != nil || p.Scope == nil {
		return fn
	}
	fn.params(p.Scope, sig)
	fn.Typed = fn.Typed || len(sig.Params) == 0
	return fn
}

// symbolOf is the name by which an attach point finds a function alone: the one for people, or the symbol where others of
// the source's function have that too. Those are variants that the compiler made, and the several bodies of a constructor or
// destructor of C++ (Itanium C++ ABI, 5.1.4.3), of which mark tells those that are not for whole objects.
func symbolOf(k probe.Known, p *probe.Point) (word, mark string) {
	if k.File == nil || p.Inlined {
		return p.Func, ""
	}
	sym, ok := k.File.Lookup(p.FunctionStart())
	if !ok || !objfile.IsMangled(sym.Name) {
		return p.Func, ""
	}
	if base, _ := objfile.Variant(sym.Name); base != sym.Name {
		word = sym.Name
	}
	if k.Func != nil && k.Func.Lang == types.CPlusPlus {
		name := sym.Name
		switch {
		case !structor(k.Func):
		case strings.Contains(name, "D0E"):
			return name, " [deleting]"
		case strings.Contains(name, "C2E") || strings.Contains(name, "D2E"):
			whole := strings.NewReplacer("C2E", "C1E", "D2E", "D1E").Replace(name)
			if addr, ok := k.File.SymbolAddr(whole); ok && addr != sym.Addr {
				mark = " [base]"
			}
			return name, mark
		case strings.Contains(name, "C4E") || strings.Contains(name, "D4E"):
			return name, " [common]" // GCC's, which the others call
		default:
			return name, ""
		}
	}
	if word == "" {
		word = p.Func
	}
	return word, ""
}

// structor tells constructors and destructors by their names in the source.
func structor(fn *debuginfo.Function) bool {
	if strings.HasPrefix(fn.Name, "~") {
		return true
	}
	class, ok := strings.CutSuffix(fn.Qualified, "::"+fn.Name)
	if !ok {
		return false
	}
	class, _, _ = strings.Cut(class, "<")
	name, _, _ := strings.Cut(fn.Name, "<")
	return class == name || strings.HasSuffix(class, "::"+name)
}

// pathOf is the path of a file as scripts have it: as it was asked for, or that of the process's program.
func pathOf(path string, pid int, found string) string {
	if path != "" {
		return path
	}
	if exe, _, err := target.PID(pid).Exe(); pid != 0 && err == nil {
		return exe
	}
	return found
}

// params tells the parameters that a point has.
func (fn *Function) params(scope *probe.Scope, sig debuginfo.Signature) {
	if scope == nil {
		return
	}
	fn.Typed = len(scope.Args) > 0
	fn.types = map[string]*types.Type{}
	for _, v := range scope.Args {
		if isResult(sig, v.Name) || strings.HasPrefix(v.Name, "__in_chrg") || strings.HasPrefix(v.Name, "__vtt_parm") {
			continue // not yet there; or GCC's own, of constructors and destructors
		}
		fn.Params = append(fn.Params, *paramOf(v))
		fn.types[v.Name] = withTarget(v.Type)
	}
}

// withTarget completes what a pointer or reference points to, while the debug information is open.
func withTarget(t *types.Type) *types.Type {
	t = t.Complete()
	if t == nil || t.Kind != types.Pointer || t.Elem == nil {
		return t
	}
	return t.Derive(func(p *types.Type) { p.Elem = p.Elem.Complete() })
}

// isResult tells a result of Go from the parameters.
func isResult(sig debuginfo.Signature, name string) bool {
	return slices.ContainsFunc(sig.Results, func(r debuginfo.Var) bool { return r.Name == name && name != "" })
}

func sourceName(fn *debuginfo.Function, display string) string {
	switch {
	case fn.Lang.HasScopes() && fn.Qualified != "":
		return fn.Qualified
	case fn.Lang == types.Go || strings.HasPrefix(display, fn.Name+"."):
		return fn.Name // without what the compiler has put behind it
	}
	return display
}

// keys tell calls apart by thread and the place of the caller's frame. At a function's entry the return address is on top
// of the stack (amd64) or nothing is on it yet; elsewhere the call frame information tells. Go's stacks are moved, and the
// language has words for its goroutines and their frames.
func (fn *Function) keys(k probe.Known, p *probe.Point) {
	a := arch()
	if p.Go != nil && (k.Func == nil || k.Func.Lang == types.Go) {
		if p.Entry {
			fn.EntryKey, fn.ReturnKey, fn.Goroutines = "(int64)goid, (int64)goframe", "(int64)goid, (int64)goframe", true
		}
		return
	}
	reg, off := "sp", int64(a.StackArgs)
	if !p.Entry {
		if k.Info == nil {
			return
		}
		row, err := k.Info.Frames().At(p.Addr)
		if err != nil || row.CFA.Expr != nil || row.CFA.Reg < 0 || row.CFA.Reg >= len(a.DWARF) {
			return
		}
		reg, off = registerOf(a, a.DWARF[row.CFA.Reg]), row.CFA.Offset
	}
	fn.EntryKey, fn.ReturnKey = frameKey(reg, off), frameKey("sp", 0)
}

func frameKey(reg string, off int64) string {
	if off == 0 {
		return fmt.Sprintf("tid, (int64)reg(%q)", reg)
	}
	return fmt.Sprintf("tid, (int64)(reg(%q) %s)", reg, strings.NewReplacer("+", "+ ", "-", "- ").Replace(signed(off)))
}

// registerOf is the shortest name of the register at an offset of pt_regs.
func registerOf(a *types.Arch, off int) (best string) {
	for name, at := range a.Regs {
		if at == off && (best == "" || len(name) < len(best) || len(name) == len(best) && name < best) {
			best = name
		}
	}
	return best
}

func paramOf(v probe.Var) *Param {
	p := &Param{Name: v.Name, Type: types.Declare(v.Type, "")}
	if v.Place.Kind == types.Unavailable {
		p.Show, p.Why = Hidden, v.Place.Why
		return p
	}
	if v.Type != nil {
		if why, missing := v.Place.Missing(v.Type.Extent()); missing {
			p.Show, p.Why = Hidden, "a part of it is not there: "+why
			return p
		}
	}
	p.Show, p.Size = showOf(v.Type)
	return p
}

// showOf tells how a value of a type is shown, and how many bytes it takes to keep that.
func showOf(t *types.Type) (Show, int) {
	if t == nil {
		return ShowWhole, 8
	}
	t = t.Complete()
	if isCString(t) {
		return ShowText, 0
	}
	if elem, ok := t.Referenced(); ok && isText(elem) || isText(t) {
		return ShowString, 0
	}
	if to, ok := (types.Capture{Registers: true, Kept: true}).Of(t); ok {
		return ShowWhole, to.Size
	}
	return ShowValue, t.Size
}

// isText tells a string of bytes.
func isText(t *types.Type) bool {
	v, ok := t.Text()
	return ok && v.Unit <= 1
}

// isCString tells a pointer to C's char, which is taken for text.
func isCString(t *types.Type) bool {
	return t.Kind == types.Pointer && t.Source != nil && t.Source.Ref == types.PlainPointer && t.Elem != nil &&
		t.Elem.Kind == types.Int && t.Elem.Size == 1 && t.Elem.Name == "char" && t.Lang() != types.Rust
}

// unknownSize is what is set aside for a value of which the type is not known before the script is compiled.
const unknownSize = 1024

// ShowExpr tells how the value of an expression over the function's parameters is shown, and how many bytes it takes to
// keep that.
func (fn *Function) ShowExpr(text string) (Show, int) {
	var diags diag.List
	x := syntax.ParseExpr(&diag.Source{Text: text}, &diags)
	if x == nil {
		return ShowWhole, unknownSize
	}
	t, ok := fn.typeOf(x)
	if ok && t != nil {
		elem, ref := t.Referenced()
		ok = !t.Incomplete && !(ref && elem.Incomplete) // else the debug information is needed, which is closed
	}
	switch {
	case !ok:
		return ShowWhole, unknownSize
	case t == nil:
		return ShowValue, 8
	}
	return showOf(t)
}

// typeOf is the type of an expression; nil with ok for values that scripts compute.
func (fn *Function) typeOf(x syntax.Expr) (t *types.Type, ok bool) {
	switch x := x.(type) {
	case *syntax.Ident:
		if t := fn.types[x.Name]; t != nil {
			return t.Complete(), true
		}
		return nil, x.Name != "retval" && x.Name != "args"
	case *syntax.Field:
		if id, isIdent := x.X.(*syntax.Ident); isIdent && id.Name == "args" {
			t := fn.types[x.Name]
			return t.Complete(), t != nil
		}
		t, ok := fn.typeOf(x.X)
		if !ok || t == nil {
			return nil, false
		}
		if t.Kind == types.Pointer {
			t = t.Elem.Complete()
		}
		f, ok := t.Field(x.Name)
		return f.Type.Complete(), ok
	case *syntax.Index:
		t, ok := fn.typeOf(x.X)
		if !ok || t == nil {
			return nil, false
		}
		if v, ok := t.List(); ok {
			return v.Elem.Complete(), true
		}
		return t.Elem.Complete(), t.Elem != nil
	case *syntax.Unary:
		t, ok := fn.typeOf(x.X)
		if x.Op != "*" || !ok || t == nil {
			return nil, ok && x.Op != "&"
		}
		return t.Elem.Complete(), t.Elem != nil
	case *syntax.Cast, *syntax.Tuple, *syntax.Record, *syntax.Ternary:
		return nil, false
	}
	return nil, true
}

// quoteWord puts a part of an attach point in quotes where it needs them.
func quoteWord(s string) string {
	plain := s != ""
	for _, c := range s {
		plain = plain && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("_./-", c))
	}
	if plain && !(s[0] >= '0' && s[0] <= '9') {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
