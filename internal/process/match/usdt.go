package match

import (
	"fmt"
	"slices"
	"strings"

	"trocar/internal/binary/code"
	"trocar/internal/binary/objfile"
	"trocar/internal/near"
	"trocar/internal/process/probe"
	"trocar/internal/process/target"
	"trocar/internal/script/diag"
)

// USDT: probes that programs were written with (sys/sdt.h).

func parseUSDT(m *matcher, s *spec) bool {
	parts := s.parts
	if m.pid() != 0 && len(parts) == 1 {
		parts = slices.Insert(slices.Clone(parts), 0, "*")
	}
	switch len(parts) {
	case 2:
		s.target, s.fn = parts[0], parts[1]
	case 3:
		s.target, s.ns, s.fn = parts[0], parts[1], parts[2]
	default:
		return m.argCount(s, 2, 3)
	}
	if s.fn == "" {
		m.diags.Errorf(s.ap.Span, "usdt probe must have a target function or wildcard").Hint("the form is %s", s.kind.form)
		return false
	}
	if s.target == "" {
		if m.pid() == 0 {
			m.diags.Errorf(s.ap.Span, "usdt probe must specify at least path or pid to probe. To target all paths/pids set "+
				"the path to '*'.")
			return false
		}
		s.target = "*"
	}
	return true
}

func matchUSDT(m *matcher, s *spec) []*probe.Point {
	files, err := m.target(s)
	if err != nil {
		m.badTarget(s, err)
		return nil
	}
	if len(files) > 1 && !hasWildcard(s.target) {
		files = files[:1]
	}
	if hasWildcard(s.target) && m.pid() != 0 && m.opts.ChildPID == 0 {
		m.files.usdts = append(m.files.usdts, s)
	}
	var points []*probe.Point
	before := m.diags.Errors()
	for _, b := range files {
		if m.done() {
			return nil
		}
		points = append(points, m.usdtPoints(s, b)...)
	}
	if len(points) == 0 && m.diags.Errors() == before {
		m.noUSDT(s, files)
	}
	return points
}

// usdtMatches tells whether a probe fits; without a provider any fits.
func usdtMatches(s *spec, u *objfile.USDT) bool {
	ns := s.ns
	if ns == "" {
		ns = "*"
	}
	return matchGlob(ns, u.Provider) && matchGlob(s.fn, u.Name)
}

func (m *matcher) usdtPoints(s *spec, b *binary) (points []*probe.Point) {
	probes, err := b.obj.USDTs()
	if err != nil {
		m.diags.Warnf(s.ap.Span, "%s: %s", b.name, err)
		return nil
	}
	type place struct {
		addr uint64
		name string
	}
	seen := map[place]bool{}
	scopes := map[string]*probe.Scope{} // by operands: equal ones share a program
	for i := range probes {
		u := &probes[i]
		if !usdtMatches(s, u) || seen[place{u.Addr, u.Provider + ":" + u.Name}] {
			continue
		}
		seen[place{u.Addr, u.Provider + ":" + u.Name}] = true
		if p := m.usdtPoint(s, b, u, scopes); p != nil {
			points = append(points, p)
		}
	}
	return points
}

// usdtPoint makes the point of one probe at one place.
func (m *matcher) usdtPoint(s *spec, b *binary, u *objfile.USDT, scopes map[string]*probe.Scope) *probe.Point {
	p := &probe.Point{Kind: probe.USDT, Path: b.path, PID: m.pid(), Func: u.Name}
	p.Name = "usdt:" + b.name + ":" + u.Provider + ":" + u.Name
	refuse := func(format string, args ...any) *diag.Diagnostic { return m.diags.Warnf(s.ap.Span, format, args...) }
	if !m.usdtSite(b, u.Addr) {
		refuse("%s: its note names %#x, where no instruction begins; it is left out", p.Name, u.Addr)
		return nil
	}
	if m.insidePoint(s, b, p, u.Addr, refuse) == nil {
		return nil
	}
	if u.Semaphore != 0 {
		off, ok := b.obj.Offset(u.Semaphore)
		if !ok {
			refuse("%s: its semaphore at %#x is not in the file; it is left out", p.Name, u.Semaphore)
			return nil
		}
		p.RefCtr = off
	}
	// Operands relative to the instruction pointer depend on the place.
	key := u.Args
	switch {
	case strings.Contains(key, "rip") || strings.Contains(key, "$"):
		key = ""
	case key != "" && m.needs.Args:
		key += " " + u.Provider + ":" + u.Name // of which the names are
	}
	if sc := scopes[key]; sc != nil && key != "" {
		p.Scope = sc
		return p
	}
	p.Scope = operandScope(b.obj, u, m.needs.Args)
	scopes[key] = p.Scope
	return p
}

