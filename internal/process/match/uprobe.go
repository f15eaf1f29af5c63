package match

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"trocar/internal/binary/code"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/opener"
	"trocar/internal/near"
	"trocar/internal/process/probe"
	"trocar/internal/process/target"
	"trocar/internal/script/diag"
)

// Uprobe and uretprobe: functions and instructions of programs and libraries.

// languages are the words that may stand before a function's name to say that it is readable, not mangled.
var languages = []string{"cpp", "c++", "rust"}

// named tells the words that may stand before a function's name: languages, and that it is no pattern, whatever stars
// are in it.
func named(word string) bool {
	return word == objfile.Exact || word == Tail || slices.Contains(languages, word)
}

// Tail is the word before a function's name, of a uretprobe, for where it goes on in another one that returns in its
// place, and only that.
const Tail = "tail"

const unsafeHint = "\nUse --unsafe to force attachment. WARNING: This option could lead to data corruption in the " +
	"target process."

func parseUprobe(m *matcher, s *spec) bool {
	parts, quoted := s.parts, s.quoted
	if m.pid() != 0 && (len(parts) == 1 || len(parts) == 2 && named(parts[0])) {
		// With a process the file may be left out: its program, or for a listing, all that it has mapped.
		own := ""
		if m.listing && len(parts) == 1 {
			own = "*"
		}
		parts, quoted = slices.Insert(slices.Clone(parts), 0, own), slices.Insert(slices.Clone(quoted), 0, false)
	} else if m.listing && len(parts) == 1 && s.skip {
		return false
	}
	if file, rest, ok := sourcePosition(parts, quoted); ok {
		return m.parsePosition(s, file, rest)
	}
	if len(parts) != 2 && len(parts) != 3 {
		return m.argCount(s, 2, 3)
	}
	s.target = parts[0]
	if len(parts) == 3 {
		s.lang = parts[1]
		if !named(s.lang) {
			if s.skip {
				return false
			}
			d := m.diags.Errorf(s.ap.Span, "unsupported language type: %s", s.lang)
			if strings.Contains(s.ap.Text, "::") {
				d.Hint("names with \"::\" must be in quotes: %s:%s:\"A::b\"", s.kind.name, s.target)
			} else {
				d.Hint("the languages are %s", near.List(languages))
			}
			return false
		}
	}
	if s.target == "" && m.pid() == 0 {
		m.diags.Errorf(s.ap.Span, "%s should have a target", s.kind.name).Hint("the form is %s", s.kind.form)
		return false
	}
	if s.lang == Tail {
		if s.kind.kind != probe.Uretprobe {
			m.diags.Errorf(s.ap.Span, "%s is known of uretprobes", Tail)
			return false
		}
		s.lang, s.tail = "", true
	}
	return m.parseFunction(s, parts[len(parts)-1], quoted[len(quoted)-1])
}

// parseFunction takes apart "func", "func+offset" and "address".
func (m *matcher) parseFunction(s *spec, text string, quoted bool) bool {
	fail := func(format string, args ...any) bool {
		m.diags.Errorf(s.ap.Span, format, args...)
		return false
	}
	name, off, plus := strings.Cut(text, "+")
	if quoted {
		// In quotes '+' is a letter ("operator+"); an offset stands behind them.
		name, plus = text, false
		if i := strings.LastIndexByte(s.ap.Text, '"'); i >= 0 && strings.HasPrefix(s.ap.Text[i+1:], "+") {
			off, plus = s.ap.Text[i+2:], true
			name = strings.TrimSuffix(text, "+"+off)
		}
	}
	switch {
	case plus && s.kind.kind == probe.Uretprobe:
		return fail("Offset not allowed")
	case plus && strings.Contains(off, "+"):
		return fail("Cannot take more than one offset")
	case plus && (name == "" || off == ""):
		return fail("Invalid offset")
	case plus:
		n, err := parseUint(off)
		if err != nil {
			return fail("Invalid offset: %s", err)
		}
		s.fn, s.offset, s.hasOff = name, n, true
		return true
	}
	if n, err := parseUint(name); err == nil && !quoted {
		if hasWildcard(s.target) {
			return fail("Cannot use wildcards with absolute address")
		}
		s.addr, s.isAddr = n, true
		return true
	}
	s.fn = name
	if s.fn == "" {
		m.diags.Errorf(s.ap.Span, "%s should be attached to a function and/or address", s.kind.name).
			Hint("the form is %s", s.kind.form)
		return false
	}
	return true
}

