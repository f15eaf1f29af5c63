package kernel

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"trocar/internal/need"
	"trocar/internal/process/probe"
)

// fakeRing is ring memory as a kernel would leave it, made of ordinary memory.
type fakeRing struct {
	ringMemory
	data                   []byte // twice
	consumerAt, producerAt uint64
	slides                 int
}

func newFakeRing(size int, data []byte, consumer, producer uint64) *fakeRing {
	r := &fakeRing{consumerAt: consumer, producerAt: producer}
	words := make([]uint64, size/4) // aligned; twice the size
	mem := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), 2*size)
	copy(mem[:size], data)
	copy(mem[size:], mem[:size])
	r.data = mem
	r.ringMemory = ringMemory{consumer: &r.consumerAt, producer: &r.producerAt, mask: uint64(size - 1)}
	// Windows as small as can be, so that they move all the time.
	r.slide = func(at, need uint64) ([]byte, uint64, error) {
		r.slides++
		base := at &^ 15
		return mem[base:min(base+max(32, at-base+need), uint64(2*size))], base, nil
	}
	return r
}

// put adds a record like the kernel does.
func (r *fakeRing) put(flags uint32, payload string) {
	size := int(r.mask + 1)
	write := func(at uint64, b byte) {
		r.data[at&r.mask] = b
		r.data[at&r.mask+uint64(size)] = b
	}
	header := binary.NativeEndian.AppendUint32(nil, uint32(len(payload))|flags)
	for i, b := range append(append(header, 0, 0, 0, 0), payload...) {
		write(r.producerAt+uint64(i), b)
	}
	r.producerAt += uint64(ringHeader+len(payload)+7) &^ 7
}

func (r *fakeRing) readAll(t *testing.T) (got []string, stats RingStats, err error) {
	t.Helper()
	_, err = r.read(func(rec []byte) error { got = append(got, string(rec)); return nil }, &stats)
	return got, stats, err
}

