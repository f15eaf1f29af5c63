package trocar

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/btf"
	"trocar/internal/binary/image"
	"trocar/internal/order"
	"trocar/internal/recipe"
	"trocar/internal/script/diag"
	"trocar/result"
)

// Question asks about the calls of functions: what the commands trace, count, latency, dist and stack ask. It is
// plain data. Expressions are bpftrace's, over the functions' parameters by name, and where they return retval and
// duration, in nanoseconds.
type Question struct {
	// Kind is one of the kinds below.
	Kind string `json:"kind"`
	// Functions are names as in the source, exact or with wildcards. "lib:func" is in a library, "file.c:42" a line.
	Functions []string `json:"functions"`
	// Path is the program or library that has them; "": the program of the target, or of the threads that Comm names.
	Path string `json:"path,omitempty"`

	Args []string `json:"args,omitempty"` // trace: expressions to show instead of all parameters
	// trace: expressions to show with the result, read when the call returns
	Results []string `json:"results,omitempty"`
	By      []string `json:"by,omitempty"`    // count, latency, dist: for each value of these expressions
	Value   string   `json:"value,omitempty"` // dist: the expression
	Table   bool     `json:"table,omitempty"` // dist: each value by itself, not in ranges
	Linear  [3]int64 `json:"linear,omitzero"` // dist: ranges of one width: from, to, width; zero: powers of two
	// not trace: show what was counted, and begin anew, so often; 0: at the end
	Every     time.Duration `json:"every,omitempty"`
	Top       int           `json:"top,omitempty"`       // not trace: only so many of what is counted, the largest; 0: all
	Histogram bool          `json:"histogram,omitempty"` // latency: with a histogram of each
	Frequency int           `json:"frequency,omitempty"` // profile: samples a second on each CPU; 0: 99
	Older     time.Duration `json:"older,omitempty"`     // leaks: only blocks that were allocated at least so long ago
	If        string        `json:"if,omitempty"`        // only calls for which this expression holds
	// syscalls, profile, offcpu, locks, and functions that are system calls: also what the tracer itself does, which is
	// left out where all processes are traced
	Own   bool          `json:"own,omitempty"`
	Comm  string        `json:"comm,omitempty"`  // only threads of this name
	Min   time.Duration `json:"min,omitempty"`   // trace, latency, dist: only calls that took at least this
	Stack bool          `json:"stack,omitempty"` // trace: with the stack
	// trace: bytes of a text that are shown; 0: 1024, and 200 inside values
	Strlen int `json:"strlen,omitempty"`
	// trace: how deep values in others are shown; 0: 4, -1: not at all
	Depth int           `json:"depth,omitempty"`
	Enter bool          `json:"enter,omitempty"` // trace: show calls when they begin, too
	Lines int           `json:"lines,omitempty"` // trace: end after so many calls; 0: no limit
	For   time.Duration `json:"for,omitempty"`   // end after this time; 0: no limit
	// trace: a value with names for each call, in place of a line of text
	Values bool `json:"values,omitempty"`
}

// Kinds of questions.
const (
	QuestionTrace    = "trace"    // each call with its arguments, result and duration
	QuestionCount    = "count"    // how many calls there are
	QuestionLatency  = "latency"  // how long they take: number, total, mean, percentiles
	QuestionDist     = "dist"     // how the values of an expression are distributed
	QuestionStack    = "stack"    // by which stacks they are called
	QuestionProfile  = "profile"  // what runs on CPUs, by stack
	QuestionOffCPU   = "offcpu"   // how long threads wait, by why and by stack
	QuestionLocks    = "locks"    // how long threads wait for locks, by lock and by stack
	QuestionLeaks    = "leaks"    // which memory is allocated and not given back, by stack
	QuestionSyscalls = "syscalls" // which system calls are made, how long they take and how they fail
)

// Script is a script that was written for a question.
type Script struct {
	Text    string
	Notices []string // what it leaves out, and why
	// Settings belong to the request that runs it: one function that cannot be probed leaves the others be.
	Settings map[string]string
	Totals   []Total // for Request.Totals: what is to be said at the end
	// Functions are those that were found.
	Functions []Function
}