// sourcePosition recognises FILE@SOURCE:LINE[:COLUMN].
func sourcePosition(parts []string, quoted []bool) (target string, rest []string, ok bool) {
	if len(parts) < 2 || len(parts) > 3 || quoted[0] {
		return "", nil, false
	}
	target, source, ok := strings.Cut(parts[0], "@")
	if !ok || source == "" {
		return "", nil, false
	}
	for _, p := range parts[1:] {
		if _, err := parseUint(p); err != nil {
			return "", nil, false
		}
	}
	return target, append([]string{source}, parts[1:]...), true
}

func (m *matcher) parsePosition(s *spec, file string, rest []string) bool {
	s.target, s.file = file, rest[0]
	fail := func(format string, args ...any) bool {
		m.diags.Errorf(s.ap.Span, format, args...)
		return false
	}
	if s.kind.kind == probe.Uretprobe {
		return fail("Source code location not allowed")
	}
	if hasWildcard(file) {
		return fail("Cannot use wildcards with source code location")
	}
	for i, p := range rest[1:] {
		n, err := parseUint(p)
		if err != nil || n > 1<<31-1 {
			return fail("Invalid line number: invalid integer: %s", p)
		}
		if i == 0 {
			s.line = int(n)
		} else {
			s.column = int(n)
		}
	}
	return true
}

// matchUprobe finds the points of an uprobe or uretprobe.
func matchUprobe(m *matcher, s *spec) []*probe.Point {
	if s.isAddr && m.opts.Unsafe {
		if p := m.flatFile(s); p != nil {
			return []*probe.Point{p}
		}
	}
	files, err := m.target(s)
	if err != nil {
		m.badTarget(s, err)
		return nil
	}
	if s.isAddr || s.file != "" {
		return m.matchPlace(s, files[0])
	}
	if len(files) > 1 && !hasWildcard(s.target) {
		files = files[:1]
	}
	q := objfile.NewQuery(s.fn, s.lang)
	if s.target == "" && objfile.NamesMethod(s.fn) {
		files = append(files, m.files.assemblies()...)
	}
	var points []*probe.Point
	var firstErr error
	before := m.diags.Errors()
	for _, b := range files {
		got, err := m.functions(s, b, q)
		if err != nil && firstErr == nil {
			firstErr = err
		}
		points = append(points, got...)
	}
	if len(points) == 0 && m.diags.Errors() == before {
		for _, b := range m.later(s, q) {
			got, _ := m.functions(s, b, q)
			points = append(points, got...)
		}
	}
	if len(points) == 0 && m.diags.Errors() == before {
		m.noFunction(s, files, firstErr)
	}
	return points
}

// target finds the files of a spec.
func (m *matcher) target(s *spec) ([]*binary, error) {
	if s.target == "" {
		b, err := m.files.exe()
		return list(b, err)
	}
	return m.files.find(s.target)
}

