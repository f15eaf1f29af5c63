package session_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"trocar/internal/binary/types"
	"trocar/internal/compile/record"
	"trocar/internal/kernel"
	"trocar/internal/process/probe"
	"trocar/internal/session"
)

// TestPrintMaps: maps of each kind as they are shown at the end, by name.
func TestPrintMaps(t *testing.T) {
	f, s := newFake(), newScript()
	count, sum, stats := types.AggOf(types.Count, false), types.AggOf(types.Sum, true), types.AggOf(types.Stats, true)
	put := func(name string, key, value *types.Type, entries ...[]byte) {
		st := s.storage(f, name, key, value)
		for i := 0; i+1 < len(entries); i += 2 {
			f.set(st.Name, entries[i], entries[i+1])
		}
	}
	put("@z", types.StringOf(8), types.TInt32, le("one\x00\x00\x00\x00\x00"), le(int32(-1), int32(0)))
	put("@order", types.TInt64, types.TInt64, le(3), le(6), le(1), le(6), le(2), le(5)) // by value, equals by key
	put("@scalar", nil, types.TInt64, record.Key(), le(1, 42))
	put("@unset", nil, types.TInt64, record.Key(), le(0, 42))
	put("@empty", types.TInt64, types.TInt64)
	put("@cpus", types.TInt64, sum, le(1), le(5, -7, 3))
	put("@count", nil, count, record.Key(), le(1, 5, 0, 0, 1, 2)) // of three CPUs, one of which has never counted
	put("@stats", types.TInt64, stats, le(1), le(10, 2, 20, 3))
	// The same stack in two processes; its name is the same, so it is one to the reader.
	stack := types.StackType(types.UStack, 2, types.StackDefault)
	put("@stacks", stack, count, le(uint32(1<<30), uint32(0), 0, 0, 0), le(2), le(uint32(1<<29), uint32(0), 0, 0, 0),
		le(3))
	series := types.SeriesOf(types.SeriesSpec{IntervalNS: 1e9, Count: 2, Agg: types.Sum, Signed: true})
	put("@series", types.TInt64, series, le(1), le(8, 5, 0, 9, 6, 0))
	f.send(rec(s.exitLayout(), 0))
	o := start(t, t.Context(), s, f, func(in *session.Input, k *sink) {
		in.Config.SeriesTime = true
		in.PID = os.Getpid() // others are not watched, which takes privileges
		in.Totals = func(value func(string) int64) []string {
			return []string{fmt.Sprint("in all ", value("@scalar"), value("@unset"), value("@none"), value("@count"))}
		}
	})
	want := []string{
		"attached 1", "end", "map @count: 7",
		"map @cpus: 1=1", "map @order: 2=5 1=6 3=6", "map @scalar: 42", "map @series: 1=", "map @stacks: \n=5",
		"map @stats: 1=", "map @z: one=-1", "notice INFO in all 42 0 0 0",
	}
	if len(o.sink.lines) != len(want) {
		t.Fatalf("events:\n%s", strings.Join(o.sink.lines, "\n"))
	}
	for i, line := range o.sink.lines {
		if strings.TrimSpace(line) != strings.TrimSpace(want[i]) && !strings.HasPrefix(line, want[i]) {
			t.Errorf("got %q, want %q", line, want[i])
		}
	}
}

// TestManyStacks: of many stacks each is named when it is shown, in the order of few, and those that are one to the
// reader are shown as one.
func TestManyStacks(t *testing.T) {
	const n = 3000
	f, s := newFake(), newScript()
	st := s.storage(f, "@", types.StackType(types.UStack, 2, types.StackDefault), types.AggOf(types.Count, false))
	for i := range n {
		for _, pid := range []uint32{1 << 29, 1 << 30} {
			f.set(st.Name, le(pid, uint32(1), 0, 0x10000+i, 0), le(i%3+1))
		}
	}
	f.send(rec(s.exitLayout(), 0))
	o := start(t, t.Context(), s, f, func(in *session.Input, _ *sink) { in.PID = os.Getpid() })
	shown, values := 0, [3]int{}
	for _, line := range o.sink.lines {
		if !strings.HasPrefix(line, "map @: ") {
			continue
		}
		i := shown / (n / 3) // by value, equals by their addresses
		want := fmt.Sprintf("0x%x\n=%d", 0x10000+3*values[i]+i, 2*(i+1))
		shown++
		values[i]++
		if !strings.HasSuffix(line, want) {
			t.Fatalf("%q, want %q", line, want)
		}
	}
	if shown != n {
		t.Errorf("%d stacks", shown)
	}
}