func TestRingRecords(t *testing.T) {
	r := newFakeRing(128, nil, 56, 56)
	r.put(0, "one")
	r.put(ringDiscard, "dropped")
	r.put(0, "")
	r.put(0, "twelve bytes")
	got, stats, err := r.readAll(t)
	if err != nil || len(got) != 3 || got[0] != "one" || got[1] != "" || got[2] != "twelve bytes" {
		t.Errorf("%q, %v", got, err)
	}
	if stats.Records != 3 || stats.Bytes != 15 || stats.Discarded != 1 {
		t.Errorf("%+v", stats)
	}
	if r.consumerAt != r.producerAt {
		t.Errorf("read up to %d of %d", r.consumerAt, r.producerAt)
	}
	r.put(0, "around the end of the ring") // 8 + 26 bytes from 120 on
	r.put(ringBusy, "soon")
	r.put(0, "x")
	if got, _, err := r.readAll(t); err != nil || len(got) != 1 || got[0] != "around the end of the ring" {
		t.Errorf("%q, %v", got, err)
	}
	if got, _, err := r.readAll(t); err != nil || len(got) != 0 {
		t.Errorf("beyond a busy record: %q, %v", got, err)
	}
	at := r.consumerAt & r.mask
	r.data[at+3] &^= 0x80 // it is complete now
	if got, _, err := r.readAll(t); err != nil || len(got) != 2 || got[0] != "soon" || got[1] != "x" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestRingStop(t *testing.T) {
	r := newFakeRing(64, nil, 0, 0)
	r.put(0, "one")
	r.put(0, "two")
	var stats RingStats
	if n, err := r.read(func([]byte) error { return ErrStop }, &stats); n != 1 || err != ErrStop {
		t.Errorf("%d, %v", n, err)
	}
	if got, _, _ := r.readAll(t); len(got) != 1 || got[0] != "two" {
		t.Errorf("after a stop: %q", got)
	}
}

func FuzzRing(f *testing.F) {
	f.Add([]byte{3, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3}, uint64(0), uint64(16))
	f.Add([]byte{0xff, 0xff, 0xff, 0x3f}, uint64(1<<40), uint64(1<<40+64))
	f.Add([]byte{8, 0, 0, 0x40}, uint64(48), uint64(112))
	f.Fuzz(func(t *testing.T, data []byte, consumer, producer uint64) {
		consumer &^= 7 // the kernel's positions are multiples of 8
		r := newFakeRing(256, data, consumer, producer)
		var stats RingStats
		n, err := r.read(func(rec []byte) error {
			for range rec { // touch nothing outside
			}
			return nil
		}, &stats)
		if uint64(n) != stats.Records || stats.Bytes > 1<<40 {
			t.Errorf("%d records, %+v", n, stats)
		}
		if err == nil && producer > consumer && r.consumerAt > producer {
			t.Errorf("read beyond the producer: %d > %d", r.consumerAt, producer)
		}
	})
}

func TestDefaultRingSize(t *testing.T) {
	for pages, want := range map[uint64]uint32{64: 64 * 4096, 65: 64 * 4096, 100: 128 * 4096, 1 << 62: 1 << 30} {
		if got := DefaultRingSize(pages); got != want {
			t.Errorf("%d pages: %d, want %d", pages, got, want)
		}
	}
	if n := DefaultRingSize(0); n < 256<<10 || n > 16<<20 || n&(n-1) != 0 {
		t.Errorf("default: %d", n)
	}
}

// TestRingWakeUp: Run sees a record that was submitted without a wake-up within the drain interval, one with it at
// once, and ends with the context.
func TestRingWakeUp(t *testing.T) {
	need.Root(t)
	quiet := &Program{Name: "quiet", Type: probe.RunProgram, Insns: sender(1, -1, false)}
	loud := &Program{Name: "loud", Type: probe.RunProgram, Insns: sender(2, -1, false)}
	for i := range loud.Insns {
		if loud.Insns[i] == asm.Mov.Imm(asm.R4, 1) {
			loud.Insns[i] = asm.Mov.Imm(asm.R4, 2)
		}
	}
	l := load(t, Options{}, quiet, loud)
	ctx, cancel := context.WithCancel(t.Context())
	seen := make(chan time.Time, 100)
	done := make(chan error)
	go func() {
		done <- l.Ring().Run(ctx, func([]byte) error { seen <- time.Now(); return nil }, nil)
	}()
	for _, name := range []string{"quiet", "loud"} {
		var worst time.Duration
		for range 10 {
			begin := time.Now()
			if _, err := l.Run(name); err != nil {
				t.Fatal(err)
			}
			select {
			case at := <-seen:
				worst = max(worst, at.Sub(begin))
			case <-time.After(time.Minute):
				t.Fatalf("%s: not seen", name)
			}
		}
		t.Logf("%s: at most %v", name, worst)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	failure := errors.New("no")
	l.Run("loud")
	if err := l.Ring().Run(t.Context(), func([]byte) error { return failure }, nil); err != failure {
		t.Errorf("%v, want the callback's error", err)
	}
	l.Run("loud")
	if err := l.Ring().Run(t.Context(), func([]byte) error { return ErrStop }, nil); err != nil {
		t.Error(err)
	}
}

// counting is sender, with the number of records that found no room in the array "lost".
func counting() asm.Instructions {
	insns := sender(1, regDI, false)
	insns = insns[:len(insns)-2]
	return append(insns,
		asm.JEq.Imm(asm.R0, 0, "out"),
		asm.Mov.Imm(asm.R1, 0),
		asm.StoreMem(asm.RFP, -8, asm.R1, asm.DWord),
		asm.LoadMapPtr(asm.R1, 0).WithReference("lost"),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -8),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "out"),
		asm.Mov.Imm(asm.R1, 1),
		asm.StoreXAdd(asm.R0, asm.R1, asm.DWord),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("out"),
		asm.Return(),
	)
}

