package result

import (
	"math/bits"
	"strconv"
)

// Log2Hist makes the histogram of hist() from its counters: counts[0] counts negative values, then one counter for each
// value below 2^k, then 2^k for each power of two. Empty buckets at both ends are left out.
func Log2Hist(counts []uint64, k int) *Hist {
	h := &Hist{Bits: k}
	first, last := filled(counts)
	if first < 0 {
		return h
	}
	h.Buckets = make([]Bucket, 0, last-first+1)
	for i := first; i <= last; i++ {
		b := Bucket{Count: counts[i]}
		if i == 0 {
			b.LoInf = true
		} else {
			b.Lo, b.Hi = int64(log2Bound(i-1, k)), int64(log2Bound(i, k))
			b.HiInf = b.Hi == 0 // 2^64
		}
		h.Buckets = append(h.Buckets, b)
	}
	return h
}

// log2Bound is the lowest value of the i-th bucket of non-negative values.
func log2Bound(i, k int) uint64 {
	n := 1 << k
	if i < n {
		return uint64(i)
	}
	return uint64(n+i&(n-1)) << (i>>k - 1)
}

// LinearHist makes the histogram of lhist(): counts[0] counts values below lo, the last counter those from hi on (from
// the last full step on, if the steps don't end at hi), the others a step each.
func LinearHist(counts []uint64, lo, hi, step int64) *Hist {
	h := &Hist{Linear: true, Step: step, Min: lo, Max: hi}
	first, last := filled(counts)
	if first < 0 {
		return h
	}
	h.Buckets = make([]Bucket, 0, last-first+1)
	for i := first; i <= last; i++ {
		b := Bucket{Count: counts[i], Lo: lo + int64(i-1)*step, Hi: lo + int64(i)*step}
		if i == 0 {
			b.Lo, b.LoInf = 0, true
		}
		if i == len(counts)-1 || b.Hi > hi {
			b.Hi, b.HiInf = 0, true
		}
		h.Buckets = append(h.Buckets, b)
	}
	return h
}

// filled gives the first and last counter that is not zero, or -1.
func filled(counts []uint64) (first, last int) {
	first, last = -1, -1
	for i, n := range counts {
		if n == 0 {
			continue
		}
		if first < 0 {
			first = i
		}
		last = i
	}
	return first, last
}

// Total is the number of values counted.
func (h *Hist) Total() uint64 {
	var n uint64
	for i := range h.Buckets {
		n += h.Buckets[i].Count
	}
	return n
}

const (
	barWidth   = 52
	labelWidth = 16
	countWidth = 8
)

// AppendText appends a line for each bucket: its range, its count, and a bar in proportion to the largest.
func (h *Hist) AppendText(dst []byte) []byte {
	var most uint64
	for i := range h.Buckets {
		most = max(most, h.Buckets[i].Count)
	}
	for i := range h.Buckets {
		b := &h.Buckets[i]
		start := len(dst)
		dst = h.appendRange(dst, b)
		dst = padRight(dst, start, labelWidth)
		start = len(dst)
		dst = strconv.AppendUint(dst, b.Count, 10)
		dst = padLeft(dst, start, countWidth, ' ')
		dst = append(dst, " |"...)
		n := 0
		if most > 0 {
			// Single precision, so that bars are as long as bpftrace's.
			n = int(float32(b.Count) / float32(most) * barWidth)
		}
		start = len(dst)
		for range n {
			dst = append(dst, '@')
		}
		dst = padRight(dst, start, barWidth)
		dst = append(dst, "|\n"...)
	}
	return dst
}

// appendRange shows "[4, 8)", "[1K, 2K)", "[5]" for a single value, "(..., 0)" and "[10, ...)" at the ends.
func (h *Hist) appendRange(dst []byte, b *Bucket) []byte {
	switch {
	case b.LoInf:
		dst = append(dst, "(..., "...)
	case b.HiInf:
		dst = append(dst, '[')
		dst = h.appendBound(dst, b.Lo)
		return append(dst, ", ...)"...)
	case uint64(b.Hi)-uint64(b.Lo) == 1:
		dst = append(dst, '[')
		dst = h.appendBound(dst, b.Lo)
		return append(dst, ']')
	default:
		dst = append(dst, '[')
		dst = h.appendBound(dst, b.Lo)
		dst = append(dst, ", "...)
	}
	dst = h.appendBound(dst, b.Hi)
	return append(dst, ')')
}

// appendBound shows a bound, shortened by a unit of 1024 where that is exact for all bounds of its row.
func (h *Hist) appendBound(dst []byte, v int64) []byte {
	if h.Linear {
		if h.Step%1024 == 0 && v != 0 {
			switch {
			case v%(1<<20) == 0:
				return append(strconv.AppendInt(dst, v>>20, 10), 'M')
			case v%(1<<10) == 0:
				return append(strconv.AppendInt(dst, v>>10, 10), 'K')
			}
		}
		return strconv.AppendInt(dst, v, 10)
	}
	u := uint64(v) // 2^63, the upper end of int64, is not negative here
	decade := max(bits.Len64(u)-1-h.Bits, 0) / 10
	dst = strconv.AppendUint(dst, u>>(10*decade), 10)
	if decade > 0 {
		dst = append(dst, "KMGTPE"[decade-1])
	}
	return dst
}
