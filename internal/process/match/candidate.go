package match

import (
	"trocar/internal/binary/objfile"
	"trocar/internal/process/probe"
	"trocar/internal/process/runtimes/native"
	"trocar/internal/script/diag"
)

// candidate is a function of a file that an attach point may mean.
type candidate struct {
	s  *spec
	b  *binary
	fn *objfile.Func

	name    string  // of its points, in full
	shown   string  // the function's, for people
	site    int     // distance in bytes of the instruction to probe from the entry; below 0: none can be
	why     *hazard // of the instruction at the entry, if site is below 0 for that
	pattern bool    // a pattern found it: what is in the way is not reported
}

// refuse reports what is in the way of a candidate that was asked for by its name.
func (m *matcher) refuse(c *candidate, format string, args ...any) *diag.Diagnostic {
	if c.pattern {
		return &diag.Diagnostic{} // one of many: left out
	}
	return m.failAttach(c.s, format, args...)
}

// candidatePoints makes the points of a function; scope is what is in scope without debug information.
func (m *matcher) candidatePoints(c *candidate, scope *probe.Scope) []*probe.Point {
	if c.s.kind.kind == probe.Uretprobe {
		return m.returnPoints(c, scope)
	}
	p := m.function(c)
	if p == nil {
		return nil
	}
	m.scopeAt(c, p, scope)
	return []*probe.Point{p}
}

// scopeAt gives a point at a function's entry or return what is in scope there.
func (m *matcher) scopeAt(c *candidate, p *probe.Point, scope *probe.Scope) {
	if p.Scope = scope; len(c.b.runtimes()) > 0 {
		if in := c.b.assembly(c.fn.Addr); in != nil {
			p.Scope = in
		}
	}
	p.Texts = m.textsAt(c.b, c.fn.Addr, p)
	needed := m.needs.Typed() || m.needs.ArgN && p.Call != nil && c.b.runtimeAt(c.fn.Addr).Numbered()
	if needed && (p.Entry || p.Kind == probe.Uretprobe) {
		m.typed(c.s, c.b, c.fn.Addr, p)
	}
}

// function makes the point of a function, nil if it cannot be probed; that is reported unless it came by a pattern.
func (m *matcher) function(c *candidate) *probe.Point {
	s, fn := c.s, c.fn
	p := &probe.Point{
		Kind: s.kind.kind, Path: c.b.path, PID: m.pid(), Name: c.name, Func: c.shown, Call: m.call(c.b, fn.Addr),
	}
	if fn.Size == 0 && !m.opts.Unsafe && !s.hasOff && native.Pieced(c.b.obj, fn.Addr) {
		m.refuse(c, "Could not determine boundary for %s (symbol has size 0)."+unsafeHint, fn.Name)
		return nil
	}
	if s.hasOff && s.offset > 0 {
		refuse := func(format string, args ...any) *diag.Diagnostic { return m.refuse(c, format, args...) }
		return m.inside(s, c.b, fn, p, refuse)
	}
	if c.site < 0 {
		m.refuseEntry(c)
		return nil
	}
	site := c.site
	if s.hasOff && p.Call == nil {
		site = 0 // "func+0" is the first instruction, and nothing else; in Go it runs twice for one call if the stack grows
		if c.why = m.hazardAt(c.b.obj, fn.Addr); c.why != nil {
			m.refuseEntry(c)
			return nil
		}
	}
	p.Entry, p.Skip = true, site
	return m.place(p, c.b, fn.Addr+uint64(site))
}

// entry notes the entry of a function whose returns are probed, if that is asked for, or if something must be kept
// there to know the result.
func (m *matcher) entry(c *candidate, kept bool) {
	if c.site < 0 && c.why == nil || !kept && !m.needs.Duration {
		return
	}
	site := max(c.site, 0) // a harmful one is left out, with the returns
	p := &probe.Point{
		Kind: probe.Uprobe, Path: c.b.path, PID: m.pid(), Name: c.name, Func: c.shown, Entry: true, Skip: site,
		Pattern: c.pattern,
		Call:    m.call(c.b, c.fn.Addr),
	}
	if m.place(p, c.b, c.fn.Addr+uint64(site)) != nil {
		m.begins = append(m.begins, p)
	}
}
