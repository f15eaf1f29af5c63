package session_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"trocar/internal/process/probe"
	"trocar/internal/process/runtimes"
	"trocar/internal/session"
)

// renewing is a runtime that has compiled some functions anew, more each time that it is asked.
type renewing struct {
	names []string
	asked int
}

func (r *renewing) About() runtimes.About { return runtimes.About{} }

func (r *renewing) Names() error {
	r.asked++
	text := ""
	for i, name := range r.names[:min(r.asked, len(r.names))] {
		text += fmt.Sprintf("%x 10 %s\n", 0x1000*(i+1), name)
	}
	return os.WriteFile(perfMap(), []byte(text), 0o600)
}

func (r *renewing) Close() error { return os.Remove(perfMap()) }

func perfMap() string { return fmt.Sprintf("/tmp/perf-%d.map", os.Getpid()) }

// TestRenewed: functions that a runtime has compiled anew are told, when the trace begins and when it ends, each once.
func TestRenewed(t *testing.T) {
	f, s := newFake(), newScript()
	f.attached = func() { f.send(rec(s.exitLayout(), 0)) }
	r := &renewing{names: []string{"jit A::F(!0,List<int,int>)", "jit A::G()", "jit A::Other()", "jit A::K(int)"}}
	o := start(t, t.Context(), s, f, func(in *session.Input, _ *sink) {
		in.PID = os.Getpid()
		for _, name := range []string{"A::F(T,List<int,int>)", "A::G()", "A::H()", "A::K(string)"} {
			in.Points = append(in.Points, &probe.Point{Kind: probe.Uprobe, Path: "a.dll", Func: name, Entry: true})
		}
		in.Runtimes = []runtimes.Runtime{{
			Name: "R", Renews: true, Inside: func(int) runtimes.Process { return r },
			Readable: func(name string) (string, bool) { return strings.CutPrefix(name, "jit ") },
		}}
	})
	var told []string
	for _, line := range o.sink.lines {
		if strings.Contains(line, "compiled again") {
			told = append(told, line)
		}
	}
	has := func(i int, text string) bool { return i < len(told) && strings.Contains(told[i], text) }
	if len(told) != 2 || !has(0, "A::F(T,List<int,int>) was compiled again") || !has(0, "before") ||
		!has(1, "A::G() was compiled again") {
		t.Errorf("%q", o.sink.lines)
	}
}

// TestMayRenew: where no process was named it is told that functions may be compiled anew.
func TestMayRenew(t *testing.T) {
	for i, file := range []string{"a.dll", "a.dll", "a.out"} { // a function of C++ is none
		renews := i > 0
		f, s := newFake(), newScript()
		f.attached = func() { f.send(rec(s.exitLayout(), 0)) }
		o := start(t, t.Context(), s, f, func(in *session.Input, _ *sink) {
			in.Points = []*probe.Point{{Kind: probe.Uprobe, Path: file, Func: "A::F()", Entry: true}}
			in.Runtimes = []runtimes.Runtime{{Name: "R", Renews: renews}}
		})
		if text := strings.Join(o.sink.lines, "\n"); strings.Contains(text, "compiled again") != (i == 1) {
			t.Errorf("%s, %v: %s", file, renews, text)
		}
	}
}

// TestOverloads: of functions that differ in the types of parameters, those are told that were compiled anew.
func TestOverloads(t *testing.T) {
	f, s := newFake(), newScript()
	f.attached = func() { f.send(rec(s.exitLayout(), 0)) }
	r := &renewing{names: []string{"jit A::K(int)", "jit A::L(long)", "jit A::M(N.T)"}, asked: 2}
	o := start(t, t.Context(), s, f, func(in *session.Input, _ *sink) {
		in.PID = os.Getpid()
		for _, name := range []string{"A::K(string)", "A::K(int)", "A::L(int)", "A::M(T)"} {
			in.Points = append(in.Points, &probe.Point{Kind: probe.Uprobe, Path: "a.dll", Func: name, Entry: true})
		}
		in.Runtimes = []runtimes.Runtime{{
			Name: "R", Renews: true, Inside: func(int) runtimes.Process { return r },
			Readable: func(name string) (string, bool) { return strings.CutPrefix(name, "jit ") },
		}}
	})
	const want = "WARNING A::K(int), A::M(T) were compiled again"
	if text := strings.Join(o.sink.lines, "\n"); !strings.Contains(text, want) {
		t.Error(text)
	}
}
