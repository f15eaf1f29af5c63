package record_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"trocar/internal/binary/types"
	"trocar/internal/compile/record"
	"trocar/result"
)

// resolver names things by what it was asked.
type resolver struct{}

func (resolver) Stack(id [16]byte) (frames []uint64, time uint64, tgid uint32) {
	if id[0] != 7 {
		return nil, 0, 0
	}
	return []uint64{11, 12, 13, 0}, 99, 5
}

func (resolver) UserStack(
	tgid uint32, point int, caller, time uint64, frames []uint64, _ types.StackMode,
) []result.Frame {
	who := fmt.Sprintf("process %d point %d caller %d", tgid, point, caller)
	if time != 0 {
		who += fmt.Sprintf(" at %d", time)
	}
	out := []result.Frame{{Symbol: who}}
	for _, f := range frames {
		out = append(out, result.Frame{Addr: f})
	}
	return out
}

func (resolver) KernelStack(frames []uint64) []result.Frame {
	var out []result.Frame
	for _, f := range frames {
		out = append(out, result.Frame{Addr: f})
	}
	return out
}

func (resolver) UserSymbol(tgid uint32, addr uint64, point int) string {
	return fmt.Sprintf("symbol %d %d %d", tgid, addr, point)
}
func (resolver) KernelSymbol(addr uint64) string  { return fmt.Sprintf("kernel symbol %d", addr) }
func (resolver) Username(uid uint64) string       { return fmt.Sprintf("user %d", uid) }
func (resolver) Given(int) ([]record.Given, bool) { return nil, false }

func (resolver) ObjectType(uint32, uint64) (string, bool) { return "", false }
func (resolver) DynamicType(point int, delta uint64) (*types.Type, bool) {
	t := goTypes[delta]
	return t, point == 0 && t != nil
}
func (resolver) Function(point int, delta uint64) string { return fmt.Sprintf("pkg.f%d", delta) }

func (resolver) CgroupPath(id uint64, filter int) string {
	return fmt.Sprintf("cgroup %d %d", id, filter)
}

func (resolver) Time(ns uint64, clock types.Clock, format int) string {
	return fmt.Sprintf("time %d %d %d", ns, clock, format)
}
func (resolver) StackMode(m types.StackMode) result.StackMode { return result.StackMode(m) }

var decoder = record.Decoder{Resolver: resolver{}, Trailer: ".."}

