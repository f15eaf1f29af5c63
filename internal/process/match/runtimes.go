package match

import (
	"path"
	"slices"
	"strings"

	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/objfile"
	"trocar/internal/process/probe"
	"trocar/internal/process/runtimes"
	"trocar/internal/process/runtimes/cpython"
	"trocar/internal/process/runtimes/dotnet"
	"trocar/internal/process/runtimes/golang"
	"trocar/internal/process/runtimes/jvm"
	"trocar/internal/process/runtimes/native"
	"trocar/internal/process/runtimes/node"
	"trocar/internal/process/target"
	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// Runtimes are all that are known. To leave one out would let return probes end its programs, so they are not an
// option.
func Runtimes() []runtimes.Runtime {
	return []runtimes.Runtime{
		golang.Runtime(), dotnet.Runtime(), jvm.Runtime(), node.Runtime(), cpython.Runtime(),
	}
}

// Tables read the tables of functions that the runtimes have in their programs: files are to be opened with them.
func Tables() (readers []objfile.TableReader) {
	for _, r := range Runtimes() {
		if r.Functions != nil {
			readers = append(readers, r.Functions)
		}
	}
	return readers
}

// runtimes are those that have code in the file.
func (b *binary) runtimes() []runtimes.Code {
	if !b.asked {
		b.asked = true
		b.codes = codesIn(runtimes.File{Name: b.name, Object: b.obj, PID: b.pid, Debug: b.debug})
	}
	return b.codes
}

func codesIn(f runtimes.File) (codes []runtimes.Code) {
	for _, r := range Runtimes() {
		if c := r.Open(f); c != nil {
			codes = append(codes, c)
		}
	}
	return codes
}

// RuntimeOf is the runtime that has code in a file, if there is one.
func RuntimeOf(f *objfile.File) (r runtimes.Runtime, ok bool) {
	for _, r := range Runtimes() {
		if r.Open(runtimes.File{Object: f}) != nil {
			return r, true
		}
	}
	return r, false
}

// owned tells whether the compiler or assembler of one of the runtimes made the code at an address.
func owned(codes []runtimes.Code, addr uint64) bool {
	return slices.ContainsFunc(codes, func(c runtimes.Code) bool { return c.Owns(addr) })
}

// runtimeAt is the runtime whose code is at an address; nil: none.
func (b *binary) runtimeAt(addr uint64) runtimes.Code {
	for _, c := range b.runtimes() {
		if c.At(addr) {
			return c
		}
	}
	return nil
}

// call is how calls of the code at an address are told apart; nil: by thread and stack pointer.
func (m *matcher) call(b *binary, addr uint64) *probe.Call {
	if c := b.runtimeAt(addr); c != nil {
		return c.Call(addr, m.needs.Calls())
	}
	return nil
}

// assembly is the scope of a function in a runtime's assembly; nil: it is in none.
func (b *binary) assembly(addr uint64) *probe.Scope {
	for _, c := range b.runtimes() {
		if s := c.Assembly(addr); s != nil {
			return s
		}
	}
	return nil
}

// bare gives a point at a function's entry the arguments that are known without debug information.
func (m *matcher) bare(b *binary, entry uint64, p *probe.Point) {
	if c := b.runtimeAt(entry); c != nil {
		c.Entry(entry, p)
		m.behindSpills(b, entry, p)
	}
}

// runtimeReturns makes the points of the returns of a function in a file that has a runtime's code: the instructions
// that return.
func (m *matcher) runtimeReturns(c *candidate, code runtimes.Code) []*probe.Point {
	fn := c.fn
	if exits, refusal := code.Exits(fn); refusal != nil {
		m.noReturn(c, refusal)
		return nil
	} else if len(exits) > 0 {
		return m.runtimeExits(c, code, exits)
	}
	size := fn.Size
	if size == 0 {
		size = c.b.obj.CodeSize(fn.Addr)
	}
	found, refusal := native.ReturnsOf(
		c.b.obj, nil, fn.Addr, []debuginfo.Range{{Low: fn.Addr, High: fn.Addr + size}}, owned(c.b.runtimes(), fn.Addr),
	)
	if refusal != nil {
		m.noReturn(c, &probe.Refusal{Reason: refusal.Reason, Way: entryInstead})
		return nil
	}
	var scope *probe.Scope
	if m.needs.Typed() {
		scope = code.Result(fn)
	}
	points := make([]*probe.Point, 0, len(found.At))
	for _, addr := range found.At {
		p := &probe.Point{
			Kind: probe.Uretprobe, Path: c.b.path, PID: m.pid(), Name: c.name, Func: c.shown, AtReturn: true, Start: fn.Addr,
			Call: m.call(c.b, fn.Addr), Scope: scope,
		}
		p.Texts = m.textsAt(c.b, fn.Addr, p)
		if p = m.place(p, c.b, addr); p != nil {
			points = append(points, p)
		}
	}
	m.behindReloads(c.b, fn.Addr, points)
	return points
}

// runtimeExits makes the points of the places where a runtime has its functions left.
func (m *matcher) runtimeExits(c *candidate, code runtimes.Code, exits []runtimes.Exit) []*probe.Point {
	p := probe.Point{
		Kind: probe.Uretprobe, Path: c.b.path, PID: m.pid(), Name: c.name, Func: c.shown, AtReturn: true, Start: c.fn.Addr,
		Call: m.call(c.b, c.fn.Addr),
	}
	if m.needs.Typed() {
		p.Scope = code.Result(c.fn)
	}
	p.Texts = m.textsAt(c.b, c.fn.Addr, &p)
	var found native.Returns
	at := map[uint64]*runtimes.Exit{}
	for i := range exits {
		e := &exits[i]
		at[e.Addr] = e
		if e.Tail {
			found.Tails = append(found.Tails, e.Addr)
		} else {
			found.At = append(found.At, e.Addr)
		}
	}
	points := m.exitPoints(c, &p, found)
	for _, p := range points {
		p.Frame, p.Tail = &at[p.Addr].Frame, at[p.Addr].Tail
	}
	return points
}

// made makes the points of functions that are compiled while the process runs, whose code is found then.
func (m *matcher) made(s *spec, b *binary, q *objfile.Query) (points []*probe.Point) {
	if m.pid() == 0 || m.opts.ChildPID != 0 || s.hasOff {
		return nil
	}
	for _, c := range b.runtimes() {
		c, ok := c.(runtimes.MadeCode)
		if !ok {
			continue
		}
		for _, fn := range c.Made(q) {
			name := fn.Name
			if !q.Wildcard() && (s.lang == "" || s.lang == objfile.Exact) {
				name = s.fn // as it was asked for
			}
			p := &probe.Point{
				Kind: s.kind.kind, Path: b.path, PID: m.pid(), Func: fn.Name, Name: uprobeName(s, b, name), Made: fn.Made,
				Start: fn.Ahead, Addr: fn.Ahead,
			}
			if fn.Ahead == 0 {
				p.Start = runtimes.Unnumbered + uint64(fn.Number)
				p.Addr = p.Start
			}
			atReturn := p.Kind == probe.Uretprobe
			p.Made.Result, p.Tail = atReturn && m.needs.Retval, s.tail
			if p.Entry, p.AtReturn = !atReturn, atReturn; m.needs.Typed() {
				p.Scope = c.MadeScope(fn.Number, atReturn)
			}
			if atReturn && m.needs.Duration {
				begin := *p
				begin.Kind, begin.Entry, begin.AtReturn, begin.Scope = probe.Uprobe, true, false, nil
				m.begins = append(m.begins, &begin)
			}
			points = append(points, p)
		}
	}
	return points
}

// anew tells whether the code of a function may be made again, elsewhere, while the process runs.
func (m *matcher) anew(b *binary, addr uint64) bool {
	_, is := b.runtimeAt(addr).(runtimes.MadeCode)
	return is && m.pid() != 0 && m.opts.ChildPID == 0
}

// later are the files with methods of .NET that a spec means, which the process has not loaded yet.
func (m *matcher) later(s *spec, q *objfile.Query) (files []*binary) {
	if s.target != "" || !objfile.NamesMethod(s.fn) || !m.files.runsDotNet() {
		return nil
	}
	for _, b := range m.files.unloaded() {
		for _, c := range b.runtimes() {
			if c, ok := c.(runtimes.MadeCode); ok && len(c.Made(q)) > 0 {
				m.diags.Add(diag.Info, s.ap.Span, "%s is not loaded yet: its methods are seen once it is", path.Base(b.name))
				files = append(files, b)
			}
		}
	}
	return files
}

// write finds the function by which the process writes notes of code that its runtime makes, where that is followed.
func (m *matcher) write(r *Result) *probe.Point {
	if !slices.ContainsFunc(r.Points(), func(p *probe.Point) bool { return p.Made != nil }) {
		return nil
	}
	diags, needs, begins := m.diags, m.needs, m.begins
	m.diags, m.needs = &diag.List{}, probe.Needs{}
	defer func() { m.diags, m.needs, m.begins = diags, needs, begins }()
	for _, mp := range m.files.mappedFiles() {
		if name := path.Base(mp.Path); !target.IsLibrary(name, "libc") && !strings.HasPrefix(name, "ld-musl-") {
			continue
		}
		file := m.files.root.Shown(mp.Path)
		ap := &syntax.AttachPoint{Kind: "uprobe", Parts: []string{file, "write"}, Quoted: []bool{true, false}}
		for _, s := range m.specs(ap) {
			if points := m.spec(s); len(points) > 0 {
				return points[0]
			}
		}
	}
	return nil
}

// tellNoReturns says which functions that a pattern found have no return that can be probed.
func (m *matcher) tellNoReturns(s *spec) {
	for why, names := range m.noReturns.each() {
		if len(names) == 1 {
			m.diags.Warnf(s.ap.Span, "the return of 1 of the functions is left out, that of %s: %s", names[0], why)
			continue
		}
		m.diags.Warnf(s.ap.Span, "the returns of %d of the functions are left out, like that of %s: %s",
			len(names), names[0], why)
	}
	clear(m.noReturns)
	if m.tails > 0 {
		m.diags.Add(diag.Info, s.ap.Span, "%d of the functions end in tail calls in places: their results are not seen there",
			m.tails)
		m.tails = 0
	}
}

// describeBare fills in what debug information doesn't tell of functions and runtimes do; false: the file has no
// runtime's code.
func (m *matcher) describeBare(b *binary, list []listing, of []int, told []function) bool {
	if len(b.runtimes()) == 0 {
		return false
	}
	for _, i := range of {
		one, entry := &told[i], list[i].fn.Addr
		c := b.runtimeAt(entry)
		if c == nil || one.declared != nil || one.params != nil {
			continue
		}
		d, ok := c.Declaration(entry)
		switch {
		case !ok:
		case m.opts.Declared:
			one.declared = &Declared{Text: d.Text, File: d.File, Line: d.Line}
			if d.Copies != nil {
				one.declared.Copies = d.Copies()
			}
		default:
			one.params = d.Params
		}
	}
	return true
}

// bareCopies adds the places where a function was inlined, as the file's own tables tell them.
func (m *matcher) bareCopies(s *spec, b *binary, funcs []objfile.Func, points []*probe.Point) []*probe.Point {
	if len(funcs) > 1 {
		return points
	}
	name := s.fn
	if len(funcs) == 1 {
		name = funcs[0].Name
	}
	for _, c := range b.runtimes() {
		in := inlinedFunc{name: m.display(name)}
		if len(funcs) == 1 {
			in.entry = funcs[0].Addr
		}
		list := c.Copies(name)
		for _, copied := range list {
			if len(copied.Ranges) == 0 {
				in.empty++
				continue
			}
			in.copies = append(in.copies, inlinedCopy{entry: copied.Ranges[0].Low, outer: copied.Outer, ranges: copied.Ranges})
		}
		if len(list) > 0 {
			for _, p := range points {
				p.Copied = true
			}
			return m.inlinedPoints(s, b, &in, points)
		}
	}
	return points
}
