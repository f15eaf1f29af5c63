package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"trocar/result"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
	}
}

func integer(n int64) result.Value { return result.Value{Kind: result.Int, Size: 8, Num: uint64(n)} }
func text(s string) result.Value   { return result.Value{Kind: result.String, Text: s} }
func tuple(v ...result.Value) result.Value {
	return result.Value{Kind: result.Tuple, Elems: v}
}

// values are one of each kind, and the awkward ones.
func values() []result.Value {
	log2 := make([]uint64, 65)
	log2[0], log2[3], log2[13] = 1, 4, 2
	linear := make([]uint64, 7)
	linear[0], linear[2], linear[6] = 1, 3, 2
	start := time.Date(2024, 1, 1, 12, 0, 0, 5e8, time.UTC)
	frames := []result.Frame{
		{Addr: 0x401136, Symbol: "leaf<int, char>", Offset: 4, Module: "/bin/x", ModuleOffset: 0x1136, BuildID: "00ff"},
		{Addr: 0x7f0000000010},
	}
	return []result.Value{
		{},
		integer(-5),
		integer(1 << 53),
		integer(1<<53 + 1),
		integer(math.MinInt64),
		integer(-1<<53 - 1),
		{Kind: result.Uint, Num: math.MaxUint64},
		{Kind: result.Uint, Num: 1 << 63},
		{Kind: result.Bool, Num: 1},
		{Kind: result.Pointer, Num: 0x1234},
		{Kind: result.Float, Size: 8, Num: math.Float64bits(1.5)},
		{Kind: result.Float, Size: 8, Num: math.Float64bits(math.NaN())},
		{Kind: result.Float, Size: 8, Num: math.Float64bits(1e300)},
		{Kind: result.Enum, Num: 1, Text: "ONE", Signed: true},
		{Kind: result.Enum, Num: math.MaxUint64, Signed: true},
		text("a \"b\" \\ \n\r\t\x00\x1f\x7f é €\U0001F600"),
		text("bad \xff\xc3 end\xe2\x82"),
		{Kind: result.String, Text: "abc..", Cut: true},
		{Kind: result.Buffer, Text: "ab\x01\xff"},
		{Kind: result.Array, Elems: []result.Value{integer(1), integer(2)}},
		tuple(integer(1), text("x y"), tuple(integer(4), result.Value{Kind: result.Bool})),
		{Kind: result.Struct, Names: []string{"m", "n"}, Elems: []result.Value{integer(2), {}}},
		{Kind: result.Record, Names: []string{"a"}, Elems: []result.Value{tuple(integer(5), integer(6))}},
		{Kind: result.Stack, Frames: frames},
		{Kind: result.Stack, Mode: result.ModePerf, Frames: frames},
		{Kind: result.Stack, Mode: result.ModeRaw, Frames: frames},
		{Kind: result.Stack, Mode: result.ModeBuildID, Frames: frames},
		{Kind: result.Symbol, Text: "main"},
		{Kind: result.Symbol, Num: 0x1234},
		{Kind: result.Address, Text: "127.0.0.1"},
		{Kind: result.Timestamp, Text: "23:59"},
		{Kind: result.Unavailable, Text: "optimized out"},
		{Kind: result.Stats, Elems: []result.Value{integer(2), integer(6), integer(12)}},
		{Kind: result.Histogram, Hist: result.Log2Hist(log2, 0)},
		{Kind: result.Histogram, Hist: result.LinearHist(linear, 0, 10, 2)},
		{Kind: result.Histogram, Hist: &result.Hist{}},
		{Kind: result.Series, Series: &result.SeriesData{Points: []result.SeriesPoint{
			{Start: start, Value: -4, Set: true}, {Start: start.Add(time.Second)}, {
				Start: start.Add(2 * time.Second), Value: 5,
				Set: true,
			},
		}}},
	}
}

func mapKind(v *result.Value) result.MapKind {
	switch v.Kind {
	case result.Histogram:
		return result.HistMap
	case result.Series:
		return result.SeriesMap
	case result.Stats:
		return result.StatsMap
	}
	return result.PlainMap
}

