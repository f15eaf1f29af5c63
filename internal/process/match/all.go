// Package match finds the points that the attach points of a script mean: the grammar of each kind of probe, how a
// specification is matched to points in binaries and processes, and which variables are in scope there.
//
// Matching changes nothing and needs no more rights than to read the target; attaching is package kernel's.
//
// It is more than 4,000 lines because each kind brings its grammar, its matching and its list, and all of them share
// the files that were opened, what was said of them and the limits of the script.
package match

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
	"trocar/internal/near"
	"trocar/internal/process/probe"
	"trocar/internal/process/target"
	"trocar/internal/process/tracefs"
	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// matcher holds what one run of All or List needs.
type matcher struct {
	ctx     context.Context // see done
	opts    Options
	needs   probe.Needs // of the probe
	diags   *diag.List
	kinds   []kind
	named   map[string]diag.Span // test and bench probes by name
	files   *files
	count   int
	listing bool // for -l: patterns stay patterns
	stays   bool // points stay where they are, whatever is not in its place there
	iters   int  // iter attach points of the probe

	begins []*probe.Point // of the attach point's functions

	filtered bool // the probe has points that are filtered out

	// noReturns has the names of functions of the attach point whose return cannot be probed, by reason.
	noReturns leftOut

	harms    leftOut   // places of the attach point that must not be probed, by reason (hazard.go)
	vectors  *bool     // Options.VectorsStepped, once asked
	past     int       // places of the attach point that were looked for behind a vector instruction
	last     *binary   // that a point was looked up in
	tails    int       // functions of the attach point whose result is not seen where they end in tail calls
	replaced *replaced // nil: not looked at

	far map[*objfile.File]*farJumps

	lacking map[string]*types.Type // types of which members are not available, by what they lack

	kernelFuncs *kernelFunctions
	tracefs     *tracefs.FS // nil until something needs it
}

func newMatcher(ctx context.Context, opts Options, diags *diag.List) *matcher {
	return &matcher{
		ctx: ctx, opts: opts, diags: diags, kinds: kinds(), named: map[string]diag.Span{}, files: newFiles(ctx, opts),
		noReturns: leftOut{}, harms: leftOut{},
		needs: probe.Needs{Args: true, Retval: true, ArgN: true, Name: true},
	}
}

// done tells that nobody waits for the result any more. What is found from then on is not used, so that it only matters
// that nothing takes long.
func (m *matcher) done() bool { return m.ctx.Err() != nil }

// close gives back what a list needed.
func (m *matcher) close() {
	m.files.close()
	m.closeTrace()
}

// pid is the process that is traced: -p or the child of -c; 0: all.
func (m *matcher) pid() int {
	if m.opts.ChildPID != 0 {
		return m.opts.ChildPID
	}
	return m.opts.PID
}

// All finds the points of all probes of a script. There is an entry of Result.Matches for each probe, with one Match
// for each attach point, more if a pattern for the kind was expanded. Errors are in Result.Diags; their texts are
// bpftrace's where it has one, since scripts' tests look for them. The result is to be closed when no more is asked of
// its types.
func All(ctx context.Context, probes []*syntax.Probe, opts Options) *Result {
	r := &Result{Matches: make([][]probe.Match, len(probes)), about: make([][]*diag.Diagnostic, len(probes))}
	m := newMatcher(ctx, opts, &r.Diags)
	r.files = m.files
	defer m.closeTrace()
	defer m.files.closeUnused()
	if !m.checkProcess() {
		return r
	}
	for i, p := range probes {
		if opts.Needs != nil {
			m.needs = opts.Needs[i]
		}
		before := len(r.Diags.All)
		r.Matches[i] = m.probe(p)
		r.about[i] = r.Diags.All[before:len(r.Diags.All):len(r.Diags.All)]
	}
	m.interpretedCalls(r.Matches)
	if opts.Needs == nil || !opts.Plain {
		r.Write = m.write(r)
	}
	if m.opts.MaxProbes > 0 && m.count > m.opts.MaxProbes && r.Diags.Errors() == 0 {
		r.Diags.Errorf(diag.Span{}, "Can't attach to %d probes because it exceeds the current limit of %d probes.", m.count,
			m.opts.MaxProbes).
			Hint("You can increase the limit through the BPFTRACE_MAX_PROBES environment variable or `config = { max_probes "+
				"= %d }`", m.count)
	}
	return r
}

