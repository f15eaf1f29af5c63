package kernel

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"golang.org/x/sys/unix"

	"trocar/internal/compile/feature"
	"trocar/internal/need"
	"trocar/internal/process/probe"
)

// ways are the ways to attach uprobes: as this kernel does it best, and as older ones do.
var ways = []struct {
	name    string
	without []feature.Feature
}{
	{"multi", nil},
	{"perf", []feature.Feature{feature.UprobeMulti}},
	{"perf without cookies", []feature.Feature{feature.UprobeMulti, feature.AttachCookie}},
}

func TestUprobeCalls(t *testing.T) {
	need.Root(t)
	path := build(t, "target", targetSource)
	syms := symbols(t, path)
	for _, way := range ways {
		for _, sleepable := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/sleepable=%v", way.name, sleepable), func(t *testing.T) {
				f := NewFeatures()
				f.Disable(way.without...)
				if sleepable && !f.Has(feature.SleepableUprobe) {
					t.Skip(f.Need(feature.SleepableUprobe, ""))
				}
				cookies := f.Has(feature.AttachCookie)
				entry := &Program{
					Name: "entry", Type: probe.UprobeProgram, Sleepable: sleepable, Insns: sender(1, regDI, cookies),
					Points: []*probe.Point{point(path, syms["work"], 0), point(path, syms["other"], 0)},
				}
				ret := &Program{
					Name: "ret", Type: probe.UprobeProgram, Return: true, Sleepable: sleepable, Insns: sender(2, regAX, cookies),
					Points: []*probe.Point{point(path, syms["work"], 0)},
				}
				if cookies {
					entry.Cookies = []uint64{0xfeedface00000001, 7}
					ret.Cookies = []uint64{99}
				}
				l := load(t, Options{Features: f}, entry, ret)
				attachAll(t, l)
				c := start(t, path)
				runtime.GC() // what is not reachable would be closed
				runtime.GC()
				c.ask("call 23")
				c.ask("other 5")
				l.Detach()
				c.ask("call 10")
				events := drain(t, l)
				var entries, returns, others int
				for _, e := range events {
					if int(e.tgid) != c.pid() {
						t.Errorf("tgid %d, want %d", e.tgid, c.pid())
					}
					switch {
					case e.mark == 2:
						if want := uint64(returns*2 + 1); e.arg != want {
							t.Errorf("return %d: %d, want %d", returns, e.arg, want)
						}
						if cookies && e.cookie != 99 {
							t.Errorf("cookie %#x", e.cookie)
						}
						returns++
					case entries < 23:
						if e.arg != uint64(entries) {
							t.Errorf("entry %d: argument %d", entries, e.arg)
						}
						if cookies && e.cookie != 0xfeedface00000001 {
							t.Errorf("cookie %#x", e.cookie)
						}
						entries++
					default:
						if cookies && e.cookie != 7 {
							t.Errorf("cookie %#x", e.cookie)
						}
						others++
					}
				}
				if entries != 23 || returns != 23 || others != 5 {
					t.Errorf("%d entries, %d returns, %d others; want 23, 23, 5", entries, returns, others)
				}
			})
		}
	}
}

// TestUprobePID: only the process asked for, but all of its threads; the others run at full speed.
func TestUprobePID(t *testing.T) {
	need.Root(t)
	path := build(t, "target", targetSource)
	syms := symbols(t, path)
	for _, way := range ways[:2] {
		t.Run(way.name, func(t *testing.T) {
			f := NewFeatures()
			f.Disable(way.without...)
			a, b := start(t, path), start(t, path)
			l := load(t, Options{Features: f}, &Program{
				Name: "p", Type: probe.UprobeProgram, Insns: sender(1, -1, false),
				Points: []*probe.Point{point(path, syms["work"], a.pid())},
			})
			attachAll(t, l)
			a.ask("call 3")
			a.ask("thread 20")
			b.ask("call 100")
			if ns := b.ask("time 1000000"); len(ns) > 3 { // traced it were thousands
				t.Errorf("the other process takes %s ns a call", ns)
			}
			if n := len(drain(t, l)); n != 23 {
				t.Errorf("%d events, want 23", n)
			}
		})
	}
}

