package match

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"trocar/internal/near"
	"trocar/internal/order"
	"trocar/internal/process/probe"
	"trocar/internal/process/runtimes"
	"trocar/internal/script/syntax"
)

// Methods whose code a runtime makes while the process runs. It is in no file, so that hardware breakpoints are placed
// on it, which follow it when it is made anew.

// mostMethods is how many breakpoints a CPU has.
const mostMethods = 4

func parseMethod(m *matcher, s *spec) bool {
	if len(s.parts) != 1 {
		return m.argCount(s, 1)
	}
	if s.fn = s.parts[0]; s.fn == "" {
		m.diags.Errorf(s.ap.Span, "method probe must have a method").Hint("the form is %s", s.kind.form)
		return false
	}
	return true
}

// methods are those of a process, and the probes on them.
type methods struct {
	of     []runtimes.Methods
	err    error // why there are none
	probed []*probedMethod
}

// used is how many breakpoints the probes take.
func (ms *methods) used() (n int) {
	for _, p := range ms.probed {
		n += len(p.points())
	}
	return n
}

// probedMethod is a method with its point at an attach point: or, of its return, with as many as there are places.
type probedMethod struct {
	runtimes.Method
	name    string
	rank    int
	point   *probe.Point
	steps   *probe.Point // of the calls that are interpreted; nil: these are not seen
	returns []*probe.Point
	at      uint64 // code whose ends these are
	ends    []uint64
	err     error
}

// points are all that it has.
func (p *probedMethod) points() []*probe.Point {
	switch {
	case p.steps != nil:
		return []*probe.Point{p.point, p.steps}
	case p.point != nil:
		return []*probe.Point{p.point}
	}
	return p.returns
}

func (ms *methods) close() {
	if ms != nil {
		for _, of := range ms.of {
			of.Close()
		}
	}
}

// managedMethods opens the runtimes of the process.
func (m *matcher) managedMethods() (*methods, error) {
	if m.files.methods != nil {
		return m.files.methods, m.files.methods.err
	}
	ms := &methods{}
	m.files.methods = ms
	if m.pid() == 0 || m.opts.ChildPID != 0 {
		ms.err = errors.New("methods are found in a process that runs: start it, and name it with -p")
		return ms, ms.err
	}
	var known []string
	for _, r := range Runtimes() {
		if r.Methods == nil {
			continue
		}
		known = append(known, r.Name)
		of, err := r.Methods(int(m.files.pid()))
		switch {
		case err != nil:
			ms.err = fmt.Errorf("process %d runs %s, whose methods cannot be probed: %w", m.pid(), r.Name, err)
		case of != nil:
			ms.of = append(ms.of, of)
		}
	}
	if len(ms.of) == 0 && ms.err == nil {
		ms.err = fmt.Errorf("process %d runs no runtime whose methods are found: %s", m.pid(), strings.Join(known, ", "))
	}
	return ms, ms.err
}

// find finds the methods that a pattern means, by their whole names or without packages.
func (ms *methods) find(pattern string) (found []runtimes.Method, cut bool) {
	for _, pattern := range []string{pattern, "*." + pattern} {
		prefix, _, _ := strings.Cut(pattern, "*")
		prefix, _, _ = strings.Cut(prefix, "(")
		for _, of := range ms.of {
			list, less := of.Find(prefix, func(name, types string) bool {
				return matchGlob(pattern, name) || matchGlob(pattern, name+types)
			})
			found, cut = append(found, list...), cut || less
		}
		if len(found) > 0 {
			break
		}
	}
	return found, cut
}

// methodNames are the names of methods, with the types of their parameters where several have one.
func methodNames(found []runtimes.Method) []string {
	count, names := map[string]int{}, make([]string, len(found))
	for i := range found {
		count[found[i].Name]++
	}
	for i := range found {
		if names[i] = found[i].Name; found[i].Overloaded || count[names[i]] > 1 {
			names[i] += found[i].Types
		}
	}
	return names
}

// tellCut says that there may be more.
func (m *matcher) tellCut(s *spec, cut bool) {
	if cut {
		m.diags.Warnf(s.ap.Span, "the process has more methods than are looked for: some that match may be missing")
	}
}

