package record

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"net/netip"
	"slices"
	"strings"

	"trocar/internal/binary/types"
	"trocar/result"
)

// inet shows an address: u32 family, 16 bytes.
func inet(b []byte) string {
	if binary.LittleEndian.Uint32(b) == AFInet6 {
		return netip.AddrFrom16([16]byte(b[4:20])).String()
	}
	return netip.AddrFrom4([4]byte(b[4:8])).String()
}

func mac(b []byte) string {
	return fmt.Sprintf("%02X:%02X:%02X:%02X:%02X:%02X", b[0], b[1], b[2], b[3], b[4], b[5])
}

func (d *Decoder) float(v *result.Value, t *types.Type, b []byte) {
	if unknownFloat(b[:min(t.Size, 10)]) {
		v.Kind, v.Text = result.None, "?"
		return
	}
	v.Kind = result.Float
	switch t.Size {
	case 4:
		v.Num = math.Float64bits(float64(math.Float32frombits(binary.LittleEndian.Uint32(b))))
	case 8:
		v.Num = binary.LittleEndian.Uint64(b)
	case 10, 12, 16:
		if t.Size == 16 && (d.Quad || strings.Contains(t.Name, "128")) {
			v.Num = math.Float64bits(quadruple(b))
			v.Text = beyondQuadruple(v.Num, b)
			return
		}
		v.Num = math.Float64bits(extended(b))
		v.Text = beyondExtended(v.Num, b)
	default:
		v.Kind, v.Text = result.Unavailable, "a floating-point number of this size can't be shown"
	}
}

// UnknownFloat stands, again and again, for what was in floating-point registers that are not known: numbers of each
// size of it are a NaN that nothing computes, or none at all.
const UnknownFloat = "\xfb\x7f"

func unknownFloat(b []byte) bool {
	for i := range b {
		if b[i] != UnknownFloat[i%2] {
			return false
		}
	}
	return len(b) > 2
}

// extended is x87's 80-bit format: 64 bits of significand with its leading one, 15 of exponent, the sign.
func extended(b []byte) float64 {
	m := binary.LittleEndian.Uint64(b)
	se := binary.LittleEndian.Uint16(b[8:])
	f := math.Ldexp(float64(m), int(se&0x7fff)-16383-63)
	if se&0x7fff == 0x7fff {
		f = math.Inf(1)
		if m<<1 != 0 {
			f = math.NaN()
		}
	}
	if se&0x8000 != 0 {
		f = -f
	}
	return f
}

// beyondExtended is the text of such a number that is too large or too small for float64; "" for others.
func beyondExtended(f64 uint64, b []byte) string {
	if f := math.Float64frombits(f64); f != 0 && !math.IsInf(f, 0) {
		return ""
	}
	se := binary.LittleEndian.Uint16(b[8:])
	m := new(big.Int).SetUint64(binary.LittleEndian.Uint64(b))
	return beyond(m, int(se&0x7fff), 63, se&0x8000 != 0)
}

// beyondQuadruple is the same for IEEE 754's 128-bit format.
func beyondQuadruple(f64 uint64, b []byte) string {
	if f := math.Float64frombits(f64); f != 0 && !math.IsInf(f, 0) {
		return ""
	}
	lo, hi := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	exp, frac := int(hi>>48&0x7fff), hi&(1<<48-1)
	if exp > 0 {
		frac |= 1 << 48
	}
	m := new(big.Int).SetUint64(frac)
	return beyond(m.Lsh(m, 64).Or(m, new(big.Int).SetUint64(lo)), exp, 112, hi>>63 != 0)
}

// beyond is the text of a number with a significand of bits behind its first one, and an exponent of 15 bits.
func beyond(m *big.Int, exp, bits int, negative bool) string {
	if m.Sign() == 0 || exp == 0x7fff {
		return ""
	}
	x := new(big.Float).SetInt(m)
	x.SetMantExp(x, max(exp, 1)-16383-bits)
	if negative {
		x.Neg(x)
	}
	return x.Text('g', -1)
}

// quadruple is IEEE 754's 128-bit format: 112 bits of significand behind a leading one, 15 of exponent, the sign.
func quadruple(b []byte) float64 {
	lo, hi := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	exp := int(hi >> 48 & 0x7fff)
	frac := hi & (1<<48 - 1)
	var f float64
	switch {
	case exp == 0x7fff && frac|lo != 0:
		f = math.NaN()
	case exp == 0x7fff:
		f = math.Inf(1)
	case exp > 0: // smaller ones are 0 as float64
		// The lower bits only matter for rounding: of them it counts whether there are any.
		m := 1<<63 | frac<<15 | lo>>49
		if lo<<15 != 0 {
			m |= 1
		}
		f = math.Ldexp(float64(m), exp-16383-63)
	}
	return math.Copysign(f, 1-2*float64(hi>>63))
}

