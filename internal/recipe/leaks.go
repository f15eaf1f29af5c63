package recipe

import (
	"context"
	"slices"
	"strings"

	"trocar/internal/process/match"
	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// allocator is a function that allocates memory, gives it back, or both. The expressions are for its entry.
type allocator struct {
	name  string
	bytes string // how many are asked for; "": it allocates nothing
	old   string // the block that is given back; "": none
	out   string // where the address of the new block is written; "": it is the result
	// failed is the result that tells that nothing was allocated, and nothing given back; of out any other than 0 does.
	failed string
}

// allocators are the functions of C (C23, 7.24.3, POSIX, and glibc's own), of C++ (by the names that the Itanium C++
// ABI gives to operator new and delete) and of the kernel's regions. Others of a C library call these.
func allocators() []allocator {
	list := []allocator{
		{name: "malloc", bytes: "arg0", failed: "0"},
		{name: "calloc", bytes: "arg0 * arg1", failed: "0"},
		{name: "realloc", bytes: "arg1", old: "arg0", failed: "0"},
		{name: "aligned_alloc", bytes: "arg1", failed: "0"},
		{name: "memalign", bytes: "arg1", failed: "0"},
		{name: "posix_memalign", bytes: "arg2", out: "arg0"},
		{name: "valloc", bytes: "arg0", failed: "0"},
		{name: "pvalloc", bytes: "arg0", failed: "0"},
		{name: "free", old: "arg0"},
		{name: "cfree", old: "arg0"},
		{name: "free_sized", old: "arg0"},
		{name: "free_aligned_sized", old: "arg0"},
		{name: "mmap", bytes: "arg1", failed: mapFailed},
		{name: "mmap64", bytes: "arg1", failed: mapFailed},
		{name: "mremap", bytes: "arg2", old: "arg0", failed: mapFailed},
		{name: "munmap", old: "arg0"},
	}
	const aligned, nothrow = "St11align_val_t", "RKSt9nothrow_t"
	for _, form := range []string{"", aligned, nothrow, aligned + nothrow} {
		for _, kind := range []string{"n", "a"} {
			list = append(list, allocator{name: "_Z" + kind + "wm" + form, bytes: "arg0", failed: "0"})
			list = append(list, allocator{name: "_Zd" + map[string]string{"n": "l", "a": "a"}[kind] + "Pv" + form, old: "arg0"})
		}
	}
	for _, form := range []string{"m", "m" + aligned} {
		for _, kind := range []string{"l", "a"} {
			list = append(list, allocator{name: "_Zd" + kind + "Pv" + form, old: "arg0"})
		}
	}
	return list
}

// mapFailed is MAP_FAILED.
const mapFailed = "18446744073709551615"

// FindAllocators finds the functions that allocate memory and give it back in all that the target runs.
func FindAllocators(ctx context.Context, o Target, diags *diag.List) (out []Function) {
	if !match.Lives(o.PID, diags) {
		return nil
	}
	var names []string
	for _, a := range allocators() {
		names = append(names, a.name)
	}
	opts := match.Options{
		PID: o.PID, SearchPath: o.SearchPath, Images: o.Images, VectorsStepped: o.VectorsStepped, Spread: o.Spread,
	}
	o.Onward = true
	for _, file := range match.Definers(ctx, opts, []string{o.Path}, names) {
		loader := !slices.Contains(file.Names, "malloc") // what it maps is code, if it has a function of its own for that
		for _, name := range file.Names {
			if loader && strings.HasPrefix(name, "m") {
				continue
			}
			var missing diag.List
			for _, fn := range functionsOf(ctx, o, file.Path, name, true, &missing) {
				if fn.EntryKey != "" && fn.Tasks == nil && fn.Probe == "" {
					fn.Name = name
					out = append(out, fn)
				}
			}
			for _, d := range missing.All {
				if d.Severity == diag.Error { // it is about one of several
					d.Severity = diag.Warning
					diags.Take(d)
				}
			}
		}
	}
	if len(out) == 0 && ctx.Err() == nil {
		diags.Errorf(diag.Span{}, "nothing that is run here has a function malloc: its allocations cannot be followed").
			Hint("memory of programs in Go, Java, .NET and of scripts is managed by their runtimes, with tools of their own")
	}
	return out
}

// Blocks that are allocated at a time, of all processes, and calls that are under way.
const (
	mostBlocks  = 1 << 17
	mostAsked   = 1 << 12
	leakEntries = 1 << 13
	leakDepth   = 32 // frames: the map has room for all blocks from the start, 40 MB
)

// Leaks writes a script that keeps each block of memory, from where it is allocated until it is given back, and shows
// those that are left by the stack that asked for them.
//
// A call of a thread inside another one, such as that of mmap in malloc, is a part of that. A block counts as given
// back where that is asked for, not where it is done: then no other thread can have been given it meanwhile.
func Leaks(fns []Function, o Question, diags *diag.List) Script {
	s := &script{o: o}
	if !s.parse(diags) {
		return s.done()
	}
	s.o.Top = 0 // all are shown: whoever shows them selects
	s.config(true)
	s.line("let @blocks = hash(%d);", mostBlocks)
	s.line("let @asked = hash(%d);", mostAsked)
	s.line("let @given = hash(%d);", mostAsked)
	s.line("let @leaks = percpuhash(%d);", leakEntries)
	known := map[string]allocator{}
	for _, a := range allocators() {
		known[a.name] = a
	}
	cond := both(s.comm, s.cond)
	for i := range fns {
		fn := &fns[i]
		a, ok := known[fn.Name]
		switch {
		case !ok:
			continue
		case a.bytes == "":
			s.points([]string{fn.Entry()})
			s.line("{\n  _ = delete(@blocks, (pid(init), %s));\n}", a.old)
			continue
		case len(fn.Ends)+len(fn.Onward) == 0:
			s.notice(fn, "what it allocates is left out: %s", fn.NoReturn)
			continue
		}
		s.asked(fn, a, cond)
		s.ends(fn, a, known)
	}
	s.atIntervals(s.left)
	s.timer()
	s.line("\nend\n{")
	s.left()
	s.line("}")
	return s.done()
}

// asked writes the probe of where memory is asked for.
func (s *script) asked(fn *Function, a allocator, cond syntax.Expr) {
	s.points([]string{fn.Entry()})
	s.line("{\n  $key = (%s);", fn.BareKey)
	s.line("  $outer = @asked[tid];")
	s.line("  if (!has_key(@asked, tid) || $outer.frame <= $key.1) { // else it is a part of another call")
	indent := "    "
	if cond != nil {
		s.line("    if (%s) {", syntax.PrintExpr(cond))
		indent = "      "
	}
	old, out := a.old, a.out
	if old == "" {
		old = "(uint64)0"
	}
	if out == "" {
		out = "(uint64)0"
	}
	s.line("%s@asked[tid] = (frame=$key.1, bytes=%s, old=%s, out=%s, stack=ustack(%d));",
		indent, a.bytes, old, out, leakDepth)
	if cond != nil {
		s.line("    }")
	}
	if a.old != "" {
		s.line("    $block = (pid(init), %s);", a.old)
		s.line("    if (has_key(@blocks, $block)) {")
		s.line("      @given[tid] = @blocks[$block];")
		s.line("      _ = delete(@blocks, $block);")
		s.line("    } else {\n      _ = delete(@given, tid);\n    }")
	}
	s.line("  }\n}")
}

// ends writes the probes of where the block is there. Where the function goes on in another allocator, that has probes
// of its own.
func (s *script) ends(fn *Function, a allocator, known map[string]allocator) {
	open := false
	var setters, others []string
	returns := slices.Clone(fn.Ends)
	for _, on := range fn.Onward {
		isKnown := func(name string) bool { return known[name].name != "" }
		switch {
		case slices.ContainsFunc(on.names, isKnown):
			others = append(others, on.point)
		case slices.ContainsFunc(on.names, givesFirst):
			setters = append(setters, on.point)
		default:
			if returns = append(returns, on.returns...); len(on.returns) == 0 {
				others = append(others, on.point)
			}
			open = open || on.open
		}
	}
	if open {
		s.notice(fn, "calls that end in a jump may be left out: not all places where those return are known")
	}
	s.allocated(returns, fn.Word, fn, a)
	s.allocated(setters, "arg0", fn, a)
	if len(others) > 0 {
		s.points(others)
		s.line("{\n  _ = delete(@asked, tid);\n}")
	}
}

// givesFirst tells the functions whose result is their first argument (C23, 7.26).
func givesFirst(name string) bool {
	switch name {
	case "memset", "memcpy", "memmove":
		return true
	}
	return false
}

// allocated writes a probe of where the block is there; result is the expression of the function's result.
func (s *script) allocated(points []string, result string, fn *Function, a allocator) {
	if len(points) == 0 {
		return
	}
	slices.Sort(points)
	s.points(slices.Compact(points))
	s.line("{\n  $key = (%s);", fn.ReturnKey)
	s.line("  $call = @asked[tid];")
	s.line("  if (has_key(@asked, tid) && $call.frame == $key.1) {")
	s.line("    _ = delete(@asked, tid);")
	ok, block := result+" != "+a.failed, result
	if a.out != "" {
		ok, block = "(int32)"+result+" == 0", "*(uint64 *)$call.out"
	}
	s.line("    if (%s) {", ok)
	s.line("      @blocks[(pid(init), %s)] = (bytes=$call.bytes, time=(int64)nsecs, stack=$call.stack);", block)
	if a.old != "" {
		// Of realloc, none is also the answer to 0 bytes, which gives the block back.
		s.line("    } else if ($call.bytes > 0 && has_key(@given, tid)) {")
		s.line("      @blocks[(pid(init), $call.old)] = @given[tid];")
	}
	s.line("    }")
	if a.old != "" {
		s.line("    _ = delete(@given, tid);")
	}
	s.line("  }\n}")
}

// left shows the blocks that are there.
func (s *script) left() {
	s.line("  for ($kv : @blocks) {")
	s.line("    $block = $kv.1;")
	count := "@leaks[(stack=$block.stack)] = stats($block.bytes);"
	if s.o.Older > 0 {
		s.line("    if ((int64)nsecs - $block.time >= %d) {\n      %s\n    }", s.o.Older.Nanoseconds(), count)
	} else {
		s.line("    %s", count)
	}
	s.line("  }\n  %s;\n  clear(@leaks);", s.printed("@leaks"))
}
