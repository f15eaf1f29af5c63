package codegen_test

import (
	"bytes"
	"encoding/binary"

	"trocar/internal/binary/types"
)

// Values as bytes.

// put makes the bytes of a number.
func put(v uint64, size int) []byte {
	var word [8]byte
	binary.LittleEndian.PutUint64(word[:], v)
	return append([]byte(nil), word[:size]...)
}

// get reads a number of a type, extended to 64 bits by its sign.
func get(b []byte, t *types.Type) uint64 {
	var word [8]byte
	copy(word[:], b[:t.Size])
	v := binary.LittleEndian.Uint64(word[:])
	if t.Signed {
		shift := 64 - 8*t.Size
		v = uint64(int64(v<<shift) >> shift)
	}
	return v
}

func boolean(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// cstring is the text of a string: up to a NUL, or all of it.
func cstring(b []byte) []byte {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return b[:i]
	}
	return b
}

// padded gives b size bytes, cut or with zeros behind.
func padded(b []byte, size int) []byte {
	out := make([]byte, size)
	copy(out, b)
	return out
}

// bitField takes a field out of the bytes that begin with its first.
func bitField(x []byte, f types.Field) []byte {
	v := uint64(0)
	for i := range f.BitSize { // bit by bit
		at := f.BitOffset + i
		v |= uint64(x[at/8]>>(at%8)&1) << i
	}
	if f.Type.Signed && v>>(f.BitSize-1)&1 != 0 {
		v |= ^uint64(0) << f.BitSize
	}
	return put(v, f.Type.Size)
}

func cast(v []byte, from, to *types.Type) []byte {
	switch {
	case from.IsScalar() && to.Kind == types.Bool:
		return put(boolean(get(v, from) != 0), 1)
	case from.IsScalar() && to.IsScalar():
		return put(get(v, from), to.Size)
	case from.IsScalar() && to.Kind == types.Array:
		return padded(v, to.Size)
	case from.Kind == types.Array && to.IsScalar():
		return padded(v, to.Size)
	case from.IsText() && to.Kind == types.String:
		return padded(cstring(v), to.Size)
	case from.Kind == types.Tuple, from.Kind == types.Record:
		out := make([]byte, to.Size)
		for i, f := range to.Fields {
			g := from.Fields[i]
			if from.Kind == types.Record {
				g, _ = from.Field(f.Name)
			}
			copy(out[f.Offset:], cast(v[g.Offset:][:g.Type.Size], g.Type, f.Type))
		}
		return out
	}
	return padded(v, to.Size) // strings, buffers, string to array
}

// number is the value of a map as scripts read it: of an aggregation, a number.
func number(v []byte, t *types.Type) []byte {
	switch t.Kind {
	case types.Min, types.Max:
		return aggregateNumber(v, t)
	case types.Avg:
		total, n := word(v, 0), word(v, 1)
		switch {
		case n == 0:
			return put(0, 8)
		case t.Signed:
			return put(uint64(int64(total)/int64(n)), 8)
		}
		return put(total/n, 8)
	}
	return bytes.Clone(v)
}

func word(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }

func setWord(b []byte, i int, v uint64) { binary.LittleEndian.PutUint64(b[8*i:], v) }

// rank is the number that min and max keep for a value, and back: it only grows (types.AggOf).
func rank(n uint64, t *types.Type) uint64 {
	if t.Signed {
		n += 1 << 63
	}
	if t.Kind == types.Min {
		n = ^n
	}
	return n
}

// aggregateNumber is the number that min and max keep (0 if there is none yet).
func aggregateNumber(v []byte, t *types.Type) []byte {
	if word(v, 1) == 0 {
		return put(0, 8)
	}
	n := word(v, 0)
	if t.Kind == types.Min {
		n = ^n
	}
	if t.Signed {
		n -= 1 << 63
	}
	return put(n, 8)
}
