// Package recipe owns what the commands trace, count, latency, dist, stack and syscalls mean: it finds the functions
// that they ask about (Find) and writes the question as a script.
//
// A recipe is text made of the functions that were found and the options that were given. It needs nothing but these,
// so the same question always gives the same script, which can be shown, kept and changed.
//
// It is more than 4,000 lines because a question is asked about functions of all languages, however their arguments are
// passed and their calls end, and all is decided before a line of the script is written.
package recipe

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"trocar/internal/process/probe"
	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
	"trocar/result"
)

// Function is a function whose calls are looked at.
type Function struct {
	Point    string   // attach point of its entry, without its kind
	Returns  []string // attach points of its return, with their kind
	Leaves   []string // where it goes on in another function, which returns in its place
	Onward   []onward // the same, with where that is, if it was looked for
	Ends     []string // attach points of the instructions that return, if that was looked for
	Word     string   // the result as a word there
	NoReturn string   // why there is none
	Name     string   // as in the source
	Called   bool     // the builtin func shows Name
	Structor bool     // it is a constructor or destructor of C++, of which there may be several by one name
	Folded   []string // other functions that have the same code
	Line     bool     // it is a line of the source, not a function
	Lock     string   // expression of the lock that it waits for, if that is not arg0
	Count    int      // Whole: how many there are
	Mangled  bool     // Whole: some have names with parameters
	Probe    string   // attach point of its entry if that is no uprobe, with its kind
	Event    bool     // it is no call: nothing returns
	Errno    bool     // the result tells an error of the kernel by its number, below 0
	Syscalls bool     // it is all system calls, or (Numbers) several: they come by at one probe
	Numbers  []int    // of those that are meant; none: all
	Final    []int    // of those that do not return
	Syscall  bool     // it is a system call: its arguments are syscall_args
	Args     int      // arguments that have numbers only
	Whole    bool     // it is all functions that a pattern fits, of which nothing else is known

	Typed  bool // the parameters are known
	Params []Value
	Result *Value
	// ResultExpr gives the result where the return is probed.
	ResultExpr string

	// EntryKey and ReturnKey tell a call from all others that are open, where the entry and where the return is probed.
	// "": not known.
	EntryKey, ReturnKey string
	// Tail is the attach point of where it goes on in another function, if code of it is made while the process runs: in
	// that of the file, too.
	Tail string
	// Parted: some of Returns and Leaves are in parts of the function, which others call as well. A call that was left may
	// have been in the same frame, but not from there.
	Parted bool
	// BareKey is EntryKey where the function is probed whose arguments are not asked for: at its first instruction, not
	// where the arguments are in their places.
	BareKey string
	// Tasks are what runs it, which are shown in place of threads; nil: threads.
	Tasks *probe.Tasks
	// NoDebug is how debug information is got for the file, if that has none and a runtime runs its code.
	NoDebug string
	Managed bool // a runtime runs it that throws its exceptions itself: nothing else leaves its calls
	// Replaced: its code may be given up while a call is in it, which goes on elsewhere.
	Replaced bool
	unmade   bool // all of its calls are interpreted so far
	// breaks is how many debug registers its returns take.
	breaks int
	Panics bool // what leaves its calls is called a panic, not an exception
	// Leaving is what tells that calls are left; nil: nothing does.
	Leaving *Leaving
	// Unseen are calls that probes of its code do not see, which return probes say themselves.
	Unseen []string
	// Notices are what else is to be said.
	Notices []string

	start  start          // of its code; zero: it is not known, or a part of others
	starts map[start]bool // of all that it stands for, if a question has several patterns

	// ShowOf tells how the value of an expression over the parameters is shown, and how many bytes it takes to keep that.
	// Nil: as it is.
	ShowOf func(expr string) (Show, int)
}

// Value is a parameter or a result.
type Value struct {
	Name string
	Type string // as in the source
	Size int    // bytes that it takes to keep what is shown, texts by themselves aside
	Show Show
	Why  string // Hidden: the reason
	Cast string // type that it is shown as; "": its own
	kind string // functions of which it differs do not share a program
	// word: it is shown as it is, or as a text, and passed in a register, so that functions can share a program all the
	// same
	word, more bool // more: what it points to is shown, too
	sort       sort
}

// Show is how a value is shown.
type Show uint8

// Ways of showing values.
const (
	AsValue  Show = iota // as it is
	AsText               // a C string, by str()
	AsString             // a string of another language
	AsWhole              // with what it refers to
	Hidden
	ByStr // a C string of which the type does not tell that it is one
)

