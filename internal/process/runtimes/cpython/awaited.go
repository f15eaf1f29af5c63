package cpython

import (
	"path"
	"slices"
	"strings"

	"trocar/internal/binary/objfile"
	"trocar/internal/process/target"
)

// A module's code is executed by a function of its own, PyEval_EvalCode. When it begins, the code of all functions of
// the module is there, though none of them is defined yet. So a command can be held there, and its functions be probed
// before the first of them is called.

// Awaited are functions of a command that has not begun to run.
type Awaited struct {
	Patterns []string // as probes have them
	Command  []string // the words of the command
}

// Loading is a module whose code is about to be executed, by the address of its code object.
type Loading struct {
	Code   uint64
	Module string
}

// Place is where the process executes the code of modules; false: it has no interpreter that is known, as yet.
func (a *Awaited) Place(pid target.PID) (addr uint64, ok bool) {
	maps, err := pid.Maps()
	if err != nil {
		return 0, false
	}
	at, minor := Mapped(maps)
	if at == nil || version(minor) == nil {
		return 0, false
	}
	mapped, err := pid.OpenMapped(at)
	if err != nil {
		return 0, false
	}
	defer mapped.Close()
	file, err := objfile.OpenFile(mapped, at.Path)
	if err != nil {
		return 0, false
	}
	defer file.Close()
	addr, _, found := file.Symbol("PyEval_EvalCode")
	bias, known := file.Bias(at.Start, at.Offset, at.End-at.Start)
	return addr + bias, found && known
}

// Begins tells whether the code object that a process is about to execute is that of a module which the functions are
// in.
func (a *Awaited) Begins(pid target.PID, code uint64) (l Loading, ok bool) {
	maps, err := pid.Maps()
	if err != nil {
		return l, false
	}
	_, minor := Mapped(maps)
	lay := version(minor)
	mem, err := pid.Memory()
	if lay == nil || err != nil {
		return l, false
	}
	defer mem.Close()
	m := newMemory(mem, lay)
	file, _ := m.text(m.word(code, lay.file))
	if name, _ := m.text(m.word(code, lay.qualified)); name != "<module>" {
		return l, false
	}
	l.Code = code
	l.Module, ok = a.module(file)
	return l, ok
}

// module is the name of the module in a file, if some of the functions may be in it.
func (a *Awaited) module(file string) (name string, ok bool) {
	main := path.Base(file) == "__main__.py" || file == "<string>" && slices.Contains(a.Command, "-c") ||
		slices.ContainsFunc(a.Command, func(word string) bool { // as it was given, or whole
			return file == word || strings.HasSuffix(file, "/"+strings.TrimPrefix(word, "./"))
		})
	for _, pattern := range a.Patterns {
		parts := strings.Split(pattern, ".")
		for n := 1; n < max(len(parts), 2); n++ {
			name := strings.Join(parts[:n], ".")
			in := strings.ReplaceAll(name, ".", "/")
			switch {
			case main && (strings.Contains(name, "*") || name == "__main__" || in == strings.TrimSuffix(path.Base(file), ".py")):
				return "__main__", true
			case main || strings.Contains(name, "*"):
			case strings.HasSuffix("/"+file, "/"+in+".py"), strings.HasSuffix("/"+file, "/"+in+"/__init__.py"):
				return name, true
			}
		}
	}
	return "", false
}
