package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"trocar/internal/need"
)

// pythons are the interpreters of this machine whose functions are traced, by their versions.
func pythons(t *testing.T) map[string]string {
	t.Helper()
	need.Root(t)
	if os.Getenv("TROCAR_E2E_TRACER") == "" {
		t.Skip("TROCAR_E2E_TRACER is not set")
	}
	root := os.Getenv("PYENV_ROOT")
	if root == "" {
		root = filepath.Join(os.Getenv("HOME"), ".pyenv")
	}
	paths, err := filepath.Glob(filepath.Join(root, "versions/3.1[1-3].*/bin/python3"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, path := range append(paths, "/usr/bin/python3") {
		out, err := exec.Command(path, "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])").Output()
		if version := strings.TrimSpace(string(out)); err == nil && version >= "3.11" && version < "3.14" {
			found[version] = path
		}
	}
	if len(found) == 0 {
		need.Tool(t, "python3.11")
	}
	return found
}

// TestPython traces Python functions by name: each call with the values that the program passed, in order, and all
// calls of threads, also while the program traces itself.
func TestPython(t *testing.T) {
	for version, interpreter := range pythons(t) {
		t.Run(version, func(t *testing.T) { python(t, interpreter) })
	}
}

func python(t *testing.T, interpreter string) {
	script, err := os.ReadFile("testdata/calls.py")
	if err != nil {
		t.Fatal(err)
	}
	const rounds = 2000
	dir := t.TempDir()
	said := filepath.Join(dir, "calls")
	app := filepath.Join(dir, "calls.py")
	launcher := filepath.Join(dir, "launch")
	for path, text := range map[string]string{
		app: string(script), launcher: fmt.Sprintf("#!/bin/sh\nexec %s %s %s %d\n", interpreter, app, said, rounds),
	} {
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	program := startManaged(t, launcher)
	work := func() { program.goOn(); program.says("done"); program.ends() }
	trace, notes := program.traced(work, "trace", "python:calls.values", "python:calls.kept",
		"python:calls.kept.<locals>.inner", "python:__main__.waits", "python:__main__.throws", "python:calls.deep",
		"python:calls.awaited", "python:calls.Shape.made", "python:calls.Shape.side", "python:calls.Shape.area",
		"python:calls.Shape.grow", "python:calls.cached", "python:calls.constants")
	var seen []string
	thrown := 0
	for line := range strings.Lines(trace) {
		_, call, ok := strings.Cut(line, "__main__.")
		switch {
		case !ok:
		case strings.HasPrefix(call, "throws(") && !strings.Contains(call, " = "):
			thrown++ // it is told when its frame has another call
		default:
			i := strings.LastIndex(call, " <")
			if i < 0 {
				t.Fatalf("no duration: %s", line)
			}
			seen = append(seen, "__main__."+call[:i])
		}
	}
	if thrown != rounds/10 {
		t.Errorf("%d calls were left by an exception", thrown)
	}
	text, err := os.ReadFile(said)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(text)), "\n")
	for i := range min(len(want), len(seen)) {
		if want[i] != seen[i] {
			t.Fatalf("call %d:\n%s\nand not\n%s\n%s", i, seen[i], want[i], notes)
		}
	}
	if len(want) != len(seen) || len(want) < rounds {
		t.Errorf("%d calls, and %d were seen\n%s", len(want), len(seen), notes)
	}

	program = startManaged(t, launcher)
	counts, notes := program.traced(func() { program.goOn(); program.says("done"); program.ends() }, "run", "-e", `
		python:calls.busy { @busy = count(); }
		python:calls.inside { @inside = count(); }
		python:"calls.Shape.*" { @[func] = count(); }
		pythonret:calls.busy { @returned = count(); }
		python:"calls.<lambda>*" { @[func] = count(); }`)
	inside, err := os.ReadFile(said + ".inside")
	if err != nil {
		t.Fatal(err)
	}
	before, _, _ := strings.Cut(string(script), "int: lambda")
	line := 1 + strings.Count(before, "\n")
	for _, want := range []string{
		"@inside: " + string(inside),
		"@busy: 6000\n", "@returned: 6000\n", "@[__main__.Shape.__init__]: 200\n", "@[__main__.Shape.grow]: 200\n",
		fmt.Sprintf("@[__main__.<lambda>:%d]: 200\n", line), fmt.Sprintf("@[__main__.<lambda>:%d]: 200\n", line+1),
	} {
		if !strings.Contains(counts, want) {
			t.Errorf("no %q\n%s%s", want, counts, notes)
		}
	}
}

// TestPythonLate: functions that an import or a reload makes while the trace runs are not traced, and that is told.
func TestPythonLate(t *testing.T) {
	for version, interpreter := range pythons(t) {
		t.Run(version, func(t *testing.T) { pythonLate(t, interpreter) })
	}
}

func pythonLate(t *testing.T, interpreter string) {
	dir := t.TempDir()
	launcher := filepath.Join(dir, "launch")
	for name, text := range map[string]string{
		"first.py":  "def work(): pass\ndef rest(): pass\n",
		"second.py": "def work(x): pass\ndef rest(y): pass\n",
		"app.py": `
import importlib, sys
import first

def called(): pass

print("ready", flush=True)
sys.stdin.readline()
called()
print("done", flush=True)
sys.stdin.readline()
importlib.reload(first)
import second # its code may lie where that of first was
second.work(1)
second.rest(2)
called()
print("done", flush=True)
sys.stdin.read()
`,
		"launch": fmt.Sprintf("#!/bin/sh\nexec %s %s/app.py\n", interpreter, dir),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	const late = "loaded after the probes were attached"
	for _, c := range []struct {
		args []string
		late string
	}{
		{[]string{"trace", "--lines", "1", "python:first.*", "python:app.called"}, "(2): first.rest, first.work."},
		{[]string{"trace", "--lines", "1", "python:*.work", "python:app.called"}, "(2): first.work, second.work."},
		{[]string{"run", "-e", `python:first.work, python:app.called { exit() }`}, "(1): first.work."},
		{[]string{"trace", "--lines", "1", "python:app.*"}, ""},
	} {
		program := startManaged(t, launcher)
		work := func() { program.goOn(); program.says("done") }
		if _, notes := program.traced(work, c.args...); strings.Contains(notes, late) {
			t.Errorf("%q: nothing was loaded\n%s", c.args, notes)
		}
		trace, notes := program.traced(work, c.args...)
		if strings.Contains(notes, late) != (c.late != "") || !strings.Contains(notes, c.late) {
			t.Errorf("%q: no %q\n%s", c.args, c.late, notes)
		}
		if strings.Contains(trace, "first.") || c.args[0] == "trace" && !strings.Contains(trace, "called()") {
			t.Errorf("%q: %s", c.args, trace)
		}
		program.ends()
	}
}

// TestPythonStacks compares the Python functions in call stacks, and their lines, with those that the program itself
// knows of.
func TestPythonStacks(t *testing.T) {
	for version, interpreter := range pythons(t) {
		t.Run(version, func(t *testing.T) { pythonStacks(t, interpreter) })
	}
}

func pythonStacks(t *testing.T, interpreter string) {
	dir := t.TempDir()
	script, err := os.ReadFile("testdata/pystacks.py")
	if err != nil {
		t.Fatal(err)
	}
	launcher, said := filepath.Join(dir, "launch"), filepath.Join(dir, "said")
	for path, text := range map[string]string{
		"pystacks.py": string(script), "pystacks_module.py": "def call(f):\n    return (lambda: f())()\n",
		"launch": fmt.Sprintf("#!/bin/sh\nexec %s %s/pystacks.py %s\n", interpreter, dir, said),
	} {
		if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	program := startManaged(t, launcher)
	work := func() { program.goOn(); program.says("done"); program.ends() }
	trace, notes := program.traced(work, "run", "-q", "-e", `uprobe:libc:write /arg2 == 3/ { print(ustack(127)); print("end") }`)
	var seen []string
	var frames []string
	main := false
	for line := range strings.Lines(trace) {
		line = strings.TrimSpace(line)
		name, place, ok := strings.Cut(line, "@")
		switch {
		case line == "end":
			seen = append(seen, strings.Join(frames, " "))
			frames = nil
		case ok && strings.Contains(place, "pystacks") && strings.Contains(place, ".py:"):
			_, name, _ = strings.Cut(name, ".") // behind the module
			frames = append(frames, name+place[strings.LastIndexByte(place, ':'):])
		}
		main = main || strings.Contains(line, "__libc_start_call_main")
	}
	text, err := os.ReadFile(said)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(text)), "\n")
	for i := range min(len(want), len(seen)) {
		if want[i] != seen[i] {
			t.Errorf("stack %d:\n%s\nand not\n%s", i, seen[i], want[i])
		}
	}
	if len(want) != len(seen) || !main || strings.Contains(trace, "_PyEval_EvalFrameDefault") {
		t.Errorf("%d stacks, and %d were seen, to main: %v\n%s%s", len(want), len(seen), main, notes, trace)
	}
}
