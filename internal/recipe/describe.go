package recipe

import (
	"fmt"
	"slices"
	"strings"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
	"trocar/internal/process/match"
	"trocar/internal/process/probe"
	"trocar/internal/script/syntax"
)

// candidate is a function while it is found out what can be shown of it.
type candidate struct {
	Function
	known match.Known
	point *probe.Point // its entry
	path  string       // as scripts have it
	arch  *abi.Arch    // nil: not one that is known
	many  bool         // it is one of many: names are those that are found fast

	signature debuginfo.Signature // zero: not known
}

// describe tells what is known of the function of an entry point.
func describe(k match.Known, p *probe.Point, path string, many bool) *candidate {
	display := p.Func
	fn := &candidate{known: k, point: p, path: path, arch: archOf(k.File), many: many}
	word, mark := fn.symbol()
	fn.Point, fn.Name, fn.Called = syntax.QuoteWord(path)+":"+syntax.QuoteExact(word), display, true
	fn.keys()
	if p.Copied {
		fn.Point += "+0" // its own code alone: only that returns
	}
	fn.Managed = k.File != nil && k.File.Managed() != nil
	fn.Panics = k.Func != nil && k.Func.Lang == types.Rust
	if k.Func == nil || p.Inlined {
		fn.params(p.Scope, debuginfo.Signature{})
		fn.Typed = fn.Typed || p.Inlined && k.Info != nil // it has no parameters
		return fn
	}
	if k.Func.Inlined {
		fn.Point += "+0" // its own code alone: only that returns
	}
	if name := strings.TrimSuffix(fn.sourceName(display), mark) + mark; name != display {
		fn.Name, fn.Called = name, false
	}
	if others := k.Folded(); len(others) > 0 { // calls of all of them arrive here
		for _, other := range others {
			fn.Folded = append(fn.Folded, sourceName(other, other.Name))
		}
		fn.Name, fn.Called = strings.Join(append([]string{sourceName(k.Func, k.Func.Name)}, fn.Folded...), "|"), false
	}
	fn.Structor = k.Func.Lang == types.CPlusPlus && structor(k.Func)
	sig, err := k.Info.Signature(k.Func)
	if err != nil || p.Scope == nil {
		return fn
	}
	fn.signature = sig
	fn.params(p.Scope, sig)
	fn.unlisted(k.Func, sig)
	// Of what is written in assembler only the place is known.
	fn.Typed = fn.Typed || len(sig.Params) == 0 && k.Func.Lang != types.Assembler
	return fn
}

// archOf is the CPU of a file, nil if it is not known.
func archOf(f *objfile.File) *abi.Arch {
	if f == nil {
		return nil
	}
	return f.Arch()
}