// show is a value in short.
func show(v *result.Value) string {
	list := func(open, end string) string {
		var s []string
		for i := range v.Elems {
			e := show(&v.Elems[i])
			if v.Names != nil {
				e = v.Names[i] + ":" + e
			}
			s = append(s, e)
		}
		if v.Cut {
			s = append(s, "…")
		}
		return open + strings.Join(s, " ") + end
	}
	switch v.Kind {
	case result.Int:
		return fmt.Sprint(int64(v.Num))
	case result.Uint:
		return fmt.Sprintf("%du", v.Num)
	case result.Bool:
		return fmt.Sprint(v.Num == 1)
	case result.Pointer:
		return fmt.Sprintf("%#x", v.Num)
	case result.Float:
		return fmt.Sprint(math.Float64frombits(v.Num))
	case result.Enum:
		return fmt.Sprintf("%s=%d", v.Text, int64(v.Num))
	case result.String, result.Buffer, result.Symbol, result.Address, result.Timestamp:
		return fmt.Sprintf("%q", v.Text)
	case result.Array:
		return list("[", "]")
	case result.Struct, result.Record:
		return list("{", "}")
	case result.Tuple, result.Stats:
		return list("(", ")")
	case result.Stack:
		var s []string
		for _, f := range v.Frames {
			s = append(s, fmt.Sprintf("%s%d", f.Symbol, f.Addr))
		}
		return strings.Join(s, " < ")
	case result.Histogram:
		var s []string
		for _, b := range v.Hist.Buckets {
			s = append(s, fmt.Sprintf("%d-%d:%d", b.Lo, b.Hi, b.Count))
		}
		return strings.Join(s, " ")
	case result.Unavailable:
		return "unavailable: " + v.Text
	}
	return fmt.Sprintf("kind %d", v.Kind)
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

func TestDecodeValues(t *testing.T) {
	enum := &types.Type{
		Kind: types.Enum, Name: "enum e", Size: 4, Signed: true, Enums: []types.Enumerator{
			{Name: "A", Value: -1},
			{Name: "B", Value: 7},
		},
	}
	float := func(size int, name string) *types.Type { return &types.Type{Kind: types.Float, Name: name, Size: size} }
	flags := &types.Type{Kind: types.Struct, Name: "struct flags", Size: 16, Fields: []types.Field{
		{Name: "a", Type: types.TUint8, Offset: 0, BitSize: 3, BitOffset: 2},
		{Name: "b", Type: types.TInt32, Offset: 0, BitSize: 7, BitOffset: 5},
		{Name: "c", Type: types.TUint64, Offset: 1, BitSize: 61, BitOffset: 7},
		{Name: "d", Type: types.TBool, Offset: 15, BitSize: 1, BitOffset: 7},
	}}
	inner := &types.Type{Kind: types.Union, Size: 4, Fields: []types.Field{
		{Name: "x", Type: types.TInt32},
		{Name: "y", Type: types.TUint8},
	}}
	outer := &types.Type{Kind: types.Struct, Name: "struct outer", Size: 16, Fields: []types.Field{
		{Type: inner, Offset: 4},
		{Name: "z", Type: types.PointerTo(inner, types.User), Offset: 8},
	}}
	deep := types.TInt64
	for range 40 {
		deep = &types.Type{Kind: types.Struct, Name: "struct deep", Size: 8, Fields: []types.Field{{Name: "in", Type: deep}}}
	}
	for _, c := range []struct {
		t    *types.Type
		b    []byte
		want string
	}{
		{types.TInt8, le(int8(-3)), "-3"},
		{types.TUint8, le(int8(-3)), "253u"},
		{types.TInt16, le(int16(-3)), "-3"},
		{types.TUint32, le(int32(-3)), "4294967293u"},
		{types.TInt64, le(-3), "-3"},
		{types.TBool, le(uint8(4)), "true"},
		{enum, le(int32(-1)), "A=-1"},
		{enum, le(int32(3)), "=3"},
		{types.PointerTo(types.TVoid, types.User), le(0x1234), "0x1234"},
		{float(4, "float"), le(float32(1.5)), "1.5"},
		{float(8, "double"), le(-0.25), "-0.25"},
		{float(16, "long double"), le(uint64(0xc000000000000000), uint16(0x4000), uint16(9), uint32(9)), "3"},
		{float(16, "long double"), le(uint64(1)<<63, uint16(0xffff), uint16(9), uint32(9)), "-Inf"},
		{float(16, "_Float128"), le(uint64(0), uint64(0x4000800000000000)), "3"},
		{float(16, "_Float128"), le(uint64(1), uint64(0xbfff000000000000)), "-1"},
		{float(16, "_Float128"), le(uint64(0), uint64(0x7fff000000000000)), "+Inf"},
		{float(16, "_Float128"), le(uint64(1), uint64(0x7fff000000000000)), "NaN"},
		{float(3, "what"), le("abc"), "unavailable: a floating-point number of this size can't be shown"},
		{types.StringOf(8), le("abc\x00defg"), `"abc"`},
		{types.StringOf(4), le("abcd"), `"abcd.."`}, // no NUL: it was longer
		{types.BufferOf(8), le(uint32(3), "a\x00cdefgh"), `"a\x00c"`},
		{types.BufferOf(4), le(uint32(77), "abcd"), `"abcd"`},
		{types.ArrayOf(types.TInt16, 3), le(int16(1), int16(-2), int16(3)), "[1 -2 3]"},
		{types.ArrayOf(types.TChar, 4), le("ab\x00c"), `"ab"`},
		{types.ArrayOf(types.TChar, 4), le("abcd"), `"abcd"`}, // C text need not end with a NUL
		{types.ArrayOf(types.TInt8, 2), le("ab"), "[97 98]"},
		{types.ArrayOf(types.TInt8, -1), nil, "[…]"},
		{record.TextOf(6, 1), le(3, "abcdef\x00\x00"), `"abc"`},
		{record.TextOf(6, 1), le(9, "abcdefgh"), `"abcdef.."`},
		{record.TextOf(8, 1), le(9, "abcdefgh"), `"abcdefgh.."`},
		{record.TextOf(6, 2), le(6, "a\x00\x3d\xd8\x00\xde\x00\x00"), `"a😀"`},
		{record.WideOf(8, 2), le("a\x00b\x00\x00\x00c\x00"), `"ab"`},
		{record.WideOf(8, 4), le("a\x00\x00\x00\xff\xff\xff\xff"), "\"a\uFFFD..\""},
		{record.ListOf(types.TInt32, 3), le(2, int32(5), int32(6), int32(7), int32(0)), "[5 6]"},
		{record.ListOf(types.TInt32, 2), le(1<<40, int32(5), int32(6)), "[5 6 …]"},
		{
			types.TupleOf(types.TInt8, types.TInt64, types.StringOf(3)),
			le(int8(-1), int8(0), int16(0), int32(0), 7, "ab\x00\x00\x00\x00\x00\x00"), `(-1 7 "ab")`,
		},
		{
			types.RecordOf([]string{"n", "s"}, []*types.Type{types.TUint8, types.StringOf(2)}), le(uint8(1), "ab"),
			`{n:1u s:"ab.."}`,
		},
		{flags, le(uint64(1)<<63|0b1010_110_11, uint64(1<<63|5)), "{a:6u b:10 c:3096224743817216u d:true}"},
		{outer, le(uint32(9), int32(-2), 0x10), "{x:-2 y:254u z:0x10}"},
		{types.TUSym, le(0x400, uint32(7), uint32(3)), `"symbol 7 1024 2"`},
		{types.TKSym, le(5), `"kernel symbol 5"`},
		{types.TUsername, le(0), `"user 0"`},
		{types.TInet, le(uint32(2), "\x7f\x00\x00\x01", 0, 0), `"127.0.0.1"`},
		{types.TInet, le(uint32(10), 0, "\x00\x00\x00\x00\x00\x00\x00\x01"), `"::1"`},
		{types.TMAC, le("\x00\x11\x22\xaa\xbb\xcc\x00\x00"), `"00:11:22:AA:BB:CC"`},
		{types.TimestampOf(types.ClockTAI), le(99, uint32(2), uint32(0)), `"time 99 2 2"`},
		{types.TCgroupPath, le(8, uint32(0), uint32(0)), `"cgroup 8 -1"`},
		{
			types.StackType(types.UStack, 3, types.StackPerf), le(uint32(7), uint32(2|5<<types.StackPointShift), 99, 1, 2, 3),
			"process 7 point 4 caller 990 < 1 < 2",
		},
		{
			types.StackType(types.UStack, 3, types.StackPerf),
			le(uint32(7), uint32(2|types.StackTimed|5<<types.StackPointShift), 99, 1, 2, 3),
			"process 7 point 4 caller 0 at 990 < 1 < 2",
		},
		// Not more than asked for.
		{types.StackType(types.UStack, 1, types.StackPerf), le(uint32(7), uint32(1), 0, 1), "process 7 point -1 caller 00"},
		{
			types.StoredStack(types.UStack, 3, types.StackPerf), le(uint32(7), uint32(2|5<<types.StackPointShift), 0, 7, 8),
			"process 7 point 4 caller 0 at 990 < 11 < 12",
		},
		{
			types.StoredStack(types.UStack, 3, types.StackPerf), le(uint32(7), uint32(2), 0, 6, 8),
			"unavailable: its frames are not known any more",
		},
		{types.StackType(types.KStack, 2, types.StackPerf), le(uint32(0), uint32(4000), 0, 1, 2), "1 < 2"},
		{types.AggOf(types.Stats, true), le(-10, 4), "(4u -2 -10)"},
		{types.AggOf(types.Stats, false), le(-10, 4), "(4u 4611686018427387901u 18446744073709551606u)"},
		{types.AggOf(types.Stats, false), le(0, 0), "(0u 0u 0u)"},
		// What does not fit.
		{types.TInt64, le(int32(1)), "unavailable: its type and its size disagree"},
		{types.TInet, le(1), "unavailable: its type and its size disagree"},
		{&types.Type{Kind: types.Int, Name: "__int128", Size: 16}, le(1, 1), `"18446744073709551617"`},
		{&types.Type{Kind: types.Int, Size: 3}, le("abc"), "unavailable: a number of 3 bytes can't be shown"},
		{&types.Type{Kind: types.Int, Size: -8}, le(1), "unavailable: its type and its size disagree"},
		{&types.Type{Kind: types.Pointer, Size: 4}, le(int32(6)), "0x6"},
		{&types.Type{Kind: types.Array, Size: 8, Elem: types.TInt32, Len: 3}, le(1), "unavailable: its type and its size " +
			"disagree"},
		{
			&types.Type{Kind: types.Array, Size: 8, Elem: &types.Type{Kind: types.Struct}, Len: 1 << 40}, le(1),
			"unavailable: its type and its size disagree",
		},
		{&types.Type{Kind: types.Array, Size: 8, Len: 1}, le(1), "unavailable: its type and its size disagree"},
		{&types.Type{Kind: types.Struct, Size: 4, Fields: []types.Field{
			{Name: "a", Type: types.TInt64},
			{Name: "b", Type: types.TInt8, Offset: -1},
			{Name: "c", Type: types.TInt8, Offset: 1 << 60},
			{Name: "d", Type: types.TInt32, BitSize: 40},
			{Name: "e", Type: types.TInt32, BitSize: 99},
			{Name: "f", Type: types.TInt32, BitSize: 4, BitOffset: -9},
			{Name: "g", Type: nil},
			{Name: "h", Type: types.TInt8, Offset: 1},
		}}, le(int8(1), int8(2), int16(0)), strings.NewReplacer("INCOMPLETE", "unavailable: its type is not complete",
			"BROKEN", "unavailable: its location is invalid").
			Replace("{a:INCOMPLETE b:INCOMPLETE c:INCOMPLETE d:BROKEN e:BROKEN f:BROKEN g:INCOMPLETE h:2}")},
		{deep, le(1), strings.Repeat("{in:", 32) + "unavailable: it contains too many values" + strings.Repeat("}", 32)},
	} {
		for form, typ := range forms(t, c.t) {
			var v result.Value
			decoder.Value(&v, typ, c.b)
			if got := show(&v); got != c.want {
				t.Errorf("%s %s of %x:\n got %s\nwant %s", form, typ, c.b, got, c.want)
			}
		}
	}
}

// TestDecodeIsBounded: structures that overlap can hold more values than there are bytes, many times over.
func TestDecodeIsBounded(t *testing.T) {
	u := types.TInt64
	for range 40 {
		u = &types.Type{Kind: types.Union, Size: 8, Fields: []types.Field{{Name: "a", Type: u}, {Name: "b", Type: u}}}
	}
	var v result.Value
	decoder.Value(&v, u, le(1))
	if n := valuesIn(&v); n > 1<<18 {
		t.Errorf("%d values", n)
	}
}

func valuesIn(v *result.Value) int {
	n := 1
	for i := range v.Elems {
		n += valuesIn(&v.Elems[i])
	}
	return n
}

// layoutOf gives the layout of a record with values of these types.
func layoutOf(ts ...*types.Type) *record.Layout {
	l := &record.Layout{}
	l.Arrange(record.Header, ts...)
	return l
}

func TestDecodeRecords(t *testing.T) {
	l := layoutOf(types.TInt32, types.StringOf(64), types.TupleOf(types.TInt8, types.StringOf(8)), types.StringOf(100))
	// id, 0, the number, length of the first text, the tuple, length of the second, texts.
	rec := le(0, int32(-5), uint32(3), int8(1), "abc\x00\x00\x00\x00\x00", "\x00\x00\x00", uint32(100), "xyz",
		strings.Repeat("q", 100))
	if l.Size != len(rec)-103 {
		t.Fatalf("the fixed part has %d bytes, the record %d before its texts", l.Size, len(rec)-103)
	}
	values, ok := decoder.Record(l, rec, nil)
	var got []string
	for i := range values {
		got = append(got, show(&values[i]))
	}
	want := []string{"-5", `"xyz"`, `(1 "abc")`, `"` + strings.Repeat("q", 100) + `.."`}
	if !ok || strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("got %v, want %v", got, want)
	}
	if !values[3].Cut || values[1].Cut {
		t.Errorf("wrong about what was cut")
	}
	for n := range rec {
		if _, ok := decoder.Record(l, rec[:n], values); ok {
			t.Errorf("%d bytes of %d are taken for a record", n, len(rec))
		}
	}
	// A text that claims to be longer than the record.
	bad := bytes.Clone(rec)
	binary.LittleEndian.PutUint32(bad[l.Args[1].Offset:], 1<<31)
	if _, ok := decoder.Record(l, bad, values); ok {
		t.Error("a text behind the record's end is taken")
	}
	// A missing element of join.
	binary.LittleEndian.PutUint32(bad[l.Args[1].Offset:], 1<<32-1)
	if values, ok = decoder.Record(l, bad, values); !ok || values[0].Num != ^uint64(4) || values[1].Kind != result.None {
		t.Errorf("a missing text: %v", values)
	}
}

