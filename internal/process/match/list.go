package match

import (
	"cmp"
	"context"
	"os"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
	"trocar/internal/near"
	"trocar/internal/order"
	"trocar/internal/process/probe"
	"trocar/internal/process/runtimes"
	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// listing is one probe of a list.
type listing struct {
	name   string // behind the kind's name and a colon
	params func() []string
	// The program and function whose name it is; nil: it is none.
	in *binary
	fn *objfile.Func
}

// Entry is one probe as `-l` shows it: in a form that can be put into a script.
type Entry struct {
	Name   string
	Params []string // with -lv: the arguments, "int fd"
	// Declared is what is known of a function, if Options.Declared asks for it; nil: nothing.
	Declared *Declared
}

// Declared is a function as its source has it.
type Declared struct {
	Text   string // in its language: "int open(const char *path, int flags, ...)"
	File   string
	Line   int
	Copies int // places where it was inlined
	// Prototype: it is known by its name, without debug information.
	Prototype bool
}

// List calls yield with the probes that a pattern of `-l` fits; "" is every probe there is, of the kernel or, with a
// process, of what it has mapped. It can be a kind ("uprobe:libc:*malloc*"), a pattern for kinds ("*:./prog:*") or a
// word that is looked for in all names ("*sleep*").
func List(ctx context.Context, pattern string, verbose bool, opts Options, yield func(Entry)) (diags diag.List) {
	m := newMatcher(ctx, opts, &diags)
	m.listing = true
	defer m.close()
	if !m.checkProcess() {
		return diags
	}
	if pattern == "" {
		pattern = "*"
	}
	ap := splitPattern(pattern)
	any, each := false, yield
	yield = func(e Entry) { any = true; each(e) }
	defer func() {
		if !any {
			m.noneOf(pattern)
		}
	}()
	qualified := m.pid() != 0 && len(ap.Parts) > 1 && ap.Parts[0] == "" // "Type*::method"
	if findKind(m.kinds, ap.Kind) == nil && (qualified || !hasWildcard(ap.Kind)) && len(ap.Parts) > 0 {
		m.asCommands(ap)
	}
	switch unknown := len(ap.Parts) == 0 && findKind(m.kinds, ap.Kind) == nil; {
	case unknown && m.pid() != 0 && !hasWildcard(ap.Kind) && len(nearKinds(m.kinds, ap.Kind)) == 0:
		ap.Kind, ap.Parts, ap.Quoted = "uprobe", []string{"", ap.Kind}, []bool{true, true} // a function of the process
	case unknown:
		m.search(ap, verbose, yield)
		return diags
	}
	var specs []*spec
	switch {
	case hasWildcard(ap.Kind):
		specs = m.listSpecs(ap)
	default:
		if k := findKind(m.kinds, ap.Kind); k != nil && len(ap.Parts) == 0 {
			// A kind alone: all of it, as far as that needs no file.
			if k.among == probe.ProgramsSide || k.kind == probe.Uretprobe {
				if m.pid() == 0 {
					diags.Errorf(diag.Span{}, "%s probes are in files: name one", k.name).Hint("trocar list '%s:FILE:*', or -p PID",
						k.name)
					return diags
				}
			}
			ap.Parts, ap.Quoted = []string{"*"}, []bool{false}
		}
		specs = m.specs(ap)
	}
	for _, s := range specs {
		m.list(s, verbose, yield)
	}
	return diags
}

// noneOf says why the program of a process may have no function that a pattern fits, if nothing else was said.
func (m *matcher) noneOf(pattern string) {
	if m.pid() == 0 || len(m.diags.All) > 0 || m.done() {
		return
	}
	word, _, _ := strings.Cut(pattern, ":")
	if k := findKind(m.kinds, word); k != nil && k.kind != probe.Uprobe && k.kind != probe.Uretprobe {
		return // of others
	}
	if b, err := m.files.exe(); err == nil && (b.obj.Stripped() || !hasWildcard(strings.Trim(pattern, "*"))) {
		d := m.diags.Warnf(diag.Span{}, "No function of %s matches %s", b.name, pattern)
		m.explain(d, &spec{kind: findKind(m.kinds, "uprobe"), fn: pattern}, b)
	}
}

// asCommands takes what the commands that ask about functions take, too: "libc:malloc" and "syscall:openat".
func (m *matcher) asCommands(ap *syntax.AttachPoint) {
	_, name, _ := strings.Cut(ap.Text, ":")
	if ap.Kind == "syscall" {
		ap.Kind, ap.Parts, ap.Quoted = "tracepoint", []string{"syscalls", "sys_enter_" + name}, []bool{false, false}
		return
	}
	if strings.HasPrefix(name, ":") { // a name of C++, Rust or .NET
		if m.pid() != 0 {
			ap.Kind, ap.Parts, ap.Quoted = "uprobe", []string{"", ap.Text}, []bool{true, true}
		}
		return
	}
	if _, err := m.files.find(ap.Kind); err == nil {
		file := ap.Kind
		ap.Kind, ap.Parts, ap.Quoted = "uprobe", []string{file, strings.Trim(name, `"`)}, []bool{true, true}
	}
}

// ListScript lists the probes of a script instead of running it.
func ListScript(ctx context.Context, probes []*syntax.Probe, verbose bool, opts Options, yield func(Entry)) diag.List {
	var diags diag.List
	m := newMatcher(ctx, opts, &diags)
	defer m.close()
	if !m.checkProcess() {
		return diags
	}
	for _, p := range probes {
		for _, ap := range p.Points {
			for _, s := range m.specs(ap) {
				m.list(s, verbose, yield)
			}
		}
	}
	return diags
}

// listSpecs expands a pattern for kinds.
func (m *matcher) listSpecs(ap *syntax.AttachPoint) []*spec {
	user := m.pid() != 0
	if len(ap.Parts) > 0 && !user {
		// A file that is there asks for programs' probes, too.
		if _, err := os.Stat(ap.Parts[0]); err == nil || strings.Contains(ap.Parts[0], "/") {
			user = true
		}
	}
	var out []*spec
	for i := range m.kinds {
		k := &m.kinds[i]
		if (k.among == probe.KernelSide || user && k.among == probe.ProgramsSide) && matchGlob(ap.Kind, k.name) {
			out = append(out, &spec{ap: ap, kind: k, skip: true, parts: slices.Clone(ap.Parts), quoted: ap.Quoted})
		}
	}
	if user {
		// What was asked for comes first, what the kernel has anyway last.
		order.By(out, func(a, b *spec) int { return int(b.kind.among) - int(a.kind.among) })
	}
	return out
}

// search looks for a word in the names of all kinds.
func (m *matcher) search(ap *syntax.AttachPoint, verbose bool, yield func(Entry)) {
	if !hasWildcard(ap.Kind) {
		d := m.diags.Warnf(diag.Span{}, "no kind of probe is named %s", ap.Kind)
		if n := nearKinds(m.kinds, ap.Kind); len(n) > 0 {
			d.Hint("did you mean %s?", near.List(n))
		} else {
			d.Hint("to look for it in the names of probes: '*%s*'", ap.Kind)
		}
		return
	}
	pattern := ap.Kind
	all := &syntax.AttachPoint{Kind: "*", Text: ap.Text}
	for _, s := range m.listSpecs(all) {
		// All of a kind whose name fits ("*ware"), or what fits of any.
		word := pattern
		if matchGlob(pattern, s.kind.name) {
			word = "*"
		}
		s.parts, s.quoted = []string{word}, []bool{false}
		m.list(s, verbose, yield)
	}
}

// list calls yield with all that a spec fits.
func (m *matcher) list(s *spec, verbose bool, yield func(Entry)) {
	if s.kind.list == nil || !s.kind.parse(m, s) {
		return
	}
	list := s.kind.list(m, s)
	var told []function
	if verbose {
		told = m.describe(list)
	}
	var last Entry
	for i, l := range list {
		if m.done() {
			return
		}
		e := Entry{Name: s.kind.name + ":" + l.name}
		if l.in != nil {
			e.Name = s.kind.name + ":" + l.in.name + ":" + l.name
		}
		switch {
		case verbose && l.fn != nil:
			e.Declared, e.Params = told[i].declared, told[i].params
		case verbose && l.params != nil:
			e.Params = l.params()
		}
		if i > 0 && e.like(&last) {
			continue // another function of that name, of which nothing else is known
		}
		yield(e)
		last = e
	}
}

// like tells whether two entries are shown alike.
func (e *Entry) like(o *Entry) bool {
	switch {
	case e.Name != o.Name || !slices.Equal(e.Params, o.Params):
		return false
	case e.Declared == nil || o.Declared == nil:
		return e.Declared == o.Declared
	}
	return *e.Declared == *o.Declared
}

// splitPattern takes a pattern apart as the parser does an attach point. Without quotes "::" does not separate, so that
// readable names can be searched.
func splitPattern(pattern string) *syntax.AttachPoint {
	ap := &syntax.AttachPoint{Text: pattern}
	var parts []string
	var quoted []bool
	var part strings.Builder
	inQuotes, wasQuoted := false, false
	end := func() {
		parts, quoted = append(parts, part.String()), append(quoted, wasQuoted)
		part.Reset()
		wasQuoted = false
	}
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '"':
			inQuotes = !inQuotes
			wasQuoted = true
		case inQuotes && c == '\\' && i+1 < len(pattern):
			escaped, n := syntax.Unescape(pattern[i:])
			part.WriteByte(escaped)
			i += n - 1
		case c == ':' && !inQuotes && part.Len() > 0 && len(parts) > 1 && i+1 < len(pattern) && pattern[i+1] == ':':
			part.WriteString("::")
			i++
		case c == ':' && !inQuotes:
			end()
		default:
			part.WriteByte(c)
		}
	}
	end()
	ap.Kind, ap.Parts, ap.Quoted = parts[0], parts[1:], quoted[1:]
	return ap
}