// Close gives back the files whose debug information the points' types come from. What is behind pointers of these
// types stays incomplete from then on where nobody has looked, unless another user has the file open.
func (r *Result) Close() {
	if r.files != nil {
		r.files.close()
	}
}

// Type finds a type by name ("struct foo", "foo_t", "ns::Class") in the debug information of the file that a point lies
// in, nil if it is not there. Where several are of that name, the one that the point's function sees counts;
// debuginfo.ErrAmbiguous (wrapped) if that does not decide.
func (r *Result) Type(p *probe.Point, name string) (*types.Type, error) {
	if r.files == nil || p.Path == "" {
		return nil, nil
	}
	b := r.files.byPath(p.Path)
	if b == nil {
		return nil, nil
	}
	info, err := b.debug()
	if err != nil {
		for _, c := range b.runtimes() {
			if t, ok := c.TypeNamed(strings.TrimPrefix(name, "struct ")); ok {
				return t, nil
			}
		}
		return nil, nil
	}
	fn, err := info.FunctionAt(p.Addr)
	if err != nil {
		fn = nil
	}
	t, err := info.TypeNamed(name, fn)
	switch {
	case errors.Is(err, debuginfo.ErrAmbiguous):
		return nil, err
	case err != nil:
		return nil, nil
	}
	return t, nil
}

// Enumerator finds a named value of an enum of the file that a point lies in. Where the name has several values the
// program's own unit decides; an error says which there are if it does not.
func (r *Result) Enumerator(p *probe.Point, name string) (t *types.Type, value int64, err error) {
	if r.files == nil || p.Path == "" {
		return nil, 0, debuginfo.ErrNotFound
	}
	b := r.files.byPath(p.Path)
	if b == nil {
		return nil, 0, debuginfo.ErrNotFound
	}
	info, err := b.debug()
	if err != nil {
		return nil, 0, err
	}
	fn, err := info.FunctionAt(p.Addr)
	if err != nil {
		fn = nil
	}
	found, err := info.Enumerators(name, fn)
	if err != nil || len(found) == 0 {
		return nil, 0, debuginfo.ErrNotFound
	}
	for _, e := range found[1:] {
		if e.Value != found[0].Value {
			return nil, 0, fmt.Errorf("%w: %d in %s, %d in %s", probe.ErrAmbiguous, found[0].Value, found[0].Enum, e.Value,
				e.Enum)
		}
	}
	return found[0].Enum, found[0].Value, nil
}

// Symbol is a variable or function of a file.
type Symbol struct {
	Place types.Place // in memory
	Size  uint64
}

// Symbol finds a variable or function by name in the file that a point lies in.
func (r *Result) Symbol(p *probe.Point, name string) (Symbol, error) {
	b, err := r.fileOf(p)
	if err != nil {
		return Symbol{}, err
	}
	s, err := r.symbolIn(b, name)
	return r.settle(p, b, s, err)
}

// fileOf is the file of which a script means variables at a point: where that lies, else the program of the process.
func (r *Result) fileOf(p *probe.Point) (b *binary, err error) {
	switch {
	case r.files == nil || p.Path == "" && p.PID == 0:
		return nil, fmt.Errorf("%s is not in a file", p.Name)
	case p.Path == "":
		return r.files.exe()
	}
	if b = r.files.byPath(p.Path); b == nil {
		err = fmt.Errorf("%s cannot be opened any more", p.Path)
	}
	return b, err
}