// badTarget reports a target that cannot be used.
func (m *matcher) badTarget(s *spec, err error) {
	if s.skip {
		return
	}
	var d *diag.Diagnostic
	switch {
	case errors.Is(err, target.ErrGone):
		m.diags.Errorf(s.ap.Span, "no process %d", m.pid())
		return
	case errors.Is(err, errNoFile):
		d = m.noFile(s)
		if !m.files.root.Own() {
			d.Note(diag.Span{}, "paths are those of process %d, whose root is %s", m.pid(), m.files.root)
		}
		if exe, err := m.files.exe(); err == nil && m.pid() != 0 && exe.static() {
			d.Hint("%s is a static program, which loads no libraries: its own functions are named without one", exe.name)
		} else if strings.HasPrefix(s.target, "lib") && !strings.Contains(s.target, "/") {
			d.Hint("`ldconfig -p` lists the libraries that are found by name; or give the path")
		} else if pid, exe := running(s.target); pid != 0 {
			d.Hint("process %d runs %s: give that path, or the process with -p", pid, exe)
		}
		if lib, _, ok := strings.Cut(path.Base(s.target), ".so"); ok && strings.Contains(s.target, "/") {
			if found, err := m.files.root.FindLibrary(lib); err == nil && len(found) > 0 {
				d.Hint("%s is %s here: give the name %s in place of the path", lib, found[0], lib)
			}
		}
	case errors.Is(err, objfile.ErrNotELF), errors.Is(err, opener.ErrNotRegular):
		d = m.noFile(s)
		d.Note(diag.Span{}, "%s", err)
		if kind, ok := m.files.scriptOf(s.target); ok {
			d.Hint("it is a script run by %s: probe that program, or the libraries it loads", kind)
		}
	case errors.Is(err, fs.ErrPermission):
		d = m.diags.Errorf(s.ap.Span, "error finding %s target: %s", s.kind.name, err)
		d.Hint("run as root, or as a user who may read it")
	default:
		m.diags.Errorf(s.ap.Span, "error finding %s target: %s", s.kind.name, err)
	}
}

// running finds a process whose program has a name; 0: there is none.
func running(name string) (pid target.PID, exe string) {
	all, _ := target.All()
	for _, p := range all {
		if exe, _, err := p.Exe(); err == nil && path.Base(exe) == name {
			return p, exe
		}
	}
	return 0, ""
}

// noFile reports that a file is not there, or no program or library.
func (m *matcher) noFile(s *spec) *diag.Diagnostic {
	if m.opts.Plain {
		return m.diags.Errorf(s.ap.Span, "there is no program or library '%s'", s.target)
	}
	return m.diags.Errorf(s.ap.Span, "%s target file '%s' does not exist or is not executable", s.kind.name, s.target)
}

// functions makes the points of the functions of one file that fit.
func (m *matcher) functions(s *spec, b *binary, q *objfile.Query) ([]*probe.Point, error) {
	q.Variants = m.opts.Variants
	funcs, err := b.obj.Match(q)
	if err != nil {
		return nil, err
	}
	if len(funcs) > 0 && len(funcs[0].Variants) > 0 && s.kind.kind == probe.Uprobe && !s.hasOff {
		m.diags.Add(diag.Info, s.ap.Span, "the compiler generated variants of %s for some of its callers, which are not "+
			"probed: %s",
			s.fn, strings.Join(funcs[0].Variants, ", "))
	}
	// An indirect function stands for its implementations.
	all := funcs
	if slices.ContainsFunc(funcs, func(f objfile.Func) bool { return f.IFunc }) {
		all = nil
		for i := range funcs {
			if funcs[i].IFunc {
				all = append(all, m.indirect(s, b, q, &funcs[i])...)
			} else {
				all = append(all, funcs[i])
			}
		}
	}
	sites, whys, err := m.sitesOf(b, q, all)
	if err != nil {
		return nil, err
	}
	points := make([]*probe.Point, 0, len(all))
	scope := cdeclScope(b.obj)
	told := len(b.runtimes()) > 0 && m.needs.Calls()
	var without []string
	display := m.display
	if q.Wildcard() && !m.needs.Name {
		display = func(name string) string { return name } // nobody sees them: demangling is most of the work
	} else if m.opts.Bare {
		display = b.shownNames(s.lang+":"+s.fn, func() func(string) string { return m.bareNames(all) })
	} else if q.Wildcard() {
		display = b.shownNames(s.lang+":"+s.fn, func() func(string) string { return m.display })
	}
	for i := range all {
		if m.done() {
			return nil, m.ctx.Err()
		}
		fn := &all[i]
		if told && q.Wildcard() && b.runtimeAt(fn.Addr) == nil {
			without = append(without, fn.Name)
			continue
		}
		shown := display(fn.Name)
		name := shown
		if fn.Indirect != "" && fn.Indirect != fn.Name {
			name = display(fn.Indirect)
		}
		if !q.Wildcard() && (s.lang == "" || s.lang == objfile.Exact) {
			name = s.fn // as it was asked for
		}
		c := &candidate{
			s: s, b: b, fn: fn, name: uprobeName(s, b, name), shown: shown, site: sites[i], why: whys[i], pattern: q.Wildcard(),
		}
		points = append(points, m.candidatePoints(c, scope)...)
	}
	if len(without) > 0 {
		m.diags.Warnf(s.ap.Span, "%d of the functions are left out, like %s: "+
			"they are written in assembly or C, where goid and goframe are not known",
			len(without), without[0])
	}
	m.tellNoReturns(s)
	return append(onePerSite(m.copies(s, b, q, all, points)), m.made(s, b, q)...), nil
}

