package codegen_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sort"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"trocar/internal/binary/abi"
	"trocar/internal/compile/check"
	"trocar/internal/compile/codegen"
	"trocar/internal/compile/feature"
	"trocar/internal/compile/record"
	"trocar/internal/kernel"
	"trocar/internal/need"
	"trocar/internal/script/diag"
)

var (
	seed  = flag.Uint64("seed", 0, "seed of random programs (0: the time)")
	count = flag.Int("programs", 150, "number of random programs")
	size  = flag.Int("size", 300, "expressions in a random program, about")
)

// newUserMemory maps random memory, with texts in it, in front of a page that can't be read.
func newUserMemory(t testing.TB, random *rand.Rand) *userMemory {
	t.Helper()
	page := os.Getpagesize()
	m, err := unix.Mmap(-1, 0, 3*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(m) })
	if err := unix.Mprotect(m[2*page:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	for i := range m[:2*page] {
		switch m[i] = byte(random.Uint32()); {
		case random.IntN(12) == 0:
			m[i] = 0
		case random.IntN(3) > 0:
			m[i] = "abc"[random.IntN(3)]
		}
	}
	return &userMemory{addr: uint64(uintptr(unsafe.Pointer(&m[0]))), bytes: m[:2*page]}
}

// loaded is a compiled program in the kernel.
type loaded struct {
	*kernel.Loaded
	out *codegen.Output
}

// possibleCPUs is how many CPUs maps have values for.
func possibleCPUs(t testing.TB) int {
	n, err := ebpf.PossibleCPU()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func compile(prog *check.Program, o codegen.Options) (*codegen.Output, error) {
	var diags diag.List
	out := codegen.Compile(prog, o, &diags)
	for _, d := range diags.All {
		return nil, errors.New(d.Text)
	}
	return out, nil
}

func load(out *codegen.Output) (*loaded, error) {
	obj := &kernel.Object{Maps: out.Maps}
	for _, m := range out.Maps {
		if m.Type == ebpf.RingBuf {
			m.MaxEntries = 1 << 20
		}
	}
	for _, p := range out.Programs {
		k := &kernel.Program{
			Name: p.Name, Type: p.Type, Insns: p.Insns, Sleepable: p.Sleepable, Return: p.Return,
			Points: p.Points,
		}
		if p.Cookied {
			k.Cookies = p.Cookies
		}
		obj.Programs = append(obj.Programs, k)
	}
	l, err := kernel.Load(obj, kernel.Options{RingMap: record.RingName})
	if err != nil {
		var refused *kernel.VerifierError
		if errors.As(err, &refused) {
			log := refused.Log
			if len(log) > 6000 {
				log = log[len(log)-6000:]
			}
			err = fmt.Errorf("%w\n%s", err, log)
		}
		return nil, err
	}
	return &loaded{l, out}, nil
}

// records runs a program and takes its records apart by the layouts.
func (l *loaded) records(name string) ([]sentRecord, error) {
	if _, err := l.Run(name); err != nil {
		return nil, err
	}
	var all []sentRecord
	_, err := l.Ring().Read(func(rec []byte) error {
		id := binary.LittleEndian.Uint32(rec)
		if int(id) >= len(l.out.Layouts) || binary.LittleEndian.Uint32(rec[4:]) != 0 {
			return fmt.Errorf("a record with the header %x", rec[:8])
		}
		if h, ok := l.out.Head(rec); ok && (h.PID != uint32(os.Getpid()) || h.TID == 0 || h.Time == 0 || h.Point != 0) {
			return fmt.Errorf("a record with the head %+v", h)
		}
		layout := l.out.Layouts[id]
		r := sentRecord{text: layout.Format}
		if layout.Kind == record.HelperError {
			all = append(all, r)
			return nil
		}
		tail := layout.Size
		for _, a := range layout.Args {
			if !a.Dynamic {
				r.args = append(r.args, bytes.Clone(rec[a.Offset:a.Offset+a.Type.Size]))
				continue
			}
			n := int(binary.LittleEndian.Uint32(rec[a.Offset:]))
			if tail+n > len(rec) || n > a.Type.Size {
				return fmt.Errorf("a text of %d bytes in a record of %d", n, len(rec))
			}
			r.args = append(r.args, bytes.Clone(rec[tail:tail+n]))
			tail += n
		}
		if want := (tail + 7) &^ 7; len(rec) != tail && len(rec) != want {
			return fmt.Errorf("a record of %d bytes, with %d in use", len(rec), tail)
		}
		all = append(all, r)
		return nil
	})
	return all, err
}

// content reads a script's map: of a per-CPU map, the value of the CPU that has one.
func (l *loaded) content(s *record.Storage) (map[string][]byte, error) {
	m := l.Map(s.Name)
	found := map[string][]byte{}
	err := m.Each(func(key, value []byte) error {
		for at := 0; at < len(value); at += m.Stride() {
			v := value[at : at+m.ValueSize()]
			k := string(key[:s.KeySize])
			if s.Scalar {
				set := binary.LittleEndian.Uint64(v)
				v = v[8:]
				if set == 0 {
					if !allZero(v) {
						return fmt.Errorf("%s was never set and has a value", s.Map.Name)
					}
					continue
				}
				k = ""
			}
			v = bytes.Clone(v[:s.Map.Value.Size])
			if old := found[k]; old == nil || allZero(old) {
				found[k] = v
			} else if !allZero(v) {
				return fmt.Errorf("%s has values of two CPUs", s.Map.Name)
			}
		}
		return nil
	})
	return found, err
}

func allZero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }

// losses is what the program counted, by kind.
func (l *loaded) losses() (map[record.LossKind]int, error) {
	value := make([]byte, l.Map(record.CountersName).ValueSize())
	if err := l.Map(record.CountersName).Get(make([]byte, 4), value); err != nil {
		return nil, err
	}
	n := map[record.LossKind]int{}
	for i, loss := range l.out.Losses {
		if c := word(value, i); c != 0 {
			n[loss.Kind] += int(c)
		}
	}
	return n, nil
}

// choose makes kernels of every age.
func choose(random *rand.Rand) feature.Fixed {
	switch random.IntN(4) {
	case 0:
		return feature.None
	case 1:
		return feature.Fixed(random.Uint32())
	}
	return feature.All
}

// TestDifferential compares what random programs do in the kernel with what they mean.
func TestDifferential(t *testing.T) {
	need.Root(t)
	s := *seed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d", s)
	user := newUserMemory(t, rand.New(rand.NewPCG(s, 0)))
	cpus, has := possibleCPUs(t), available()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := time.Now()
	statements, refused := 0, map[string]int{}
	for i := range *count {
		random := rand.New(rand.NewPCG(s, uint64(i)+1))
		features := choose(random) & has
		prog := randomProgram(random, user, features)
		n, err := differ(prog, user, codegen.Options{Features: features, Arch: abi.AMD64, CPUs: cpus, Heads: s%2 == 0})
		var no *refusedError
		if errors.As(err, &no) {
			refused[no.text]++
			continue
		}
		if err != nil {
			t.Errorf("program %d of seed %d (features %x): %v", i, s, uint(features)&0x7f, err)
			return
		}
		statements += n
	}
	t.Logf("%d programs with %d records in %v; refused: %v", *count, statements, time.Since(start).Round(time.Millisecond),
		refused)
}

// refusedError is an error of code generation.
type refusedError struct{ text string }

func (e *refusedError) Error() string { return e.text }

func differ(prog *check.Program, user *userMemory, o codegen.Options) (records int, err error) {
	out, err := compile(prog, o)
	if err != nil {
		return 0, &refusedError{err.Error()}
	}
	explain := func(format string, args ...any) error {
		var b strings.Builder
		fmt.Fprintf(&b, format, args...)
		if testing.Verbose() {
			b.WriteString("\n")
			check.Dump(&b, prog)
			out.Programs[0].IR.Dump(&b)
			fmt.Fprintf(&b, "%v", out.Programs[0].Insns)
		}
		return errors.New(b.String())
	}
	l, err := load(out)
	if tooComplex(err) {
		return 0, &refusedError{"a loop is too complex for the verifier"}
	}
	if err != nil && len(prog.Maps) > 50 {
		return 0, &refusedError{"more than 64 maps"} // MAX_USED_MAPS
	}
	if err != nil {
		return 0, explain("%v", err)
	}
	defer l.Close()
	got, err := l.records(out.Programs[0].Name)
	if err != nil {
		return 0, explain("%v", err)
	}
	in := newInterp(prog, user)
	in.run(prog.Actions[0])
	for i := range max(len(got), len(in.sent)) {
		switch {
		case i >= len(got):
			return 0, explain("record %d, %q, is missing", i, in.sent[i].text)
		case i >= len(in.sent):
			return 0, explain("record %d, %q, is too much", i, got[i].text)
		case got[i].text != in.sent[i].text:
			return 0, explain("record %d is %q, want %q", i, got[i].text, in.sent[i].text)
		}
		for j := range in.sent[i].args {
			if !bytes.Equal(got[i].args[j], in.sent[i].args[j]) {
				return 0, explain("record %d, %q, argument %d:\n got %x\nwant %x", i, got[i].text, j, got[i].args[j],
					in.sent[i].args[j])
			}
		}
	}
	for i := range out.Storage {
		s := &out.Storage[i]
		found, err := l.content(s)
		if err != nil {
			return 0, explain("%v", err)
		}
		if err := sameEntries(s, found, in.entries(prog.Maps[i])); err != nil {
			return 0, explain("%v", err)
		}
	}
	losses, err := l.losses()
	if err != nil {
		return 0, err
	}
	if losses[record.LostReads] < in.lost || in.lost == 0 && losses[record.LostReads] > 0 {
		return 0, explain("%d reads failed, want %d", losses[record.LostReads], in.lost)
	}
	delete(losses, record.LostReads)
	if len(losses) > 0 {
		return 0, explain("losses: %v", losses)
	}
	return len(got), nil
}

func sameEntries(s *record.Storage, got, want map[string][]byte) error {
	var keys []string
	for k := range got {
		keys = append(keys, k)
	}
	for k := range want {
		if got[k] == nil {
			return fmt.Errorf("%s[%x] is missing", s.Map.Name, k)
		}
	}
	sort.Strings(keys)
	for _, k := range keys {
		if want[k] == nil {
			return fmt.Errorf("%s[%x] is too much", s.Map.Name, k)
		}
		if !bytes.Equal(got[k], want[k]) {
			return fmt.Errorf("%s[%x]:\n got %x\nwant %x", s.Map.Name, k, got[k], want[k])
		}
	}
	return nil
}
