package kernel

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/cilium/ebpf"

	"trocar/internal/need"
)

func loadMap(t *testing.T, spec *ebpf.MapSpec) *Map {
	t.Helper()
	need.Root(t)
	l, err := Load(&Object{Maps: []*ebpf.MapSpec{spec}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l.Map(spec.Name)
}

func key(i int) []byte {
	return append(binary.NativeEndian.AppendUint64(nil, uint64(i)), 1, 2, 3, 4) // 12 bytes: not a power of two
}

func content(t *testing.T, m *Map) map[string]string {
	t.Helper()
	found := map[string]string{}
	if err := m.Each(func(key, value []byte) error {
		if _, twice := found[string(key)]; twice {
			t.Errorf("key %x twice", key)
		}
		found[string(key)] = string(value)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return found
}

func TestHashes(t *testing.T) {
	const n = 5000
	for _, typ := range []ebpf.MapType{ebpf.Hash, ebpf.LRUHash, ebpf.PerCPUHash, ebpf.LRUCPUHash} {
		t.Run(typ.String(), func(t *testing.T) {
			// An LRU map may drop entries before it is full.
			m := loadMap(t, &ebpf.MapSpec{Name: "m", Type: typ, KeySize: 12, ValueSize: 12, MaxEntries: 4 * n})
			want := map[string]string{}
			value := make([]byte, m.Stride()*m.CPUs())
			for i := range n {
				for cpu := range m.CPUs() {
					copy(value[cpu*m.Stride():], fmt.Sprintf("%8d:%3d", i, cpu))
				}
				if err := m.Put(key(i), value); err != nil {
					t.Fatal(err)
				}
				want[string(key(i))] = string(value)
			}
			got := content(t, m)
			for k, v := range want {
				if got[k] != v {
					t.Fatalf("key %x: %q, want %q", k, got[k], v)
				}
			}
			if len(got) != n {
				t.Errorf("%d entries, want %d", len(got), n)
			}
			if err := m.remove(key(7)); err != nil {
				t.Error(err)
			}
			if err := m.remove(key(7)); err != nil {
				t.Errorf("deleted again: %v", err)
			}
			if err := m.Get(key(7), value); !errors.Is(err, ErrNoEntry) {
				t.Errorf("get of a deleted key: %v", err)
			}
			if err := m.Zero(); err != nil {
				t.Fatal(err)
			}
			zero := string(make([]byte, len(value)))
			got = content(t, m)
			for k, v := range got {
				if v != zero {
					t.Fatalf("key %x is not zero: %x", k, v)
				}
			}
			if len(got) != n-1 {
				t.Errorf("%d entries after zeroing, want %d", len(got), n-1)
			}
			taken := 0
			if err := m.Take(func(_, _ []byte) error { taken++; return nil }); err != nil || taken != n-1 {
				t.Errorf("took %d, %v", taken, err)
			}
			if left, err := m.Len(); err != nil || left != 0 {
				t.Errorf("%d left, %v", left, err)
			}
			m.Put(key(1), value)
			if err := m.Clear(); err != nil {
				t.Error(err)
			}
			if left, err := m.Len(); err != nil || left != 0 {
				t.Errorf("%d left after clearing, %v", left, err)
			}
			if err := m.Put([]byte{1}, value); err == nil {
				t.Error("a key of the wrong size was taken")
			}
		})
	}
}

func TestSmallHashes(t *testing.T) {
	for _, n := range []int{1, 2, 3, 17} {
		m := loadMap(t, &ebpf.MapSpec{Name: "m", Type: ebpf.Hash, KeySize: 12, ValueSize: 1, MaxEntries: uint32(n)})
		for i := range n {
			if err := m.Put(key(i), []byte{byte(i)}); err != nil {
				t.Fatal(err)
			}
		}
		if got := content(t, m); len(got) != n {
			t.Errorf("%d of %d entries", len(got), n)
		}
	}
}

// TestEachWhileChanging: batches neither end early nor give keys twice while entries come and go.
func TestEachWhileChanging(t *testing.T) {
	m := loadMap(t, &ebpf.MapSpec{Name: "m", Type: ebpf.Hash, KeySize: 12, ValueSize: 8, MaxEntries: 20000})
	value := make([]byte, 8)
	for i := range 8000 {
		m.Put(key(i), value)
	}
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			m.Put(key(10000+i%8000), value)
			m.remove(key(10000 + (i+4000)%8000))
		}
	}()
	for range 20 {
		got := content(t, m)
		for i := range 8000 {
			if _, ok := got[string(key(i))]; !ok {
				t.Fatalf("key %d was not seen", i)
			}
		}
	}
	close(done)
	<-stopped
}

func TestArrays(t *testing.T) {
	for _, typ := range []ebpf.MapType{ebpf.Array, ebpf.PerCPUArray} {
		t.Run(typ.String(), func(t *testing.T) {
			m := loadMap(t, &ebpf.MapSpec{Name: "m", Type: typ, KeySize: 4, ValueSize: 20, MaxEntries: 3})
			value := make([]byte, m.Stride()*m.CPUs())
			for cpu := range m.CPUs() {
				binary.NativeEndian.PutUint64(value[cpu*m.Stride()+8:], uint64(cpu+1))
			}
			index := binary.NativeEndian.AppendUint32(nil, 2)
			if err := m.Put(index, value); err != nil {
				t.Fatal(err)
			}
			got := make([]byte, len(value))
			if err := m.Get(index, got); err != nil || !bytes.Equal(got, value) {
				t.Errorf("%x, %v; want %x", got, err, value)
			}
			want := uint64(m.CPUs() * (m.CPUs() + 1) / 2)
			if sum, err := m.Sum(2, 8); err != nil || sum != want {
				t.Errorf("sum %d, %v; want %d", sum, err, want)
			}
			if _, err := m.Sum(2, 16); err == nil {
				t.Error("a counter beyond the value was read")
			}
			if _, err := m.Sum(3, 0); !errors.Is(err, ErrNoEntry) {
				t.Errorf("index beyond the end: %v", err)
			}
			if n := len(content(t, m)); n != 3 {
				t.Errorf("%d entries", n)
			}
			if err := m.Clear(); err != nil {
				t.Fatal(err)
			}
			if sum, _ := m.Sum(2, 8); sum != 0 {
				t.Errorf("sum %d after clearing", sum)
			}
		})
	}
}

func BenchmarkEach(b *testing.B) {
	need.Root(b)
	l, err := Load(&Object{Maps: []*ebpf.MapSpec{{
		Name: "m", Type: ebpf.PerCPUHash, KeySize: 16, ValueSize: 8,
		MaxEntries: 10000,
	}}}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	m := l.Map("m")
	value := make([]byte, m.Stride()*m.CPUs())
	for i := range 10000 {
		m.Put(append(key(i), 0, 0, 0, 0), value)
	}
	for b.Loop() {
		m.Each(func(_, _ []byte) error { return nil })
	}
}

// remove takes an entry out of a map, as programs do; one that is not there is no error.
func (m *Map) remove(key []byte) error {
	if err := m.elem(cmdMapDelete, key, nil, 0); !errors.Is(err, ErrNoEntry) {
		return err
	}
	return nil
}