// settle gives what belongs to a file the address that it has in the process, at points where the instruction pointer
// does not tell. A thread's own things stay relative to that.
func (r *Result) settle(p *probe.Point, b *binary, s Symbol, err error) (Symbol, error) {
	if err != nil || p.Path != "" || slices.ContainsFunc(s.Place.Ops, func(op types.PlaceOp) bool {
		return op.Code == types.PushThread
	}) {
		return s, err
	}
	addr, err := r.files.address(b, s.Place)
	if err != nil {
		return s, fmt.Errorf("%w: %w", probe.ErrUnavailable, err)
	}
	s.Place = types.Absolute(addr)
	return s, nil
}

func (r *Result) symbolIn(b *binary, name string) (Symbol, error) {
	addr, size, ok := b.obj.Symbol(name)
	switch {
	case ok && b.obj.Type() == objfile.TypeExec:
		return Symbol{types.Absolute(addr), size}, nil
	case ok:
		return Symbol{types.Loaded(addr), size}, nil
	}
	place, size, err := r.files.threadLocal(b, name)
	if errors.Is(err, objfile.ErrNoSymbol) {
		//lint:ignore ST1005 bpftrace's words, which scripts' tests look for
		return Symbol{}, fmt.Errorf("Could not resolve symbol: %s:%s", b.name, name)
	}
	if err != nil {
		return Symbol{}, fmt.Errorf("the address of %s is not available: %w", name, err)
	}
	return Symbol{place, size}, nil
}

// Points are the points of all probes, in order.
func (r *Result) Points() (points []*probe.Point) {
	for i := range r.Matches {
		points = append(points, r.PointsOf(i)...)
	}
	return points
}

// PointsOf are the points of one of the probes.
func (r *Result) PointsOf(i int) (points []*probe.Point) {
	for _, m := range r.Matches[i] {
		points = append(points, m.Points...)
	}
	return points
}

// About is what Diags has on one of the probes.
func (r *Result) About(i int) []*diag.Diagnostic { return r.about[i] }

// Count is the number of probes as users count them: one for each name at each attach point, however many places it
// has.
func (r *Result) Count() int {
	n := 0
	for _, ms := range r.Matches {
		for _, m := range ms {
			n += countNames(m.Points)
		}
	}
	return n
}

func countNames(points []*probe.Point) int {
	if len(points) < 2 {
		return len(points)
	}
	names := make(map[string]bool, len(points))
	for _, p := range points {
		names[p.Name] = true
	}
	return len(names)
}

// Lives reports a process that is not there.
func Lives(pid int, diags *diag.List) bool {
	return newMatcher(context.Background(), Options{PID: pid}, diags).checkProcess()
}

// checkProcess reports a process that is not there.
func (m *matcher) checkProcess() bool {
	if m.opts.PID == 0 {
		return true
	}
	pid := target.PID(m.opts.PID)
	if !pid.Exists() {
		m.diags.Errorf(diag.Span{}, "no process %d", m.opts.PID).
			Hint("look it up with `pgrep NAME`; the pid must be that of this PID namespace")
		return false
	}
	if st, err := pid.Living().Stat(); err == nil && st.Dead() {
		m.diags.Errorf(diag.Span{}, "process %d has exited (it is a zombie)", m.opts.PID)
		return false
	}
	return true
}

func (m *matcher) probe(p *syntax.Probe) []probe.Match {
	var matches []probe.Match
	m.iters, m.filtered = 0, false
	failed := m.diags.Errors()
	points := 0
	for i, ap := range p.Points {
		if ap.Kind == "" && len(ap.Parts) == 0 {
			continue // behind a trailing comma
		}
		for _, s := range m.specs(ap) {
			if m.done() {
				return matches
			}
			m.begins = nil
			got := m.spec(s)
			if i == 0 && p.Name != "" {
				for _, pt := range got {
					pt.Name = p.Name
				}
			}
			points += len(got)
			m.count += countNames(got)
			matches = append(matches, probe.Match{Spec: ap, Points: got, Entries: m.begins})
		}
	}
	if points == 0 && m.diags.Errors() == failed && !m.filtered {
		m.noPoints(p)
	}
	return matches
}

