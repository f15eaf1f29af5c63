package result

import (
	"math/bits"
	"strconv"
)

// What is kept of durations: a few numbers that tell most, and the histogram behind them.

var timesNames = [...]string{"count", "total", "mean", "p50", "p90", "p99", "max"}

// Places of Times' numbers in Elems.
const (
	timesCount = iota
	timesTotal
	timesMean
	timesP50
	timesP90
	timesP99
	timesMax
	timesElems
)

// TimesOf makes the value of durations in nanoseconds of their histogram, their total and the longest.
func TimesOf(h *Hist, total, longest uint64) Value {
	n := h.Total()
	mean := uint64(0)
	if n > 0 {
		mean = total / n
	}
	v := Value{Kind: Times, Hist: h}
	for _, num := range [timesElems]uint64{
		n, total, mean, h.quantile(n, 50, longest), h.quantile(n, 90, longest), h.quantile(n, 99, longest), longest,
	} {
		v.Elems = append(v.Elems, Value{Kind: Uint, Size: 8, Num: num})
	}
	return v
}

// quantile is the value below which percent of the n values are, as far as the buckets tell: between the bounds of one
// it is divided evenly.
func (h *Hist) quantile(n, percent, longest uint64) uint64 {
	rank := n/100*percent + (n%100*percent+99)/100
	seen := uint64(0)
	for i := range h.Buckets {
		b := &h.Buckets[i]
		if seen += b.Count; seen < rank || b.Count == 0 {
			continue
		}
		if b.LoInf || b.HiInf {
			return longest
		}
		nth, width := b.Count-(seen-rank), float64(b.Hi-b.Lo) // of this bucket
		if i == len(h.Buckets)-1 {
			// The last of all is the longest.
			return uint64(float64(b.Lo) + (float64(longest)-float64(b.Lo))*float64(nth)/float64(b.Count))
		}
		return uint64(float64(b.Lo) + width*(float64(nth)-0.5)/float64(b.Count))
	}
	return longest
}

// What a line of a histogram of durations takes: 80 columns in all, with counts of nine digits.
const (
	durationsWidth = 20 // "  [4.10 us, 8.19 us)"
	durationsBar   = 48
)

// appendDurations appends the histogram of durations, a line for each power of two of nanoseconds.
func (h *Hist) appendDurations(dst []byte) []byte {
	var most uint64
	var bars []Bucket
	for i := range h.Buckets {
		b := h.Buckets[i]
		if n := len(bars); n > 0 && !b.HiInf && bits.Len64(uint64(b.Lo)) == bits.Len64(uint64(bars[n-1].Lo)) {
			bars[n-1].Count, bars[n-1].Hi = bars[n-1].Count+b.Count, b.Hi
		} else {
			bars = append(bars, b)
		}
		most = max(most, bars[len(bars)-1].Count)
	}
	for i := range bars {
		b := &bars[i]
		dst = append(dst, '\n')
		start := len(dst)
		dst = append(AppendDuration(append(dst, "  ["...), uint64(b.Lo)), ", "...)
		if b.HiInf {
			dst = append(dst, "...)"...)
		} else {
			dst = append(AppendDuration(dst, uint64(b.Hi)), ')')
		}
		dst = padRight(dst, start, durationsWidth)
		start = len(dst)
		dst = padLeft(strconv.AppendUint(dst, b.Count, 10), start, countWidth, ' ')
		dst = append(dst, " |"...)
		start = len(dst)
		for range int(float64(b.Count) / float64(max(1, most)) * durationsBar) {
			dst = append(dst, '@')
		}
		dst = append(padRight(dst, start, durationsBar), '|')
	}
	return dst
}

// AppendDuration appends a time in nanoseconds with three digits, in the unit that fits.
func AppendDuration(dst []byte, ns uint64) []byte {
	units := [...]struct {
		name string
		ns   uint64
	}{{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}}
	for _, u := range units {
		if ns < u.ns {
			continue
		}
		whole, digits := ns/u.ns, 0
		switch {
		case whole < 10:
			digits = 2
		case whole < 100:
			digits = 1
		}
		dst = strconv.AppendFloat(dst, float64(ns)/float64(u.ns), 'f', digits, 64)
		return append(append(dst, ' '), u.name...)
	}
	return append(strconv.AppendUint(dst, ns, 10), " ns"...)
}
