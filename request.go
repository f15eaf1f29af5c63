package trocar

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"trocar/internal/binary/debuginfod"
	"trocar/internal/binary/objfile"
	"trocar/internal/process/match"
	"trocar/internal/process/runtimes/dotnet"
	"trocar/internal/process/target"
	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// Request says what to trace, and how. It is plain data: the same request means the same on another machine, and it
// can be kept and sent as JSON. The zero value asks for nothing: Compile
// answers ErrNoProbes.
type Request struct {
	// Script is the text of a script in bpftrace's language.
	Script string `json:"script,omitempty"`
	// Name is what messages call the script: a path, or "stdin". "": "script".
	Name string `json:"name,omitempty"`
	// Params are the script's positional parameters, $1 and so on; Options its named ones, "name" or "name=value".
	Params  []string `json:"params,omitempty"`
	Options []string `json:"options,omitempty"`
	// Question asks about calls of functions, in place of a script, which is written for it (see Ask).
	Question *Question `json:"question,omitempty"`

	// Totals are lines to be said at the end of the run (see Script).
	Totals []Total `json:"totals,omitempty"`
	// Asked are the functions that the question named which Script was written for: what comes to fit them during the run
	// is told in the end, where that is known.
	Asked []string `json:"asked,omitempty"`

	Target Target `json:"target,omitzero"`
	Files  Files  `json:"files,omitzero"`

	// Settings are those of a config block, by name: "max_strlen": "200". They count more than the script's own.
	Settings map[string]string `json:"settings,omitempty"`
	// Filter is a regular expression (syntax of package regexp): probe points with names that do not match are left out;
	// begin and end always stay. "": none are left out.
	Filter string `json:"filter,omitempty"`
	// NoInlined leaves out the places where functions were inlined: only their own code is probed.
	NoInlined bool `json:"noInlined,omitempty"`
	// Unsafe allows what changes the system: system(), signal(), writing to memory.
	Unsafe bool `json:"unsafe,omitempty"`
	// Failures asks for events about each read of memory and each update of a map that fails.
	Failures bool `json:"failures,omitempty"`
	// Heads asks that each event that a probe's action sends says when, where and by which process and thread the probe
	// was hit (see result.Head). It costs some 100 ns for each hit.
	Heads bool `json:"heads,omitempty"`
	// Mode says which probes are run.
	Mode Mode `json:"mode,omitempty"`
	// DryRun attaches the probes and ends.
	DryRun bool `json:"dryRun,omitempty"`
	// Disable names features of the kernel to do without, as Report and bpftrace name them: what older kernels would do.
	Disable []string `json:"disable,omitempty"`
}

// Mode says which probes of a script are run.
type Mode string

// Modes.
const (
	ModeTrace Mode = ""      // all but test and bench probes
	ModeTest  Mode = "test"  // the test probes only: nothing is attached
	ModeBench Mode = "bench" // the bench probes only: nothing is attached
)

// Target says which processes are traced. The zero value is all.
type Target struct {
	// PID is a process, as this machine numbers it; the run ends with it. 0: none in particular.
	PID int `json:"pid,omitempty"`
	// Others are more processes beside PID, but not what they start. The run ends with the last one.
	Others []int `json:"others,omitempty"`
	// Thread is the only thread of PID that is traced; 0: all. The run ends with its process.
	Thread int `json:"thread,omitempty"`
	// Container is a running container, by id, the beginning of the id, or name: the request is for its first process and,
	// as with Follow, for all that this has started.
	Container string `json:"container,omitempty"`
	// Command is a command in words that is to be run and traced. Compile starts nothing: whoever runs the request calls
	// Start and sets Held, or leaves both to Run.
	Command []string `json:"command,omitempty"`
	// Held is the process of the command that is held (Command.PID); 0: none. The run ends with it.
	Held int `json:"held,omitempty"`
	// Loading is what a command is about to execute that has gone on until then (CommandLine.Until); nil: its first
	// instruction.
	Loading *Loading `json:"loading,omitempty"`
	// Follow adds the processes that the process or command starts, and those that these start, whatever they execute. The
	// run ends with the last of them.
	Follow bool `json:"follow,omitempty"`
}

// Files says where files are looked for. The zero value looks in the places that the system has for them.
type Files struct {
	// SearchPath are the folders, separated by colons, in which programs named without a folder are looked for (PATH).
	SearchPath string `json:"searchPath,omitempty"`
	// Debug are folders in which debug files are looked for first.
	Debug []string `json:"debug,omitempty"`
	// Debuginfod are servers from which debug files are fetched that are not on this machine. Nil: none.
	Debuginfod *Debuginfod `json:"debuginfod,omitempty"`
	// IncludeDirs are folders of C headers; Includes are headers to read before the script.
	IncludeDirs []string `json:"includeDirs,omitempty"`
	Includes    []string `json:"includes,omitempty"`
	// TraceableFunctions is a file with the kernel's functions, in place of tracefs' available_filter_functions.
	TraceableFunctions string `json:"traceableFunctions,omitempty"`
}