// noPoints reports a probe that nothing was found for.
func (m *matcher) noPoints(p *syntax.Probe) {
	span := p.Span
	if len(p.Points) > 0 {
		span = p.Points[0].Span
	}
	switch m.opts.Missing {
	case "warn":
		m.diags.Warnf(span, "Probe has no valid attach points. It is being removed which may cause issues with program "+
			"behavior.")
	case "ignore":
	default:
		m.diags.Errorf(span, "Probe has no valid attach points. If this is expected, set the 'missing_probes' config "+
			"variable to 'warn'.")
	}
}

// missing reports an attach point without match, as the config says, and gives the diagnostic for notes and hints; nil
// if it is to be ignored.
func (m *matcher) missing(s *spec, format string, args ...any) *diag.Diagnostic {
	text := fmt.Sprintf(format, args...)
	mode := m.opts.Missing
	if mode != "ignore" && mode != MissingRefused && hasWildcard(s.target+s.ns+s.fn) {
		mode = "warn" // a pattern may fit nothing; if nothing else is left of the probe either, that is an error
	}
	switch mode {
	case "ignore":
		return nil
	case "warn":
		return m.diags.Warnf(s.ap.Span, "%s. Skipping.", text)
	}
	return m.diags.Errorf(s.ap.Span, "%s.", text)
}

// specs gives the kinds that an attach point means: one, or all that a pattern fits.
func (m *matcher) specs(ap *syntax.AttachPoint) []*spec {
	make := func(k *kind, skip bool) *spec {
		return &spec{ap: ap, kind: k, skip: skip, parts: slices.Clone(ap.Parts), quoted: ap.Quoted}
	}
	if !hasWildcard(ap.Kind) {
		k := findKind(m.kinds, ap.Kind)
		if k == nil {
			d := m.diags.Errorf(ap.Span, "Invalid probe type: %s", ap.Kind)
			if n := nearKinds(m.kinds, ap.Kind); len(n) > 0 {
				d.Hint("did you mean %s?", near.List(n))
			}
			return nil
		}
		return []*spec{make(k, false)}
	}
	// A path or a process asks for probes of programs, everything else for the kernel's.
	user := m.pid() != 0 || len(ap.Parts) > 0 && strings.Contains(ap.Parts[0], "/")
	pattern := ap.Kind
	if len(ap.Parts) == 0 {
		pattern = "*"
	}
	var out []*spec
	for i := range m.kinds {
		k := &m.kinds[i]
		if (user && k.among == probe.ProgramsSide || !user && k.among == probe.KernelSide) && matchGlob(pattern, k.name) {
			out = append(out, make(k, true))
		}
	}
	if len(out) == 0 {
		m.diags.Errorf(ap.Span, "No probe type matched for %s", ap.Kind)
	}
	return out
}

func (m *matcher) spec(s *spec) []*probe.Point {
	if !s.kind.parse(m, s) {
		return nil
	}
	points := m.partly(m.floats(m.harmless(s, s.kind.match(m, s))))
	if hasWildcard(s.target + s.ns + s.fn) {
		for _, p := range points {
			p.Pattern = true
		}
	}
	if m.opts.Filter != nil && s.kind.kind != probe.Begin && s.kind.kind != probe.End {
		n := len(points)
		points = slices.DeleteFunc(points, func(p *probe.Point) bool { return !m.opts.Filter(p.Name) })
		m.filtered = m.filtered || len(points) < n
	}
	return points
}

// failAttach reports what bpftrace finds out only when it attaches, in its words: they come without a place, which
// follows as a note.
func (m *matcher) failAttach(s *spec, format string, args ...any) *diag.Diagnostic {
	return m.diags.Errorf(diag.Span{}, format, args...).Note(s.ap.Span, "for this attach point")
}

func uintText(n uint64) string { return strconv.FormatUint(n, 10) }