func listSelf(m *matcher, s *spec) (out []listing) {
	for _, name := range signals {
		if matchGlob(s.target, "signal") && matchGlob(s.fn, name) {
			out = append(out, listing{name: "signal:" + name})
		}
	}
	return out
}

func listUnits(m *matcher, s *spec) (out []listing) {
	for _, u := range units {
		if matchGlob(s.target, u.name) {
			out = append(out, listing{name: u.name + ":"})
		}
	}
	return out
}

func listEvents(m *matcher, s *spec) (out []listing) {
	for _, e := range perfEvents(s.kind.kind) {
		for _, n := range []string{e.name, e.alias} {
			if n != "" && (matchGlob(s.target, n) || matchGlob(s.target, n+":")) {
				out = append(out, listing{name: n + ":"})
			}
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].name < out[j].name })
	return out
}

func listTracepoints(m *matcher, s *spec) (out []listing) {
	found, err := m.tracepoints(s)
	if err != nil {
		m.noTracefs(s, err)
		return nil
	}
	for _, e := range found {
		out = append(out, listing{name: e.category + ":" + e.name, params: func() []string { return m.eventParams(e) }})
	}
	return out
}

// eventParams are an event's own fields as declarations.
func (m *matcher) eventParams(e event) (out []string) {
	files, err := m.trace()
	if err != nil {
		return nil
	}
	common := true
	files.Lines(e.format(), func(line string) bool {
		field, ok := strings.CutPrefix(line, "\tfield:")
		if ok && !common {
			decl, _, _ := strings.Cut(field, ";")
			out = append(out, decl)
		}
		if line == "" {
			common = false // the fields that all events have come first
		}
		return true
	})
	return out
}