func matchMethod(m *matcher, s *spec) (points []*probe.Point) {
	ms, err := m.managedMethods()
	if err != nil {
		m.diags.Errorf(s.ap.Span, "%s", err)
		return nil
	}
	found, cut := ms.find(s.fn)
	m.tellCut(s, cut)
	names := methodNames(found)
	refused, why := 0, ""
	ends := s.kind.kind == probe.MethodReturn
	var candidates []*probedMethod
	for i, method := range found {
		if method.NoCode != "" {
			refused, why = refused+1, names[i]+" has no code of its own: "+method.NoCode
			continue
		}
		body, err := method.Body()
		if err != nil {
			continue // its class was just unloaded
		}
		p := probe.Point{
			Kind: s.kind.kind, Name: s.kind.name + ":" + names[i], Func: names[i], PID: m.pid(), Start: method.ID,
			Addr: body.Addr, Away: method.Away, Scope: method.Scope,
		}
		c := &probedMethod{Method: method, name: names[i], rank: body.Rank}
		if candidates = append(candidates, c); !ends {
			c.point = &p
			continue
		}
		p.Scope, p.Away = method.Result, 0
		if why := method.Unpaired(); why != "" {
			p.Call = &probe.Call{Unknown: why}
		}
		c.find(body)
		for i := range max(1, len(c.ends)) { // one may be needed later
			p := p
			if p.Addr = 0; i < len(c.ends) {
				p.Addr = c.ends[i]
			}
			c.returns = append(c.returns, &p)
		}
	}
	order.By(candidates, func(a, b *probedMethod) int { return b.rank - a.rank })
	room, left := 0, mostMethods-ms.used()
	for _, c := range candidates {
		if left -= len(c.points()); left < 0 {
			break
		}
		room++
	}
	if n := len(candidates); n > room {
		if room == 0 {
			m.diags.Errorf(s.ap.Span, "%s: no hardware breakpoint is left for it: the CPU has %d, of which each method "+
				"takes one, and each place where it returns (%d)", s.fn, mostMethods, len(candidates[0].ends))
			return nil
		}
		m.diags.Warnf(s.ap.Span, "%s fits %d methods, whose code is in no file: each takes a hardware breakpoint, of which "+
			"the CPU has %d. Traced are %s; left out are %s", s.fn, n, mostMethods, fewNames(candidates[:room]),
			fewNames(candidates[room:]))
		candidates = candidates[:room]
	}
	m.tellReplaced(s, candidates)
	for _, c := range candidates {
		points = append(points, c.points()...)
	}
	ms.probed = append(ms.probed, candidates...)
	switch {
	case len(points) > 0 && refused > 0:
		m.diags.Warnf(s.ap.Span, "%d of the methods are left out: %s", refused, why)
	case len(points) > 0:
	case refused > 0:
		m.diags.Errorf(s.ap.Span, "%s", why)
	default:
		m.noMethod(ms, s)
	}
	return points
}

// interpretedCalls adds the points of calls that are interpreted, as long as there are breakpoints: first of methods
// that are not compiled. Where returns are probed that is left out, because those of the interpreter are not seen.
func (m *matcher) interpretedCalls(matches [][]probe.Match) {
	ms := m.files.methods
	if ms == nil {
		return
	}
	returns := func(p *probedMethod) bool { return p.point == nil }
	for _, compiled := range []bool{false, true} {
		for _, p := range ms.probed {
			paired := func(q *probedMethod) bool { return returns(q) && q.ID == p.ID }
			if returns(p) || p.steps != nil || ms.used() == mostMethods || (p.rank > 0) != compiled ||
				slices.ContainsFunc(ms.probed, paired) {
				continue
			}
			word, next := p.Interpreted()
			if word == 0 {
				continue
			}
			at := *p.point
			at.Away, at.Addr, at.Next, at.WatchLen, at.WatchMode, at.Scope = 0, word, next, 8, "rw", p.InterpretedScope
			p.steps = &at
			for _, list := range matches {
				for i := range list {
					if n := slices.Index(list[i].Points, p.point); n >= 0 {
						list[i].Points = slices.Insert(list[i].Points, n+1, p.steps)
					}
				}
			}
		}
	}
}

// tellReplaced says of which methods calls may have no code of theirs.
func (m *matcher) tellReplaced(s *spec, list []*probedMethod) {
	list = slices.DeleteFunc(slices.Clone(list), func(p *probedMethod) bool { return !p.Replaced })
	if len(list) > 0 && s.kind.kind == probe.Method {
		m.diags.Warnf(s.ap.Span, "calls of %s by compiled code may not be seen: the compiler has instructions of its own "+
			"for them (intrinsics)", fewNames(list))
	}
}

