package result

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unsafe"
)

func encode(t testing.TB, evs ...Event) []byte {
	t.Helper()
	var b bytes.Buffer
	e := NewEncoder(&b)
	for _, ev := range evs {
		if err := e.Event(ev); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func decode(r io.Reader) (evs []Event, err error) {
	for e, err := range NewDecoder(r).All() {
		if err != nil {
			return evs, err
		}
		evs = append(evs, e)
	}
	return evs, nil
}

// TestRoundTrip records random events of all types and reads them back.
func TestRoundTrip(t *testing.T) {
	r := random{rand.New(rand.NewPCG(1, 2))}
	for range 200 {
		var evs []Event
		for _, e := range EventTypes() {
			evs = append(evs, r.event(e))
		}
		text := encode(t, evs...)
		got, err := decode(iotest.OneByteReader(bytes.NewReader(text)))
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(evs) {
			t.Fatalf("%d events came back of %d", len(got), len(evs))
		}
		for i := range evs {
			if !reflect.DeepEqual(got[i], evs[i]) {
				t.Fatalf("got  %+v\nwant %+v", got[i], evs[i])
			}
		}
	}
}

// TestRoundTripShows looks that what people see of values is the same after a recording, in this zone as well.
func TestRoundTripShows(t *testing.T) {
	v := &Value{Kind: Tuple, Elems: []Value{
		{Kind: Series, Series: &SeriesData{Points: []SeriesPoint{{Start: time.Now(), Value: 3, Set: true}}}},
		{Kind: Histogram, Hist: Log2Hist([]uint64{1, 0, 4}, 0)},
		{Kind: Float, Size: 4, Num: 1 << 62},
		{Kind: Buffer, Text: "a\xffb"},
	}}
	got, err := decode(bytes.NewReader(encode(t, &Print{Value: v})))
	if err != nil {
		t.Fatal(err)
	}
	if text := got[0].(*Print).Value.String(); text != v.String() {
		t.Errorf("got %s, want %s", text, v.String())
	}
}

// TestWordsComeOnce: a name that comes again takes a byte or two.
func TestWordsComeOnce(t *testing.T) {
	name := strings.Repeat("n", 100)
	e := &Printf{Head: Head{Probe: name}, Text: "x"}
	if once, twice := len(encode(t, e)), len(encode(t, e, e)); twice-once > 8 {
		t.Errorf("a second event takes %d bytes", twice-once)
	}
	// When there is no more room for words they are still written.
	var evs []Event
	for i := range maxWords + 10 {
		evs = append(evs, &Printf{Head: Head{Probe: fmt.Sprint("probe ", i)}})
	}
	got, err := decode(bytes.NewReader(encode(t, evs...)))
	if err != nil || len(got) != len(evs) || !reflect.DeepEqual(got[len(got)-1], evs[len(evs)-1]) {
		t.Errorf("%d of %d came back: %v", len(got), len(evs), err)
	}
}

func TestEncoderRefuses(t *testing.T) {
	deep := Value{}
	for range maxDepth {
		deep = Value{Kind: Tuple, Elems: []Value{deep}}
	}
	small := limits{record: 1 << 16, memory: 1 << 20}
	many := make([]Value, small.memory/int(unsafe.Sizeof(Value{}))+1)
	for _, tt := range []struct {
		e    Event
		want string
	}{
		{nil, "there is none"},
		{&Print{}, "it has no value"},
		{&PrintMap{}, "it has no map"},
		{&Print{Value: &Value{Kind: Times + 1}}, "kind of value 24 is unknown"},
		{&Print{Value: &Value{Mode: 9}}, "mode of stacks 9 is unknown"},
		{&PrintMap{Map: &Map{Kind: 9}}, "kind of map 9 is unknown"},
		{&Message{Severity: 9}, "severity 9 is unknown"},
		{&Print{Value: &deep}, "deeper than 256 levels"},
		{&Print{Value: &Value{Kind: Array, Elems: many}}, "memory"},
		{&Cat{Text: strings.Repeat("x", small.record)}, "more than 65536"},
	} {
		e := NewEncoder(io.Discard)
		e.form.limits = small
		if err := e.Event(tt.e); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want %s", err, tt.want)
		}
		if err := e.Event(&End{}); err == nil {
			t.Errorf("after %q events are taken", tt.want)
		}
	}
}

func TestDecoderRefuses(t *testing.T) {
	start := recordingMagic + "1\n"
	good := string(encode(t, &Printf{Text: "abc"}))
	for _, tt := range []struct{ text, want string }{
		{"hello\n", "does not begin with"},
		{strings.Repeat("x", 1<<17), "does not begin with"},
		{recordingMagic + "x\n", `its version is "x\n"`},
		{recordingMagic + "5\n", "version 5, and only those up to 4 are known"},
		{recordingMagic + "0\n", "version 0, and only those up to 4 are known"},
		{recordingMagic + "1", "unexpected EOF"},
		{good[:len(good)-1], "unexpected EOF"},
		{good + "\x80", "unexpected EOF"},
		{start + "\xff\xff\xff\xff\x0f", "record 1: it has 4294967295 bytes"},
		{start + "\xff\xff\xff\x7f", "unexpected EOF"},
		{start + "\x01\x63", "an event of type 99 is unknown"},
		{start + "\x02\x10\x40", "flags 0x40 are unknown"},
		{start + "\x03\x10\x00\x00", "1 bytes are left over"},
		{start + "\x03\x01\x00\x07", "it ends early"},
		{start + "\x03\x10\x04\x09", "word 6 is unknown"},
		{start + "\x04\x03\x00\x18\x00", "kind of value 24 is unknown"},
		{good + "\x00", "record 2: it ends early"},
	} {
		evs, err := decode(strings.NewReader(tt.text))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.30q: got %v, %v, want %s", tt.text, evs, err, tt.want)
		}
		if !errors.Is(err, ErrRecording) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%.30q: the cause of %v is not known", tt.text, err)
		}
	}
	if evs, err := decode(strings.NewReader(start)); len(evs) != 0 || err != nil {
		t.Errorf("a recording without events: got %v, %v", evs, err)
	}
	broken := errors.New("broken")
	if _, err := decode(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

// TestDecoderMemory: a short recording cannot ask for much memory.
func TestDecoderMemory(t *testing.T) {
	text := recordingMagic + "1\n\xff\xff\xff\x7f\x03\x00"
	n := testing.AllocsPerRun(1, func() {
		if _, err := decode(strings.NewReader(text)); err != io.ErrUnexpectedEOF {
			t.Errorf("got %v", err)
		}
	})
	if n > 100 {
		t.Errorf("%v allocations", n)
	}
}

func TestReplay(t *testing.T) {
	evs := []Event{&Attached{Probes: 2}, &Printf{Text: "a"}, &End{}}
	text := encode(t, evs...)
	var got keeper
	if err := Replay(bytes.NewReader(text), &got); err != nil || !reflect.DeepEqual(got.events, evs) || got.flushed != 1 {
		t.Errorf("got %v, %d flushes, %v", got.events, got.flushed, err)
	}
	got = keeper{}
	err := Replay(bytes.NewReader(text[:len(text)-1]), &got)
	if !errors.Is(err, io.ErrUnexpectedEOF) || len(got.events) != 2 || got.flushed != 1 {
		t.Errorf("cut off: got %v, %d flushes, %v", got.events, got.flushed, err)
	}
	full := errors.New("full")
	if err := Replay(bytes.NewReader(text), &keeper{err: full}); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}

// TestEncoderAllocates: recording printf costs no memory for each event.
func TestEncoderAllocates(t *testing.T) {
	e := NewEncoder(io.Discard)
	p := Printf{Head: Head{Action: 1, Probe: "uprobe:x:f", PID: 1, TID: 2, Time: time.Now()}, Text: "12345 bash 3\n"}
	if n := testing.AllocsPerRun(10000, func() {
		if err := e.Event(&p); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations for an event", n)
	}
}

func FuzzDecoder(f *testing.F) {
	r := random{rand.New(rand.NewPCG(3, 4))}
	for _, e := range EventTypes() {
		f.Add(encode(f, r.event(e)))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		evs, _ := decode(bytes.NewReader(text))
		again := encode(t, evs...)
		got, err := decode(bytes.NewReader(again))
		if err != nil || len(got) != len(evs) {
			t.Fatalf("%d events came back of %d: %v", len(got), len(evs), err)
		}
		if !bytes.Equal(encode(t, got...), again) {
			t.Errorf("%q came back differently", text)
		}
	})
}

func BenchmarkEncoder(b *testing.B) {
	e := NewEncoder(io.Discard)
	p := &Printf{Head: Head{Action: 1}, Text: "12345 bash 3 /usr/lib/x86_64-linux-gnu/libc.so.6\n"}
	b.ReportAllocs()
	for b.Loop() {
		e.Event(p)
	}
}