// Debuginfod are servers of debug files by build id (debuginfod(8)).
type Debuginfod struct {
	URLs    []string      `json:"urls"`
	Cache   string        `json:"cache"`             // directory
	Timeout time.Duration `json:"timeout,omitempty"` // for a server to begin or go on sending, in nanoseconds; 0: no limit
	MaxSize int64         `json:"maxSize,omitempty"` // of a file, in bytes; 0: no limit
	MaxTime time.Duration `json:"maxTime,omitempty"` // for a whole file, in nanoseconds; 0: no limit
}

// DebuginfodFrom reads the environment's variables for clients of such servers, DEBUGINFOD_URLS and the others that
// debuginfod-client-config(7) describes. Nil: no servers are named.
func DebuginfodFrom(getenv func(string) string) *Debuginfod {
	return (*Debuginfod)(debuginfod.FromEnv(getenv))
}

func (f *Files) servers() *debuginfod.Servers { return (*debuginfod.Servers)(f.Debuginfod) }

// UnmarshalJSON reads a request. A field that this version does not know is an error: it would be left out in silence.
func (r *Request) UnmarshalJSON(text []byte) error {
	type plain Request // without this method
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var p plain
	if err := d.Decode(&p); err != nil {
		return fmt.Errorf("request: %w", err)
	}
	*r = Request(p)
	return nil
}

// ErrRequest is returned (wrapped) for a request that contradicts itself.
var ErrRequest = errors.New("request")

// check finds what is wrong with a request by itself, and reads the filter.
func (r *Request) check() (filter func(string) bool, err error) {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrRequest, fmt.Sprintf(format, args...))
	}
	switch {
	case r.Question != nil && r.Script != "":
		return nil, wrong("a script and a question")
	case r.Target.PID != 0 && (r.Target.Held != 0 || len(r.Target.Command) > 0):
		return nil, wrong("a process and a command")
	case (len(r.Target.Others) > 0 || r.Target.Thread != 0) && r.Target.PID == 0:
		return nil, wrong("more processes, or a thread, but no first process")
	case len(r.Target.Others) > 0 && (r.Target.Follow || r.Target.Thread != 0), r.Target.Follow && r.Target.Thread != 0:
		return nil, wrong("several processes, one thread, or what a process starts: only one of them can be traced")
	case r.Target.Container != "" && (r.Target.PID != 0 || r.Target.Held != 0 || len(r.Target.Command) > 0):
		return nil, wrong("a container and a process or command")
	case len(r.Target.Command) > 0 && r.Target.Held == 0:
		return nil, wrong("the command has not been started")
	case r.Mode != ModeTrace && r.Mode != ModeTest && r.Mode != ModeBench:
		return nil, wrong("unknown mode %q", r.Mode)
	}
	if r.Filter == "" {
		return nil, nil
	}
	re, err := regexp.Compile(r.Filter)
	if err != nil {
		return nil, wrong("the filter: %v", err)
	}
	return re.MatchString, nil
}

// Loading is a module of a runtime whose code a held command is about to execute.
type Loading struct {
	Code   uint64 `json:"code"` // its address
	Module string `json:"module"`
}

// Awaits are the functions that the request is about which only the running command makes, as probes have them.
func (r *Request) Awaits() (names []string) {
	managed := sync.OnceValue(r.startsDotNet)
	add := func(kind, file, name, whole string) {
		switch {
		case match.IsPython(kind), objfile.NamesMethod(name) && (file == "" || strings.HasSuffix(file, ".dll")) && managed():
			names = append(names, whole)
		}
	}
	if r.Question != nil {
		for _, f := range r.Question.Functions {
			file, name, _ := strings.Cut(f, ":")
			switch {
			case match.IsPython(file):
				add(file, "", name, f)
			case strings.HasPrefix(name, ":"): // a type's, of the program or of the file that is named for all
				add("", r.Question.Path, f, f)
			default:
				add("", file, name, name)
			}
		}
		return names
	}
	file := syntax.Parse(&diag.Source{Name: r.Name, Text: r.Script}, syntax.ParseOptions{}, &diag.List{})
	for _, p := range file.Probes {
		for _, at := range p.Points {
			switch n := len(at.Parts); n {
			case 1:
				add(at.Kind, "", at.Parts[0], at.Kind+":"+at.Parts[0])
			case 2:
				add("", at.Parts[0], at.Parts[1], at.Parts[1])
			}
		}
	}
	return names
}

// Stacks tells whether the request is about call stacks.
func (r *Request) Stacks() bool {
	q := r.Question
	if q == nil {
		return strings.Contains(r.Script, "ustack")
	}
	return q.Stack || slices.Contains([]string{
		QuestionStack, QuestionProfile, QuestionOffCPU, QuestionLocks, QuestionLeaks,
	}, q.Kind)
}

// startsDotNet tells whether the command may start a program of .NET.
func (r *Request) startsDotNet() bool {
	if len(r.Target.Command) == 0 {
		return false
	}
	file := r.Target.Command[0]
	if found := (target.Root{}).LookPath(file, r.Files.SearchPath); len(found) > 0 {
		file = found[0]
	}
	return dotnet.Starts(file, r.Target.Command)
}