// TestUprobeExec: a process that is told apart before it executes its program.
func TestUprobeExec(t *testing.T) {
	need.Root(t)
	path := build(t, "target", targetSource)
	launcher := build(t, "launcher", `
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv) {
	char c;
	printf("ready\n");
	fflush(stdout);
	if (read(0, &c, 1) == 1) execv(argv[1], argv + 1);
	return 1;
}`)
	for _, way := range ways[:2] {
		t.Run(way.name, func(t *testing.T) {
			f := NewFeatures()
			f.Disable(way.without...)
			c := start(t, launcher, path)
			l := load(t, Options{Features: f}, &Program{
				Name: "p", Type: probe.UprobeProgram, Insns: sender(1, -1, false),
				Points: []*probe.Point{point(path, symbols(t, path)["work"], c.pid())},
			})
			attachAll(t, l)
			if got := c.ask(""); got != "ready" {
				t.Fatal(got)
			}
			c.ask("call 3")
			c.ask("thread 20")
			if n := len(drain(t, l)); n != 23 {
				t.Errorf("%d events, want 23", n)
			}
		})
	}
}

func TestSemaphore(t *testing.T) {
	need.Root(t)
	path := build(t, "target", targetSource)
	syms := symbols(t, path)
	for _, way := range ways[:2] {
		t.Run(way.name, func(t *testing.T) {
			f := NewFeatures()
			f.Disable(way.without...)
			c := start(t, path)
			p := point(path, syms["work"], 0)
			p.RefCtr = syms["semaphore"]
			l := load(t, Options{Features: f}, &Program{
				Name: "p", Type: probe.UprobeProgram, Insns: sender(1, -1, false),
				Points: []*probe.Point{p},
			})
			if got := c.ask("sem 0"); got != "0" {
				t.Errorf("before: %s", got)
			}
			attachAll(t, l)
			if got := c.ask("sem 0"); got != "1" {
				t.Errorf("attached: %s", got)
			}
			l.Detach()
			if got := c.ask("sem 0"); got != "0" {
				t.Errorf("detached: %s", got)
			}
		})
	}
}

