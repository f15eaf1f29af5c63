package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// Map is a map in the kernel. Keys and values are bytes as the programs see them; the value of a per-CPU map is that of
// each possible CPU in turn, each at a multiple of 8 bytes (Stride).
type Map struct {
	m      *ebpf.Map
	perCPU bool
	array  bool

	inner  *ebpf.MapSpec // of an array of maps
	mu     sync.Mutex
	pieces map[uint32]*ebpf.Map // those that are in it
}

// ErrNoEntry says that a key is not in the map.
var ErrNoEntry = errors.New("no such entry")

func wrapMap(m *ebpf.Map) *Map {
	w := &Map{m: m}
	switch m.Type() {
	case ebpf.PerCPUHash, ebpf.LRUCPUHash:
		w.perCPU = true
	case ebpf.PerCPUArray:
		w.perCPU, w.array = true, true
	case ebpf.Array:
		w.array = true
	}
	return w
}

func (m *Map) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.m.Close()
	for _, piece := range m.pieces {
		piece.Close()
	}
	m.pieces = nil
}

// PutPiece writes the only value of a map in an array of maps, or the beginning of it. It is made with the first value.
func (m *Map) PutPiece(index uint32, value []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.inner == nil {
		return fmt.Errorf("map %s holds no maps", m.m.String())
	}
	if n := int(m.inner.ValueSize); len(value) < n {
		value = append(make([]byte, 0, n), value...)[:n]
	}
	if piece := m.pieces[index]; piece != nil {
		return wrapMap(piece).Put(make([]byte, 4), value)
	}
	piece, err := ebpf.NewMap(m.inner)
	if err != nil {
		return err
	}
	if err = wrapMap(piece).Put(make([]byte, 4), value); err == nil {
		err = m.m.Put(index, piece)
	}
	if err != nil {
		piece.Close()
		return err
	}
	if m.pieces == nil {
		m.pieces = map[uint32]*ebpf.Map{}
	}
	m.pieces[index] = piece
	return nil
}

// PutAt writes a part of an array's only value, which is mapped into our memory for that.
func (m *Map) PutAt(at int, part []byte) error {
	if at < 0 || at+len(part) > m.ValueSize() {
		return fmt.Errorf("map %s has no room at %d for %d bytes", m.m.String(), at, len(part))
	}
	if len(part) == 0 {
		return nil
	}
	in := at % os.Getpagesize()
	mem, err := unix.Mmap(m.m.FD(), int64(at-in), in+len(part), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("map %s cannot be written in parts: %w", m.m.String(), err)
	}
	copy(mem[in:], part)
	return unix.Munmap(mem)
}

// Raw is the library's map.
func (m *Map) Raw() *ebpf.Map { return m.m }

// KeySize is the length of a key.
func (m *Map) KeySize() int { return int(m.m.KeySize()) }

// ValueSize is the length of one value (of one CPU).
func (m *Map) ValueSize() int { return int(m.m.ValueSize()) }

// CPUs is how many values an entry has: 1, or the number of possible CPUs.
func (m *Map) CPUs() int {
	if m.perCPU {
		return possibleCPUs()
	}
	return 1
}

// Stride is the distance of the values of two CPUs.
func (m *Map) Stride() int {
	if m.perCPU {
		return (m.ValueSize() + 7) &^ 7
	}
	return m.ValueSize()
}

func (m *Map) entrySize() int { return m.Stride() * m.CPUs() }

// attrElem is the attribute of the calls for one element.
type attrElem struct {
	fd         uint32
	_          uint32
	key, value pointer
	flags      uint64
}

const (
	cmdMapLookup = 1
	cmdMapUpdate = 2
	cmdMapDelete = 3
)

func (m *Map) elem(cmd uintptr, key, value []byte, flags uint64) error {
	if len(key) != m.KeySize() || value != nil && len(value) != m.entrySize() {
		return fmt.Errorf("map %s: wrong size of key (%d) or value (%d)", m.m.String(), len(key), len(value))
	}
	_, err := bpf(cmd, &attrElem{fd: uint32(m.m.FD()), key: slicePointer(key), value: slicePointer(value), flags: flags})
	runtime.KeepAlive(m)
	if errors.Is(err, unix.ENOENT) {
		return ErrNoEntry
	}
	return err
}

// Get reads the entry of key into value (Stride times CPUs bytes).
func (m *Map) Get(key, value []byte) error { return m.elem(cmdMapLookup, key, value, 0) }

// Put writes an entry.
func (m *Map) Put(key, value []byte) error { return m.elem(cmdMapUpdate, key, value, 0) }