// events are what a run with every kind of event yields.
func events() []result.Event {
	at := result.Position{
		File: "stdin", Line: 1, Col: 9, EndLine: 1, EndCol: 20,
		Source: []string{"BEGIN { @a[1] = $x / 0 }"}, Marks: "        ~~~~~~~~~~~",
	}
	expanded := at
	expanded.Expanded = []result.Position{{
		File: "stdin", Line: 1, Col: 50, EndLine: 1, EndCol: 55,
		Source: []string{`macro bad() { errorf("x") }`}, Marks: "              ~~~~~",
	}}
	notice := func(d result.Diagnostic) result.Event { return &result.Notice{Diagnostic: d} }
	return []result.Event{
		&result.Attached{Probes: 2},
		&result.Printf{Text: "no newline, "},
		&result.Printf{Text: "hello\n"},
		&result.Message{Severity: result.Warning, Text: "warned 1", At: at},
		&result.Message{Severity: result.Error, Text: "failed 2\n", At: expanded},
		&result.Time{Text: "12:00:00\n"},
		&result.Join{Text: "/bin/echo,A"},
		&result.Cat{Text: "file\n"},
		&result.System{Text: "a b c\n"},
		&result.Lost{What: "events", Count: 12},
		&result.Lost{What: "map updates", Count: 3, Detail: "@a is full (100 keys); raise max_map_keys"},
		notice(result.Diagnostic{
			Severity: result.Warning, Text: "unused", At: at,
			Hints: []string{"remove it", "or use it"},
		}),
		notice(result.Diagnostic{Severity: result.Error, Text: "no process 7"}),
		notice(result.Diagnostic{Severity: result.Info, Text: "done"}),
		&result.RuntimeError{Text: "Divide or modulo by 0 detected.", At: at},
		&result.HelperError{Helper: "probe_read_user", Code: -14, At: at},
		&result.HelperError{Helper: "map_update_elem", Code: -7, At: at},
		&result.HelperError{Helper: "map_delete_elem", Code: -2, At: at},
		&result.HelperError{Helper: "map_lookup_elem", At: at},
		&result.End{},
		&result.PrintMap{Map: &result.Map{Name: "@none", Keyed: true}},
	}
}

// formats are all there are.
func formats() (all []*Format) {
	rows := Formats()
	for i := range rows {
		all = append(all, &rows[i])
	}
	return all
}

func format(t *testing.T, name string) *Format {
	t.Helper()
	f, err := Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func run(t *testing.T, format *Format, o Options, evs []result.Event) (out, err []byte) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	o.Out, o.Err = &stdout, &stderr
	sink := format.New(o)
	for _, ev := range evs {
		if e := sink.Event(ev); e != nil {
			t.Fatal(e)
		}
	}
	for range 2 { // a line that is not whole waits for one pause
		if e := sink.Flush(); e != nil {
			t.Fatal(e)
		}
	}
	return stdout.Bytes(), stderr.Bytes()
}

func TestGoldenEvents(t *testing.T) {
	for _, format := range formats() {
		out, err := run(t, format, Options{Color: true}, events())
		golden(t, "events."+format.Name, append(append(out, "--- messages ---\n"...), err...))
	}
}

func TestGoldenValues(t *testing.T) {
	var evs []result.Event
	vs := values()
	for i := range vs {
		v := &vs[i]
		key, plain := tuple(text("a b"), *v), text("k")
		evs = append(evs, &result.Print{Value: v},
			&result.PrintMap{Map: &result.Map{Name: "@s", Kind: mapKind(v), Entries: []result.Entry{{Value: *v}}}},
			&result.PrintMap{Map: &result.Map{Name: "@v", Kind: mapKind(v), Keyed: true, Entries: []result.Entry{
				{Key: &vs[1], Value: *v}, {Key: &plain, Value: *v},
			}}})
		if v.Kind < result.Stats {
			evs = append(evs, &result.PrintMap{Map: &result.Map{Name: "@k", Keyed: true, Entries: []result.Entry{
				{Key: v, Value: vs[1]}, {Key: &key, Value: vs[1]},
			}}})
		}
	}
	for _, format := range formats() {
		out, err := run(t, format, Options{}, evs)
		if len(err) > 0 {
			t.Errorf("%s: messages %q", format.Name, err)
		}
		golden(t, "values."+format.Name, out)
		if format.Name != "json" && format.Name != RecordsName {
			continue
		}
		for _, line := range bytes.Split(bytes.TrimSuffix(out, []byte("\n")), []byte("\n")) {
			if !json.Valid(line) || !utf8.Valid(line) {
				t.Errorf("not JSON: %s", line)
			}
		}
	}
}

