// Package cpython knows the interpreter CPython in a running process: which version it is, and whether it was started
// so that it gives Python functions names in call stacks.
package cpython

import (
	"fmt"
	"path"
	"regexp"
	"strconv"

	"trocar/internal/process/runtimes"
	"trocar/internal/process/target"
)

// Runtime is Python's. It has no code in files: Python functions are interpreted.
func Runtime() runtimes.Runtime {
	return runtimes.Runtime{
		Name: "CPython", Open: func(runtimes.File) runtimes.Code { return nil }, Inside: inside,
	}
}

// process is the interpreter at work.
type process struct {
	minor int  // of version 3
	names bool // it was started to write a perf map
}

var program = regexp.MustCompile(`^(?:lib)?python3\.([0-9]{1,2})(?:\.so.*)?$`)

func inside(pid int) runtimes.Process {
	id := target.PID(pid)
	maps, err := id.Maps()
	if err != nil {
		return nil
	}
	minor := 0
	for i := range maps {
		if m := &maps[i]; m.Perm&target.Exec != 0 && m.IsFile() {
			if found := program.FindStringSubmatch(path.Base(m.Path)); found != nil {
				minor, _ = strconv.Atoi(found[1]) // two digits
				break
			}
		}
	}
	if minor == 0 {
		return nil
	}
	options, err := id.Args()
	if err != nil {
		return nil
	}
	env, _, err := id.Env("PYTHONPERFSUPPORT")
	return &process{minor, asked(options) || err == nil && env != "" && env != "0"}
}

// asked tells whether -X perf is among the options.
func asked(options []string) bool {
	for i, o := range options {
		if o == "-Xperf" || o == "-X" && i+1 < len(options) && options[i+1] == "perf" {
			return true
		}
	}
	return false
}

const noFrames = "Python functions are not in call stacks, but the interpreter's own (_PyEval_EvalFrameDefault): "

func (p *process) About() runtimes.About {
	a := runtimes.About{Version: fmt.Sprintf("3.%d", p.minor)}
	switch {
	case p.minor < 12:
		a.Stacks = noFrames + "it takes Python 3.12 or later, started with -X perf"
	case !p.names:
		a.Stacks = noFrames + "start python " +
			"with -X perf, or have the program call sys.activate_stack_trampoline(\"perf\")"
	default:
		a.Has = append(a.Has, "Python functions in call stacks")
	}
	if a.Stacks != "" {
		a.Lacks = append(a.Lacks, "names: "+a.Stacks)
	}
	a.Lacks = append(a.Lacks, "probes on Python functions by name: they are interpreted, and have no code of their own")
	return a
}

// Names are written by the interpreter itself, or not at all.
func (p *process) Names() error { return nil }

// Close has nothing to take back.
func (p *process) Close() error { return nil }
