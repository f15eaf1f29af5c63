package result

import (
	"strconv"
	"time"
)

const (
	chartWidth = 53 // borders included
	leftLabel  = 21 // field of the lowest value, above and below the chart
)

// AppendText appends the series as a chart: a line for each interval, the value's mark between the least and the
// largest.
func (s *SeriesData) AppendText(dst []byte) []byte {
	if len(s.Points) == 0 {
		return append(dst, "<no data>"...)
	}
	lo, hi := s.bounds()
	unit, digits := s.resolution()

	indent := len("hh:mm:ss") + 1
	if digits > 0 {
		indent += 1 + digits
	}
	dst = s.appendScale(dst, indent, lo, hi)
	start := len(dst)
	dst = append(dst, "hh:mm:ss"...)
	if digits > 0 {
		dst = append(dst, '.')
		dst = append(dst, unit...)
	}
	dst = padRight(dst, start, indent)
	dst = append(dst, '|')
	dst = appendRepeat(dst, '_', chartWidth-2)
	dst = append(dst, "|\n"...)

	zero := s.zeroColumn(lo, hi)
	for i := range s.Points {
		p := &s.Points[i]
		dst = p.Start.AppendFormat(dst, "15:04:05")
		dst = appendFraction(dst, p.Start.Nanosecond(), digits)
		dst = append(dst, ' ')
		line := len(dst)
		dst = appendRepeat(dst, ' ', chartWidth)
		dst[line], dst[line+chartWidth-1] = '|', '|'
		if zero > 0 {
			dst[line+zero] = '.'
		}
		if !p.Set {
			dst = append(dst, " -\n"...)
			continue
		}
		dst[line+s.column(p.Value, lo, hi)] = '*'
		dst = append(dst, ' ')
		dst = s.AppendValue(dst, p.Value)
		dst = append(dst, '\n')
	}

	dst = appendRepeat(dst, ' ', indent)
	dst = append(dst, 'v')
	dst = appendRepeat(dst, '_', chartWidth-2)
	dst = append(dst, "v\n"...)
	return s.appendScale(dst, indent, lo, hi)
}

// AppendValue appends the number of a point.
func (s *SeriesData) AppendValue(dst []byte, v int64) []byte {
	if s.Unsigned {
		return strconv.AppendUint(dst, uint64(v), 10)
	}
	return strconv.AppendInt(dst, v, 10)
}

func (s *SeriesData) less(a, b int64) bool {
	if s.Unsigned {
		return uint64(a) < uint64(b)
	}
	return a < b
}

// bounds are the least and the largest value, or the only one with room at both sides; below zero there is none for
// zeros.
func (s *SeriesData) bounds() (lo, hi int64) {
	found := false
	for i := range s.Points {
		p := &s.Points[i]
		switch {
		case !p.Set:
		case !found:
			lo, hi, found = p.Value, p.Value, true
		case s.less(p.Value, lo):
			lo = p.Value
		case s.less(hi, p.Value):
			hi = p.Value
		}
	}
	if lo == hi {
		if lo != 0 && s.less(lo-1, lo) {
			lo--
		}
		if s.less(hi, hi+1) {
			hi++
		}
	}
	return lo, hi
}

// resolution is the unit of an interval with the digits it needs behind the second. The interval is measured between
// the points, as bpftrace does: with a single point it is zero and shown in nanoseconds.
func (s *SeriesData) resolution() (unit string, digits int) {
	var d time.Duration
	if n := len(s.Points); n > 1 {
		d = s.Points[n-1].Start.Sub(s.Points[0].Start) / time.Duration(n-1)
	}
	switch {
	case d >= time.Second:
		return "s", 0
	case d >= time.Millisecond:
		return "ms", 3
	case d >= time.Microsecond:
		return "μs", 6
	}
	return "ns", 9
}

// distance is b - a as a number that can't overflow. It is exact enough for 53 columns.
func (s *SeriesData) distance(a, b int64) float32 {
	if s.less(b, a) {
		return -float32(uint64(a) - uint64(b))
	}
	return float32(uint64(b) - uint64(a))
}

// column is the place of a value between the bounds.
func (s *SeriesData) column(v, lo, hi int64) int {
	if lo == hi {
		return chartWidth / 2
	}
	at := int((chartWidth - 1) * s.distance(lo, v) / s.distance(lo, hi))
	return max(0, min(chartWidth-1, at))
}

// zeroColumn is where zero lies if there are values on both sides of it, else 0.
func (s *SeriesData) zeroColumn(lo, hi int64) int {
	if s.Unsigned || lo >= 0 || hi <= 0 {
		return 0
	}
	return int(chartWidth * s.distance(lo, 0) / s.distance(lo, hi))
}

func (s *SeriesData) appendScale(dst []byte, indent int, lo, hi int64) []byte {
	dst = appendRepeat(dst, ' ', indent)
	start := len(dst)
	dst = s.AppendValue(dst, lo)
	dst = padRight(dst, start, leftLabel)
	start = len(dst)
	dst = s.AppendValue(dst, hi)
	dst = padLeft(dst, start, chartWidth-leftLabel, ' ')
	return append(dst, '\n')
}

// appendFraction appends the nanoseconds cut to digits, with the point.
func appendFraction(dst []byte, ns, digits int) []byte {
	if digits == 0 {
		return dst
	}
	dst = append(dst, '.')
	for i := digits; i < 9; i++ {
		ns /= 10
	}
	return appendZeros(dst, uint64(ns), digits)
}

// appendZeros appends n with at least digits digits.
func appendZeros(dst []byte, n uint64, digits int) []byte {
	start := len(dst)
	dst = strconv.AppendUint(dst, n, 10)
	return padLeft(dst, start, digits, '0')
}

func appendRepeat(dst []byte, c byte, n int) []byte {
	for range n {
		dst = append(dst, c)
	}
	return dst
}