func TestOptions(t *testing.T) {
	evs := events()
	out, err := run(t, format(t, "text"), Options{Quiet: true, NoWarnings: true}, evs)
	for _, word := range []string{"Attached", "WARNING"} {
		if bytes.Contains(append(out, err...), []byte(word)) {
			t.Errorf("text shows %s", word)
		}
	}
	out, _ = run(t, format(t, "json"), Options{Quiet: true, NoWarnings: true}, evs)
	for _, word := range []string{"attached_probes", "warnf", `"warning"`} {
		if bytes.Contains(out, []byte(word)) {
			t.Errorf("json shows %s", word)
		}
	}
	if _, err := Lookup("jsonx"); err == nil || !strings.Contains(err.Error(), "text, json") {
		t.Errorf("unknown format: got %v", err)
	}
	if _, err := ParseBuffering("lines"); err == nil {
		t.Error("buffering \"lines\" was accepted")
	}
	if _, err := Create(filepath.Join(t.TempDir(), "no", "file")); err == nil ||
		!strings.Contains(err.Error(), "no such file") {
		t.Errorf("unwritable file: got %v", err)
	}
}

// recorder keeps each write.
type recorder struct{ writes []string }

func (r *recorder) Write(p []byte) (int, error) {
	r.writes = append(r.writes, string(p))
	return len(p), nil
}

func TestBatches(t *testing.T) {
	line := &result.Printf{Text: strings.Repeat("x", 99) + "\n"}
	for _, tt := range []struct {
		mode                Buffering
		after3, flushed, by int // writes after three events, after Flush, and after 2,000 more
	}{{Line, 0, 1, 4}, {Full, 0, 0, 3}, {None, 3, 3, 2003}} {
		var r recorder
		s := NewText(Options{Out: &r, Buffer: tt.mode})
		count := func(want int, when string) {
			t.Helper()
			if len(r.writes) != want {
				t.Errorf("mode %d: %d writes %s, want %d", tt.mode, len(r.writes), when, want)
			}
		}
		for range 3 {
			s.Event(line)
		}
		count(tt.after3, "after three events")
		s.Flush()
		count(tt.flushed, "after a pause")
		for range 2000 {
			s.Event(line)
		}
		count(tt.by, "under load")
		s.Close()
		if n := len(strings.Join(r.writes, "")); n != 200300 {
			t.Errorf("mode %d: %d bytes written", tt.mode, n)
		}
	}
}

// TestWholeLines: who else writes to the same file does not come into the middle of a line, unless the line stays
// unfinished.
func TestWholeLines(t *testing.T) {
	var r recorder
	s := NewText(Options{Out: &r})
	s.Event(&result.Printf{Text: "one\n11:35"})
	s.Flush()
	s.Flush()
	s.Event(&result.Printf{Text: ":07"})
	s.Flush()
	s.Event(&result.Printf{Text: " two\n"})
	s.Flush()
	s.Event(&result.Printf{Text: "end"})
	s.Flush()
	s.Close()
	if got := strings.Join(r.writes, "|"); got != "one\n|11:35|:07 two\n|end" {
		t.Errorf("pauses: %q", got)
	}

	for _, tt := range []struct {
		text  string
		times int
	}{
		{strings.Repeat("x", 99) + "\n", 2000},
		{strings.Repeat("y", 3*batch) + "\n", 2},
		{strings.Repeat("z", 3*batch), 1},
	} {
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer read.Close()
		defer write.Close()
		pipe, file := NewText(Options{Out: write}), recorder{}
		if !pipe.out.pipe {
			t.Error("a pipe is not known")
		}
		pipe.out.w = &file
		for range tt.times {
			pipe.Event(&result.Printf{Text: tt.text})
		}
		pipe.Close()
		for _, w := range file.writes {
			if strings.Contains(tt.text, "\n") && (!strings.HasSuffix(w, "\n") || len(w) > atomic && w != tt.text) {
				t.Errorf("lines of %d bytes: a write of %d bytes", len(tt.text), len(w))
			}
		}
		if got := strings.Join(file.writes, ""); got != strings.Repeat(tt.text, tt.times) {
			t.Errorf("lines of %d bytes: %d bytes written", len(tt.text), len(got))
		}
	}
}

// both notes the order of what is written to two streams.
func TestOrderOfStreams(t *testing.T) {
	var r recorder
	s := NewText(Options{Out: &r, Err: &r})
	s.Event(&result.Printf{Text: "a"})
	s.Event(&result.Lost{What: "events", Count: 1})
	s.Event(&result.Printf{Text: "b"})
	s.Flush()
	s.Flush()
	if got := strings.Join(r.writes, "|"); got != "a|Lost 1 events\n|b" {
		t.Errorf("got %q", got)
	}
}

// TestEveryEvent gives each type of event to each format: none is dropped or unknown.
func TestEveryEvent(t *testing.T) {
	for _, format := range formats() {
		everyEvent(t, format)
	}
}

