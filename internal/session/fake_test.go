package session_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"trocar/internal/binary/types"
	"trocar/internal/compile/record"
	"trocar/internal/kernel"
	"trocar/internal/process/probe"
	"trocar/internal/process/target"
	"trocar/internal/session"
	"trocar/result"
)

// fake is a kernel: records that tests put in, maps in memory, and programs that are functions.
type fake struct {
	mu    sync.Mutex
	queue [][]byte
	more  chan struct{} // something was sent; of room 1
	maps  map[string]*fakeMap

	run      map[string]func() uint32 // by program
	failed   []kernel.AttachError
	attached func() // called by Attach, at its end
	moves    []string
	detached bool
	// detaching, if not nil, is what Detach waits for.
	detaching chan struct{}
	missed    []kernel.Missed
	stepped   func() []kernel.Rate // is asked how often such points are hit
	hits      kernel.Hits          // beside those
	orphans   uint64               // starts of processes that the kernel did not tell of
	followed  *descendants
	iterated  func(pid int) error
	calls     []string // what was done with maps and programs

	feed       func(kernel.FeedTo) // what a runtime writes and compiles; nil: it cannot be followed
	noCompiler error
	breaks     []*breakpoint
	late       int // threads that Rejoin finds
	unrun      uint64
}

type fakeMap struct {
	keys    []string
	entries map[string][]byte
}

func newFake() *fake {
	f := &fake{more: make(chan struct{}, 1), maps: map[string]*fakeMap{}, run: map[string]func() uint32{}}
	f.set(record.ControlName, record.Key(), make([]byte, record.ControlSize))
	f.set(record.IdleName, record.Key(), make([]byte, record.IdleSize))
	for name, size := range map[string]int{
		record.UnwindRules: record.UnwindRulesSize, record.UnwindFile: record.UnwindFileSize,
	} {
		f.set(name, record.Key(), make([]byte, size))
	}
	return f
}

func (f *fake) kernel() session.Kernel { return session.Kernel{Records: ring{f}, Maps: f, Programs: f} }

// send puts records into the ring.
func (f *fake) send(recs ...[]byte) {
	f.mu.Lock()
	f.queue = append(f.queue, recs...)
	f.mu.Unlock()
	select {
	case f.more <- struct{}{}:
	default:
	}
}

func (f *fake) next() ([]byte, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.queue) == 0 {
		return nil, false
	}
	rec := f.queue[0]
	f.queue = f.queue[1:]
	return rec, true
}

// ring is where it sends records to.
type ring struct{ *fake }

// Read gives a copy that is overwritten behind it, as the ring is.
func (f ring) Read(fn func([]byte) error) (n int, err error) {
	for {
		rec, ok := f.next()
		if !ok {
			return n, nil
		}
		n++
		lent := bytes.Clone(rec)
		err := fn(lent)
		for i := range lent {
			lent[i] = 0xcc
		}
		if err != nil {
			return n, err
		}
	}
}

func (f ring) Also(int) error { return nil }

func (f ring) Run(ctx context.Context, fn func([]byte) error, idle func() error) error {
	for {
		if _, err := f.Read(fn); err != nil {
			return err
		}
		if err := idle(); err != nil && !errors.Is(err, kernel.ErrSeldom) {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-f.more:
		case <-time.After(time.Millisecond): // the reader looks by itself
		}
	}
}

func (f *fake) set(name string, key, value []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.maps[name]
	if m == nil {
		m = &fakeMap{entries: map[string][]byte{}}
		f.maps[name] = m
	}
	if _, ok := m.entries[string(key)]; !ok {
		m.keys = append(m.keys, string(key))
	}
	m.entries[string(key)] = bytes.Clone(value)
}

func (f *fake) Each(name string, fn func(key, value []byte) error) error {
	m := f.maps[name]
	if m == nil {
		return fmt.Errorf("no map %q", name)
	}
	for _, k := range slices.Clone(m.keys) {
		if err := fn([]byte(k), bytes.Clone(m.entries[k])); err != nil {
			return err
		}
	}
	return nil
}

func (f *fake) Take(name string, fn func(key, value []byte) error) error {
	f.calls = append(f.calls, "take "+name)
	err := f.Each(name, fn)
	f.maps[name] = &fakeMap{entries: map[string][]byte{}}
	return err
}