// script is one under construction.
type script struct {
	o       Question
	b       strings.Builder
	args    []syntax.Expr
	ending  []syntax.Expr // of --result
	by      []syntax.Expr
	cond    syntax.Expr
	comm    syntax.Expr            // of --comm; nil: all
	labels  map[syntax.Expr]string // of args, ending and by, as far as the user gave them some
	lines   int                    // of the text so far
	clauses []Clause
	notices []notice
	noticed map[string]int  // by text
	what    string          // what the first column names; "": functions
	stacks  bool            // calls are counted by stack
	nothing bool            // see Script.Nothing
	tables  bool            // maps are shown as tables
	bare    bool            // functions are named by func, and some have names with parameters
	many    bool            // there are many functions
	quiet   bool            // nothing is noted
	sys     bool            // all functions are system calls
	wants   map[string]bool // names that the expressions have, if only these are looked at
	counts  bool            // calls are counted, not shown
	byFunc  bool            // the builtin func is the key of functions, in all probes
	totals  []Total
	leaving *Leaving
	dropped bool // something that should be shown is not, as too much would have to be kept
}

// parse reads the expressions of the options.
func (s *script) parse(diags *diag.List) bool {
	for _, text := range s.o.Args {
		s.args = append(s.args, s.list("--args", text, diags)...)
	}
	for _, text := range s.o.Results {
		s.ending = append(s.ending, s.list("--result", text, diags)...)
	}
	for _, text := range s.o.By {
		s.by = append(s.by, s.list("--by", text, diags)...)
	}
	if s.o.If != "" {
		s.cond = syntax.ParseExpr(&diag.Source{Name: "--if", Text: s.o.If}, diags)
	}
	if s.o.Comm != "" {
		name := s.o.Comm
		if len(name) > maxComm {
			name = name[:maxComm]
		}
		s.comm = &syntax.Binary{Op: "==", X: &syntax.Ident{Name: "comm"}, Y: &syntax.StrLit{Value: name}}
	}
	return diags.Errors() == 0
}

// list parses the expressions of an option.
func (s *script) list(option, text string, diags *diag.List) (list []syntax.Expr) {
	for _, l := range syntax.ParseExprs(&diag.Source{Name: option, Text: text}, diags) {
		if l.Label != "" {
			if s.labels == nil {
				s.labels = map[syntax.Expr]string{}
			}
			s.labels[l.Expr] = l.Label
		}
		list = append(list, l.Expr)
	}
	return list
}

// label is what an expression of an option is called: as the user says, or as it is written.
func (s *script) label(x syntax.Expr) string {
	if l := s.labels[x]; l != "" {
		return l
	}
	return syntax.PrintExpr(x)
}

// maxComm is the length of a thread's name in the kernel (TASK_COMM_LEN without the NUL).
const maxComm = 15

// both holds where two conditions do; nil holds always.
func both(x, y syntax.Expr) syntax.Expr {
	switch {
	case x == nil:
		return y
	case y == nil:
		return x
	}
	return &syntax.Binary{Op: "&&", X: x, Y: y}
}

func (s *script) line(format string, args ...any) {
	if format != "" {
		start := s.b.Len()
		fmt.Fprintf(&s.b, format, args...)
		s.lines += strings.Count(s.b.String()[start:], "\n")
	}
	s.b.WriteByte('\n')
	s.lines++
}

// notice notes something about a function. What holds for several is said once.
func (s *script) notice(fn *Function, format string, args ...any) {
	if s.quiet {
		return
	}
	text := fmt.Sprintf(format, args...)
	if i, ok := s.noticed[text]; ok {
		s.notices[i].add(fn.Name)
		return
	}
	if s.noticed == nil {
		s.noticed = map[string]int{}
	}
	s.noticed[text] = len(s.notices)
	s.notices = append(s.notices, notice{names: []string{fn.Name}, text: text, functions: 1})
}

// notice is what has to be said of functions.
type notice struct {
	names     []string // the first of them
	text      string
	functions int
}

// maxNamed is how many functions a notice names.
const maxNamed = 3

func (n *notice) add(name string) {
	if slices.Contains(n.names, name) {
		return
	}
	n.functions++
	if len(n.names) < maxNamed {
		n.names = append(n.names, name)
	}
}

func (n *notice) String() string {
	names := strings.Join(n.names, ", ")
	if more := n.functions - len(n.names); more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return names + ": " + n.text
}