// MapValue decodes a map's value: for per-CPU maps the values of all CPUs. It reports false if there is nothing to
// show: a scalar map that was never set. A time series comes out with its cells only (see Series).
func (d *Decoder) MapValue(v *result.Value, s *Storage, cpus [][]byte) bool {
	t := s.Map.Value
	if s.Scalar {
		if slices.ContainsFunc(cpus, func(b []byte) bool { return len(b) < ScalarHeader }) {
			unavailable(v, "it is too short")
			return true
		}
		if !s.IsSet(cpus) {
			return false
		}
		for i := range cpus {
			cpus[i] = cpus[i][ScalarHeader:]
		}
	}
	if len(cpus) == 0 || slices.ContainsFunc(cpus, func(b []byte) bool { return len(b) < t.Size }) {
		unavailable(v, "it is too short")
		return true
	}
	if !t.IsAgg() {
		d.Value(v, t, cpus[0][:t.Size])
		for _, b := range cpus[1:] {
			if t.Kind == types.Int {
				v.Num = extend(v.Num+uint(b, t.Size), t)
			}
		}
		return true
	}
	*v = result.Value{Size: 8, Kind: result.Uint}
	if t.Signed {
		v.Kind, v.Signed = result.Int, true
	}
	word := func(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	switch t.Kind {
	case types.Count, types.Sum:
		for _, b := range cpus {
			v.Num += word(b, 0)
		}
	case types.Min, types.Max:
		set := false
		for _, b := range cpus {
			set = set || word(b, 1) != 0
			v.Num = max(v.Num, word(b, 0))
		}
		if !set {
			break
		}
		if t.Kind == types.Min {
			v.Num = ^v.Num
		}
		if t.Signed {
			v.Num ^= 1 << 63
		}
	case types.Avg, types.Stats:
		var total, n uint64
		for _, b := range cpus {
			total += word(b, 0)
			n += word(b, 1)
		}
		d.stats(v, t, total, n)
		if t.Kind == types.Avg {
			avg := v.Elems[1]
			avg.Elems = v.Elems // with these, averages can be put together
			*v = avg
		}
	case types.Times:
		*v = times(cpus)
	case types.Hist:
		v.Kind, v.Hist = result.Histogram, result.Log2Hist(add(cpus, t.Size/8), t.Bits)
	case types.LHist:
		v.Kind, v.Hist = result.Histogram, result.LinearHist(add(cpus, t.Size/8), t.Min, t.Max, t.Step)
	}
	return true
}

// SeriesCells gives the intervals of a time series that were used, over all CPUs, oldest first.
func SeriesCells(t *types.Type, cpus [][]byte, scalar bool) []result.SeriesCell {
	var cells []result.SeriesCell
	for _, b := range cpus {
		if scalar {
			b = b[min(ScalarHeader, len(b)):]
		}
		for i := 0; i < t.Series.Count && 24*(i+1) <= len(b); i++ {
			c := b[24*i:]
			if epoch := uint(c, 8); epoch != 0 {
				cells = append(cells, result.SeriesCell{Interval: epoch - 1, Value: int64(uint(c[8:], 8)), Weight: uint(c[16:], 8)})
			}
		}
	}
	agg := map[types.Kind]result.SeriesAgg{
		types.Sum: result.SeriesSum, types.Min: result.SeriesMin, types.Max: result.SeriesMax, types.Avg: result.SeriesAvg,
	}[t.Series.Agg]
	return result.MergeSeries(cells, agg, !t.Series.Signed)
}

// times is what was kept of durations (types.TimesOf).
func times(cpus [][]byte) result.Value {
	var total, longest uint64
	counts := make([]uint64, 1+types.TimesBuckets) // as hist() has them
	for _, b := range cpus {
		total += binary.LittleEndian.Uint64(b)
		longest = max(longest, binary.LittleEndian.Uint64(b[8:]))
		for i := range types.TimesBuckets {
			counts[1+i] += binary.LittleEndian.Uint64(b[types.TimesHead+8*i:])
		}
	}
	return result.TimesOf(result.Log2Hist(counts, types.TimesBits), total, longest)
}

// add sums the counters of all CPUs.
func add(cpus [][]byte, n int) []uint64 {
	sum := make([]uint64, n)
	for _, b := range cpus {
		for i := range sum {
			sum[i] += binary.LittleEndian.Uint64(b[8*i:])
		}
	}
	return sum
}