// onePerSite drops points at a place that another point has already: a script's action runs once for a hit.
func onePerSite(points []*probe.Point) []*probe.Point {
	if len(points) < 2 {
		return points
	}
	seen := make(map[uint64]bool, len(points))
	return slices.DeleteFunc(points, func(p *probe.Point) bool {
		if seen[p.Offset] {
			return true
		}
		seen[p.Offset] = true
		return false
	})
}

// place fills in where the point is.
func (m *matcher) place(p *probe.Point, b *binary, addr uint64) *probe.Point {
	off, ok := b.obj.Offset(addr)
	if !ok {
		return nil
	}
	p.Addr, p.Offset = addr, off
	return p
}

// inside makes the point of func+offset.
func (m *matcher) inside(
	s *spec, b *binary, fn *objfile.Func, p *probe.Point, refuse func(string, ...any) *diag.Diagnostic,
) *probe.Point {
	size := fn.Size
	if size == 0 {
		size = b.obj.CodeSize(fn.Addr)
	}
	if s.offset >= size {
		refuse("Offset outside the function bounds ('%s' size is %d)", fn.Name, size)
		return nil
	}
	if !m.boundary(s, b, fn.Name, fn.Addr, fn.Addr+s.offset, refuse) {
		return nil
	}
	p.Start = fn.Addr
	return m.insidePoint(s, b, p, fn.Addr+s.offset, refuse)
}

// insidePoint places a point in the middle of a function. A five-byte nop is left alone there: kernels from 6.18 to 7.1
// replace it by a call that overwrites what the function keeps below its stack pointer. The next instruction, which
// nothing but the nop leads to in practice, is as good.
func (m *matcher) insidePoint(
	s *spec, b *binary, p *probe.Point, addr uint64, refuse func(string, ...any) *diag.Diagnostic,
) *probe.Point {
	nops, err := nop5s(b.obj, addr)
	switch {
	case err != nil:
		refuse("%s cannot be probed: %s", p.Name, err)
		return nil
	case nops == maxNop5s:
		refuse("only nops are at %s, which cannot be probed safely", p.Name)
		return nil
	}
	p.Skip = 5 * nops
	if h := m.hazardAt(b.obj, addr+uint64(p.Skip)); h != nil {
		if n, ok := m.pastVectors(b, addr+uint64(p.Skip)); ok {
			p.Skip += n
			return m.place(p, b, addr+uint64(p.Skip))
		}
		refuse("%s cannot be probed: the instruction at %#x is %s", p.Name, addr+uint64(p.Skip), h)
		return nil
	}
	return m.place(p, b, addr+uint64(p.Skip))
}