// fewNames names some of the methods.
func fewNames(list []*probedMethod) string {
	const most = 8
	var names []string
	for _, c := range list[:min(len(list), most)] {
		names = append(names, c.name)
	}
	if n := len(list) - most; n > 0 {
		names = append(names, fmt.Sprintf("%d more", n))
	}
	return strings.Join(names, ", ")
}

// noMethod reports that no method fits.
func (m *matcher) noMethod(ms *methods, s *spec) {
	d := m.missing(s, "No method matches %s", s.fn)
	if d == nil {
		return
	}
	class, _, _ := strings.Cut(s.fn, "(")
	if i := strings.LastIndexByte(class, '.'); i > 0 && !hasWildcard(s.fn) {
		var others []string
		siblings, _ := ms.find(class[:i+1] + "*")
		for _, method := range siblings {
			others = append(others, method.Name)
		}
		if n := near.Names(class, others); len(n) > 0 {
			d.Hint("did you mean %s?", near.List(n))
			return
		}
	}
	d.Hint("classes are known once the program has loaded them: `trocar list -p %d 'method:*'` shows their methods",
		m.pid())
}

func listMethods(m *matcher, s *spec) (out []listing) {
	ms, err := m.managedMethods()
	if err != nil {
		if !s.skip {
			m.diags.Errorf(s.ap.Span, "%s", err)
		}
		return nil
	}
	found, cut := ms.find(s.fn)
	m.tellCut(s, cut)
	names := methodNames(found)
	for i, method := range found {
		out = append(out, listing{name: syntax.QuoteWord(names[i]), params: func() []string {
			state := method.NoCode
			if body, err := method.Body(); state == "" && err == nil {
				state = body.State
			}
			return append(method.Declared, "# "+state)
		}})
	}
	return out
}

// find finds where a piece of code of a method ends, if it is another than before.
func (p *probedMethod) find(body runtimes.Body) {
	if body.Addr == p.at && p.err == nil {
		return
	}
	if p.at, p.ends, p.err = body.Addr, nil, nil; body.Addr != 0 {
		p.ends, p.err = p.Ends(body)
	}
}

// Bodies tells where the code of the methods is now that are probed; with copies, also where else it is. Where the
// return of one cannot be seen nothing of it is probed, so that no call seems to last. Returns come first. Of a process
// that has ended nothing is known.
func (r *Result) Bodies(copies bool) (list []probe.Body) {
	if r.files == nil || r.files.methods == nil {
		return nil
	}
	unseen := map[uint64]string{}
	for _, m := range r.files.methods.probed {
		if m.point != nil {
			continue
		}
		now, body := m.now()
		m.find(body)
		n := len(m.ends)
		switch {
		case m.returns[0].Call == nil && m.Unpaired() != "": // by now
			unseen[m.ID] = now.State + ": " + m.Unpaired()
		case m.err != nil:
			unseen[m.ID] = fmt.Sprintf("%s: its returns are not seen: %v", now.State, m.err)
		case n > len(m.returns):
			unseen[m.ID] = fmt.Sprintf("%s, and returns at %d places, for which no debug registers were reserved: "+
				"a trace that begins now has them", now.State, n)
		}
		if unseen[m.ID] != "" {
			n, now.State = 0, unseen[m.ID]
		}
		for i, p := range m.returns {
			at := now
			if at.Point, at.Addr, at.Idle = p, 0, i >= n; i < n {
				at.Addr = m.ends[i]
			}
			list = append(list, at)
		}
	}
	for _, m := range r.files.methods.probed {
		if m.point == nil {
			continue
		}
		now, _ := m.now()
		if now.Point = m.point; unseen[m.ID] != "" {
			now.Addr, now.State = 0, unseen[m.ID]
		}
		if copies {
			now.Inlined, now.Unknown = m.Inlined()
		}
		if m.steps != nil {
			at := probe.Body{Point: m.steps, State: now.State, Final: true}
			if word, next := m.Interpreted(); !now.Gone && next == m.steps.Next {
				at.Addr, now.Idle = word, now.Addr == 0
			}
			list = append(list, at)
		}
		list = append(list, now)
	}
	if slices.ContainsFunc(r.files.methods.of, runtimes.Methods.Ended) {
		return nil
	}
	return list
}

// now is where its code is.
func (p *probedMethod) now() (probe.Body, runtimes.Body) {
	body, err := p.Body()
	if err != nil {
		body.State = err.Error()
	}
	return probe.Body{Addr: body.Addr, State: body.State, Kept: p.Kept, Final: body.Final, Gone: err != nil}, body
}