// TestOrderAtEnd: maps are sorted at the end as print() does: by value, equals by key.
func TestOrderAtEnd(t *testing.T) {
	f, s := newFake(), newScript()
	st := s.storage(f, "@", types.TInt64, types.TInt64)
	for _, e := range [][2]int{{5, 6}, {3, 6}, {9, 1}, {4, 6}, {1, 8}} {
		f.set(st.Name, le(e[0]), le(e[1]))
	}
	f.send(rec(s.exitLayout(), 0))
	o := start(t, t.Context(), s, f, nil)
	if want := "map @: 9=1 3=6 4=6 5=6 1=8"; !slices.Contains(o.sink.lines, want) {
		t.Errorf("%q, want %q", o.sink.lines, want)
	}
}

// TestPrintMap: print(@map, top, div) shows the largest, divided; an empty map too, and one of a single value reads
// as 0.
func TestPrintMap(t *testing.T) {
	f, s := newFake(), newScript()
	st := s.storage(f, "@m", types.TInt64, types.TInt64)
	for i := range 5 {
		f.set(st.Name, le(i), le(10*i))
	}
	s.storage(f, "@empty", types.TInt64, types.TInt64)
	s.storage(f, "@unset", nil, types.TInt64)
	s.storage(f, "@hist", nil, types.HistOf(0))
	p := s.layout(record.Layout{Kind: record.PrintMap, Map: 0}, types.TInt64, types.TInt64)
	f.send(rec(p, 2, 10))
	for i := range 3 {
		f.send(rec(s.layout(record.Layout{Kind: record.PrintMap, Map: i + 1})))
	}
	f.send(rec(s.exitLayout(), 0))
	o := start(t, t.Context(), s, f, func(in *session.Input, _ *sink) { in.Config.PrintMapsOnExit = false })
	expect(t, o, "attached 1", "map @m: 3=3 4=4", "map @empty: ", "map @unset: 0", "map @hist: ", "end")
}

// TestPrintAndClear: what is shown is what is taken out, so that nothing in between is lost.
func TestPrintAndClear(t *testing.T) {
	for name, c := range map[string]struct {
		scalar bool
		then   string
		want   string // what is done with maps
		lines  []string
	}{
		"pair":     {false, "clear 0", "take m0", []string{"map @a: 1=7"}},
		"scalar":   {true, "clear 0", "clear m0", []string{"map @a: 7"}},
		"other":    {false, "clear 1", "clear m1", []string{"map @a: 1=7"}},
		"zero":     {false, "zero 0", "zero m0", []string{"map @a: 1=7"}},
		"nothing":  {false, "", "", []string{"map @a: 1=7"}},
		"printed":  {false, "print", "", []string{"map @a: 1=7", "print 5"}},
		"twice":    {false, "map 0", "", []string{"map @a: 1=7", "map @a: 1=7"}},
		"the last": {false, "end", "", []string{"map @a: 1=7"}},
	} {
		f, s := newFake(), newScript()
		var key *types.Type
		if !c.scalar {
			key = types.TInt64
		}
		st := s.storage(f, "@a", key, types.TInt64)
		if c.scalar {
			f.set(st.Name, record.Key(), le(1, 7))
		} else {
			f.set(st.Name, le(1), le(7))
		}
		s.storage(f, "@b", types.TInt64, types.TInt64)
		f.send(rec(s.layout(record.Layout{Kind: record.PrintMap, Map: 0})))
		switch verb, index, _ := strings.Cut(c.then, " "); verb {
		case "clear":
			f.send(rec(s.layout(record.Layout{Kind: record.Clear, Map: int(index[0] - '0')})))
		case "zero":
			f.send(rec(s.layout(record.Layout{Kind: record.Zero, Map: 0})))
		case "map":
			f.send(rec(s.layout(record.Layout{Kind: record.PrintMap, Map: 0})))
		case "print":
			f.send(rec(s.layout(record.Layout{Kind: record.Print}, types.TInt64), 5))
		}
		if c.then != "end" {
			f.send(rec(s.exitLayout(), 0))
		} else {
			s.points = nil // ends by itself: the map is shown before the end
		}
		o := start(t, t.Context(), s, f, func(in *session.Input, _ *sink) { in.Config.PrintMapsOnExit = false })
		t.Run(name, func(t *testing.T) {
			expect(t, o, append(append([]string{"attached 1"}, c.lines...), "end")...)
			if got := strings.Join(f.calls, ", "); got != c.want {
				t.Errorf("done: %s, want %s", got, c.want)
			}
		})
	}
}