// Total is a line at the end of a run about what the results do not say: the value of a map without keys.
type Total struct {
	Map  string `json:"map"`            // with its @
	Over int64  `json:"over,omitempty"` // nothing is said unless the value is more; it is subtracted
	One  string `json:"one"`            // the line if 1 is left
	Many string `json:"many"`           // the line if more is left, for which a %d stands in it
}

// text is the line for a value of the map, "" if there is nothing to say.
func (t Total) text(value int64) string {
	r := recipe.Total(t)
	return r.Text(value)
}

// Function is a function that a question is about.
type Function struct {
	Name   string      // as in the source, without parameters
	Typed  bool        // debug information tells the parameters
	Params []Parameter // empty if not Typed
	Whole  bool        // it stands for all functions that a pattern fits, and Name is the pattern
}

// Parameter is a parameter of a function.
type Parameter struct {
	Name string // "" if it has none
	Type string // as in the source
}

// AmbiguousError is that a name stands for several things.
type AmbiguousError struct {
	What  string // the question, as in: "request" may be any of 2 types in ./server
	Names []string
}

// maxShown bounds the names that an AmbiguousError shows.
const maxShown = 40

func (e *AmbiguousError) Error() string {
	var b strings.Builder
	b.WriteString(result.ShownLine(e.What) + "; say which:")
	for i, n := range e.Names {
		if i == maxShown {
			b.WriteString("\n    …")
			break
		}
		b.WriteString("\n    " + result.ShownLine(n))
	}
	return b.String()
}

// Ask finds the functions that a request's question is about and writes the script that answers it. Nothing is
// changed, and no more rights are needed than to read the files. Errors are *CompileError: nothing fits, or an
// expression is wrong; *AmbiguousError or ErrNotFound (wrapped): the question names no program, and its Comm none or
// several.
func Ask(ctx context.Context, r Request) (*Script, error) {
	images := r.Files.images(ctx)
	defer images.done()
	host, err := abi.Host()
	if err != nil {
		return nil, err
	}
	return ask(ctx, r, images.Set, offers{filteredReturns: true, arch: host})
}

// Ask is the function Ask for a machine: the script uses what its kernel tells of threads that end.
func (m *Machine) Ask(ctx context.Context, r Request) (*Script, error) {
	images := r.Files.images(ctx)
	defer images.done()
	features, err := m.featuresWithout(r.Disable)
	if err != nil {
		return nil, err
	}
	return ask(ctx, r, images.Set, offers{
		vectorsStepped:  features.VectorsStepped,
		floats:          floatRegisters(features),
		wrong:           func(text string) []wrong { return m.wrong(ctx, r, text) },
		arch:            m.arch(),
		filteredReturns: true, threadEnds: btf.New(btf.Source(m.KernelTypes)).Available(),
	})
}

// offers is what a machine offers to questions.
type offers struct {
	arch            *abi.Arch
	vectorsStepped  func() bool                       // as in match.Options
	floats          func() (found bool, needs string) // as FloatRegisters in match.Options
	filteredReturns bool                              // as in match.Options
	// wrong gives what is wrong with a script; nil: that is not found out.
	wrong      func(text string) []wrong
	threadEnds bool // that a thread ends can be seen, and whether its process does
}