func listKprobes(m *matcher, s *spec) (out []listing) {
	k := m.kernelFunctionList()
	for i, f := range k.find(s.target, s.fn) {
		name := f.name
		if s.target != "" {
			name = f.module + ":" + name
		}
		if i == 0 || len(out) == 0 || out[len(out)-1].name != name {
			out = append(out, listing{name: name, params: func() []string { return m.kernelParams(s.kind.kind, f.name) }})
		}
	}
	return out
}

func listFentry(m *matcher, s *spec) (out []listing) {
	for _, f := range m.kernelFunctionList().find(s.target, s.fn) {
		out = append(out, listing{
			name:   f.module + ":" + f.name,
			params: func() []string { return m.kernelParams(s.kind.kind, f.name) },
		})
	}
	return out
}

func listRawTracepoints(m *matcher, s *spec) (out []listing) {
	names, err := m.rawTracepoints()
	if err != nil {
		m.noTracefs(s, err)
		return nil
	}
	for _, n := range names {
		if matchGlob(s.fn, n) {
			out = append(out, listing{
				name:   "vmlinux:" + n,
				params: func() []string { return m.kernelParams(probe.RawTracepoint, n) },
			})
		}
	}
	return out
}

func listIters(m *matcher, s *spec) (out []listing) {
	for _, n := range iterators {
		if matchGlob(s.fn, n) {
			out = append(out, listing{name: n})
		}
	}
	return out
}

