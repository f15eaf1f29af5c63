package record

import (
	"encoding/binary"
	"slices"

	"trocar/internal/binary/types"
)

// Storage says how a script's map is kept.
type Storage struct {
	Map                Map
	Name               string // of the BPF map
	PerCPU             bool
	Scalar             bool // an array with one entry: u64 "set", then the value
	KeySize, ValueSize int
}

// Map is a map of the script.
type Map struct {
	Name  string      // with '@'
	Key   *types.Type // nil: it has one value
	Value *types.Type
	Max   int // entries
}

// ScalarHeader is the part of a scalar map's value in front of the data: u64, 1 if the map was ever set.
const ScalarHeader = 8

// AFInet6 is the address family of IPv6 in an Inet value (AF_INET6 of linux/socket.h); others are IPv4.
const AFInet6 = 10

// Stride is the distance of the values that a map's entry has for two CPUs.
func (s *Storage) Stride() int {
	n := (max(1, s.ValueSize) + 7) &^ 7
	if s.Scalar {
		n += ScalarHeader
	}
	return n
}

// CPUs parts an entry's value into those of the CPUs: one if it is not kept for each.
func (s *Storage) CPUs(value []byte) [][]byte {
	n := s.Stride()
	var cpus [][]byte
	for ; len(value) >= n; value = value[n:] {
		cpus = append(cpus, value[:n])
	}
	return cpus
}

// Reset makes an entry's value that of a map whose entries were set to zero: a scalar map stays set if it was.
func (s *Storage) Reset(value []byte) {
	for _, b := range s.CPUs(value) {
		if s.Scalar {
			b = b[ScalarHeader:]
		}
		clear(b)
	}
}

// IsSet tells whether a map has a value: one with keys in all its entries, a scalar one where a CPU has set it.
func (s *Storage) IsSet(cpus [][]byte) bool {
	return !s.Scalar || slices.ContainsFunc(cpus, func(b []byte) bool {
		return len(b) >= ScalarHeader && binary.LittleEndian.Uint64(b) != 0
	})
}

// Unset is the value of a scalar map that was set to zero, of one CPU: what it reads as before it is set.
func (s *Storage) Unset() []byte {
	b := make([]byte, s.Stride())
	b[0] = 1
	return b
}

// Fold appends the values that an entry has for all CPUs as one: what MapValue makes of it alone is what it makes of
// all. Time series have no such value.
func (s *Storage) Fold(dst, value []byte) []byte {
	cpus := s.CPUs(value)
	if len(cpus) < 2 {
		return append(dst, value...)
	}
	start := len(dst)
	dst = append(dst, cpus[0]...)
	t, first := s.Map.Value, dst[start:]
	for _, b := range cpus[1:] {
		at, to := b, first
		if s.Scalar {
			at, to = b[ScalarHeader:], first[ScalarHeader:]
			first[0] |= b[0]
		}
		switch {
		case t.Kind == types.Min || t.Kind == types.Max: // the largest, and whether there is one
			put(to, max(word(to), word(at)))
			put(to[8:], word(to[8:])|word(at[8:]))
		case t.IsAgg():
			for i := 0; i+8 <= t.Size; i += 8 {
				put(to[i:], word(to[i:])+word(at[i:]))
			}
		case t.Kind == types.Int: // narrower ones are added at their own width
			put(to, word(to)+word(at))
		}
	}
	return dst
}

func word(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

func put(b []byte, v uint64) { binary.LittleEndian.PutUint64(b, v) }