// usdtSite tells whether a probe may be put at an address that a note names: an instruction begins there or, where no
// function is known, the nop that the compiler put there.
func (m *matcher) usdtSite(b *binary, addr uint64) (ok bool) {
	var err error
	defer objfile.Guard(&err)()
	if !b.obj.Executable(addr) {
		return false
	}
	if start, _, found := m.functionStart(b, addr); found {
		if ok, _, err := m.decodeTo(b, start, addr); err == nil {
			return ok
		}
	}
	in, ok := code.Decode(b.obj.Arch(), b.obj.Bytes(addr, 16))
	return ok && in.Op == code.Nop
}

// lateUSDT tells of probes that fit, in files that the process has loaded since.
func (fs *files) lateUSDT() (texts []string) {
	if len(fs.usdts) == 0 {
		return nil
	}
	known := map[target.FileID]bool{}
	for _, m := range fs.mappedFiles() {
		known[target.FileID{Dev: m.Dev, Inode: m.Inode}] = true
	}
	fs.gotMaps = false
	for _, m := range fs.mappedFiles() {
		if known[target.FileID{Dev: m.Dev, Inode: m.Inode}] {
			continue
		}
		b, err := fs.openMapping(m)
		if err != nil {
			continue
		}
		probes, err := b.obj.USDTs()
		if err != nil {
			continue
		}
		i := slices.IndexFunc(probes, func(u objfile.USDT) bool {
			return slices.ContainsFunc(fs.usdts, func(s *spec) bool { return matchGlob(s.target, b.name) && usdtMatches(s, &u) })
		})
		if i >= 0 {
			texts = append(texts, fmt.Sprintf("%s was loaded after the probes were attached: its probes, such as %s:%s, were "+
				"not traced. A probe that names the file is there from the first call on", b.name, probes[i].Provider,
				probes[i].Name))
		}
	}
	return texts
}

// noUSDT reports that no probe fits.
func (m *matcher) noUSDT(s *spec, files []*binary) {
	if s.skip {
		return
	}
	name := s.fn
	if s.ns != "" {
		name = s.ns + ":" + name
	}
	d := m.missing(s, "No matches for usdt %s:%s", s.target, name)
	if d == nil {
		return
	}
	if len(files) != 1 {
		if m.pid() != 0 && hasWildcard(s.target) {
			d.Hint("libraries that it loads later are not among these: name the file, as in usdt:/path/libx.so:%s", name)
		}
		return
	}
	probes, err := files[0].obj.USDTs()
	if err != nil {
		d.Note(diag.Span{}, "%s", err)
		return
	}
	if len(probes) == 0 {
		d.Note(diag.Span{}, "%s has no statically defined probes", files[0].name)
		return
	}
	var names []string
	for i := range probes {
		if n := probes[i].Provider + ":" + probes[i].Name; !slices.Contains(names, n) && len(names) < 200 {
			names = append(names, n)
		}
	}
	if hasWildcard(name) {
		return
	}
	want := name
	if s.ns == "" {
		for _, n := range names { // the name alone is compared
			if p, probe, _ := strings.Cut(n, ":"); near.Distance(name, probe, 2) <= 2 {
				d.Hint("did you mean %s:%s?", p, probe)
				return
			}
		}
	}
	if n := near.Names(want, names); len(n) > 0 {
		d.Hint("did you mean %s?", near.List(n))
		return
	}
	if len(names) <= 12 {
		d.Hint("the file has %s", strings.Join(names, ", "))
	} else {
		d.Hint("`trocar list 'usdt:%s:*'` shows the file's %d probes", files[0].name, len(names))
	}
}