func (f *fake) Clear(name string) error {
	f.calls = append(f.calls, "clear "+name)
	f.maps[name] = &fakeMap{entries: map[string][]byte{}}
	return nil
}

func (f *fake) Zero(name string) error {
	f.calls = append(f.calls, "zero "+name)
	return f.Each(name, func(key, value []byte) error {
		f.set(name, key, make([]byte, len(value)))
		return nil
	})
}

func (f *fake) Get(name string, key, value []byte) error {
	if m := f.maps[name]; m != nil && m.entries[string(key)] != nil {
		copy(value, m.entries[string(key)])
		return nil
	}
	return kernel.ErrNoEntry
}

func (f *fake) Put(name string, key, value []byte) error {
	if f.maps[name] == nil {
		return fmt.Errorf("no map %q", name)
	}
	f.set(name, key, value)
	return nil
}

func (f *fake) PutAt(name string, _ int, _ []byte) error { return fmt.Errorf("no map %q", name) }

func (f *fake) PutPiece(name string, index uint32, value []byte) error {
	return f.Put(name, binary.LittleEndian.AppendUint32(nil, index), value)
}

func (f *fake) Attach(ctx context.Context, progress func(done, total int)) ([]kernel.AttachError, error) {
	if progress != nil {
		progress(1, 1)
	}
	if f.attached != nil {
		f.attached()
	}
	return f.failed, ctx.Err()
}

func (f *fake) Move(p *probe.Point, addr uint64) error {
	f.moves = append(f.moves, fmt.Sprintf("%s %#x", p.Func, addr))
	if p.Func == "stuck" {
		return errors.New("refused")
	}
	return nil
}

func (f *fake) Break(p *probe.Point, _ int, addr uint64) (session.Breakpoint, error) {
	if len(f.breaks) == kernel.BreakpointSlots || f.feed == nil {
		return nil, kernel.ErrNoSlot
	}
	b := &breakpoint{of: f, at: fmt.Sprintf("%s %#x", p.Func, addr)}
	f.breaks = append(f.breaks, b)
	return b, nil
}

// breakpoint is one on code that is made at run time. Each was come by three times.
type breakpoint struct {
	of *fake
	at string
}

func (b *breakpoint) Hits() (all, lost uint64) { return 3, b.of.unrun }

func (b *breakpoint) Close() {
	b.of.breaks = slices.DeleteFunc(b.of.breaks, func(o *breakpoint) bool { return o == b })
}

func (f *fake) Late() []int { return nil }

func (f *fake) Rejoin() (late []int) {
	for f.late > 0 {
		late = append(late, f.late)
		f.late--
	}
	return late
}

func (f *fake) Feed(*probe.Point, int, []string) (session.Lines, error) {
	if f.feed == nil {
		return nil, errors.New("none")
	}
	return lines{f}, nil
}

// lines are what a runtime writes and compiles, as a test has it.
type lines struct{ *fake }

func (l lines) Run(_ context.Context, to kernel.FeedTo) { l.feed(to) }
func (l lines) Compiler(*probe.Compiler) error          { return l.noCompiler }
func (l lines) Source(uint64) error                     { return nil }
func (l lines) Late() uint64                            { return 0 }
func (l lines) Close()                                  {}

func (f *fake) Unwatch(addr uint64) int {
	if addr == 0x1000 {
		return 2
	}
	return 0
}

func (f *fake) Missed() []kernel.Missed { return f.missed }

func (f *fake) Hits(_ context.Context, _ time.Duration, least float64) (h kernel.Hits, err error) {
	if f.stepped != nil {
		often := f.stepped() // which may set the hits
		h = f.hits
		h.Often = slices.DeleteFunc(often, func(r kernel.Rate) bool { return r.PerSecond < least })
	}
	return h, nil
}

func (f *fake) StepCost() (stepped, emulated time.Duration, err error) {
	return 2 * time.Microsecond, 300 * time.Nanosecond, nil
}

func (f *fake) Detach() {
	if f.detaching != nil {
		<-f.detaching
	}
	f.detached = true
}