// coldOf finds the function of which a symbol names a part: one that is rarely used (GCC's and LLVM's ".cold"), or that
// is not inlined with the rest.
func coldOf(obj *objfile.File, name string) (whole string, addr uint64, ok bool) {
	whole, _, cold := strings.Cut(name, ".cold")
	if part := WholeOf(whole); part != "" {
		whole, cold = part, true
	}
	if !cold {
		return "", 0, false
	}
	addr, ok = obj.SymbolAddr(whole)
	return whole, addr, ok
}

// maxNop5s is how many five-byte nops in a row are stepped over.
const maxNop5s = 4

// nop5s is the number of five-byte nops that follow one another at an address.
func nop5s(obj *objfile.File, addr uint64) (n int, err error) {
	defer objfile.Guard(&err)()
	for n < maxNop5s && code.IsNop5(obj.Bytes(addr+uint64(5*n), 5)) {
		n++
	}
	return n, nil
}

// boundary tells whether an instruction begins at addr, decoding from start. A place inside of an instruction is always
// refused; one that cannot be judged only without --unsafe.
func (m *matcher) boundary(
	s *spec, b *binary, name string, start, addr uint64, refuse func(string, ...any) *diag.Diagnostic,
) bool {
	ok, before, err := m.decodeTo(b, start, addr)
	where := fmt.Sprintf("%s:%s+%d", b.name, name, addr-start)
	if c := b.runtimeAt(addr); c != nil && addr != start {
		if r := c.Inside(start, addr); r != nil {
			refuse("%s cannot be probed: %s", where, r.Reason).Hint("%s", r.Way)
			return false
		}
	}
	switch {
	case err != nil && m.opts.Unsafe:
		m.diags.Warnf(s.ap.Span, "Unchecked %s: %s", s.kind.name, where)
		return true
	case err != nil:
		refuse("Failed to check if %s is in proper place: %s"+unsafeHint, s.kind.name, where).Note(diag.Span{}, "%s", err)
		return false
	case !ok:
		d := refuse("Could not add %s into middle of instruction: %s", s.kind.name, where)
		if before < addr {
			d.Hint("the instruction begins at +%d", before-start)
		}
		return false
	}
	return true
}

func (m *matcher) decodeTo(b *binary, start, addr uint64) (ok bool, before uint64, err error) {
	defer objfile.Guard(&err)()
	body := b.obj.Bytes(start, int(min(addr-start+16, code.MaxFunction)))
	if ok, err = code.Boundary(b.obj.Arch(), body, addr-start); ok || err != nil {
		return ok, addr, err
	}
	off, _ := code.Before(b.obj.Arch(), body, addr-start)
	return false, start + off, nil
}