func everyEvent(t *testing.T, format *Format) {
	t.Helper()
	for _, e := range result.EventTypes() {
		switch e := e.(type) {
		case *result.Printf:
			e.Text = "x"
		case *result.Time:
			e.Text = "x"
		case *result.Cat:
			e.Text = "x"
		case *result.Print:
			e.Value = &result.Value{}
		case *result.PrintMap:
			e.Map = &result.Map{Name: "@", Entries: []result.Entry{{}}}
		}
		out, err := run(t, format, Options{}, []result.Event{e})
		_, end := e.(*result.End)
		if len(out)+len(err) == 0 && !(end && format.Machine) {
			t.Errorf("%s: %T leaves no trace", format.Name, e)
		}
	}
}

// TestUnknownVocabulary looks that what no format knows is an error, not something else.
func TestUnknownVocabulary(t *testing.T) {
	for _, format := range formats() {
		for _, e := range []result.Event{
			nil,
			&result.Message{Severity: result.Info},
			&result.Message{Severity: 99},
			&result.Notice{Diagnostic: result.Diagnostic{Severity: 99}},
		} {
			s := format.New(Options{Out: io.Discard, Err: io.Discard})
			if err := s.Event(e); err == nil {
				t.Errorf("%s: %T %+v was accepted", format.Name, e, e)
			}
		}
	}
	unknown := &result.PrintMap{Map: &result.Map{Kind: 99}}
	if err := NewJSON(Options{Out: io.Discard}).Event(unknown); err == nil {
		t.Error("json: a map of unknown kind was accepted")
	}
	if err := NewRecords(Options{Out: io.Discard}).Event(unknown); err == nil {
		t.Error("records: a map of unknown kind was accepted")
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestClosedReader(t *testing.T) {
	pipe := &os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE}
	for _, format := range formats() {
		s := format.New(Options{Out: failing{pipe}, Err: io.Discard})
		if err := s.Event(&result.Printf{Text: "x\n"}); err != nil {
			t.Fatal(err)
		}
		if err := s.Flush(); !Closed(err) {
			t.Errorf("%s: got %v, want a closed pipe", format.Name, err)
		}
		if err := s.Event(&result.Printf{Text: "x\n"}); !Closed(err) {
			t.Errorf("%s: got %v from the next event", format.Name, err)
		}
	}
	if Closed(syscall.ENOSPC) || Closed(nil) || !Closed(errors.Join(io.ErrClosedPipe)) {
		t.Error("wrong errors mean a closed pipe")
	}
}

// TestPrintfAllocates: an event of printf costs no memory, and a borrowed event is used again.
func TestPrintfAllocates(t *testing.T) {
	for _, format := range formats() {
		s := format.New(Options{Out: io.Discard})
		var e result.Printf
		n := testing.AllocsPerRun(1000, func() {
			e = result.Printf{Head: result.Head{Action: 1}, Text: "12345 bash 3\n"}
			if err := s.Event(&e); err != nil {
				t.Fatal(err)
			}
		})
		if n != 0 {
			t.Errorf("%s: %v allocations for an event", format.Name, n)
		}
	}
}

func BenchmarkEvents(b *testing.B) {
	evs := []result.Event{&result.Printf{Text: "12345 bash 3 /usr/lib/x86_64-linux-gnu/libc.so.6\n"}}
	for _, format := range formats() {
		b.Run(format.Name, func(b *testing.B) {
			s := format.New(Options{Out: io.Discard})
			b.ReportAllocs()
			for b.Loop() {
				s.Event(evs[0])
			}
		})
	}
}

// TestKeysStayApart: of keys that are shown as one, none is lost to who reads the object.
func TestKeysStayApart(t *testing.T) {
	symbol := func(at uint64) *result.Value { return &result.Value{Kind: result.Symbol, Text: "f", Num: at} }
	text := func(s string) *result.Value { return &result.Value{Kind: result.String, Text: s} }
	m := &result.Map{Name: "@", Keyed: true}
	for i, key := range []*result.Value{symbol(1), symbol(2), text("f #3"), symbol(3), symbol(4), text("g")} {
		value := result.Value{Kind: result.Int, Num: uint64(i), Signed: true, Size: 8}
		m.Entries = append(m.Entries, result.Entry{Key: key, Value: value})
	}
	var b bytes.Buffer
	j := NewJSON(Options{Out: &b})
	if err := j.Event(&result.PrintMap{Map: m}); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	const want = `{"type": "map", "data": {"@": {"f": 0, "f #2": 1, "f #3": 2, "f #4": 3, "f #5": 4, "g": 5}}}` + "\n"
	if b.String() != want {
		t.Errorf("got  %swant %s", b.String(), want)
	}
}