// TestNoLoss: a hot thread's records all arrive; and what does not fit into a small ring is counted exactly.
func TestNoLoss(t *testing.T) {
	need.Root(t)
	path := build(t, "target", targetSource)
	syms := symbols(t, path)
	const hits = 1_000_000
	for _, size := range []uint32{4 << 20, 4096} {
		l, err := Load(&Object{
			Maps: []*ebpf.MapSpec{
				{Name: "ring", Type: ebpf.RingBuf, MaxEntries: size},
				{Name: "lost", Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: 8, MaxEntries: 1},
			},
			Programs: []*Program{{
				Name: "p", Type: probe.UprobeProgram, Insns: counting(),
				Points: []*probe.Point{point(path, syms["work"], 0)},
			}},
		}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		attachAll(t, l)
		c := start(t, path)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		seen, last := 0, int64(-1)
		go func() {
			done <- l.Ring().Run(ctx, func(rec []byte) error {
				e, err := decode(rec)
				if err != nil || int64(e.arg) <= last {
					t.Errorf("argument %d after %d, %v", e.arg, last, err)
				}
				last = int64(e.arg)
				seen++
				return err
			}, nil)
		}()
		begin := time.Now()
		c.ask("call %d", hits)
		took := time.Since(begin)
		l.Detach()
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		seen += len(drain(t, l))
		lost, err := l.Map("lost").Sum(0, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("ring of %d bytes: %d seen, %d lost, %v per call, at most %d bytes waiting", size, seen, lost, took/hits,
			l.Ring().Stats().Fullest)
		if seen+int(lost) != hits {
			t.Errorf("%d seen and %d lost are not %d", seen, lost, hits)
		}
		if size > 4096 && lost != 0 {
			t.Errorf("lost %d", lost)
		}
	}
}

// BenchmarkRing measures the reading of small records alone.
func BenchmarkRing(b *testing.B) {
	r := newFakeRing(1<<20, nil, 0, 0)
	for r.producerAt+40 <= 1<<20 {
		r.put(0, "a record of thirty-two bytes ...")
	}
	r.slide = func(_, _ uint64) ([]byte, uint64, error) { return r.data, 0, nil }
	end := r.producerAt
	var stats RingStats
	sum := 0
	for b.Loop() {
		r.consumerAt, r.producerAt = 0, end
		r.read(func(rec []byte) error { sum += len(rec); return nil }, &stats)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(stats.Records), "ns/record")
}

// BenchmarkRingFull reads while a program sends records of 32 bytes as fast as it can, which is several times as fast
// as probes can be hit.
func BenchmarkRingFull(b *testing.B) {
	need.Root(b)
	const each = 1000
	insns := asm.Instructions{
		asm.Mov.Imm(asm.R6, 0),
		asm.Mov.Imm(asm.R7, 0),
		asm.StoreMem(asm.RFP, -32, asm.R6, asm.DWord),
		asm.StoreMem(asm.RFP, -24, asm.R6, asm.DWord),
		asm.StoreMem(asm.RFP, -16, asm.R6, asm.DWord),
		asm.StoreMem(asm.RFP, -8, asm.R6, asm.DWord),
		asm.LoadMapPtr(asm.R1, 0).WithReference("ring").WithSymbol("loop"),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -32),
		asm.Mov.Imm(asm.R3, 32),
		asm.Mov.Imm(asm.R4, 1),
		asm.FnRingbufOutput.Call(),
		asm.JEq.Imm(asm.R0, 0, "sent"),
		asm.Add.Imm(asm.R7, 1),
		asm.Add.Imm(asm.R6, 1).WithSymbol("sent"),
		asm.JLT.Imm(asm.R6, each, "loop"),
		asm.Mov.Reg(asm.R0, asm.R7),
		asm.Return(),
	}
	l, err := Load(&Object{
		Maps:     []*ebpf.MapSpec{{Name: "ring", Type: ebpf.RingBuf, MaxEntries: 16 << 20}},
		Programs: []*Program{{Name: "p", Type: probe.RunProgram, Insns: insns}},
	}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error)
	seen := 0
	go func() {
		done <- l.Ring().Run(ctx, func(rec []byte) error { seen += len(rec) / 32; return nil }, nil)
	}()
	lost, runs := 0, 0
	for b.Loop() {
		n, err := l.Run("p")
		if err != nil {
			b.Fatal(err)
		}
		lost += int(n)
		runs++
	}
	cancel()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
	l.Ring().Read(func([]byte) error { seen++; return nil })
	if seen+lost != runs*each {
		b.Errorf("%d seen and %d lost are not %d", seen, lost, runs*each)
	}
	b.ReportMetric(float64(seen)/b.Elapsed().Seconds(), "records/s")
	b.ReportMetric(float64(lost)/float64(runs*each)*100, "%lost")
}