// matchPlace makes the point of an address or a source position.
func (m *matcher) matchPlace(s *spec, b *binary) []*probe.Point {
	refuse := func(format string, args ...any) *diag.Diagnostic { return m.failAttach(s, format, args...) }
	if s.file != "" {
		return m.sourcePoints(s, b)
	}
	start, name, ok := m.functionStart(b, s.addr)
	if !ok {
		if m.opts.Unsafe && b.obj.Executable(s.addr) {
			m.diags.Warnf(s.ap.Span, "Could not determine instruction boundary for %s (binary appears stripped). "+
				"Misaligned probes can lead to tracee crashes!", s.ap.Text)
			start = s.addr
		} else {
			d := refuse("Could not resolve address: %s:%#x", b.name, s.addr)
			if !b.obj.Executable(s.addr) {
				d.Note(diag.Span{}, "there is no code at that address in the file (use addresses as printed by nm)")
			} else {
				d.Note(diag.Span{}, "no function is known there, so instruction boundaries are not known")
				d.Hint("--unsafe attaches without this check; a probe inside an instruction corrupts the program")
			}
			return nil
		}
	}
	p := &probe.Point{Kind: s.kind.kind, Path: b.path, PID: m.pid(), Func: m.display(name), Scope: cdeclScope(b.obj)}
	if start != s.addr {
		p.Start = start
		if whole, addr, ok := coldOf(b.obj, name); ok {
			p.Start, p.Func = addr, m.display(whole)
		}
	}
	p.Name = s.kind.name + ":" + b.name + ":" + uintText(s.addr)
	if s.kind.kind == probe.Uretprobe {
		if start != s.addr {
			refuse("uretprobes cannot be attached at function offset. (address resolved to: %s+%d)", name, s.addr-start)
			return nil
		}
		fn := &objfile.Func{Symbol: objfile.Symbol{Name: name, Addr: start, Size: b.obj.CodeSize(start)}}
		sites, whys, err := m.entrySites(b.obj, b.im.Frames(), []objfile.Func{*fn})
		if err != nil {
			refuse("%s cannot be probed: %s", p.Name, err)
			return nil
		}
		return m.returnPoints(&candidate{s: s, b: b, fn: fn, name: p.Name, shown: p.Func, site: sites[0], why: whys[0]},
			p.Scope)
	}
	if start != s.addr && !m.boundary(s, b, name, start, s.addr, refuse) {
		return nil
	}
	p.Entry = start == s.addr
	if p = m.insidePoint(s, b, p, s.addr, refuse); p == nil {
		return nil
	}
	if p.Entry && m.needs.Typed() {
		m.typed(s, b, start, p)
	}
	return []*probe.Point{p}
}

// functionStart finds the start of the function around an address: by a symbol, or by the unwind table, which stripped
// files keep.
func (m *matcher) functionStart(b *binary, addr uint64) (start uint64, name string, ok bool) {
	if sym, ok := b.obj.Lookup(addr); ok {
		return sym.Addr, sym.Name, true
	}
	if r, ok := b.im.Frames().Function(addr); ok {
		return r.Low, fmt.Sprintf("%#x", r.Low), true
	}
	return 0, "", false
}

// flatFile is the point of an address in a file that is no ELF file, such as code that a JIT compiler stored: the
// address is the file offset. Only with --unsafe.
func (m *matcher) flatFile(s *spec) *probe.Point {
	if s.kind.kind != probe.Uprobe || hasWildcard(s.target) || !strings.Contains(s.target, "/") {
		return nil
	}
	name := m.files.inRoot(s.target)
	if _, err := m.files.openName(name, name); !errors.Is(err, objfile.ErrNotELF) {
		return nil
	}
	m.diags.Warnf(s.ap.Span, "%s is not an ELF file: the probe goes to file offset %#x, unchecked", s.target, s.addr)
	return &probe.Point{
		Kind: probe.Uprobe, Path: name, Offset: s.addr, Addr: s.addr, PID: m.pid(),
		Name: s.kind.name + ":" + s.target + ":" + uintText(s.addr),
	}
}

// display is a name for people.
func (m *matcher) display(name string) string {
	if m.opts.Demangle {
		return objfile.Demangle(name)
	}
	return name
}

// bareNames gives names of functions without their parameters, where no other of the functions has the same name then.
func (m *matcher) bareNames(fns []objfile.Func) func(name string) string {
	bare := make(map[string]string, len(fns)) // by symbol
	count := make(map[string]int, len(fns))
	for i := range fns {
		name := fns[i].Name
		if _, ok := bare[name]; ok || !objfile.IsMangled(name) {
			continue
		}
		bare[name] = objfile.DemangleBare(name)
		count[bare[name]]++
	}
	return func(name string) string {
		if b, ok := bare[name]; ok && count[b] == 1 && m.opts.Demangle {
			return b
		}
		return m.display(name)
	}
}

// uprobeName is the point's full name.
func uprobeName(s *spec, b *binary, name string) string {
	full := s.kind.name + ":" + b.name
	if s.lang != "" && s.lang != objfile.Exact {
		full += ":" + s.lang
	}
	full += ":" + name
	if s.hasOff && s.offset > 0 {
		full += "+" + uintText(s.offset)
	}
	return full
}
