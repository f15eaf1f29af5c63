package stacktables

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"trocar/internal/binary/image"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/unwind"
	"trocar/internal/compile/record"
	"trocar/internal/process/runtimes/golang/pclntab"
	"trocar/internal/process/target"
)

// programs is what they would see.
type programs struct {
	rules []byte
	near  []byte
	words map[uint32][]byte
	files map[string][]byte
	asked int

	silent int    // how often the kernel tells no key
	full   int    // how often there is no memory for words
	before func() // what happens before it tells one
}

var errFull = errors.New("no memory")

func newPrograms() *programs {
	return &programs{words: map[uint32][]byte{}, files: map[string][]byte{}}
}

func (p *programs) Rules(from int, rules []byte) error {
	p.rules = append(p.rules[:from*unwind.RuleSize], rules...)
	return nil
}

func (p *programs) Near(at uint32, words []byte) error {
	if p.full > 0 {
		p.full--
		return errFull
	}
	p.near = append(p.near, make([]byte, max(0, int(at)*4+len(words)-len(p.near)))...)
	copy(p.near[at*4:], words)
	return nil
}

func (p *programs) Words(piece uint32, value []byte) error {
	if p.full > 0 {
		p.full--
		return errFull
	}
	p.words[piece] = append([]byte(nil), value...)
	return nil
}

// FileKey is another for each file that is asked for.
func (p *programs) FileKey([]byte) ([]byte, error) {
	if p.before != nil {
		p.before()
	}
	if p.silent > 0 {
		p.silent--
		return nil, nil
	}
	p.asked++
	return binary.LittleEndian.AppendUint64(make([]byte, record.FileKeySize-8), uint64(p.asked)), nil
}

func (p *programs) File(key, value []byte) error {
	p.files[string(key)] = append([]byte(nil), value...)
	return nil
}

func tables(t *testing.T) (*Tables, *programs) {
	t.Helper()
	p := newPrograms()
	return New(image.NewSet(t.Context(), image.Options{Tables: []objfile.TableReader{pclntab.Read}}), p), p
}

// lengths are those of the tables.
func (p *programs) lengths() (list []uint32) {
	for _, v := range p.files {
		list = append(list, binary.LittleEndian.Uint32(v[12:]))
	}
	return list
}

// program is one that is not Go's, so that it has .eh_frame.
func program(t *testing.T) string {
	t.Helper()
	for _, path := range []string{"/bin/true", "/usr/bin/env"} {
		if f, err := objfile.Open(path); err == nil {
			_, ok := f.Section(".eh_frame")
			f.Close()
			if ok {
				return path
			}
		}
	}
	t.Skip("no program with .eh_frame is here")
	return ""
}

func copyOf(t *testing.T, path string, change func(b []byte)) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(b)
	}
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.WriteFile(to, b, 0o755); err != nil {
		t.Fatal(err)
	}
	return to
}

// only makes the table of one file.
func only(t *testing.T, tb *Tables, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := tb.opened(f, func() string { return path }, true); err != nil {
		t.Fatal(err)
	}
}

// TestCopies: what is in copies of a file, in other containers perhaps, is there once; and one that only says that it
// is the same, by its build id, has a table of its own.
func TestCopies(t *testing.T) {
	t.Parallel()
	path := program(t)
	f, err := objfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	sec, _ := f.Section(".eh_frame")
	f.Close()
	tb, p := tables(t)
	only(t, tb, copyOf(t, path, nil))
	next := tb.near
	if next == 0 {
		t.Fatal("there is no table")
	}
	only(t, tb, copyOf(t, path, nil))
	if tb.near != next {
		t.Errorf("the copy has another table: %d words, then %d", next, tb.near)
	}
	only(t, tb, copyOf(t, path, func(b []byte) { clear(b[sec.Offset+sec.Size/2 : sec.Offset+sec.Size]) }))
	if tb.near == next {
		t.Error("what has other call frame information has the same table")
	}
	if len(p.files) != 3 {
		t.Errorf("%d files are told of, want 3", len(p.files))
	}
}

// TestBare: a file whose code tells little of its callers is told of.
func TestBare(t *testing.T) {
	t.Parallel()
	tb, _ := tables(t)
	path := program(t)
	only(t, tb, path)
	if bare := tb.Bare(); len(bare) != 0 {
		t.Errorf("%v", bare)
	}
	f, err := objfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	sec, _ := f.Section(".eh_frame")
	f.Close()
	some := copyOf(t, path, func(b []byte) { clear(b[sec.Offset+200 : sec.Offset+sec.Size]) })
	only(t, tb, some)
	only(t, tb, some)
	if bare := tb.Bare(); len(bare) != 1 || !strings.HasPrefix(bare[0], some+" (") {
		t.Errorf("%v", bare)
	}
}