func (f *fake) Run(name string) (uint32, error) {
	do, ok := f.run[name]
	if !ok {
		return 0, fmt.Errorf("no program %q", name)
	}
	return do(), nil
}

func (f *fake) RunMany(name string, n uint32) (uint32, time.Duration, error) {
	code, err := f.Run(name)
	return code, time.Microsecond, err
}

func (f *fake) Iterate(name string, pid int, w io.Writer) error { return f.iterated(pid) }

func (f *fake) Follow(name string, first *kernel.Namespaced) (session.Descendants, error) {
	f.calls = append(f.calls, "follow "+name)
	f.followed = &descendants{first: first, pids: map[int]bool{}, missed: f.orphans}
	return f.followed, nil
}

type descendants struct {
	mu     sync.Mutex
	first  *kernel.Namespaced
	pids   map[int]bool
	missed uint64
	closed bool
}

func (d *descendants) Add(pid int)    { d.set(pid, true) }
func (d *descendants) Remove(pid int) { d.set(pid, false) }

func (d *descendants) set(pid int, in bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pids[pid] = in
}

func (d *descendants) Has(pid int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pids[pid]
}

func (d *descendants) Missed() uint64 { return d.missed }

func (d *descendants) Close() { d.closed = true }

// command is a process that was started for a run.
type command struct {
	pid      target.PID
	done     chan struct{}
	exit     target.Exit
	released func()
	killed   bool
}

func (c *command) PID() target.PID       { return c.pid }
func (c *command) Done() <-chan struct{} { return c.done }
func (c *command) Exit() target.Exit     { return c.exit }
func (c *command) Kill(time.Duration)    { c.killed = true }

func (c *command) Release() error {
	if c.released != nil {
		c.released()
	}
	return nil
}

// script collects layouts and maps.
type script struct {
	record.Script
	points   []*probe.Point
	programs []session.Program
}

func newScript() *script {
	s := &script{points: []*probe.Point{{Kind: probe.Interval, Name: "interval:s:1"}}}
	s.Losses = []record.Loss{{Kind: record.LostRecords}, {Kind: record.LostScratch}}
	return s
}

// layout adds a record with arguments of these types.
func (s *script) layout(l record.Layout, args ...*types.Type) *record.Layout {
	l.ID = len(s.Layouts)
	l.Arrange(s.HeaderSize(), args...)
	s.Layouts = append(s.Layouts, &l)
	return &l
}

// storage adds a map; key nil: it has one value.
func (s *script) storage(f *fake, name string, key, value *types.Type) *record.Storage {
	s.Storage = append(s.Storage, record.Storage{
		Map: record.Map{Name: name, Key: key, Value: value, Max: 100}, Name: fmt.Sprintf("m%d", len(s.Storage)),
		Scalar: key == nil, ValueSize: value.Size,
	})
	st := &s.Storage[len(s.Storage)-1]
	f.maps[st.Name] = &fakeMap{entries: map[string][]byte{}}
	if st.Scalar {
		f.set(st.Name, record.Key(), make([]byte, st.Stride()))
	}
	return st
}

// special adds a program that we run.
func (s *script) special(f *fake, kind probe.Kind, name string, do func() uint32) {
	id := fmt.Sprintf("p%d", len(s.programs))
	typ := probe.RunProgram
	if kind == probe.Bench {
		typ = probe.BenchProgram
	}
	p := &probe.Point{Kind: kind, Name: name}
	s.points = append(s.points, p)
	s.programs = append(s.programs, session.Program{Name: id, Type: typ, Point: p})
	f.run[id] = do
}

// le makes bytes of numbers: int is 8 bytes, others as they are.
func le(values ...any) []byte {
	var b []byte
	for _, v := range values {
		switch v := v.(type) {
		case int:
			b = binary.LittleEndian.AppendUint64(b, uint64(v))
		case string:
			b = append(b, v...)
		default:
			b, _ = binary.Append(b, binary.LittleEndian, v)
		}
	}
	return b
}