// ask is Ask with the files of a program that is compiled.
func ask(ctx context.Context, r Request, images *image.Set, on offers) (*Script, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if r.Question == nil {
		return nil, fmt.Errorf("%w: no question", ErrRequest)
	}
	if err := r.Target.resolve(); err != nil {
		return nil, err
	}
	q := *r.Question
	question := recipe.Question(q)
	if err := r.Target.leaders(); err != nil {
		return nil, err
	}
	if q.Path == "" && len(r.Target.Others) > 0 {
		if err := r.Target.oneProgram(); err != nil {
			return nil, err
		}
	}
	needs := !question.OfEvents() || question.OfLocks() && len(r.Target.Command) > 0
	if q.Path == "" && r.Target.running() == 0 && needs {
		switch {
		case len(r.Target.Command) > 0:
			q.Path = r.Target.Command[0]
		case q.Comm != "":
			var err error
			if q.Path, err = programOfComm(q.Comm); err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("%w: the question names no program, process or command", ErrRequest)
		}
	}
	var diags diag.List
	q.Own = q.Own || !r.Target.everywhere() || q.Comm != ""
	question = recipe.Question(q)
	find := recipe.Find
	switch {
	case question.OfMemory():
		find = recipe.FindAllocators
	case question.OfLocks():
		find = recipe.FindLocks
	}
	runs := ""
	if r.Target.running() == 0 && len(r.Target.Command) > 0 {
		runs = r.Target.Command[0]
	}
	fns := find(ctx, recipe.Target{
		Whole: question.Whole(), Together: question.Together(), ThreadEnds: on.threadEnds,
		Confined: r.Target.PID != 0 || len(r.Target.Command) > 0,
		Lines:    q.Kind == QuestionTrace, Arch: on.arch,
		Path: q.Path, PID: r.Target.running(), Loading: r.Target.loading(), Runs: runs,
		Patterns: q.Functions, SearchPath: r.Files.SearchPath,
		Images: images, VectorsStepped: on.vectorsStepped, FloatRegisters: on.floats, Spread: r.Target.several(),
		FilteredReturns: on.filteredReturns,
	}, &diags)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if diags.Errors() > 0 {
		return nil, compileError(&diags, true)
	}
	script, left := writeFor(question, &fns, on, &diags)
	if diags.Errors() > 0 {
		return nil, compileError(&diags, script.Nothing)
	}
	out := &Script{
		Text: script.Text, Notices: append(left, script.Notices...), Settings: map[string]string{"missing_probes": "warn"},
	}
	for _, d := range diags.All {
		text := d.Text
		if len(d.Hints) > 0 {
			text = strings.TrimSuffix(text, ".") + ": " + strings.Join(d.Hints, "; ")
		}
		out.Notices = append(out.Notices, text)
	}
	for _, t := range script.Totals {
		out.Totals = append(out.Totals, Total(t))
	}
	for i := range fns {
		f := Function{Name: fns[i].Name, Typed: fns[i].Typed, Whole: fns[i].Whole}
		for _, p := range fns[i].Params {
			f.Params = append(f.Params, Parameter{Name: p.Name, Type: p.Type})
		}
		out.Functions = append(out.Functions, f)
	}
	return out, nil
}

// mostTries is how often a script is written anew without the functions for which it is wrong.
const mostTries = 8

// writeFor writes a question's script. Functions for which the question's expressions mean nothing are taken from fns,
// if there are others, and what is left out is told.
func writeFor(q recipe.Question, fns *[]recipe.Function, on offers, diags *diag.List) (recipe.Script, []string) {
	last := write(q, *fns, on)
	names := map[string][]string{} // of what is left out, by the reason
	for range mostTries {
		rest := slices.DeleteFunc(slices.Clone(last.fns), func(f recipe.Function) bool { return last.why[f.Entry()] != "" })
		if len(rest) == len(last.fns) || len(rest) == 0 {
			break
		}
		next := write(q, rest, on)
		if next.said.Errors() > 0 {
			break // of the rest nothing can be shown either: what is wrong with the others is the reason
		}
		for i := range last.fns {
			if text := last.why[last.fns[i].Entry()]; text != "" {
				names[text] = append(names[text], last.fns[i].Name)
			}
		}
		last = next
	}
	diags.Append(&last.said)
	*fns = last.fns
	return last.script, allLeftOut(names)
}

// written is a script that was written for some functions.
type written struct {
	script recipe.Script
	fns    []recipe.Function
	said   diag.List
	why    map[string]string // what is wrong with it, by the entries of functions
}

// write writes a script and has it looked at. If it is wrong as a whole, no function is to blame.
func write(q recipe.Question, fns []recipe.Function, on offers) (w written) {
	w.fns = fns
	w.script = recipe.Write(q, fns, &w.said)
	if w.said.Errors() > 0 || on.wrong == nil || len(fns) < 2 || !q.Expressions() {
		return w
	}
	why := map[string]string{}
	for _, e := range first(on.wrong(w.script.Text), w.script.Text) {
		i := slices.IndexFunc(w.script.Clauses, func(c recipe.Clause) bool { return c.Line > e.line })
		if i < 0 {
			i = len(w.script.Clauses)
		}
		if i == 0 {
			return w
		}
		for _, entry := range e.functions(w.script.Clauses[i-1].Functions) {
			if why[entry] == "" {
				why[entry] = e.text
			}
		}
	}
	w.why = why
	return w
}