// config writes the settings; quiet: no map is shown unless the script does.
func (s *script) config(quiet bool) {
	var set []string
	if s.o.Strlen > 0 {
		if s.o.Strlen > maxStrlen {
			set = append(set, fmt.Sprintf("max_strlen = %d", s.o.Strlen))
		}
		set = append(set, fmt.Sprintf("max_shown_strlen = %d", s.o.Strlen))
	}
	if s.o.Depth != 0 {
		set = append(set, fmt.Sprintf("max_nested_depth = %d", max(0, s.o.Depth)))
	}
	if quiet {
		set = append(set, "print_maps_on_exit = false")
	}
	s.settings(set)
}

// settings writes a config block, with what the names of functions need.
func (s *script) settings(set []string) {
	if s.tables && !s.o.Values {
		set = append(set, "map_tables = true")
		if s.o.Histogram {
			set = append(set, "map_histograms = true")
		}
	}
	if s.bare {
		set = append(set, "cpp_params = false")
	}
	if len(set) == 0 {
		return
	}
	s.line("config = { %s }", strings.Join(set, "; "))
}

// maxStrlen is the language's default for all strings; what is shown of a text may be less.
const maxStrlen = 1024

// value is the text of a value as it is printed or kept.
func (s *script) value(show Show, expr string) string {
	switch show {
	case AsText, ByStr:
		return "str(" + expr + ")"
	case AsString, AsWhole:
		return "snapshot(" + expr + ")"
	}
	return expr
}

// shown is the text of a value that is shown: of a text also whether there is one.
func (s *script) shown(show Show, expr string) string {
	if show == AsText {
		show = AsString
	}
	return s.value(show, expr)
}

// bytes is what it takes to keep a value.
func (s *script) bytes(show Show, size int) int {
	switch show {
	case AsText, AsString, ByStr:
		if s.o.Strlen > 0 {
			return 8 + s.o.Strlen
		}
		return 8 + maxStrlen
	case Hidden:
		return 0
	}
	return max(8, size)
}

// timer ends the script after a time.
func (s *script) timer() {
	if s.o.For > 0 {
		s.line("\ninterval:%s { exit(); }", span(s.o.For))
	}
}

func (s *script) done() Script {
	script := Script{Text: s.b.String(), Totals: s.totals, Clauses: s.clauses, Nothing: s.nothing}
	for i := range s.notices {
		script.Notices = append(script.Notices, s.notices[i].String())
	}
	return script
}

// over makes an expression over a function's parameters one of the script: parameters are named by args.
func over(x syntax.Expr, fn *Function, rename func(name string) syntax.Expr) syntax.Expr {
	return rewrite(syntax.Clone(x), func(id *syntax.Ident) syntax.Expr {
		for i := range fn.Params {
			if fn.Params[i].Name == id.Name {
				return rename(id.Name)
			}
		}
		return id
	})
}

// argsOf names a parameter where it is probed.
func argsOf(name string) syntax.Expr {
	return &syntax.Field{X: &syntax.Ident{Name: "args"}, Name: name}
}

// mentions tells whether an expression has a name in it.
func mentions(x syntax.Expr, name string) bool {
	found := false
	syntax.Inspect(x, func(n syntax.Node) bool {
		if id, ok := n.(*syntax.Ident); ok && id.Name == name {
			found = true
		}
		return !found
	})
	return found
}

// quoted is a string literal of the language.
func quoted(text string) string {
	return syntax.PrintExpr(&syntax.StrLit{Value: text})
}

// inFormat keeps text from being taken for conversions, and a name from being more than a part of its line.
func inFormat(text string) string { return strings.ReplaceAll(result.ShownLine(text), "%", "%%") }

// writable tells whether a name can stand as the name of a value in a record, and behind "args.".
func writable(name string) (field, arg bool) {
	var diags diag.List
	r, ok := syntax.ParseExpr(&diag.Source{Text: "(" + name + "=1)"}, &diags).(*syntax.Record)
	field = ok && len(r.Names) == 1 && r.Names[0] == name
	f, ok := syntax.ParseExpr(&diag.Source{Text: "args." + name}, &diags).(*syntax.Field)
	return field, ok && f.Name == name
}

// fieldNames gives each value a name in a record, which must be none of the language's and no other's.
func fieldNames(names []string) []string {
	used := map[string]bool{"start": true, "stack_": true, "func_": true, "thread_": true, "process_": true, "comm_": true}
	out := make([]string, len(names))
	for i, n := range names {
		if ok, _ := writable(n); !ok || used[n] {
			if ok, _ := writable(n + "_"); ok && !used[n+"_"] {
				n += "_"
			} else {
				n = "value" + strconv.Itoa(i)
			}
		}
		used[n] = true
		out[i] = n
	}
	return out
}
