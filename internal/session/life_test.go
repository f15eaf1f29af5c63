package session_test

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"trocar/internal/binary/types"
	"trocar/internal/compile/record"
	"trocar/internal/kernel"
	"trocar/internal/process/probe"
	"trocar/internal/process/target"
	"trocar/internal/session"
)

// Short names of kinds of probes.
const (
	begin = probe.Begin
	end   = probe.End
)

// process starts a program of this machine that has to be ended.
func process(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// TestCancel: the caller's context ends a run, which is no error, and nothing of it goes on.
func TestCancel(t *testing.T) {
	before := runtime.NumGoroutine()
	f, s := newFake(), newScript()
	s.storage(f, "@m", types.TInt64, types.StackType(types.UStack, 3, types.StackDefault)) // processes are looked at
	s.layout(record.Layout{Kind: record.Print}, types.StackType(types.KStack, 3, types.StackDefault))
	ctx, cancel := context.WithCancel(t.Context())
	cmd := process(t, "sleep", "1000")
	f.attached = func() { time.AfterFunc(20*time.Millisecond, cancel) }
	o := start(t, ctx, s, f, func(in *session.Input, _ *sink) { in.PID = cmd.Process.Pid })
	expect(t, o, "attached 1", "end")
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; {
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<16)
			t.Fatalf("%d goroutines before, %d after:\n%s", before, runtime.NumGoroutine(), buf[:runtime.Stack(buf, true)])
		}
		runtime.Gosched()
	}
}

// TestProcessEnds: a run ends with the process that it is about, and tells of the signal that ended it.
func TestProcessEnds(t *testing.T) {
	f, s := newFake(), newScript()
	cmd := process(t, "sleep", "1000")
	f.attached = func() { _ = cmd.Process.Kill() }
	o := start(t, t.Context(), s, f, func(in *session.Input, _ *sink) { in.PID = cmd.Process.Pid })
	expect(t, o, "attached 1", fmt.Sprintf("notice INFO process %d was ended by SIGKILL", cmd.Process.Pid), "end")
}

// TestProcessIsGone: it has ended, and its parent has asked how, as soon as it was attached to.
func TestProcessIsGone(t *testing.T) {
	f, s := newFake(), newScript()
	cmd := process(t, "sleep", "1000")
	h := target.Hold(target.PID(cmd.Process.Pid))
	defer h.Close()
	f.attached = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	o := start(t, t.Context(), s, f, func(in *session.Input, _ *sink) { in.PID = cmd.Process.Pid })
	expect(t, o, killed(h, cmd.Process.Pid)...)
}

// killed is what a run shows whose process was killed and asked for by its parent.
func killed(h *target.Handle, pid int) []string {
	if _, ok := h.Exit(); !ok { // before Linux 6.15
		return []string{"attached 1", "end"}
	}
	return []string{"attached 1", fmt.Sprintf("notice INFO process %d was ended by SIGKILL", pid), "end"}
}

// TestCommandEnds: a command is released when all is attached, and its records are read to the last.
func TestCommandEnds(t *testing.T) {
	f, s := newFake(), newScript()
	p := s.layout(record.Layout{Kind: record.Printf, Format: "%d"}, types.TInt64)
	c := &command{pid: target.PID(1 << 30), done: make(chan struct{}), exit: target.Exit{Code: 3, Forked: true}}
	attached := false
	f.attached = func() { attached = true }
	c.released = func() {
		if !attached {
			t.Error("released before the probes were attached")
		}
		f.send(rec(p, 1), rec(p, 2))
		close(c.done)
		f.send(rec(p, 3))
	}
	o := start(t, t.Context(), s, f, func(in *session.Input, _ *sink) { in.Command = c })
	expect(t, o, "attached 1", "printf 1", "printf 2", "printf 3",
		"notice INFO only process 1073741824 was traced, not its child processes: --follow traces them too", "end")
	if o.exit.Command == nil || o.exit.Command.Code != 3 || c.killed {
		t.Errorf("the command's end: %+v, killed %v", o.exit.Command, c.killed)
	}
}

// TestCommandIsEnded: a command that still runs is ended.
func TestCommandIsEnded(t *testing.T) {
	f, s := newFake(), newScript()
	c := &command{pid: target.PID(1 << 30), done: make(chan struct{})}
	f.attached = func() { f.send(rec(s.exitLayout(), 5)) }
	o := start(t, t.Context(), s, f, func(in *session.Input, _ *sink) { in.Command = c })
	expect(t, o, "attached 1", "end")
	if o.exit.Command != nil || !c.killed || o.exit.Code != 5 {
		t.Errorf("%+v, killed %v", o.exit, c.killed)
	}
}