// first are the lines with what is wrong by itself: what is kept of a call has no type if something is wrong where it
// is kept. If there is no other it is the first line.
func first(all []wrong, script string) []wrong {
	lines := strings.Split(script, "\n")
	own := slices.DeleteFunc(slices.Clone(all), func(w wrong) bool {
		return w.line > len(lines) || strings.Contains(strings.ReplaceAll(lines[w.line-1], "$call.func_", ""), "$call")
	})
	if len(own) > 0 || len(all) == 0 {
		return own
	}
	line := slices.MinFunc(all, func(a, b wrong) int { return cmp.Compare(a.line, b.line) }).line
	return slices.DeleteFunc(all, func(w wrong) bool { return w.line != line })
}

// mostReasons is how many reasons for leaving functions out are told one by one.
const mostReasons = 4

// allLeftOut says which functions are left out, by the reasons, those that hold for most of them first.
func allLeftOut(names map[string][]string) (left []string) {
	reasons := slices.Sorted(maps.Keys(names))
	order.By(reasons, func(a, b string) int { return cmp.Compare(len(names[b]), len(names[a])) })
	var others []string
	for i, why := range reasons {
		if i < mostReasons || len(reasons) == mostReasons+1 {
			left = append(left, leftOut(names[why], why))
		} else {
			others = append(others, names[why]...)
		}
	}
	if len(others) > 0 {
		left = append(left, leftOut(others, fmt.Sprintf("%d more reasons of this kind", len(reasons)-mostReasons)))
	}
	return left
}

// leftOut says that functions are left out.
func leftOut(names []string, why string) string {
	const most = 3
	text := strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text + ": left out: " + why
}

// wrong is an error in a script that was written for a request.
type wrong struct {
	line   int
	text   string
	points map[string]bool // that it is about; none: all of its probe
}

// functions are those of a probe that it is about, by their entries.
func (w *wrong) functions(all []string) []string {
	about := slices.DeleteFunc(slices.Clone(all), func(entry string) bool {
		return !w.points[functionAt(entry)]
	})
	if len(about) == 0 {
		return all
	}
	return about
}

// functionAt is an attach point, or the name of a point, without what differs between the entry of a function and its
// returns: the kind of probe and the offset.
func functionAt(point string) string {
	_, name, _ := strings.Cut(strings.ReplaceAll(point, `"`, ""), ":")
	if i := strings.LastIndexByte(name, '+'); i >= 0 && strings.Trim(name[i+1:], "0123456789") == "" {
		name = name[:i]
	}
	return name
}

// wrong is what is wrong with a script that was written for a request, in the order of its lines.
func (m *Machine) wrong(ctx context.Context, r Request, text string) []wrong {
	r.Question, r.Script, r.Name = nil, text, "script"
	r.Target.Command = nil
	p, err := Compile(ctx, r, m)
	if err == nil {
		p.Close()
		return nil
	}
	var e *CompileError
	if !errors.As(err, &e) {
		return nil
	}
	var all []wrong
	for i := range e.Diagnostics {
		if d := &e.Diagnostics[i]; d.Severity == result.Error && d.At.Line > 0 {
			w := wrong{line: d.At.Line, text: d.Text, points: map[string]bool{}}
			for _, point := range e.points[i] {
				w.points[functionAt(point)] = true
			}
			all = append(all, w)
		}
	}
	order.By(all, func(a, b wrong) int { return cmp.Compare(a.line, b.line) })
	return all
}

// programOfComm finds the program that the processes of a name run.
func programOfComm(comm string) (string, error) {
	programs := map[string]int{} // a process of each
	Processes(func(p Process) {
		if p.Comm == comm {
			programs[p.Program] = p.PID
		}
	})
	switch len(programs) {
	case 0:
		return "", fmt.Errorf("no process is called %q: %w; for a thread's name, name its program or process as well",
			comm, ErrNotFound)
	case 1:
		for _, pid := range programs {
			return fmt.Sprintf("/proc/%d/exe", pid), nil
		}
	}
	names := slices.Sorted(maps.Keys(programs))
	return "", &AmbiguousError{fmt.Sprintf("processes called %q run %d programs", comm, len(names)), names}
}
