package match

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
	"trocar/internal/near"
	"trocar/internal/process/probe"
	"trocar/internal/process/runtimes/cpython"
	"trocar/internal/process/target"
	"trocar/internal/script/syntax"
)

// Python: functions that CPython executes in a process.

func parsePython(m *matcher, s *spec) bool {
	if len(s.parts) != 1 {
		return m.argCount(s, 1)
	}
	s.fn = s.parts[0]
	if s.fn == "" {
		m.diags.Errorf(s.ap.Span, "python probe must have a function").Hint("the form is %s", s.kind.form)
		return false
	}
	return true
}

// pythonProcess is the process with the functions that it had when they were looked for.
type pythonProcess struct {
	*cpython.Interpreter
	b         *binary
	functions []*cpython.Function
	cut       bool
	sought    []string // names and patterns of probes
	err       error    // why there is none
}

// python is the interpreter of the process; its functions are looked for once, for all attach points.
func (m *matcher) python() (*pythonProcess, error) {
	if m.files.python == nil {
		p := &pythonProcess{}
		if p.err = m.interpret(p); p.err == nil {
			p.functions, p.cut = p.Functions()
		}
		m.files.python = p
	}
	return m.files.python, m.files.python.err
}

// interpret opens the interpreter.
func (m *matcher) interpret(p *pythonProcess) error {
	if m.pid() == 0 || m.opts.ChildPID != 0 {
		return errors.New("functions of Python are found in a process that runs: name it with -p, or a command")
	}
	mapping, minor := cpython.Mapped(m.files.mappings())
	if mapping == nil {
		return fmt.Errorf("process %d does not run CPython 3", m.pid())
	}
	var err error
	if p.b, err = m.files.openMapping(mapping); err != nil {
		return err
	}
	if p.Interpreter, err = cpython.Interpret(m.files.pid(), mapping, p.b.obj); err != nil {
		return fmt.Errorf("process %d runs Python 3.%d, whose functions cannot be probed: %w", m.pid(), minor, err)
	}
	p.Loading = m.opts.Loading
	return nil
}

// PythonFrames is how frames of Python functions are found in the process; nil: it has none that are known, or has not
// loaded the interpreter yet.
func (r *Result) PythonFrames() *probe.PythonStacks {
	if r.files == nil || r.files.pid() == 0 {
		return nil
	}
	return cpython.Frames(r.files.mappings(), func(at *target.Mapping) (*objfile.File, error) {
		b, err := r.files.openMapping(at)
		if err != nil {
			return nil, err
		}
		return b.obj, nil
	})
}

// IsPython tells the name of a kind whose points are Python functions.
func IsPython(name string) bool {
	k := findKind(kinds(), name)
	return k != nil && (k.kind == probe.Python || k.kind == probe.PythonReturn)
}

// mostLate is how many functions are named that came too late.
const mostLate = 5

// Late tells of probes in files that the process has loaded since, and of functions of the process that fit the
// script's attach points, or those of Options.Asked, but were made after these were matched: they have no probes. It
// reads the process, for a second at most; of one that has ended nothing is known.
func (r *Result) Late() (texts []string) {
	if r.files == nil {
		return nil
	}
	texts = r.files.lateUSDT()
	if r.files.python == nil || r.files.python.err != nil {
		return texts
	}
	p := r.files.python
	patterns := slices.Clone(p.sought)
	for _, asked := range r.files.opts.Asked {
		word, name, _ := strings.Cut(asked, ":")
		if k := findKind(kinds(), word); k != nil && k.kind == probe.Python {
			patterns = append(patterns, name)
		}
	}
	known := make(map[uint64]*cpython.Function, len(p.functions)) // by their code
	for _, f := range p.functions {
		known[f.Code] = f
	}
	functions, cut := p.Functions()
	var late []string
	for _, f := range functions {
		fits := func(pattern string) bool { return fitsPython(pattern, f) }
		if was := known[f.Code]; (was == nil || !slices.Equal(was.Marks, f.Marks)) && slices.ContainsFunc(patterns, fits) {
			late = append(late, f.String())
		}
	}
	if len(late) > 0 {
		n, names := len(late), strings.Join(late[:min(len(late), mostLate)], ", ")
		if n > mostLate {
			names += ", …"
		}
		texts = append(texts, fmt.Sprintf("Python functions that match were loaded after the probes were attached, and "+
			"were not traced (%d): %s. To trace them, run it again", n, names))
	}
	if cut && !p.cut {
		texts = append(texts, fmt.Sprintf("the process has more Python functions than are looked for by now: whether some "+
			"that match were loaded after the probes were attached is known of %d only", len(functions)))
	}
	return texts
}

// pythonName is the name of a function as a pattern has it: the program itself is __main__, or what its file is called.
func pythonName(pattern string, f *cpython.Function) string {
	const program = "__main__"
	if f.Module == program && !strings.HasPrefix(pattern, program) {
		script := strings.TrimSuffix(path.Base(f.File), ".py")
		if name := script + "." + f.Qualified; !hasWildcard(pattern) || !matchGlob(pattern, f.String()) {
			return name
		}
	}
	return f.String()
}

