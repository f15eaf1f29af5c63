package kernel

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"trocar/internal/need"
	"trocar/internal/process/probe"
)

func TestTimers(t *testing.T) {
	need.Root(t)
	interval := &Program{
		Name: "i", Type: probe.PerfProgram, Insns: sender(1, -1, false),
		Points: []*probe.Point{{Kind: probe.Interval, Name: "interval:ms:10", Period: 10e6}},
	}
	profile := &Program{
		Name: "p", Type: probe.PerfProgram, Insns: sender(2, -1, false),
		Points: []*probe.Point{{Kind: probe.Profile, Name: "profile:hz:100", Freq: 100}},
	}
	l := load(t, Options{}, interval, profile)
	counts := map[uint64]int{}
	count := func() bool {
		for _, e := range drain(t, l) {
			counts[e.mark]++
		}
		return counts[1] >= 10 && counts[2] >= 3 // the timer may stop on a CPU that idles
	}
	begin := time.Now()
	attachAll(t, l)
	if !within(time.Minute, count) {
		t.Errorf("%d ticks of the interval, %d of the profile in a minute", counts[1], counts[2])
	}
	l.Detach()
	count()
	cpus, _ := onlineCPUs()
	most := int(time.Since(begin)/(10*time.Millisecond)) + 1
	if n := counts[1]; n > most {
		t.Errorf("interval: %d ticks of 10 ms, there can be %d", n, most)
	}
	if n := counts[2]; n > most*len(cpus) {
		t.Errorf("profile: %d ticks of 10 ms on %d CPUs, there can be %d on each", n, len(cpus), most)
	}
}

func TestProfilePID(t *testing.T) {
	need.Root(t)
	path := build(t, "target", targetSource)
	c, idle := start(t, path), start(t, path)
	_ = idle
	l := load(t, Options{}, &Program{
		Name: "p", Type: probe.PerfProgram, Insns: sender(2, -1, false),
		Points: []*probe.Point{{Kind: probe.Profile, Name: "profile:us:1000", Period: 1e6, PID: c.pid()}},
	})
	attachAll(t, l)
	var events []event
	enough := func() bool { // on a busy machine the process runs for a part of the time only
		c.ask("spin 200") // a thread made after the attachment
		events = append(events, drain(t, l)...)
		return len(events) >= 20
	}
	if !within(time.Minute, enough) {
		t.Errorf("%d samples in a minute", len(events))
	}
	for _, e := range events {
		if int(e.tgid) != c.pid() {
			t.Errorf("sample of process %d, want %d", e.tgid, c.pid())
			break
		}
	}
	for _, gone := range []int{1 << 22} {
		l := load(t, Options{}, &Program{
			Name: "p", Type: probe.PerfProgram, Insns: sender(2, -1, false),
			Points: []*probe.Point{{Kind: probe.Profile, Name: "profile:us:1000", Period: 1e6, PID: gone}},
		})
		failed, err := l.Attach(t.Context(), nil)
		if err != nil || len(failed) != 1 || !strings.Contains(failed[0].Error(), "has ended") {
			t.Errorf("%v, %v", failed, err)
		}
	}
}

func TestSoftware(t *testing.T) {
	need.Root(t)
	path := build(t, "target", targetSource)
	const contextSwitches, pageFaults = 3, 2
	l := load(t, Options{}, &Program{
		Name: "p", Type: probe.PerfProgram, Insns: sender(1, -1, false),
		Points: []*probe.Point{{Kind: probe.Software, Name: "software:page-faults:1", Config: pageFaults, Period: 1}},
	})
	attachAll(t, l)
	c := start(t, path)
	c.ask("call 1")
	n := 0
	for _, e := range drain(t, l) {
		if int(e.tgid) == c.pid() {
			n++
		}
	}
	if n < 10 {
		t.Errorf("%d page faults of a process that started", n)
	}
}

func TestWatchpoint(t *testing.T) {
	need.Root(t)
	path := build(t, "target", targetSource)
	c := start(t, path)
	var watched, work uint64
	fmt.Sscan(c.ask("addr 0"), &watched, &work)
	// Whether debug registers work is a matter of the (virtual) machine: where they do not, a watchpoint is refused.
	fires, err := BreakpointsFire()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		pid    int
		addr   uint64
		mode   string
		length int
		ask    string
	}{
		{"write", c.pid(), watched, "w", 8, "touch 23"},
		{"write, all processes", 0, watched, "w", 8, "touch 23"},
		{"read and write", c.pid(), watched, "rw", 4, "touch 23"},
		{"execute", c.pid(), work, "x", 8, "call 23"},
		{"execute in a new thread", c.pid(), work, "x", 8, "thread 23"},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := load(t, Options{}, &Program{
				Name: "p", Type: probe.PerfProgram, Insns: sender(1, -1, false),
				Points: []*probe.Point{{
					Kind: probe.Watchpoint, Name: "watchpoint", Addr: test.addr, WatchMode: test.mode, WatchLen: test.length,
					PID: test.pid,
				}},
			})
			if !fires {
				failed, err := l.Attach(t.Context(), nil)
				if err != nil || len(failed) != 1 || !Unavailable(&failed[0]) {
					t.Errorf("attached without breakpoints that fire: %v, %v", failed, err)
				}
				return
			}
			attachAll(t, l)
			c.ask(test.ask)
			n := 0
			for _, e := range drain(t, l) {
				if int(e.tgid) == c.pid() {
					n++
				}
			}
			if n != 23 {
				t.Errorf("%d events, want 23", n)
			}
			l.Close()
		})
	}
	for _, test := range []struct {
		addr   uint64
		mode   string
		length int
		want   string
	}{
		{watched + 1, "w", 8, "aligned"},
		{watched, "r", 8, "only reads"},
		{watched, "wx", 8, "use x alone"},
		{watched, "w", 3, "1, 2, 4 or 8 bytes"},
		{watched, "", 8, "needs a mode"},
	} {
		l := load(t, Options{}, &Program{
			Name: "p", Type: probe.PerfProgram, Insns: sender(1, -1, false),
			Points: []*probe.Point{{
				Kind: probe.Watchpoint, Name: "watchpoint", Addr: test.addr, WatchMode: test.mode, WatchLen: test.length,
				PID: c.pid(),
			}},
		})
		failed, err := l.Attach(t.Context(), nil)
		if err != nil || len(failed) != 1 || !strings.Contains(failed[0].Error(), test.want) {
			t.Errorf("%+v: %v, %v", test, failed, err)
		}
	}
	// Five: one more than there are.
	var points []*probe.Point
	for i := range 5 {
		points = append(points, &probe.Point{
			Kind: probe.Watchpoint, Name: "watchpoint", Addr: watched + uint64(i)*8,
			WatchMode: "w", WatchLen: 8, PID: c.pid(),
		})
	}
	l := load(t, Options{}, &Program{Name: "p", Type: probe.PerfProgram, Insns: sender(1, -1, false), Points: points})
	failed, err := l.Attach(t.Context(), nil)
	refused := 1
	if !fires {
		refused = len(points)
	}
	if err != nil || len(failed) != refused || !strings.Contains(failed[0].Error(), "debug register") {
		t.Errorf("five watchpoints: %v, %v", failed, err)
	}
}