// Sum adds the 64-bit counters at offset of an array entry over all CPUs.
func (m *Map) Sum(index uint32, offset int) (uint64, error) {
	value := make([]byte, m.entrySize())
	if offset < 0 || offset+8 > m.ValueSize() {
		return 0, fmt.Errorf("map %s: offset %d is outside its values", m.m.String(), offset)
	}
	if err := m.Get(binary.NativeEndian.AppendUint32(nil, index), value); err != nil {
		return 0, err
	}
	var sum uint64
	for at := offset; at < len(value); at += m.Stride() {
		sum += binary.NativeEndian.Uint64(value[at:])
	}
	return sum, nil
}

// Each calls fn for all entries, in no order. fn must not keep the slices. Entries that programs add or remove
// meanwhile may be seen or not, none is seen twice.
func (m *Map) Each(fn func(key, value []byte) error) error {
	if m.array {
		return m.eachOfArray(fn)
	}
	return m.batches(cmdMapLookupBatch, fn)
}

// Take calls fn for all entries and removes them: an update is either seen by fn or stays for the next time.
func (m *Map) Take(fn func(key, value []byte) error) error {
	if m.array {
		return errors.New("entries of an array cannot be removed")
	}
	return m.batches(cmdMapLookupDeleteBatch, fn)
}

// Clear removes all entries; those of arrays become zero.
func (m *Map) Clear() error {
	if m.array {
		return m.Zero()
	}
	return m.batches(cmdMapLookupDeleteBatch, nil)
}

// Zero sets the values of all entries to zero and keeps the keys.
func (m *Map) Zero() error {
	zero := make([]byte, m.entrySize())
	if m.array {
		for i := range m.m.MaxEntries() {
			if err := m.Put(binary.NativeEndian.AppendUint32(nil, i), zero); err != nil {
				return err
			}
		}
		return nil
	}
	// Writing while reading would let a resized batch see keys again, so the keys come first.
	var keys []byte
	if err := m.Each(func(key, _ []byte) error {
		keys = append(keys, key...)
		return nil
	}); err != nil {
		return err
	}
	const exists = 2 // BPF_EXIST: one that was removed meanwhile stays removed
	for n := m.KeySize(); len(keys) >= n && n > 0; keys = keys[n:] {
		if err := m.elem(cmdMapUpdate, keys[:n], zero, exists); err != nil && !errors.Is(err, ErrNoEntry) {
			return err
		}
	}
	return nil
}

// Len counts the entries.
func (m *Map) Len() (int, error) {
	n := 0
	err := m.Each(func(_, _ []byte) error { n++; return nil })
	return n, err
}

func (m *Map) eachOfArray(fn func(key, value []byte) error) error {
	key := make([]byte, 4)
	value := make([]byte, m.entrySize())
	for i := range m.m.MaxEntries() {
		binary.NativeEndian.PutUint32(key, i)
		if err := m.Get(key, value); err != nil {
			return err
		}
		if err := fn(key, value); err != nil {
			return err
		}
	}
	return nil
}

// batchBytes is about how much is asked for in one call.
const batchBytes = 256 << 10

// batches goes through a hash with BPF_MAP_LOOKUP_BATCH (5.6), which takes whole buckets: unlike the way from key to
// key it neither begins again nor runs in circles when the map changes meanwhile.
func (m *Map) batches(cmd uintptr, fn func(key, value []byte) error) error {
	keySize, entrySize := m.KeySize(), m.entrySize()
	count := min(max(batchBytes/(keySize+entrySize), 16), int(m.m.MaxEntries()))
	var keys, values []byte
	// The kernel keeps its place in 4 bytes for hashes, a key for others.
	token := make([]byte, max(keySize, 8))
	next := make([]byte, len(token))
	attr := &attrBatch{mapFD: uint32(m.m.FD()), outBatch: slicePointer(next)}
	defer runtime.KeepAlive(m)
	for {
		if len(keys) < count*keySize {
			keys, values = make([]byte, count*keySize), make([]byte, count*entrySize)
		}
		attr.keys, attr.values, attr.count = slicePointer(keys), slicePointer(values), uint32(count)
		_, err := bpf(cmd, attr)
		if errors.Is(err, unix.ENOSPC) && attr.count == 0 && count < int(m.m.MaxEntries()) {
			// A bucket has more entries than there is room for.
			count = min(count*4, int(m.m.MaxEntries()))
			continue
		}
		if err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("cannot read the map %s: %w", m.m.String(), err)
		}
		if fn != nil {
			for i := range int(attr.count) {
				if err := fn(keys[i*keySize:(i+1)*keySize], values[i*entrySize:(i+1)*entrySize]); err != nil {
					return err
				}
			}
		}
		if err != nil { // ENOENT: that was the end
			return nil
		}
		copy(token, next)
		attr.inBatch = slicePointer(token)
	}
}