// TestMissed: hits at which the kernel ran no program are lost, and so are the starts of processes that are followed.
func TestMissed(t *testing.T) {
	f, s := newFake(), newScript()
	s.points = nil
	for i, name := range []string{"tracepoint:a:b", "tracepoint:c:d", "tracepoint:e:f", "tracepoint:g:h"} {
		f.missed = append(f.missed, kernel.Missed{Point: &probe.Point{Name: name}, Count: uint64(4 - i)})
	}
	f.orphans = 2
	const lost = "lost %d hits the kernel passed over %s while another BPF program or the tracer was at work on the " +
		"CPU; which process it was is not known"
	follow := func(in *session.Input, _ *sink) { in.Follow, in.PID = true, os.Getpid() }
	expect(t, start(t, t.Context(), s, f, follow), "attached 1", "end",
		fmt.Sprintf(lost, 10, "tracepoint:a:b, tracepoint:c:d, tracepoint:e:f and 1 more"),
		"notice WARNING the kernel passed over the starts of 2 processes or threads: those that were child processes were "+
			"not traced")

	f.missed, f.orphans = f.missed[3:], 1
	expect(t, start(t, t.Context(), s, f, follow), "attached 1", "end", fmt.Sprintf(lost, 1, "tracepoint:g:h"),
		"notice WARNING the kernel passed over the start of 1 process or thread: if it was a child process, it was not "+
			"traced")

	f.missed, f.orphans = nil, 0
	expect(t, start(t, t.Context(), s, f, follow), "attached 1", "end")
}

// TestFramePointers: a script whose stacks are walked by frame pointers tells so.
func TestFramePointers(t *testing.T) {
	f, s := newFake(), newScript()
	s.FramePointers = "old"
	f.attached = func() { f.send(rec(s.exitLayout(), 0)) }
	expect(t, start(t, t.Context(), s, f, nil), "notice WARNING call stacks are walked by frame pointers, so frames of "+
		"code without them are missing or wrong: old", "attached 1", "end")
}

// TestTables: files of which the programs cannot be given tables are told of once, and end nothing.
func TestTables(t *testing.T) {
	f, s := newFake(), newScript()
	m := s.layout(record.Layout{Kind: record.Mapped}, types.TUint64, types.TUint64)
	p := s.layout(record.Layout{Kind: record.Printf, Format: "%d"}, types.TInt64)
	f.attached = func() { f.send(rec(m, os.Getpid(), 0), rec(p, 1), rec(m, 1<<30, 0), rec(s.exitLayout(), 0)) }
	o := start(t, t.Context(), s, f, func(in *session.Input, _ *sink) { in.PID = os.Getpid() })
	var told []string
	o.sink.lines = slices.DeleteFunc(o.sink.lines, func(line string) bool {
		is := strings.HasPrefix(line, "notice WARNING call stacks are walked by frame pointers in some files: no ")
		if is {
			told = append(told, line)
		}
		return is
	})
	expect(t, o, "attached 1", "printf 1", "end")
	if len(told) != 1 {
		t.Errorf("told %q, want it once", told)
	}
}

// TestLosses: each counter is reported, once.
func TestLosses(t *testing.T) {
	f, s := newFake(), newScript()
	s.storage(f, "@full", types.TInt64, types.TInt64)
	want := []string{
		"lost 10 events ", "lost 11 events no scratch memory was free",
		"notice WARNING Map full; can't update element of @full (12 times)",
		"notice WARNING 13 reads of memory failed; their values were taken as 0 or empty",
		"notice WARNING 14 call stacks have no frames: there were too many different ones at once",
		"notice WARNING a loop was stopped 15 times by the kernel's limit of iterations",
		"notice WARNING 16 returns were left out: their calls had begun before, and the location of the result is known " +
			"only at function entry",
		"notice WARNING 17 calls were not timed: too many were open at once",
		"notice WARNING 18 returns were lost: the kernel sees those of only 64 calls that are nested in a thread",
		"notice INFO 19 calls were left by an exception, longjmp or the end of a thread: they have no duration",
		"notice INFO 20 calls had not returned, or were left: they have no duration",
		"notice INFO 21 call stacks go through code that no unwinding table is known of: " +
			"frames there may be missing or wrong",
		"notice INFO 22 call stacks end early: the callers of their last frames were not found",
		"notice WARNING 24 times a Python function was met whose name was not kept: there are too many",
		"notice WARNING the floating-point values of 25 hits are not known: the thread was not switched off (a real-time " +
			"or SCHED_IDLE thread, no thread of trocar's on its CPU, or trocar was stopped)",
	}
	s.Losses = nil
	var value []byte
	for i, kind := range record.LossKinds() {
		s.Losses = append(s.Losses, record.Loss{Kind: kind, Map: 0, Action: i, At: at})
		value = append(value, le(10+i)...)
	}
	s.Losses = append(s.Losses, record.Loss{Kind: record.LostReads})
	value = append(value, le(0)...) // nothing: not reported
	f.set(record.CountersName, record.Key(), value)
	s.points = nil
	expect(t, start(t, t.Context(), s, f, nil), append([]string{"attached 1", "end"}, want...)...)

	s.Losses = []record.Loss{{Kind: 99}}
	if o := start(t, t.Context(), s, f, nil); o.err == nil || !strings.Contains(o.err.Error(), "unknown kind 99") {
		t.Errorf("error: %v", o.err)
	}
}
