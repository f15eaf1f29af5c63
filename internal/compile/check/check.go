package check

import (
	"fmt"

	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
	"trocar/internal/process/probe"
	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// checker is the state of one Check.
type checker struct {
	in    *Input
	file  *syntax.File
	diags *diag.List
	said  map[string]*diag.Diagnostic // messages already given: an action that is split is looked at several times
	act   *action                     // what messages are about
	cfg   Config
	defs  *definitions

	actions  []*action
	maps     map[string]*mapState
	mapOrder []*mapState
	getopts  []*getopt
	argTypes map[argsOf]*types.Type // types of whole args and vars
	givens   map[givenKey]*Given
	syscalls map[int]*SyscallArgs // by the number of the only one that it is about; -1: any
	pointsOf map[*syntax.Probe][]*probe.Point
	several  map[string]error // types that the program defines differently, by name
	unstable map[string]bool  // unstable features already warned about
	meanings *meanings
}

// action is a script probe's body for a group of its points, while it is checked.
type action struct {
	index  int
	probe  *syntax.Probe
	points []*probe.Point
	kind   probe.Kind
	// entries are where the functions begin that the points return from, if the body asks for durations.
	entries []*probe.Point
	body    *node // opBlock
	pred    *node
	vars    []*variable
}

// Check makes the typed program of a script. matches holds, for each of the file's probes, what its attach points
// matched (see match.Result). The file's macros are expanded already (syntax.Expand). After an error the program is
// nil.
func Check(file *syntax.File, matches [][]probe.Match, in Input, diags *diag.List) *Program {
	c := &checker{
		in: &in, file: file, diags: diags, said: map[string]*diag.Diagnostic{}, maps: map[string]*mapState{},
		unstable: map[string]bool{}, several: map[string]error{}, argTypes: map[argsOf]*types.Type{},
		syscalls: map[int]*SyscallArgs{},
		givens:   map[givenKey]*Given{}, pointsOf: map[*syntax.Probe][]*probe.Point{},
		meanings: newMeanings(),
	}
	before := diags.Errors()
	failed := func() bool { return diags.Errors() != before }

	if c.cfg = DefaultConfig(); in.Config != nil {
		c.cfg = *in.Config
	}
	c.defs = c.define(file.CDefs)
	if failed() {
		return nil
	}
	for i, p := range file.Probes {
		if len(file.Probes) != len(matches) {
			panic(fmt.Sprintf("%d probes but %d matches", len(file.Probes), len(matches)))
		}
		c.addActions(i, p, matches[i])
	}
	steps := []func(){c.foldParams, c.resolveMaps, c.readOptions, c.resolveNames, c.infer}
	for _, step := range steps {
		step()
		if failed() {
			return nil
		}
	}
	prog := c.build()
	c.checkOptions()
	if failed() {
		return nil
	}
	return prog
}

// addActions lowers a script probe, once for each group of points for which its code may differ.
func (c *checker) addActions(index int, p *syntax.Probe, matches []probe.Match) {
	var points []*probe.Point
	for _, m := range matches {
		points = append(points, m.Points...)
	}
	if len(points) == 0 {
		return
	}
	first := c.lower(index, p, points)
	if kept := c.withArgs(first, points); len(kept) < len(points) {
		points = kept
		first = c.lower(index, p, points)
	}
	c.pointsOf[p] = points
	groups := c.group(first, points)
	if len(groups) == 1 {
		first.entries = entriesOf(matches, points)
		c.actions = append(c.actions, first)
		return
	}
	for _, g := range groups {
		act := c.lower(index, p, g)
		act.entries = entriesOf(matches, g)
		c.actions = append(c.actions, act)
	}
}

// entriesOf are the entries of the functions that points return from.
func entriesOf(matches []probe.Match, points []*probe.Point) (entries []*probe.Point) {
	type function struct {
		path  string
		start uint64
	}
	wanted := map[function]bool{}
	for _, m := range matches {
		if len(m.Entries) == 0 {
			continue
		}
		if len(wanted) == 0 {
			for _, p := range points {
				wanted[function{p.Path, p.FunctionStart()}] = true
			}
		}
		for _, e := range m.Entries {
			f := function{e.Path, e.FunctionStart()}
			if wanted[f] {
				entries = append(entries, e)
				delete(wanted, f) // several attach points may name it
			}
		}
	}
	return entries
}

// errorf adds an error once.
func (c *checker) errorf(span diag.Span, format string, args ...any) *diag.Diagnostic {
	return c.say(diag.Error, span, format, args...)
}

// warnf adds a warning once.
func (c *checker) warnf(span diag.Span, format string, args ...any) *diag.Diagnostic {
	return c.say(diag.Warning, span, format, args...)
}

func (c *checker) say(sev diag.Severity, span diag.Span, format string, args ...any) *diag.Diagnostic {
	text := fmt.Sprintf(format, args...)
	key := fmt.Sprintf("%d %p %d %d %s", sev, span.Source, span.Start, span.End, text)
	d, again := c.said[key], true
	if d == nil {
		d, again = c.diags.Add(sev, span, "%s", text), false
		c.said[key] = d
	}
	if sev == diag.Error && c.act != nil {
		for _, p := range c.act.points {
			d.Points = append(d.Points, p.Name)
		}
	}
	if again {
		return &diag.Diagnostic{} // notes and hints were given the first time
	}
	return d
}

// callName returns the name under which messages speak of a builtin as it was called.
func callName(n *node) string {
	if n.str != "" {
		return n.str
	}
	return n.fn.ID.String()
}

func is(n *node, ids ...builtin.ID) bool {
	if n.op != opCall || n.fn == nil {
		return false
	}
	for _, id := range ids {
		if n.fn.ID == id {
			return true
		}
	}
	return false
}