// rec is a record: numbers for integers, texts for strings.
func rec(l *record.Layout, args ...any) []byte {
	b := make([]byte, l.Size)
	binary.LittleEndian.PutUint32(b, uint32(l.ID))
	var tail []byte
	for i, a := range args {
		s := l.Args[i]
		switch a := a.(type) {
		case string:
			if s.Dynamic {
				binary.LittleEndian.PutUint32(b[s.Offset:], uint32(len(a)))
				tail = append(tail, a...)
			} else {
				copy(b[s.Offset:s.Offset+s.Type.Size], a)
			}
		case int:
			copy(b[s.Offset:s.Offset+s.Type.Size], le(a))
		case []byte:
			copy(b[s.Offset:], a)
		}
	}
	return append(b, tail...)
}

// sink notes events in short.
type sink struct {
	mu    sync.Mutex
	lines []string
	heads []result.Head
	fail  func(line string) error
}

func (k *sink) Flush() error { return nil }

func (k *sink) Event(e result.Event) error {
	line := describe(e)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lines, k.heads = append(k.lines, line), append(k.heads, *e.Common())
	if k.fail != nil {
		return k.fail(line)
	}
	return nil
}

func describe(e result.Event) string {
	switch e := e.(type) {
	case *result.Printf:
		return "printf " + e.Text
	case *result.Message:
		return fmt.Sprintf("message %s %s at %s", e.Severity, e.Text, e.At.String())
	case *result.Print:
		return "print " + e.Value.String()
	case *result.PrintMap:
		var all []string
		for i := range e.Map.Entries {
			en := &e.Map.Entries[i]
			key := ""
			if en.Key != nil {
				key = en.Key.String() + "="
			}
			all = append(all, key+en.Value.String())
		}
		return fmt.Sprintf("map %s: %s", e.Map.Name, strings.Join(all, " "))
	case *result.Time:
		return "time " + e.Text
	case *result.Join:
		return "join " + e.Text
	case *result.Cat:
		return "cat " + e.Text
	case *result.System:
		return "system " + e.Text
	case *result.Attached:
		return fmt.Sprint("attached ", e.Probes)
	case *result.Lost:
		return fmt.Sprintf("lost %d %s %s", e.Count, e.What, e.Detail)
	case *result.Notice:
		return fmt.Sprintf("notice %s %s", e.Severity, e.Text)
	case *result.HelperError:
		return fmt.Sprintf("helper %s %d at %s", e.Helper, e.Code, e.At.String())
	case *result.RuntimeError:
		return fmt.Sprintf("runtime %s at %s", e.Text, e.At.String())
	case *result.Bench:
		return fmt.Sprintf("bench %s %d of %d, %v", e.Name, e.Index, e.Total, e.Average)
	case *result.Test:
		return fmt.Sprintf("test %s %d of %d, %v", e.Name, e.Index, e.Total, e.Passed)
	case *result.End:
		return "end"
	}
	return fmt.Sprintf("%T", e)
}

// outcome is what came of a run.
type outcome struct {
	exit session.Exit
	err  error
	sink *sink
}

// start runs a script with a kernel; the run has 10 s to end.
func start(t testing.TB, ctx context.Context, s *script, f *fake, change func(*session.Input, *sink)) outcome {
	t.Helper()
	in := session.Input{
		Script: &s.Script, Points: s.points, Programs: s.programs, Probes: 1,
		Config: session.Config{Trailer: "..", MaxCatBytes: 10, PrintMapsOnExit: true, MissingProbes: "warn"},
	}
	k := &sink{}
	if change != nil {
		change(&in, k)
	}
	run, err := session.New(in, k)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	done := make(chan outcome, 1)
	go func() {
		exit, err := run.Run(ctx, f.kernel())
		done <- outcome{exit, err, k}
	}()
	select {
	case o := <-done:
		return o
	case <-time.After(10 * time.Second):
		t.Fatalf("the run does not end; events: %q", k.lines)
		return outcome{}
	}
}

// expect compares events.
func expect(t *testing.T, o outcome, want ...string) {
	t.Helper()
	if o.err != nil {
		t.Errorf("error: %v", o.err)
	}
	if !slices.Equal(o.sink.lines, want) {
		t.Errorf("events:\n%s\nwant:\n%s", strings.Join(o.sink.lines, "\n"), strings.Join(want, "\n"))
	}
}

var errSink = errors.New("the sink is full")