func TestDecodeMaps(t *testing.T) {
	flip := func(n int64) int { return int(n ^ -1<<63) }
	for _, c := range []struct {
		name   string
		t      *types.Type
		scalar bool
		cpus   [][]byte
		want   string
	}{
		{"plain", types.TInt32, false, [][]byte{le(int32(-7), int32(0))}, "-7"},
		{"plain scalar", types.TInt32, true, [][]byte{le(1, int32(-7), int32(0))}, "-7"},
		{"never set", types.TInt32, true, [][]byte{le(0, 0)}, ""},
		{"count", types.AggOf(types.Count, false), false, [][]byte{le(3), le(4)}, "7u"},
		{"count scalar, one CPU", types.AggOf(types.Count, false), true, [][]byte{le(0, 0), le(1, 4)}, "4u"},
		{"sum", types.AggOf(types.Sum, true), false, [][]byte{le(-3), le(1)}, "-2"},
		{"min signed", types.AggOf(types.Min, true), false, [][]byte{le(^flip(-3), 1), le(^flip(5), 1), le(0, 0)}, "-3"},
		{"min unsigned", types.AggOf(types.Min, false), false, [][]byte{le(^9, 1), le(^1, 1)}, "1u"},
		{"max signed", types.AggOf(types.Max, true), false, [][]byte{le(0, 0), le(flip(-3), 1), le(flip(-9), 1)}, "-3"},
		{"max unsigned", types.AggOf(types.Max, false), false, [][]byte{le(-1, 1), le(5, 1)}, "18446744073709551615u"},
		{"max of nothing", types.AggOf(types.Max, true), false, [][]byte{le(0, 0)}, "0"},
		{"avg signed", types.AggOf(types.Avg, true), false, [][]byte{le(-9, 1), le(2, 1)}, "-3"},
		{"avg unsigned", types.AggOf(types.Avg, false), false, [][]byte{le(-9, 1), le(2, 1)}, "9223372036854775804u"},
		{"stats", types.AggOf(types.Stats, true), false, [][]byte{le(10, 3), le(2, 1)}, "(4u 3 12)"},
		{
			"hist", types.HistOf(0), false,
			[][]byte{le(1, 0, 2, 0, 0, make([]byte, 61*8)), le(0, 0, 3, 1, 0, make([]byte, 61*8))},
			"0-0:1 0-1:0 1-2:5 2-4:1",
		},
		{"lhist", types.LHistOf(0, 20, 10), false, [][]byte{le(1, 2, 0, 4), le(0, 0, 0, 4)}, "0-0:1 0-10:2 10-20:0 20-0:8"},
		{"per-CPU integers", types.TInt8, false, [][]byte{le(-5), le(-6)}, "-11"},
	} {
		s := &record.Storage{Map: record.Map{Value: c.t}, Scalar: c.scalar}
		var v result.Value
		got := ""
		if decoder.MapValue(&v, s, c.cpus) {
			got = show(&v)
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestDecodeSeries(t *testing.T) {
	cell := func(interval, value, weight int) []byte { return le(interval+1, value, weight) }
	none := le(0, 0, 0)
	for _, c := range []struct {
		agg    types.Kind
		signed bool
		want   string
	}{
		{types.Sum, true, "[{7 -4 1} {8 3 1}]"},
		{types.Min, true, "[{7 -9 1} {8 3 1}]"},
		{types.Max, true, "[{7 5 1} {8 3 1}]"},
		{types.Max, false, "[{7 -9 1} {8 3 1}]"},
		{types.Avg, true, "[{7 -2 2} {8 3 1}]"},
	} {
		series := types.SeriesOf(types.SeriesSpec{IntervalNS: 1, Count: 3, Agg: c.agg, Signed: c.signed})
		cpus := [][]byte{slicesConcat(cell(8, 3, 1), none, cell(7, 5, 1)), slicesConcat(none, cell(7, -9, 1), none)}
		got := record.SeriesCells(series, cpus, false)
		for i := range got { // the weights of sums don't matter
			if c.agg != types.Avg {
				got[i].Weight = 1
			}
		}
		if s := fmt.Sprint(got); s != c.want {
			t.Errorf("kind %d: got %s, want %s", c.agg, s, c.want)
		}
	}
	last := types.SeriesOf(types.SeriesSpec{IntervalNS: 1, Count: 1, Agg: types.None, Signed: true})
	got := record.SeriesCells(last, [][]byte{le(1, cell(7, 5, 1000)), le(1, cell(7, 6, 999))}, true)
	if s := fmt.Sprint(got); s != "[{7 5 1000}]" { // the later one
		t.Errorf("got %s", s)
	}
}

func slicesConcat(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// hostile makes a type of a fuzzer's bytes: whatever debug info may claim.
func hostile(data *[]byte, depth int) *types.Type {
	next := func() int {
		if len(*data) == 0 {
			return 0
		}
		b := (*data)[0]
		*data = (*data)[1:]
		return int(int8(b))
	}
	t := &types.Type{
		Kind: types.Kind(next() & 63), Signed: next()&1 != 0, Len: next(), Depth: next(), Size: next(),
		Bits: 1,
	}
	if next()&7 == 0 {
		t.Size = 1 << (next() & 7)
	}
	if depth == 0 {
		return t
	}
	if next()&1 == 0 {
		t.Elem = hostile(data, depth-1)
	}
	for range next() & 3 {
		f := types.Field{Name: "f", Offset: next(), BitSize: max(0, next()), BitOffset: next()}
		if next()&3 != 0 {
			f.BitSize = 0
		}
		if next()&15 != 0 {
			f.Type = hostile(data, depth-1)
		}
		t.Fields = append(t.Fields, f)
	}
	return t
}

// FuzzDecodeValue decodes bytes by types that don't fit them.
func FuzzDecodeValue(f *testing.F) {
	f.Add([]byte{6, 1, 4, 2, 16, 1, 0, 0, 2, 1, 0, 8, 1, 1}, []byte("some bytes to be decoded"))
	f.Add([]byte{5, 0, 3, 0, 12, 1, 0, 2, 1, 4, 0, 4, 1}, []byte("0123456789ab"))
	f.Fuzz(func(t *testing.T, shape, value []byte) {
		var v result.Value
		decoder.Value(&v, hostile(&shape, 4), value)
		if n := valuesIn(&v); n > 1<<18 {
			t.Errorf("%d values of %d bytes", n, len(value))
		}
	})
}

// FuzzDecodeRecord decodes records that no program would send.
func FuzzDecodeRecord(f *testing.F) {
	layouts := []*record.Layout{
		layoutOf(types.TInt32, types.StringOf(64), types.StringOf(100)),
		layoutOf(
			types.StringOf(64), types.TupleOf(types.TInt8, types.StringOf(8), types.BufferOf(7)),
			types.StackType(types.UStack, 3, types.StackPerf),
		),
		layoutOf(types.TInet, types.TUSym, types.BufferOf(9), types.StringOf(5)),
	}
	f.Add(0, []byte("0123456789abcdefghijklmnopqrstuvwxyz"))
	f.Fuzz(func(t *testing.T, n int, rec []byte) {
		l := layouts[uint(n)%uint(len(layouts))]
		values, ok := decoder.Record(l, rec, nil)
		if ok && len(values) != len(l.Args) {
			t.Errorf("%d values of %d", len(values), len(l.Args))
		}
		for i := range values {
			if len(values[i].Text) > len(rec)+100 {
				t.Errorf("a text of %d bytes from a record of %d", len(values[i].Text), len(rec))
			}
		}
	})
}

// TestHead reads the heads of records that have one.
func TestHead(t *testing.T) {
	rec := le(7, 123456789, uint32(10), uint32(11), uint32(3), uint32(0))
	s := record.Script{Heads: true}
	if h, ok := s.Head(rec); !ok || h != (record.Head{Time: 123456789, PID: 10, TID: 11, Point: 3}) {
		t.Errorf("%+v, %v", h, ok)
	}
	if _, ok := s.Head(rec[:len(rec)-1]); ok {
		t.Error("a short record has a head")
	}
	if _, ok := new(record.Script).Head(rec); ok {
		t.Error("there are no heads")
	}
}
