// Package cpython knows the interpreter CPython in a running process: which version it is, whether it was started so
// that it gives Python functions names in call stacks, which functions there are, and where their calls come by.
package cpython

import (
	"fmt"
	"regexp"
	"sync"

	"trocar/internal/binary/objfile"
	"trocar/internal/process/runtimes"
	"trocar/internal/process/target"
)

// Runtime is Python's. It has no code in files: Python functions are interpreted (see Interpreter).
func Runtime() runtimes.Runtime {
	return runtimes.Runtime{
		Name: "CPython", Open: func(runtimes.File) runtimes.Code { return nil }, Inside: inside,
		Waits: []runtimes.Wait{ // other threads execute
			{Function: "take_gil", Kind: "GIL", Own: true},
			{Function: "PyEval_RestoreThread", Kind: "GIL", Own: true},
			{Function: "PyEval_AcquireThread", Kind: "GIL", Own: true},
		},
	}
}

// process is the interpreter at work.
type process struct {
	minor int  // of version 3
	names bool // it was started to write a perf map
	found bool // its own frames are found
}

var program = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:lib)?python3\.([0-9]{1,2})(?:\.so.*)?$`)
})

func inside(pid int) runtimes.Process {
	id := target.PID(pid)
	maps, err := id.Maps()
	if err != nil {
		return nil
	}
	_, minor := Mapped(maps)
	if minor == 0 {
		return nil
	}
	options, err := id.Args()
	if err != nil {
		return nil
	}
	env, _, err := id.Env("PYTHONPERFSUPPORT")
	p := &process{minor: minor, names: asked(options) || err == nil && env != "" && env != "0"}
	var file *objfile.File
	p.found = Frames(maps, func(at *target.Mapping) (*objfile.File, error) {
		mapped, err := id.OpenMapped(at)
		if err != nil {
			return nil, err
		}
		defer mapped.Close()
		file, err = objfile.OpenFile(mapped, at.Path)
		return file, err
	}) != nil
	if file != nil {
		_ = file.Close() // it was only read
	}
	return p
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

// ofKnown says which versions are known.
const ofKnown = "it takes Python 3.11, 3.12 or 3.13"

const noFrames = "Python functions are not in call stacks, but the interpreter's own (_PyEval_EvalFrameDefault): "

func (p *process) About() runtimes.About {
	a := runtimes.About{Version: fmt.Sprintf("3.%d", p.minor)}
	switch {
	case p.found:
		a.Has = append(a.Has, "Python functions in call stacks")
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
	if version(p.minor) != nil {
		a.Has = append(a.Has, "calls of Python functions with arguments and results: python:MODULE.FUNCTION")
	} else {
		a.Lacks = append(a.Lacks, "probes on Python functions by name: "+ofKnown)
	}
	return a
}

// Names are written by the interpreter itself, or not at all.
func (p *process) Names() error { return nil }

// Close has nothing to take back.
func (p *process) Close() error { return nil }
