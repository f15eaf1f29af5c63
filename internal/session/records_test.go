package session_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"trocar/internal/binary/types"
	"trocar/internal/compile/record"
	"trocar/internal/session"
	"trocar/result"
)

var at = result.Position{File: "stdin", Line: 3, Col: 5, EndLine: 3, EndCol: 9}

// exitLayout ends a script.
func (s *script) exitLayout() *record.Layout {
	return s.layout(record.Layout{Kind: record.Exit}, types.TInt64)
}

// TestEachKind: what comes of each kind of record. A kind that is added fails here until a run knows it.
func TestEachKind(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("first line\nsecond\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := types.StringOf(64)
	for _, kind := range record.Kinds() {
		f, s := newFake(), newScript()
		var stderr bytes.Buffer
		var want []string
		l := record.Layout{Kind: kind, At: at}
		count := types.AggOf(types.Count, false)
		switch kind {
		case record.Printf:
			l.Format = "%d %s!\n"
			f.send(rec(s.layout(l, types.TInt32, text), -5, "five"))
			want = []string{"printf -5 five!\n"}
		case record.Errorf:
			l.Format = "bad %d"
			f.send(rec(s.layout(l, types.TInt64), 7))
			want = []string{"message ERROR bad 7 at stdin:3:5-9"}
		case record.Warnf:
			l.Format = "odd %s"
			f.send(rec(s.layout(l, text), "one"))
			want = []string{"message WARNING odd one at stdin:3:5-9"}
		case record.Print:
			f.send(rec(s.layout(l, types.TupleOf(types.TInt8, types.TUint8)), le(int8(-1), uint8(2))))
			want = []string{"print (-1, 2)"}
		case record.PrintMap, record.Clear, record.Zero:
			st := s.storage(f, "@m", types.TInt64, count)
			f.set(st.Name, le(1), le(3))
			f.send(rec(s.layout(l)))
			want = map[record.Kind][]string{
				record.PrintMap: {"map @m: 1=3", "end", "map @m: 1=3"}, record.Clear: {"end"}, record.Zero: {"end", "map @m: 1=0"},
			}[kind]
		case record.Time:
			l.Format = "%Y\n"
			f.send(rec(s.layout(l)))
			want = []string{fmt.Sprintf("time %d\n", time.Now().Year())}
		case record.Join:
			l.Sep = "+"
			r := rec(s.layout(l, text, text, text), "a", "b", "")
			copy(r[s.Layouts[0].Args[2].Offset:], le(^uint32(0))) // there is no such element
			f.send(r)
			want = []string{"join a+b"}
		case record.Cat:
			l.Format = "%s"
			c := s.layout(l, text)
			f.send(rec(c, file), rec(c, "/no/such"))
			want = []string{"cat first line", "notice ERROR failed to open file '/no/such' (No such file or directory)"}
		case record.System:
			l.Format = "echo out; echo %s >&2; exit 3"
			f.send(rec(s.layout(l, text), "wrong"))
			want = []string{"system out\n"}
		case record.Exit:
			f.send(rec(s.layout(l, types.TInt64), 300))
		case record.HelperError:
			l.Helper = "probe_read_user"
			f.send(rec(s.layout(l, types.TInt64), -14))
			f.send(rec(s.layout(record.Layout{Kind: kind, Format: "divided by 0", At: at}, types.TInt64), 0))
			want = []string{"helper probe_read_user -14 at stdin:3:5-9", "runtime divided by 0 at stdin:3:5-9"}
		case record.Unwatch:
			u := s.layout(l, types.TUint64)
			f.send(rec(u, 0x1000), rec(u, 0x2000))
			want = []string{"notice WARNING unwatch(0x2000): there is no watchpoint at this address"}
		case record.Mapped: // of no event: who walks stacks is asked
			f.send(rec(s.layout(l, types.TUint64), 1<<30))
		default:
			t.Errorf("kind %d has no test", kind)
		}
		if kind != record.Exit {
			f.send(rec(s.exitLayout(), 44))
		}
		if len(want) == 0 || want[len(want)-1] != "end" && !strings.HasPrefix(want[len(want)-1], "map") {
			want = append(want, "end")
		}
		o := start(t, t.Context(), s, f, func(in *session.Input, _ *sink) { in.Errors = &stderr })
		expect(t, o, append([]string{"attached 1"}, want...)...)
		if o.exit.Code != 44 {
			t.Errorf("kind %d: exit code %d", kind, o.exit.Code)
		}
		if kind == record.System && stderr.String() != "wrong\n" {
			t.Errorf("errors of the command: %q", stderr.String())
		}
		for i, h := range o.sink.heads {
			if line := o.sink.lines[i]; h.Action != 1 && !strings.HasPrefix(line, "attached") &&
				!strings.HasPrefix(line, "end") &&
				!strings.HasPrefix(line, "notice") && !strings.HasPrefix(line, "map") {
				t.Errorf("%s: of action %d", line, h.Action)
			}
		}
	}
}

// TestBadRecords: what no program sends ends the run with an error.
func TestBadRecords(t *testing.T) {
	s := newScript()
	l := s.layout(record.Layout{Kind: record.Print}, types.TInt64)
	text := s.layout(record.Layout{Kind: record.Printf, Format: "%s"}, types.StringOf(64))
	s.layout(record.Layout{Kind: 200})
	cut := rec(text, "long enough")
	for name, c := range map[string]struct {
		rec  []byte
		want string
	}{
		"empty":   {nil, "a record of 0 bytes"},
		"short":   {rec(l, 1)[:12], "is shorter than its layout says (16)"},
		"cut":     {cut[:len(cut)-1], "is shorter than its layout says"},
		"unknown": {le(77), "a record of unknown kind 77"},
		"kind":    {le(2), "unexpected record of kind 200"},
	} {
		f := newFake()
		f.send(c.rec)
		o := start(t, t.Context(), s, f, nil)
		if o.err == nil || !strings.Contains(o.err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, o.err, c.want)
		}
	}
}