// TestBadPoints: those are reported, all others attached.
func TestBadPoints(t *testing.T) {
	need.Root(t)
	path := build(t, "target", targetSource)
	syms := symbols(t, path)
	for _, way := range ways[:2] {
		t.Run(way.name, func(t *testing.T) {
			f := NewFeatures()
			f.Disable(way.without...)
			bad := point(path, syms["other"], 0)
			bad.RefCtr = syms["semaphore"] + 1 // not aligned: refused
			bad2 := point(path, 1<<30, 0)
			bad3 := point(path, syms["other"], 0)
			bad3.RefCtr = syms["semaphore"] + 3
			missing := point("/nonexistent/file", 0x1000, 0)
			directory := point("/", 0x1000, 0)
			l := load(t, Options{Features: f}, &Program{
				Name: "p", Type: probe.UprobeProgram, Insns: sender(1, -1, false),
				Points: []*probe.Point{
					bad, point(path, syms["other"], 0), bad2, point(path, syms["work"], 0), bad3, missing,
					directory,
				},
			})
			begin := time.Now()
			failed, err := l.Attach(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%v", time.Since(begin))
			want := map[*probe.Point]string{
				bad: "semaphore", bad2: "beyond the end", bad3: "semaphore", missing: "no such file",
				directory: "not a regular file",
			}
			for _, f := range failed {
				text, ok := want[f.Point]
				if !ok || !strings.Contains(f.Error(), text) {
					t.Errorf("%s; want %q", f.Error(), text)
				}
				delete(want, f.Point)
			}
			if len(want) != 0 {
				t.Errorf("not reported: %d", len(want))
			}
			c := start(t, path)
			c.ask("call 20")
			c.ask("other 3")
			if n := len(drain(t, l)); n != 23 {
				t.Errorf("%d events, want 23", n)
			}
		})
	}
}

func TestSession(t *testing.T) {
	need.Root(t)
	f := NewFeatures()
	if !f.Has(feature.UprobeSession) {
		t.Skip(f.Need(feature.UprobeSession, ""))
	}
	path := build(t, "target", targetSource)
	syms := symbols(t, path)
	id, ok := f.Types().FuncID("bpf_session_is_return")
	if !ok {
		t.Fatal(f.Types().Err())
	}
	// mark is 0 at the entry and 1 at the return.
	insns := append(asm.Instructions{
		asm.Mov.Reg(asm.R8, asm.R1),
		KfuncCall(id),
		asm.And.Imm(asm.R0, 1),
		asm.Mov.Reg(asm.R9, asm.R0),
		asm.Mov.Reg(asm.R1, asm.R8),
	}, sender(0, regDI, true)...)
	for i := range insns {
		if insns[i] == asm.Mov.Imm(asm.R1, 0) {
			insns[i] = asm.Mov.Reg(asm.R1, asm.R9)
		}
	}
	for _, sleepable := range []bool{false, true} {
		l := load(t, Options{Features: f}, &Program{
			Name: "p", Type: probe.UprobeProgram, Session: true, Sleepable: sleepable, Insns: insns,
			Points: []*probe.Point{point(path, syms["work"], 0)}, Cookies: []uint64{5},
		})
		attachAll(t, l)
		c := start(t, path)
		c.ask("call 23")
		var entries, returns int
		for _, e := range drain(t, l) {
			if e.cookie != 5 {
				t.Errorf("cookie %d", e.cookie)
			}
			if e.mark == 1 {
				returns++
			} else {
				entries++
			}
		}
		if entries != 23 || returns != 23 {
			t.Errorf("sleepable %v: %d entries, %d returns", sleepable, entries, returns)
		}
		l.Close()
	}
}

func TestTracepoints(t *testing.T) {
	need.Root(t)
	path := build(t, "target", targetSource)
	c := start(t, path)
	// 8 is the offset of the first field of sys_enter records; raw sys_enter has {regs, id}.
	l := load(t, Options{},
		&Program{
			Name: "t", Type: probe.TracepointProgram, Insns: sender(1, 8, false),
			Points: []*probe.Point{{
				Kind: probe.Tracepoint, Name: "tracepoint:sched:sched_process_fork", Category: "sched",
				Event: "sched_process_fork",
			}},
		},
		&Program{
			Name: "r", Type: probe.RawTracepointProgram, Insns: sender(2, 8, false),
			Points: []*probe.Point{{
				Kind: probe.RawTracepoint, Name: "rawtracepoint:sched_process_fork",
				Event: "sched_process_fork",
			}},
		},
		&Program{
			Name: "bad", Type: probe.TracepointProgram, Insns: sender(1, -1, false),
			Points: []*probe.Point{
				{Kind: probe.Tracepoint, Name: "tracepoint:sched:nonsense", Category: "sched", Event: "nonsense"},
				{Kind: probe.Tracepoint, Name: "tracepoint:..:id", Category: "..", Event: "id"},
			},
		},
		&Program{
			Name: "badraw", Type: probe.RawTracepointProgram, Insns: sender(1, -1, false),
			Points: []*probe.Point{{Kind: probe.RawTracepoint, Name: "rawtracepoint:nonsense", Event: "nonsense"}},
		},
	)
	failed, err := l.Attach(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(failed) != 3 {
		t.Errorf("failed: %v", failed)
	}
	for range 23 {
		c.ask("thread 1")
	}
	counts := map[uint64]int{}
	for _, e := range drain(t, l) {
		if int(e.tgid) == c.pid() {
			counts[e.mark]++
		}
	}
	if counts[1] != 23 || counts[2] != 23 {
		t.Errorf("forks seen: %v, want 23 each", counts)
	}
}

func TestRun(t *testing.T) {
	need.Root(t)
	run := &Program{Name: "begin", Type: probe.RunProgram, Insns: sender(1, -1, false)}
	onSignal := &Program{
		Name: "self", Type: probe.RunProgram, Insns: sender(2, -1, false),
		Points: []*probe.Point{{Kind: probe.Self, Name: "self:signal:SIGUSR1", Category: "signal", Event: "SIGUSR1"}},
	}
	bench := &Program{Name: "bench", Type: probe.BenchProgram, Insns: asm.Instructions{
		asm.Mov.Imm(asm.R0, 2),
		asm.Return(),
	}}
	l := load(t, Options{}, run, onSignal, bench)
	attachAll(t, l)
	for range 23 {
		if _, err := l.Run("begin"); err != nil {
			t.Fatal(err)
		}
	}
	events := drain(t, l)
	if len(events) != 23 {
		t.Fatalf("%d events", len(events))
	}
	if int(events[0].tgid) != os.Getpid() {
		t.Errorf("ran as %d, want this process (%d)", events[0].tgid, os.Getpid())
	}
	syscall.Kill(os.Getpid(), syscall.SIGUSR1)
	var got []event
	if !within(time.Minute, func() bool { got = append(got, drain(t, l)...); return len(got) == 1 }) || got[0].mark != 2 {
		t.Errorf("after the signal: %v", got)
	}
	if ret, d, err := l.RunMany("bench", 1000); err != nil || ret != 2 || d > time.Millisecond {
		t.Errorf("bench: %d %v %v", ret, d, err)
	}
	if _, err := l.Run("nonsense"); err == nil {
		t.Error("ran what is not there")
	}
}

func TestIterate(t *testing.T) {
	need.Root(t)
	insns := sender(1, -1, false)
	p := &Program{
		Name: "it", Type: probe.IterProgram, Insns: insns,
		Points: []*probe.Point{{Kind: probe.Iter, Name: "iter:task", Event: "task"}},
	}
	l := load(t, Options{}, p)
	attachAll(t, l)
	var out strings.Builder
	if err := l.Iterate("it", 0, &out); err != nil {
		t.Fatal(err)
	}
	if n := len(drain(t, l)); n < 10 {
		t.Errorf("%d tasks", n)
	}
	if err := l.Iterate("it", os.Getpid(), &out); err != nil {
		if Unavailable(err) {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	threads, _ := os.ReadDir("/proc/self/task")
	// The program runs once more at the end, without a task.
	if n := len(drain(t, l)); n < 2 || n > len(threads)+4 {
		t.Errorf("%d of %d threads", n, len(threads))
	}
}

// TestKernelFunctions: kprobes and the like where the kernel has them, else an error that names what is missing.
func TestKernelFunctions(t *testing.T) {
	need.Root(t)
	path := build(t, "target", targetSource)
	c := start(t, path)
	const function = "wake_up_new_task"
	for _, p := range []*Program{
		{Name: "kprobe", Type: probe.KprobeProgram, Insns: sender(1, -1, true), Cookies: []uint64{5}},
		{Name: "kretprobe", Type: probe.KprobeProgram, Return: true, Insns: sender(1, -1, false)},
		{Name: "fentry", Type: probe.FentryProgram, Insns: sender(1, -1, false)},
		{Name: "fexit", Type: probe.FexitProgram, Insns: sender(1, -1, false)},
	} {
		t.Run(p.Name, func(t *testing.T) {
			p.Points = []*probe.Point{{Kind: probe.Kprobe, Name: p.Name + ":" + function, Event: function}}
			l, err := Load(&Object{Maps: []*ebpf.MapSpec{ringSpec()}, Programs: []*Program{p}}, Options{})
			if err == nil {
				defer l.Close()
				var failed []AttachError
				failed, err = l.Attach(t.Context(), nil)
				if len(failed) > 0 {
					err = &failed[0]
				}
			}
			if err != nil {
				t.Log(err)
				if !Unavailable(err) {
					t.Errorf("%v is not said to be for want of a feature", err)
				}
				return
			}
			for range 23 {
				c.ask("thread 1")
			}
			n := 0
			for _, e := range drain(t, l) {
				if int(e.tgid) == c.pid() {
					n++
				}
			}
			if n != 23 {
				t.Errorf("%d events, want 23", n)
			}
		})
	}
}

// TestScratchIsShared shows why per-CPU memory must be taken by a program before it works in it: a timer's program runs
// in the midst of a uprobe's.
func TestScratchIsShared(t *testing.T) {
	need.Root(t)
	if !NewFeatures().Has(feature.UprobeMulti) {
		t.Skip("in old kernels a program that runs makes that of a timer be skipped")
	}
	path := build(t, "target", targetSource)
	syms := symbols(t, path)
	element := func(out string) asm.Instructions {
		return asm.Instructions{
			asm.StoreImm(asm.RFP, -4, 0, asm.Word),
			asm.LoadMapPtr(asm.R1, 0).WithReference("scratch"),
			asm.Mov.Reg(asm.R2, asm.RFP),
			asm.Add.Imm(asm.R2, -4),
			asm.FnMapLookupElem.Call(),
			asm.JEq.Imm(asm.R0, 0, out),
			asm.Mov.Reg(asm.R6, asm.R0),
		}
	}
	end := asm.Instructions{asm.Mov.Imm(asm.R0, 0).WithSymbol("out"), asm.Return()}
	timer := append(element("out"),
		asm.Mov.Imm(asm.R1, 77),
		asm.StoreMem(asm.R6, 0, asm.R1, asm.DWord))
	slow := append(element("out"),
		asm.Mov.Imm(asm.R1, 1),
		asm.StoreMem(asm.R6, 0, asm.R1, asm.DWord),
		asm.Mov.Imm(asm.R8, 0),
		asm.Add.Imm(asm.R8, 1).WithSymbol("loop"),
		asm.FnKtimeGetNs.Call(),
		asm.JLT.Imm(asm.R8, 300, "loop"),
		asm.LoadMem(asm.R1, asm.R6, 0, asm.DWord),
		asm.JEq.Imm(asm.R1, 1, "out"),
		asm.LoadMem(asm.R1, asm.R6, 8, asm.DWord),
		asm.Add.Imm(asm.R1, 1),
		asm.StoreMem(asm.R6, 8, asm.R1, asm.DWord))
	l, err := Load(&Object{
		Maps: []*ebpf.MapSpec{{Name: "scratch", Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: 16, MaxEntries: 1}},
		Programs: []*Program{
			{
				Name: "slow", Type: probe.UprobeProgram, Insns: append(slow, end...),
				Points: []*probe.Point{point(path, syms["work"], 0)},
			},
			{
				Name: "timer", Type: probe.PerfProgram, Insns: append(timer, end...),
				Points: []*probe.Point{{Kind: probe.Profile, Name: "profile:us:100", Period: 100_000}},
			},
		},
	}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	attachAll(t, l)
	c := start(t, path)
	if !within(time.Minute, func() bool {
		c.ask("call 10000")
		n, _ := l.Map("scratch").Sum(0, 8)
		return n > 0
	}) {
		t.Error("the memory never changed: is it safe now?")
	}
}

// TestUnwatch: the links of watchpoints at an address are closed, and no others.
func TestUnwatch(t *testing.T) {
	l := &Loaded{}
	open := func() int {
		fd, err := unix.Dup(0)
		if err != nil {
			t.Fatal(err)
		}
		return fd
	}
	at := func(addr uint64) *probe.Point { return &probe.Point{Kind: probe.Watchpoint, Addr: addr} }
	watched := []int{open(), open(), open()}
	l.links = []*attachment{
		{fds: []int{open()}},
		{fds: watched[:1:1], watch: at(0x10)},
		{fds: watched[1:2:2], watch: at(0x10)},
		{fds: watched[2:], watch: at(0x20)},
	}
	for i, want := range []int{2, 0} {
		if n := l.Unwatch(0x10); n != want {
			t.Errorf("call %d: %d links were ended, want %d", i, n, want)
		}
	}
	if _, err := unix.FcntlInt(uintptr(watched[0]), unix.F_GETFD, 0); err == nil {
		t.Error("the link of a watchpoint that was removed is open")
	}
	if _, err := unix.FcntlInt(uintptr(watched[2]), unix.F_GETFD, 0); err != nil {
		t.Error("the link of another watchpoint was closed")
	}
	if n := len(l.links); n != 2 {
		t.Errorf("%d links are left, want 2", n)
	}
	l.Detach()
}