// TestFollow: what a process had started belongs to what is followed, and the run ends with the last of them.
func TestFollow(t *testing.T) {
	f, s := newFake(), newScript()
	cmd := process(t, "sh", "-c", "sleep 1000 & wait")
	pid := cmd.Process.Pid
	h := target.Hold(target.PID(pid))
	defer h.Close()
	var child target.PID
	for child == 0 { // until the shell has started it
		all, err := target.All()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range all {
			if st, err := p.Stat(); err == nil && st.PPID == pid {
				child = p
			}
		}
	}
	f.attached = func() {
		if !f.followed.Has(pid) || !f.followed.Has(int(child)) || f.followed.Has(1) {
			t.Errorf("followed: %v, want %d and %d", f.followed.pids, pid, child)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		go func() { _ = syscall.Kill(int(child), syscall.SIGTERM) }()
	}
	o := start(t, t.Context(), s, f, func(in *session.Input, _ *sink) { in.PID, in.Follow = pid, true })
	expect(t, o, killed(h, pid)...)
	if st, err := child.Stat(); !f.followed.closed || err == nil && !st.Dead() {
		t.Errorf("closed %v, the child %+v", f.followed.closed, st)
	}
}

// TestFollowInNamespace: the ids of others are not known there, the first process is told by its own.
func TestFollowInNamespace(t *testing.T) {
	f, s := newFake(), newScript()
	cmd := process(t, "sleep", "1000")
	pid := cmd.Process.Pid
	f.send(rec(s.exitLayout(), 0))
	o := start(t, t.Context(), s, f, func(in *session.Input, _ *sink) {
		in.PID, in.Follow, in.Namespace = pid, true, &kernel.Namespaced{Dev: 4, Ino: 5}
	})
	expect(t, o, fmt.Sprintf("notice INFO in this PID namespace, processes that process %d started before are not "+
		"followed", pid),
		"attached 1", "end")
	if first := f.followed.first; first == nil || *first != (kernel.Namespaced{Dev: 4, Ino: 5, PID: pid}) ||
		len(f.followed.pids) > 0 {
		t.Errorf("%+v, %v", first, f.followed.pids)
	}
}

// TestUnattached: what is said of points that could not be attached.
func TestUnattached(t *testing.T) {
	refused := func(n int, pattern bool) (failed []kernel.AttachError) {
		for i := range n {
			p := &probe.Point{Kind: probe.Uprobe, Name: fmt.Sprint("point ", i), Pattern: pattern}
			failed = append(failed, kernel.AttachError{Point: p, Err: fmt.Errorf("refused")})
		}
		return failed
	}
	for name, c := range map[string]struct {
		missing string
		failed  []kernel.AttachError
		notices int
		fails   bool
	}{
		"none":    {"warn", nil, 0, false},
		"ignore":  {"ignore", refused(3, false), 0, false},
		"warn":    {"warn", refused(3, false), 3, false},
		"many":    {"warn", refused(12, false), 11, false},
		"error":   {"error", refused(1, false), 0, true},
		"pattern": {"error", refused(2, true), 2, false},
		"all":     {"warn", refused(20, false), 0, true},
	} {
		f, s := newFake(), newScript()
		for range 19 {
			s.points = append(s.points, s.points[0])
		}
		f.failed = c.failed
		f.send(rec(s.exitLayout(), 0))
		o := start(t, t.Context(), s, f, func(in *session.Input,
			_ *sink,
		) {
			in.Config.MissingProbes = c.missing
			in.Probes = 20
		})
		notices := 0
		for _, line := range o.sink.lines {
			if strings.HasPrefix(line, "notice WARNING") {
				notices++
			}
		}
		if (o.err != nil) != c.fails || notices != c.notices {
			t.Errorf("%s: %v, %q", name, o.err, o.sink.lines)
		}
	}
}

// TestDryRun: probes are attached, and nothing else.
func TestDryRun(t *testing.T) {
	f, s := newFake(), newScript()
	s.special(f, begin, "begin", func() uint32 { t.Error("a begin probe ran"); return 0 })
	s.special(f, end, "end", func() uint32 { t.Error("an end probe ran"); return 0 })
	done := 0
	c := &command{
		pid: target.PID(1 << 30), done: make(chan struct{}),
		released: func() { t.Error("the command was released") },
	}
	o := start(t, t.Context(), s, f, func(in *session.Input, _ *sink) {
		in.DryRun, in.Command, in.Progress = true, c, func(n, total int) { done = n }
	})
	expect(t, o, "attached 1", "end")
	if done != 1 || !c.killed {
		t.Errorf("progress %d, killed %v", done, c.killed)
	}
}

// TestTestAndBench: a test probe passes with 0, a bench probe runs until its duration is known.
func TestTestAndBench(t *testing.T) {
	f, s := newFake(), newScript()
	s.special(f, probe.Test, "test:good", func() uint32 { return 0 })
	s.special(f, probe.Test, "test:bad", func() uint32 { return 1 })
	s.special(f, probe.Bench, "bench:quick", func() uint32 { return 0 })
	o := start(t, t.Context(), s, f, func(in *session.Input, _ *sink) { in.Mode, in.Probes = session.Test, 2 })
	expect(t, o, "attached 2", "test good 0 of 2, true", "test bad 1 of 2, false", "end")
	if o.exit.Code != 1 {
		t.Errorf("exit code %d", o.exit.Code)
	}
	o = start(t, t.Context(), s, f, func(in *session.Input, _ *sink) { in.Mode = session.Bench })
	expect(t, o, "attached 1", "bench quick 0 of 1, 1µs", "end")
}

// TestIterate: an iteration is one step, which exit() does not end.
func TestIterate(t *testing.T) {
	f, s := newFake(), newScript()
	p := s.layout(record.Layout{Kind: record.Printf, Format: "%d"}, types.TInt64)
	e := s.exitLayout()
	s.points = []*probe.Point{{Kind: probe.Iter, Name: "iter:task", Event: "task"}}
	s.programs = []session.Program{{Name: "p0", Type: probe.IterProgram, Point: s.points[0]}}
	f.iterated = func(pid int) error {
		f.send(rec(p, pid), rec(e, 3), rec(p, 2))
		return nil
	}
	o := start(t, t.Context(), s, f, nil)
	expect(t, o, "attached 1", "printf 0", "printf 2", "end")
	if o.exit.Code != 3 {
		t.Errorf("exit code %d", o.exit.Code)
	}
	f.iterated = func(int) error { return fmt.Errorf("no such iterator") }
	if o := start(t, t.Context(), s, f, nil); o.err == nil || o.err.Error() != "no such iterator" {
		t.Errorf("error: %v", o.err)
	}
	s.points[0].Category = "/sys/fs/bpf/x"
	if o := start(t, t.Context(), s, f, nil); o.err == nil || !strings.Contains(o.err.Error(), "not pinned") {
		t.Errorf("error: %v", o.err)
	}
}

// TestBeginAlone: a script without other probes ends by itself.
func TestBeginAlone(t *testing.T) {
	f, s := newFake(), newScript()
	s.points = nil
	p := s.layout(record.Layout{Kind: record.Printf, Format: "%d"}, types.TInt64)
	s.special(f, begin, "begin", func() uint32 { f.send(rec(p, 1)); return 0 })
	expect(t, start(t, t.Context(), s, f, nil), "attached 1", "printf 1", "end")
}

// TestControl: programs find the clocks and that nobody reads yet.
func TestControl(t *testing.T) {
	f, s := newFake(), newScript()
	s.points = nil
	s.special(f, begin, "begin", func() uint32 {
		control := f.maps[record.ControlName].entries[string(record.Key())]
		idle := f.maps[record.IdleName].entries[string(record.Key())]
		if string(control[:8]) == string(make([]byte, 8)) || string(idle) != string(record.Idle()) {
			t.Errorf("control %x, idle %x", control, idle)
		}
		return 0
	})
	expect(t, start(t, t.Context(), s, f, nil), "attached 1", "end")
}

// TestResultsDoNotWait: results come although the probes are not gone yet, and the run ends when they are.
func TestResultsDoNotWait(t *testing.T) {
	f, s := newFake(), newScript()
	p := s.layout(record.Layout{Kind: record.Printf, Format: "%d"}, types.TInt64)
	f.attached = func() { f.send(rec(p, 1), rec(s.exitLayout(), 0)) }
	f.detaching = make(chan struct{})
	shown := false
	o := start(t, t.Context(), s, f, func(in *session.Input, k *sink) {
		in.Patience = time.Millisecond
		in.Totals = func(func(string) int64) []string { // asked when the maps are shown
			shown = !f.detached
			close(f.detaching)
			return nil
		}
	})
	expect(t, o, "attached 1", "printf 1", "notice INFO detaching the probes takes long, since other processes start at "+
		"the same time: these are the results until now, and this command ends when the probes are gone", "end")
	if !shown || !f.detached {
		t.Errorf("shown before %v, detached %v", shown, f.detached)
	}
}

// TestInterruptedResults: who interrupts a run has the results at once, and is told if the probes are not gone then.
func TestInterruptedResults(t *testing.T) {
	f, s := newFake(), newScript()
	ctx, cancel := context.WithCancel(t.Context())
	f.attached = func() { time.AfterFunc(20*time.Millisecond, cancel) }
	f.detaching = make(chan struct{})
	shown := false
	o := start(t, ctx, s, f, func(in *session.Input, k *sink) {
		in.Totals = func(func(string) int64) []string {
			shown = !f.detached
			time.AfterFunc(1500*time.Millisecond, func() { close(f.detaching) })
			return nil
		}
	})
	expect(t, o, "attached 1", "end", "notice INFO detaching the probes takes long, since other processes start at the "+
		"same time: this command ends when they are gone")
	if !shown || !f.detached {
		t.Errorf("shown before %v, detached %v", shown, f.detached)
	}
}