// TestExit: what comes behind exit() is dropped, but not what end probes send.
func TestExit(t *testing.T) {
	f, s := newFake(), newScript()
	p := s.layout(record.Layout{Kind: record.Printf, Format: "%d"}, types.TInt64)
	e := s.exitLayout()
	s.special(f, begin, "begin", func() uint32 { f.send(rec(p, 1)); return 0 })
	s.special(f, end, "end", func() uint32 { f.send(rec(p, 4), rec(e, 9), rec(p, 5)); return 0 })
	f.attached = func() { f.send(rec(p, 2), rec(e, 7), rec(p, 3)) }
	o := start(t, t.Context(), s, f, nil)
	expect(t, o, "attached 1", "printf 1", "printf 2", "printf 4", "printf 5", "end")
	if o.exit.Code != 9 || !f.detached {
		t.Errorf("exit code %d, detached %v", o.exit.Code, f.detached)
	}
}

// TestSinkError: the sink's error ends the run.
func TestSinkError(t *testing.T) {
	for _, at := range []string{"attached", "printf", "end", "map"} {
		f, s := newFake(), newScript()
		p := s.layout(record.Layout{Kind: record.Printf, Format: "%d"}, types.TInt64)
		st := s.storage(f, "@m", types.TInt64, types.TInt64)
		f.set(st.Name, le(1), le(2))
		f.send(rec(p, 1), rec(s.exitLayout(), 0))
		o := start(t, t.Context(), s, f, func(_ *session.Input, k *sink) {
			k.fail = func(line string) error {
				if strings.HasPrefix(line, at) {
					return errSink
				}
				return nil
			}
		})
		if !errors.Is(o.err, errSink) || !strings.HasPrefix(o.sink.lines[len(o.sink.lines)-1], at) {
			t.Errorf("%s: %v, events %q", at, o.err, o.sink.lines)
		}
	}
}