// symbol is the name by which an attach point finds a function alone: the one for people, or the symbol where
// others of the source's function have that too. Those are variants that the compiler made, and the several bodies of
// a constructor or destructor of C++ (Itanium C++ ABI, 5.1.4.3), of which mark tells those that are not for whole
// objects.
func (fn *candidate) symbol() (word, mark string) {
	k, p := fn.known, fn.point
	if k.File == nil || p.Inlined || p.Made != nil {
		return p.Func, ""
	}
	sym, ok := k.File.Lookup(p.FunctionStart())
	if ok && objfile.IsMethod(sym.Name) {
		return sym.Name, ""
	}
	if !ok || !objfile.IsMangled(sym.Name) {
		return p.Func, ""
	}
	if fn.many {
		return sym.Name, "" // readable names are compared with each of the file
	}
	if base, _ := objfile.Variant(sym.Name); base != sym.Name {
		word = sym.Name
	}
	if k.Func != nil && k.Func.Lang == types.CPlusPlus {
		name := sym.Name
		switch {
		case objfile.Coroutine(name) != "":
			return name, " [" + objfile.Coroutine(name) + "]"
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

// unlisted tells of parameters that only the function's mangled name has: LLVM leaves those out that unoptimized code
// is passed by address and does not use.
func (fn *candidate) unlisted(f *debuginfo.Function, sig debuginfo.Signature) {
	if !strings.Contains(f.Producer, "clang") {
		return
	}
	n, ok := objfile.ParamCount(f.Linkage)
	for i := range sig.Params {
		if !sig.Params[i].Artificial {
			n--
		}
	}
	if ok && n > 0 {
		fn.Notices = append(fn.Notices, "an argument is not shown: the debug information does not list it")
	}
}

// params tells the parameters that a point has.
func (fn *candidate) params(scope *probe.Scope, sig debuginfo.Signature) {
	if scope == nil {
		return
	}
	fn.Typed = len(scope.Args) > 0
	known := paramTypes{}
	fn.ShowOf = known.show
	for _, v := range scope.Args {
		if isResult(sig, v.Name) || strings.HasPrefix(v.Name, "__in_chrg") || strings.HasPrefix(v.Name, "__vtt_parm") {
			continue // not yet there; or GCC's own, of constructors and destructors
		}
		p := paramOf(v)
		if fn.arch != nil {
			p.word, p.more = wordIn(v, fn.arch.C.Args...)
		}
		fn.Params = append(fn.Params, *p)
		known[v.Name] = withTarget(v.Type)
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

// sourceName is the function's name as in the source.
func (fn *candidate) sourceName(display string) string {
	f := fn.known.Func
	if f.Lang == types.CPlusPlus && f.Qualified == f.Name && strings.Contains(display, "::") {
		// It is within another function, which debug information does not name: a lambda's operator, or a method of a class
		// of the function.
		if sym, ok := fn.known.File.Lookup(fn.point.FunctionStart()); ok {
			return objfile.DemangleBare(sym.Name)
		}
		return display
	}
	return sourceName(f, display)
}

// sourceName is the name that debug information has for a function; display is its symbol, for people.
func sourceName(f *debuginfo.Function, display string) string {
	switch {
	case f.Lang == types.Assembler:
		return display
	case f.Lang.HasScopes() && f.Qualified != "":
		return f.Qualified
	case f.Lang.WholeNames() || strings.HasPrefix(display, f.Name+"."):
		return f.Name // without what the compiler has put behind it
	}
	return display
}

// keys tell calls apart by process and the place of the caller's frame; not by thread, since fibers may begin a call on
// one and return on another. At a function's entry the return address is on top of the stack (amd64) or nothing is on
// it yet; elsewhere the call frame information tells. Where stacks are moved, the point has the
// words for what runs on them and for its frames.
func (fn *candidate) keys() {
	k, p, a := fn.known, fn.point, fn.arch
	if a == nil {
		return
	}
	if p.Call != nil && (k.Func == nil || k.Func.Lang.OwnABI()) {
		if p.Entry || p.Call.Depth != 0 {
			key := taskKey(&p.Call.Tasks)
			fn.EntryKey, fn.BareKey, fn.ReturnKey, fn.Tasks = key, key, key, &p.Call.Tasks
			if r, ok := match.RuntimeOf(k.File); ok {
				fn.NoDebug = r.NoDebug
			}
		}
		return
	}
	reg, off := "sp", int64(a.C.StackArgs)
	if !p.Entry {
		if k.Info == nil {
			return
		}
		row, err := k.Info.Frames().At(p.Addr)
		if err != nil || row.CFA.Expr != nil {
			return
		}
		var ok bool
		if reg, ok = a.ScriptName(row.CFA.Reg); !ok {
			return
		}
		off = row.CFA.Offset
	}
	fn.EntryKey, fn.ReturnKey = frameKey(reg, off), frameKey("sp", 0)
	fn.BareKey = fn.EntryKey
	if !p.Inlined {
		fn.BareKey = frameKey("sp", int64(a.C.StackArgs))
	}
}

// taskKey tells the call of a runtime's task from all others that are open.
func taskKey(t *probe.Tasks) string {
	return fmt.Sprintf("pid(init), (int64)%s, (int64)%s", t.ID, t.Frame)
}

func frameKey(reg string, off int64) string {
	if off == 0 {
		return fmt.Sprintf("pid(init), (int64)reg(%q)", reg)
	}
	return fmt.Sprintf("pid(init), (int64)(reg(%q) %s)", reg, signed(off))
}

// signed is a number that is added, with its sign apart.
func signed(n int64) string {
	if n < 0 {
		return fmt.Sprintf("- %d", -n)
	}
	return fmt.Sprintf("+ %d", n)
}

// word is the name of the function in attach points, "" if others have it too.
func (fn *candidate) word() string {
	if strings.HasSuffix(fn.Point, fmt.Sprintf(":%#x", fn.point.FunctionStart())) {
		return ""
	}
	word, _ := fn.symbol()
	return word
}

// madeAnew: code of it is made at run time, and returns elsewhere than that in the file.
func (fn *candidate) madeAnew() {
	fn.EntryKey = "pid(init), (int64)callframe"
	fn.ReturnKey, fn.BareKey = fn.EntryKey, fn.EntryKey
	file := syntax.QuoteWord(fn.path) + ":"
	if name, ok := strings.CutPrefix(fn.Point, file); ok {
		fn.Tail = "uretprobe:" + file + match.Tail + ":" + name
	}
}

// leaves tells where a function goes on in another one.
func (fn *candidate) leaves(addrs []uint64) {
	for _, addr := range addrs {
		fn.Leaves = append(fn.Leaves, fmt.Sprintf("uprobe:%s:%#x", syntax.QuoteWord(fn.path), addr))
	}
}

// returns tells where the return of a function is probed; ret is its return probe, if it can have one.
func (fn *candidate) returns(ret *probe.Point, noReturn string) {
	var returns []string // of a function that ends in tail calls, too
	if ret != nil && ret.AtReturn && ret.Frame == nil && ret.Made == nil && fn.Tasks == nil && fn.arch.ReturnOnStack() {
		points, tails, parts, why := fn.exits()
		if why == "" && (len(tails) > 0 || parts) {
			returns, fn.Leaves, fn.Parted = points, tails, parts
			fn.ReturnKey = frameKey("sp", int64(fn.arch.C.StackArgs))
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
	switch s := ret.Scope; {
	case !fn.Typed && (s == nil || s.Retval == nil):
	case s == nil || s.Retval == nil:
		if len(fn.signature.Results) > 0 {
			why := "where functions return results is not known for " + fn.known.File.CPU()
			if fn.known.Func.Lang == types.Assembler {
				why = "it is written in assembler, which tells no type"
			}
			fn.Result = &Value{Show: Hidden, Why: why}
		}
	case !s.Nothing() && s.Retval.Type.Name != "()":
		result = s.Retval
		fn.Result, fn.ResultExpr = paramOf(*result), "retval"
		if fn.arch != nil {
			fn.Result.word, fn.Result.more = wordIn(*result, fn.arch.C.Result)
		}
	}
	switch f := ret.Frame; {
	case f != nil && fn.Tasks == nil:
		if name, ok := fn.arch.ScriptName(f.Reg); ok {
			fn.ReturnKey = frameKey(name, f.Offset+int64(fn.arch.C.StackArgs))
		}
	case ret.AtReturn:
		if fn.arch.ReturnOnStack() && fn.Tasks == nil {
			fn.ReturnKey = frameKey("sp", int64(fn.arch.C.StackArgs))
		}
	case callsItself(fn.known, fn.point):
		fn.Notices = append(fn.Notices, fmt.Sprintf("the kernel sees the returns of only %d calls "+
			"that are nested: deeper ones are shown as not returned", maxReturnDepth))
	}
	if ret.Tail {
		return // no other place: see leaves
	}
	if len(returns) > 0 && !fn.Typed {
		if name, ok := fn.arch.ScriptName(fn.arch.C.Result); ok {
			fn.ResultExpr = fmt.Sprintf("reg(%q)", name)
		}
	}
	if len(returns) > 0 {
		// A return probe may be the kernel's where the script runs: these are where the keys say.
		fn.Returns = returns
		if fn.Result != nil && fn.Result.Show != Hidden {
			if fn.ResultExpr = resultExpr(fn.arch, result); fn.ResultExpr == "" {
				fn.Result.Show = Hidden
				fn.Result.Why = "a result of type " + fn.Result.Type + " is not read in functions that end in tail calls"
			}
		}
		return
	}
	fn.Returns = []string{"uretprobe:" + strings.TrimSuffix(fn.Point, "+0")}
}
