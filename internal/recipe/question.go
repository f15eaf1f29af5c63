package recipe

import (
	"fmt"
	"strings"
	"time"

	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// Question asks about the calls of functions. It is plain data; the public package has the same type under the same
// name.
type Question struct {
	Kind      string   // one of Kinds
	Functions []string // names or patterns, see Find
	Path      string   // program or library that has them; "": that of the process

	Args      []string      // expressions to show instead of all parameters
	Results   []string      // expressions to show with the result, as they are when the call returns
	By        []string      // expressions to count by
	Value     string        // expression whose values are counted
	Table     bool          // each value by itself, not in ranges
	Linear    [3]int64      // ranges of one width: from, to, width; zero: powers of two
	Every     time.Duration // show what has been counted so often, and begin anew; 0: only at the end
	Top       int           // only so many of what is counted, the largest; 0: all
	Histogram bool          // latency: with a histogram of each
	Frequency int           // profile: samples a second on each CPU; 0: DefaultFrequency
	Older     time.Duration // leaks: only blocks that were allocated at least so long ago
	If        string        // only calls for which this holds
	Own       bool          // syscalls, profile, offcpu, locks, functions that are system calls: the tracer's own, too
	Comm      string        // only threads of this name
	Min       time.Duration // only calls that took at least this
	Stack     bool          // with the stack
	Strlen    int           // bytes of a string that are shown; 0: the language's default
	Depth     int           // how deep values inside others are shown; 0: the language's default, -1: not at all
	Enter     bool          // show calls when they begin, too
	Lines     int           // end after so many lines; 0: no limit
	For       time.Duration // end after this time; 0: no limit
	Values    bool          // values for machines, not lines of text
}

// Script is a question's script with what has to be said about it.
type Script struct {
	Text    string
	Notices []string
	Totals  []Total
	Clauses []Clause
	Nothing bool // no function is left, and diagnostics say why
}

// Clause is a probe of the script: where it begins, and the functions that it is about (Function.Entry).
type Clause struct {
	Line      int
	Functions []string
}

// Expressions tells whether the question has expressions, which may mean nothing to some functions.
func (o Question) Expressions() bool {
	return len(o.Args)+len(o.By)+len(o.Results) > 0 || o.If != "" || o.Value != ""
}

// Total is a line at the end of a run about what the results do not say: the value of a map without keys.
type Total struct {
	Map  string // with its @
	Over int64  // nothing is said unless the value is more; it is subtracted
	One  string // the line if 1 is left
	Many string // the line if more is left, for which a %d stands in it
}

// Text is the line for a value of the map, "" if there is nothing to say.
func (t *Total) Text(value int64) string {
	switch n := value - t.Over; {
	case n < 1:
		return ""
	case n == 1:
		return t.One
	default:
		return fmt.Sprintf(t.Many, n)
	}
}

// kind is a kind of question.
type kind struct {
	name  string
	write func([]Function, Question, *diag.List) Script
}

func kinds() []kind {
	return []kind{
		{"trace", Trace},
		{"count", Count},
		{"latency", Latency},
		{"dist", Dist},
		{"stack", Stack},
		{"syscalls", Syscalls},
		{"profile", Profile},
		{"offcpu", OffCPU},
		{"leaks", Leaks},
		{"locks", Locks},
	}
}

// Kinds are the kinds of questions.
func Kinds() (names []string) {
	for _, k := range kinds() {
		names = append(names, k.name)
	}
	return names
}

// Write writes the script of a question about functions that were found.
func Write(q Question, fns []Function, diags *diag.List) Script {
	for _, k := range kinds() {
		if k.name != q.Kind {
			continue
		}
		s := k.write(fns, q, diags)
		if len(s.Text) > syntax.MaxScript {
			diags.Errorf(diag.Span{}, "%d functions match: more than %s can tell apart", len(fns), q.Kind).
				Hint("select fewer of them, as by the first part of their names; count, latency and stack take any number")
			return Script{}
		}
		return s
	}
	diags.Errorf(diag.Span{}, "unknown kind of question %q", q.Kind).Hint("valid: %s", strings.Join(Kinds(), ", "))
	return Script{}
}