// TestSystemEnds: a command does not outlive the run for long, and none is started when it is about to end.
func TestSystemEnds(t *testing.T) {
	f, s := newFake(), newScript()
	l := s.layout(record.Layout{Kind: record.System, Format: "echo started; echo now >&2; exec sleep 1000"})
	late := s.layout(record.Layout{Kind: record.System, Format: "echo never"})
	ctx, cancel := context.WithCancel(t.Context())
	f.send(rec(l), rec(late))
	o := start(t, ctx, s, f, func(in *session.Input, _ *sink) { in.Errors = writer(cancel) })
	expect(t, o, "attached 1", "system started\n", "end", "lost 1 commands of system() the run ended before they were "+
		"started")
}

// writer is called when something is written.
type writer func()

func (w writer) Write(b []byte) (int, error) {
	w()
	return len(b), nil
}

// textSink keeps the text of printf for as long as one write of it would.
type textSink struct{ text []byte }

func (k *textSink) Flush() error { return nil }

func (k *textSink) Event(e result.Event) error {
	if p, ok := e.(*result.Printf); ok {
		if len(k.text) > 1<<12 {
			k.text = k.text[:0]
		}
		k.text = append(k.text, p.Text...)
	}
	return nil
}

// BenchmarkPrintf is the way of a record to text.
func BenchmarkPrintf(b *testing.B) {
	f, s := newFake(), newScript()
	r := rec(s.layout(record.Layout{Kind: record.Printf, Format: "%d %s %d\n"}, types.TInt64, types.StringOf(64),
		types.TInt32), 123456, "hello world", 77)
	run, err := session.New(session.Input{Script: &s.Script, Points: s.points}, &textSink{})
	if err != nil {
		b.Fatal(err)
	}
	defer run.Close()
	k := f.kernel()
	k.Records = &repeated{b: b, rec: r, exit: rec(s.exitLayout(), 0)}
	b.ReportAllocs()
	if _, err := run.Run(b.Context(), k); err != nil {
		b.Fatal(err)
	}
}

// repeated gives one record for as long as a benchmark lasts.
type repeated struct {
	b         *testing.B
	rec, exit []byte
}

func (r *repeated) Read(fn func([]byte) error) (int, error) { return 0, nil }

func (r *repeated) Also(int) error { return nil }

func (r *repeated) Run(ctx context.Context, fn func([]byte) error, idle func() error) error {
	for r.b.Loop() {
		if err := fn(r.rec); err != nil {
			return err
		}
	}
	return fn(r.exit)
}

// TestHeads: events say when, where and by whom a probe was hit, also a map that is shown later; unknown points have
// no name.
func TestHeads(t *testing.T) {
	f, s := newFake(), newScript()
	s.Heads = true
	s.storage(f, "@m", types.TInt64, types.TInt64)
	p := s.layout(record.Layout{Kind: record.Printf, Format: "%d", Action: 4}, types.TInt64)
	m := s.layout(record.Layout{Kind: record.PrintMap, Map: 0})
	headed := func(rec []byte, pid, point uint32) []byte {
		copy(rec[record.HeadTime:], le(1e9, pid, pid+1, point))
		return rec
	}
	f.send(headed(rec(p, 5), 10, 0), headed(rec(m), 20, 77), headed(rec(p, 6), 30, 0), rec(s.exitLayout(), 0),
		rec(p, 7)[:31])
	o := start(t, t.Context(), s, f, func(in *session.Input, _ *sink) { in.Config.PrintMapsOnExit = false })
	expect(t, o, "attached 1", "printf 5", "map @m: ", "printf 6", "end")
	when := o.sink.heads[1].Time
	for i, want := range []result.Head{
		{},
		{Time: when, Action: 5, Probe: "interval:s:1", PID: 10, TID: 11},
		{Time: when, Action: 1, PID: 20, TID: 21},
		{Time: when, Action: 5, Probe: "interval:s:1", PID: 30, TID: 31},
		{},
	} {
		if got := o.sink.heads[i]; got != want || i == 1 && when.IsZero() {
			t.Errorf("%s: %+v, want %+v", o.sink.lines[i], got, want)
		}
	}
	f.send(rec(p, 7)[:31])
	if o := start(t, t.Context(), s, f, nil); o.err == nil || !strings.Contains(o.err.Error(), "shorter than its layout") {
		t.Errorf("error: %v", o.err)
	}
}