// fitsPython tells whether a function is one that a pattern means.
func fitsPython(pattern string, f *cpython.Function) bool {
	name := pythonName(pattern, f)
	return matchGlob(pattern, name) || pattern == pythonAt(name, f)
}

// pythonFunctions are the functions of the process that a spec means, and the others.
func (m *matcher) pythonFunctions(p *pythonProcess, s *spec) (found []*cpython.Function, others []string) {
	if p.cut {
		m.diags.Warnf(s.ap.Span, "the process has more Python functions than are looked for: these are among %d",
			len(p.functions))
	}
	for _, f := range p.functions {
		if fitsPython(s.fn, f) {
			found = append(found, f)
		} else if !hasWildcard(s.fn) {
			others = append(others, pythonName(s.fn, f))
		}
	}
	return found, others
}

// pythonAt is the name of a function where others have it, too.
func pythonAt(name string, f *cpython.Function) string { return name + ":" + strconv.Itoa(f.Line) }

// pythonNames are the names of functions, with their lines where several have one.
func pythonNames(found []*cpython.Function) []string {
	count, names := map[string]int{}, make([]string, len(found))
	for i, f := range found {
		names[i] = f.String()
		count[names[i]]++
	}
	for i, f := range found {
		if count[names[i]] > 1 {
			names[i] = pythonAt(f.String(), f)
		}
	}
	return names
}

func matchPython(m *matcher, s *spec) (points []*probe.Point) {
	in, err := m.python()
	if err != nil {
		m.diags.Errorf(s.ap.Span, "%s", err)
		return nil
	}
	found, others := m.pythonFunctions(in, s)
	if len(found) == 0 {
		if d := m.missing(s, "No Python function matches %s", s.fn); d != nil {
			if n := near.Names(s.fn, others); len(n) > 0 {
				d.Hint("did you mean %s?", near.List(n))
			} else {
				d.Hint("`trocar list -p %d 'python:*'` shows those of the modules that the program has imported", m.pid())
			}
		}
		return nil
	}
	add := func(at []uint64, p probe.Point) {
		for _, addr := range at {
			p := p
			if m.place(&p, in.b, addr) != nil {
				points = append(points, &p)
			}
		}
	}
	ends := s.kind.kind == probe.PythonReturn
	if ends && !in.Ends() {
		m.diags.Errorf(s.ap.Span, "the places are not known where Python functions return in this interpreter")
		return nil
	}
	in.sought = append(in.sought, s.fn)
	names := pythonNames(found)
	scopes := map[string]*probe.Scope{} // equal ones share a program
	for i, f := range found {
		p := probe.Point{
			Kind: s.kind.kind, Name: s.kind.name + ":" + names[i], Func: names[i], Path: in.b.path, PID: m.pid(),
			Start:       f.Code,
			Interpreted: in.Tells(f),
		}
		if !ends {
			p.Scope = m.pythonScope(in.Interpreter, f, scopes)
			add(in.Places, p)
			continue
		}
		p.Interpreted.Begin = 0
		p.Scope = pythonResult(in.Interpreter, scopes, in.Returned(f))
		add(in.Returns, p)
		p.Scope = pythonResult(in.Interpreter, scopes, in.Constant(f))
		add(in.Constants, p)
	}
	return points
}

// pythonResult has the result of a function where it returns.
func pythonResult(in *cpython.Interpreter, scopes map[string]*probe.Scope, at types.Place) *probe.Scope {
	key := fmt.Sprint(at)
	if scopes[key] == nil {
		scopes[key] = &probe.Scope{
			ArgN:   probe.NoArgN("arguments are known where the function begins"),
			Retval: &probe.Var{Name: "retval", Type: in.Object, Place: at},
		}
	}
	return scopes[key]
}

// pythonScope has the parameters of a function where its body begins: in the frame, or in cells that the frame has.
func (m *matcher) pythonScope(
	in *cpython.Interpreter, f *cpython.Function, scopes map[string]*probe.Scope,
) *probe.Scope {
	if !m.needs.Args && !m.needs.ArgN {
		return nil
	}
	key := fmt.Sprint(f.Params)
	if sc := scopes[key]; sc != nil {
		return sc
	}
	sc := &probe.Scope{ArgN: []types.Place{}}
	for _, p := range f.Params {
		place := in.Place(p)
		sc.Args = append(sc.Args, probe.Var{Name: p.Name, Type: in.Object, Place: place})
		sc.ArgN, sc.ArgNTypes = append(sc.ArgN, place), append(sc.ArgNTypes, in.Object)
	}
	scopes[key] = sc
	return sc
}

func listPython(m *matcher, s *spec) (out []listing) {
	in, err := m.python()
	if err != nil {
		if !s.skip {
			m.diags.Errorf(s.ap.Span, "%s", err)
		}
		return nil
	}
	found, _ := m.pythonFunctions(in, s)
	names := pythonNames(found)
	for i, f := range found {
		out = append(out, listing{name: syntax.QuoteWord(names[i]), params: func() []string { return f.Declared() }})
	}
	return out
}