// TestOnce: a file is looked at once, and again when it was written to.
func TestOnce(t *testing.T) {
	t.Parallel()
	tb, p := tables(t)
	path := copyOf(t, program(t), nil)
	only(t, tb, path)
	only(t, tb, path)
	if p.asked != 1 {
		t.Errorf("it was looked at %d times", p.asked)
	}
	if err := os.Truncate(path, 1000); err != nil {
		t.Fatal(err)
	}
	only(t, tb, path)
	if p.asked != 2 {
		t.Error("what was written is not seen")
	}
}

// TestSilent: a file whose key the kernel did not tell is asked for again, and its table made once.
func TestSilent(t *testing.T) {
	t.Parallel()
	tb, p := tables(t)
	p.silent = 1
	path := program(t)
	only(t, tb, path)
	if len(p.files) != 0 {
		t.Fatalf("%d files are told", len(p.files))
	}
	made := tb.near
	for range 2 {
		only(t, tb, path)
		if len(p.files) != 1 || p.asked != 1 || tb.near != made {
			t.Errorf("%d files are told, %d were asked for, words end at %d, not %d", len(p.files), p.asked, tb.near, made)
		}
	}
}

// TestWritten: the table of what a file was is not told of what it is when it is written to meanwhile.
func TestWritten(t *testing.T) {
	t.Parallel()
	tb, p := tables(t)
	path := copyOf(t, program(t), nil)
	p.before = func() {
		p.before = nil
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		if _, err := f.WriteString("more"); err != nil {
			t.Error(err)
		}
	}
	only(t, tb, path)
	if len(p.files) != 0 {
		t.Errorf("the table of a file that was changed is told")
	}
	only(t, tb, path)
	if len(p.files) != 1 {
		t.Errorf("%d files are told when it is looked at again", len(p.files))
	}
}

// TestHostile: files that are none, or end early, have no table; the programs are told, so that they don't ask again.
func TestHostile(t *testing.T) {
	t.Parallel()
	path := program(t)
	for name, change := range map[string]func(b []byte){
		"zeros":   func(b []byte) { clear(b) },
		"header":  func(b []byte) { clear(b[64:]) },
		"garbage": func(b []byte) { fill(b[64:]) },
	} {
		tb, p := tables(t)
		only(t, tb, copyOf(t, path, change))
		if got := p.lengths(); len(got) != 1 || got[0] != 0 {
			t.Errorf("%s: lengths %d, want one that is 0", name, got)
		}
	}
	tb, p := tables(t)
	only(t, tb, "/proc/self/maps")
	if len(p.files) != 0 {
		t.Error("what cannot be mapped is told of")
	}
}

func fill(b []byte) {
	x := uint32(1)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
}

// TestRulesFirst: the table that the programs are told of leads to the same rules as the file's.
func TestRulesFirst(t *testing.T) {
	t.Parallel()
	t.Run("near", func(t *testing.T) { testRules(t, 0) })
	t.Run("behind", func(t *testing.T) { testRules(t, record.UnwindNearWords-10) })
}

func testRules(t *testing.T, near uint32) {
	path := program(t)
	tb, p := tables(t)
	tb.near = near
	only(t, tb, path)
	f, err := objfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	im, err := tb.images.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer im.Close()
	rules := unwind.NewRules()
	made, err := unwind.Compile(f, im.Frames(), rules)
	if err != nil {
		t.Fatal(err)
	}
	var value []byte
	for _, v := range p.files {
		value = v
	}
	at, length := binary.LittleEndian.Uint32(value[8:]), binary.LittleEndian.Uint32(value[12:])
	if length != uint32(made.High-made.Low) {
		t.Fatalf("length %d, want %d", length, made.High-made.Low)
	}
	word := func(i uint32) uint32 {
		if i < record.UnwindNearWords {
			return binary.LittleEndian.Uint32(p.near[4*i:])
		}
		return binary.LittleEndian.Uint32(p.words[i/unwind.ChunkWords][4*(i%unwind.ChunkWords):])
	}
	for addr := made.Low; addr < made.High; addr += 3 {
		index := word(at + uint32((addr-made.Low)>>8))
		row := uint32(0)
		for i := uint32(0); i <= index>>24; i++ {
			if w := word(index&0xffffff + i); w&0xff <= uint32(addr&0xff) {
				row = w
			}
		}
		got := binary.LittleEndian.Uint64(p.rules[8*(row>>8):])
		if want := rules.At(made.Find(addr)).Word(); got != want {
			t.Fatalf("rule at %#x is %#x, want %#x", addr, got, want)
		}
	}
}

