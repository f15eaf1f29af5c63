package result

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strings"
)

// Sort puts the entries in the order in which bpftrace shows them: numbers and averages ascending by value, histograms
// by their total, everything else (and equals) by key.
func (m *Map) Sort() {
	// Entries are large, so their places are sorted first.
	order := make([]*Entry, len(m.Entries))
	for i := range m.Entries {
		order[i] = &m.Entries[i]
	}
	sort.Slice(order, func(i, j int) bool {
		a, b := order[i], order[j]
		c := m.compareValues(&a.Value, &b.Value)
		if c == 0 && a.Key != nil && b.Key != nil {
			c = a.Key.Compare(b.Key)
		}
		return c < 0
	})
	sorted := make([]Entry, len(order))
	for i, e := range order {
		sorted[i] = *e
	}
	m.Entries = sorted
}

// Top sorts and then keeps the last n entries: those with the largest values, if values decide the order. 0 keeps all.
func (m *Map) Top(n int) {
	m.Sort()
	if n > 0 && n < len(m.Entries) {
		m.Entries = m.Entries[len(m.Entries)-n:]
	}
}

// Divide divides what is shown by n, as print(@map, top, n) does: integers, averages and the counts of log2 histograms.
// It changes values in place; 0 is taken as 1.
func (m *Map) Divide(n uint64) {
	if n <= 1 || m.Kind == LHistMap || m.Kind == SeriesMap {
		return
	}
	for i := range m.Entries {
		v := &m.Entries[i].Value
		if v.Kind == Histogram {
			if v.Hist != nil {
				for j := range v.Hist.Buckets {
					v.Hist.Buckets[j].Count /= n
				}
			}
			continue
		}
		v.divide(n)
	}
}

func (v *Value) divide(n uint64) {
	switch v.Kind {
	case Uint:
		v.Num /= n
	case Int:
		if n > math.MaxInt64 {
			v.Num = 0
			return
		}
		v.Num = uint64(int64(v.Num) / int64(n))
	case Stats:
		if len(v.Elems) > 1 {
			v.Elems[1].divide(n)
		}
	case Array, Struct, Tuple, Record:
		for i := range v.Elems {
			v.Elems[i].divide(n)
		}
	}
}

// compareValues orders the values of entries; 0 leaves it to the keys.
func (m *Map) compareValues(a, b *Value) int {
	if a.Kind == Histogram && a.Hist != nil && b.Hist != nil {
		return cmp.Compare(a.Hist.Total(), b.Hist.Total())
	}
	if a.Kind == Times && len(a.Elems) == timesElems && len(b.Elems) == timesElems {
		return a.Elems[timesTotal].Compare(&b.Elems[timesTotal])
	}
	if a.Kind == Stats && len(a.Elems) > 1 && len(b.Elems) > 1 {
		a, b = &a.Elems[1], &b.Elems[1]
	}
	switch a.Kind {
	case Int, Uint, Enum:
		return a.Compare(b)
	}
	return 0
}

// Order is where a value puts its entry in a map: those of a larger one come later, those of equal ones are ordered by
// their keys. It tells the same of two values of a map as Sort goes by.
func (v *Value) Order() uint64 {
	if v.Kind == Histogram && v.Hist != nil {
		return v.Hist.Total()
	}
	if v.Kind == Stats && len(v.Elems) > 1 {
		v = &v.Elems[1]
	}
	switch {
	case v.Kind == Int, v.Kind == Enum && v.Signed:
		return v.Num ^ 1<<63
	case v.Kind == Uint, v.Kind == Enum:
		return v.Num
	}
	return 0
}

// Compare orders values of one type: numbers by value, texts byte-wise, aggregates element by element, stacks by their
// addresses.
func (v *Value) Compare(w *Value) int {
	if v.Kind != w.Kind {
		return cmp.Compare(v.Kind, w.Kind)
	}
	switch v.Kind {
	case Int:
		return cmp.Compare(int64(v.Num), int64(w.Num))
	case Enum:
		if v.Signed {
			return cmp.Compare(int64(v.Num), int64(w.Num))
		}
		return cmp.Compare(v.Num, w.Num)
	case Uint, Bool, Pointer:
		return cmp.Compare(v.Num, w.Num)
	case Float:
		return cmp.Compare(math.Float64frombits(v.Num), math.Float64frombits(w.Num))
	case Symbol:
		return cmp.Or(strings.Compare(v.Text, w.Text), cmp.Compare(v.Num, w.Num))
	case Stack:
		return slices.CompareFunc(v.Frames, w.Frames, func(a, b Frame) int { return cmp.Compare(a.Addr, b.Addr) })
	case Array, Struct, Tuple, Record, Stats, Mapping, Times:
		return compareElems(v.Elems, w.Elems)
	case Dynamic:
		return cmp.Or(strings.Compare(v.Type, w.Type), compareElems(v.Elems, w.Elems))
	case Histogram, Series:
		return 0 // they are no keys, and compareValues looks at totals
	case None, String, Buffer, Address, Timestamp, Unavailable:
		return strings.Compare(v.Text, w.Text)
	}
	return 0 // of a kind that there is not, see unknown
}

func compareElems(a, b []Value) int {
	for i := range min(len(a), len(b)) {
		if c := a[i].Compare(&b[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}