// listUprobes lists functions, sorted. A name comes once for each function that has it.
func listUprobes(m *matcher, s *spec) (out []listing) {
	files, err := m.target(s)
	if err != nil {
		m.badTarget(s, err)
		return nil
	}
	if s.isAddr || s.file != "" {
		return []listing{{name: files[0].name + ":"}}
	}
	if s.target == "" && objfile.NamesMethod(s.fn) {
		files = append(files, m.files.assemblies()...)
	}
	q := objfile.NewQuery(s.fn, s.lang)
	for _, b := range files {
		if m.done() {
			return nil
		}
		funcs, err := b.obj.Match(q)
		if err != nil {
			m.diags.Warnf(s.ap.Span, "%s", err)
			continue
		}
		if m.pid() != 0 && !m.done() {
			for _, c := range b.runtimes() {
				if c, ok := c.(runtimes.MadeCode); ok {
					funcs = append(funcs, unlisted(c.Made(q), funcs)...)
				}
			}
		}
		type named struct {
			name, shown string
			fn          *objfile.Func
			at          int // in the order of the file
		}
		names := make([]named, 0, len(funcs))
		for i := range funcs {
			fn := &funcs[i]
			names = append(names, named{name: fn.Name, fn: fn, at: len(names)})
			for _, n := range fn.Aliases {
				names = append(names, named{name: n, fn: fn, at: len(names)})
			}
		}
		inParallel(len(names), func(i int) {
			if !m.done() {
				names[i].shown = m.listed(s, names[i].name)
			}
		})
		order.By(names, func(a, b named) int {
			if c := strings.Compare(a.shown, b.shown); c != 0 {
				return c
			}
			return cmp.Compare(a.at, b.at)
		})
		out = slices.Grow(out, len(names))
		for i, n := range names {
			if i == 0 || names[i-1].shown != n.shown || names[i-1].fn != n.fn {
				out = append(out, listing{name: n.shown, in: b, fn: n.fn})
			}
		}
	}
	if len(out) == 0 {
		for _, b := range m.later(s, q) {
			for _, c := range b.runtimes() {
				if c, ok := c.(runtimes.MadeCode); ok {
					for _, fn := range unlisted(c.Made(q), nil) {
						out = append(out, listing{name: m.listed(s, fn.Name), in: b, fn: &fn})
					}
				}
			}
		}
	}
	if len(out) == 0 {
		m.noFunction(s, files, nil)
	}
	return out
}

// unlisted are functions that are compiled while the process runs, but those that the file has code of.
func unlisted(made []runtimes.MadeMethod, funcs []objfile.Func) (out []objfile.Func) {
	known := make(map[string]bool, len(funcs))
	for i := range funcs {
		known[funcs[i].Name] = true
	}
	for _, fn := range made {
		if !known[fn.Name] {
			out = append(out, objfile.Func{Symbol: objfile.Symbol{Name: fn.Name, Addr: runtimes.Unnumbered + uint64(fn.Number)}})
		}
	}
	return out
}

// listed is a function's name as a script can have it: readable if it is mangled, and in quotes where needed.
func (m *matcher) listed(s *spec, name string) string {
	readable := m.display(name)
	if s.lang != "" && s.lang != objfile.Exact {
		return s.lang + ":" + syntax.QuoteText(readable)
	}
	unseen := func(c rune) bool { return c == utf8.RuneError || !unicode.IsPrint(c) }
	if strings.ContainsAny(readable, ": ,{\"$(+") || strings.ContainsFunc(readable, unseen) ||
		readable != "" && readable[0] >= '0' && readable[0] <= '9' {
		return syntax.QuoteText(readable)
	}
	return readable
}

// inParallel calls do with 0 to n-1, several at a time.
func inParallel(n int, do func(i int)) {
	const chunk = 64
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), (n+chunk-1)/chunk) {
		wg.Go(func() {
			for {
				end := int(next.Add(chunk))
				if end-chunk >= n {
					return
				}
				for i := end - chunk; i < min(end, n); i++ {
					do(i)
				}
			}
		})
	}
	wg.Wait()
}

func listUSDT(m *matcher, s *spec) (out []listing) {
	files, err := m.target(s)
	if err != nil {
		m.badTarget(s, err)
		return nil
	}
	for _, b := range files {
		probes, err := b.obj.USDTs()
		if err != nil {
			m.diags.Warnf(s.ap.Span, "%s: %s", b.name, err)
			continue
		}
		seen := map[string]bool{}
		var names []listing
		for i := range probes {
			u := &probes[i]
			n := b.name + ":" + u.Provider + ":" + u.Name
			if !usdtMatches(s, u) || seen[n] {
				continue
			}
			seen[n] = true
			names = append(names, listing{name: n, params: func() []string {
				return usdtParams(operandScope(b.obj, u, true))
			}})
		}
		sort.Slice(names, func(i, j int) bool { return names[i].name < names[j].name })
		out = append(out, names...)
	}
	if len(out) == 0 && (len(files) == 1 || !hasWildcard(s.fn)) {
		m.noUSDT(s, files)
	}
	return out
}

// usdtParams shows the arguments of a probe, with the reason for those that cannot be read.
func usdtParams(sc *probe.Scope) (out []string) {
	for i, t := range sc.ArgNTypes {
		line := t.String() + " arg" + uintText(uint64(i))
		if len(sc.Args) > 0 {
			line = types.Declare(sc.Args[i].Type, sc.Args[i].Name)
		}
		if p := sc.ArgN[i]; p.Kind == types.Unavailable {
			line += " (" + p.Why + ")"
		}
		out = append(out, line)
	}
	return out
}
