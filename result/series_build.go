package result

import (
	"sort"
	"time"
)

// SeriesCell is what a map keeps of one interval, on one CPU or of all.
type SeriesCell struct {
	Interval uint64 // its number: time divided by the length
	Value    int64  // of an average: the sum
	Weight   uint64 // average: number of values; last value: when it was set
}

// SeriesAgg says how values of one interval become one.
type SeriesAgg uint8

// Ways to aggregate.
const (
	SeriesLast SeriesAgg = iota
	SeriesSum
	SeriesMin
	SeriesMax
	SeriesAvg
)

// MergeSeries joins the cells of all CPUs to one for each interval, in order of time. It changes cells.
func MergeSeries(cells []SeriesCell, agg SeriesAgg, unsigned bool) []SeriesCell {
	sort.SliceStable(cells, func(i, j int) bool { return cells[i].Interval < cells[j].Interval })
	s := SeriesData{Unsigned: unsigned}
	out := cells[:0]
	for _, c := range cells {
		if len(out) == 0 || out[len(out)-1].Interval != c.Interval {
			out = append(out, c)
			continue
		}
		have := &out[len(out)-1]
		switch agg {
		case SeriesLast:
			if c.Weight > have.Weight {
				*have = c
			}
		case SeriesSum, SeriesAvg:
			have.Value += c.Value
			have.Weight += c.Weight
		case SeriesMin:
			if s.less(c.Value, have.Value) {
				have.Value = c.Value
			}
		case SeriesMax:
			if s.less(have.Value, c.Value) {
				have.Value = c.Value
			}
		}
	}
	if agg != SeriesAvg {
		return out
	}
	for i := range out {
		c := &out[i]
		switch {
		case c.Weight == 0:
		case unsigned:
			c.Value = int64(uint64(c.Value) / c.Weight)
		default:
			c.Value /= int64(c.Weight)
		}
	}
	return out
}

// SeriesSpan says which intervals of a map's cells a series shows.
type SeriesSpan struct {
	Interval time.Duration             // length of each
	Count    int                       // how many at most
	Last     uint64                    // number of the newest of the whole map, so that all keys end at the same time
	Unsigned bool                      // the values are uint64 bits
	At       func(ns uint64) time.Time // turns nanoseconds of the cells' clock into time of day
}

// Series makes the series that is shown from merged cells: from the first interval with a value up to the last.
func (o *SeriesSpan) Series(cells []SeriesCell) *SeriesData {
	s := &SeriesData{Interval: o.Interval, Unsigned: o.Unsigned}
	first := uint64(0)
	if o.Last >= uint64(o.Count) {
		first = o.Last - uint64(o.Count) + 1
	}
	for len(cells) > 0 && cells[0].Interval < first {
		cells = cells[1:]
	}
	if len(cells) == 0 {
		return s
	}
	for n := cells[0].Interval; n <= o.Last && len(s.Points) < o.Count; n++ {
		p := SeriesPoint{Start: o.At(n * uint64(o.Interval))}
		if len(cells) > 0 && cells[0].Interval == n {
			p.Value, p.Set = cells[0].Value, true
			cells = cells[1:]
		}
		s.Points = append(s.Points, p)
	}
	return s
}