// TestProcess: the files of a process are looked at, with the libraries and the virtual one; and one that asks in vain
// is not looked at each time.
func TestProcess(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	if _, err := in.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	tb, p := tables(t)
	now := time.Now()
	tb.now = func() time.Time { return now }
	pid := target.PID(cmd.Process.Pid)
	look := func() {
		t.Helper()
		if err := tb.Process(pid); err != nil {
			t.Fatal(err)
		}
	}
	look()
	files := len(p.files)
	if files < 2 {
		t.Fatalf("only %d files are told of", files)
	}
	look() // nothing is new
	vain := tb.looks[pid].vain
	look() // too early
	if got := tb.looks[pid].vain; got != vain {
		t.Error("it was looked at again at once")
	}
	now = now.Add(mostWait)
	look()
	if got := tb.looks[pid].vain; got != vain+1 {
		t.Error("it was not looked at later")
	}
	if len(p.files) != files {
		t.Errorf("%d files, then %d", files, len(p.files))
	}
}

// TestFull: a file whose table cannot be written is told to have none, and does not keep others from having theirs.
func TestFull(t *testing.T) {
	t.Parallel()
	tb, p := tables(t)
	p.full = 1
	path := copyOf(t, program(t), nil)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := tb.opened(f, func() string { return path }, true); !errors.Is(err, errFull) {
		t.Errorf("the error is %v, want %v", err, errFull)
	}
	if got := p.lengths(); len(got) != 1 || got[0] != 0 {
		t.Errorf("lengths %d, want one that is 0", got)
	}
	only(t, tb, path)
	if p.asked != 1 {
		t.Errorf("it was looked at %d times", p.asked)
	}

	tb, p = tables(t)
	p.full = 1
	if err := tb.Ahead(target.Root{}, program(t)); !errors.Is(err, errFull) {
		t.Errorf("the error is %v, want %v", err, errFull)
	}
	some := 0
	for _, n := range p.lengths() {
		if n > 0 {
			some++
		}
	}
	if some == 0 || len(p.rules) == 0 {
		t.Errorf("%d libraries have a table, want at least one", some)
	}

	tb, p = tables(t)
	p.full = 1
	now := time.Now()
	tb.now = func() time.Time { return now }
	self := target.PID(os.Getpid())
	if err := tb.Process(self); !errors.Is(err, errFull) {
		t.Errorf("the error is %v, want %v", err, errFull)
	}
	if _, ok := p.files[string(record.VirtualKey(virtualSize(t)))]; !ok {
		t.Error("what is mapped behind the program is not told of")
	}
	if tb.looks[self].vain != 1 {
		t.Error("it may be looked at again at once")
	}
}

// TestLarge: the table of a large file is made when a stack goes through it, or when the process was asked for.
func TestLarge(t *testing.T) {
	t.Parallel()
	// Each file counts as large.
	large := func(tb *Tables) { tb.large = 0 }
	self := target.PID(os.Getpid())
	tb, p := tables(t)
	large(tb)
	if err := tb.Asked(self, 0); err != nil {
		t.Fatal(err)
	}
	if _, ok := p.files[string(record.VirtualKey(virtualSize(t)))]; len(p.files) != 1 || !ok {
		t.Fatalf("%d files are told of, want the virtual library alone", len(p.files))
	}
	tb.looks[self].next = time.Time{}
	here := uint64(reflect.ValueOf(TestLarge).Pointer())
	if err := tb.Asked(self, here); err != nil {
		t.Fatal(err)
	}
	if len(p.files) != 2 || tb.looks[self].vain != 0 {
		t.Errorf("%d files are told of, want this program, too", len(p.files))
	}
	tb, p = tables(t)
	large(tb)
	for want := range 2 { // of a process that has ended
		if err := tb.File(target.Root{}, program(t)); err != nil || len(p.files) != want {
			t.Errorf("%d files are told of when it was asked for %d times: %v", len(p.files), want+1, err)
		}
	}
	tb, p = tables(t)
	large(tb)
	if err := tb.Process(self); err != nil || len(p.files) < 2 {
		t.Errorf("%d files are told of, want all: %v", len(p.files), err)
	}
}

// virtualSize is that of the virtual library.
func virtualSize(t *testing.T) uint64 {
	t.Helper()
	maps, err := target.PID(os.Getpid()).Maps()
	if err != nil {
		t.Fatal(err)
	}
	for i := range maps {
		if maps[i].Path == "[vdso]" {
			return maps[i].End - maps[i].Start
		}
	}
	t.Skip("there is no virtual library")
	return 0
}

// TestGone: of a process that has ended nothing is known.
func TestGone(t *testing.T) {
	t.Parallel()
	tb, _ := tables(t)
	if err := tb.Process(target.PID(1 << 22)); err == nil {
		t.Error("no error")
	}
}
