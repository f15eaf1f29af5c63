package result

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Table says how a map is shown as a table: the largest first, with the sum of all.
type Table struct {
	Span    time.Duration // in which it was filled, for the number per second; 0: not known
	Entries int           // of the map; more than are shown if only the largest are
	Total   Value         // of all entries

	Histograms bool // with those behind times
}

// Tabulate makes a table of a sorted map, of which only the largest n entries are shown (0: all), and tells whether
// that is possible: the values are numbers or times.
func (m *Map) Tabulate(n int, span time.Duration) bool {
	if len(m.Entries) == 0 || !m.Keyed && m.Kind != TimesMap {
		return false
	}
	t := &Table{Span: span, Entries: len(m.Entries)}
	for i := range m.Entries {
		v := &m.Entries[i].Value
		switch {
		case v.Kind == Times && len(v.Elems) == timesElems:
			if i == 0 {
				t.Total = v.Clone()
				t.Total.Hist = nil
				continue
			}
			t.Total.Elems[timesCount].Num += v.Elems[timesCount].Num
			t.Total.Elems[timesTotal].Num += v.Elems[timesTotal].Num
		case v.Kind == Uint || v.Kind == Int:
			if i == 0 {
				t.Total = Value{Kind: v.Kind, Size: 8, Signed: v.Signed}
			}
			t.Total.Num += v.Num
		default:
			return false
		}
	}
	m.Entries = slices.Clone(m.Entries)
	slices.Reverse(m.Entries)
	if n > 0 && n < len(m.Entries) {
		m.Entries = m.Entries[:n]
	}
	m.Table = t
	return true
}

// AppendTable appends the map as a table: a line with the names of the columns, one for each entry, and one for all.
func (m *Map) AppendTable(dst []byte) []byte {
	dst, _ = m.AppendFitted(dst, 0)
	return dst
}

// AppendFitted is AppendTable for a terminal whose lines have so many characters: longer names are shortened. 0: none
// is.
func (m *Map) AppendFitted(dst []byte, width int) (table []byte, cut bool) {
	t := m.Table
	if t == nil || len(m.Entries) == 0 {
		return dst, false
	}
	names := []string{strings.TrimPrefix(m.Name, "@")} // in the commands' scripts, what is counted
	times := t.Total.Kind == Times
	if times {
		names = []string{"calls", "sum", "mean", "p50", "p90", "p99", "max"}
	}
	if t.Span > 0 {
		names = slices.Insert(names, 1, names[0]+"/s")
	}
	numbers := len(names)
	if key := m.Entries[0].Key; key != nil {
		for i := range key.columns() {
			name := ""
			if key.Kind == Record && i < len(key.Names) {
				name = key.Names[i]
			}
			names = append(names, name)
		}
	}
	rows := [][]string{names}
	for i := range m.Entries {
		e := &m.Entries[i]
		row := t.numbers(&e.Value, false)
		if e.Key != nil {
			for _, k := range e.Key.columns() {
				row = append(row, string(k.AppendKey(nil)))
			}
		}
		if times && t.Histograms && e.Value.Hist != nil {
			row = append(row, string(e.Value.Hist.appendDurations(nil)))
		}
		rows = append(rows, row)
	}
	if t.Entries > 1 {
		rows = append(rows, append(t.numbers(&t.Total, true), "total"))
	}
	from := len(dst)
	if width > 0 {
		cut = narrow(rows, numbers, width)
	}
	dst = appendRows(dst, rows, numbers)
	if n := t.Entries - len(m.Entries); n > 0 { // on a line of its own, which fits 80 columns
		last := from + bytes.LastIndexByte(dst[from:len(dst)-1], '\n') + 1
		dst = slices.Insert(dst, last, []byte("and "+strconv.Itoa(n)+" more\n")...)
	}
	return dst, cut
}

// columns are the parts of a key.
func (v *Value) columns() []Value {
	if v.Kind == Tuple || v.Kind == Record {
		return v.Elems
	}
	return []Value{*v}
}

// numbers are the texts of a value; a total has no percentiles.
func (t *Table) numbers(v *Value, total bool) (cells []string) {
	rate := func(n uint64) {
		if t.Span > 0 {
			cells = append(cells, strconv.FormatFloat(perSecond(n, t.Span), 'f', rateDigits(n, t.Span), 64))
		}
	}
	if v.Kind != Times {
		cells = append(cells, string(v.AppendText(nil)))
		rate(v.Num)
		return cells
	}
	cells = append(cells, strconv.FormatUint(v.Elems[timesCount].Num, 10))
	rate(v.Elems[timesCount].Num)
	for i := timesTotal; i < timesElems; i++ {
		if total && i > timesTotal {
			cells = append(cells, "")
			continue
		}
		cells = append(cells, string(AppendDuration(nil, v.Elems[i].Num)))
	}
	return cells
}

func perSecond(n uint64, span time.Duration) float64 { return float64(n) / span.Seconds() }

// rateDigits are the digits behind the point that a number per second is worth.
func rateDigits(n uint64, span time.Duration) int {
	if perSecond(n, span) < 10 {
		return 1
	}
	return 0
}

// gap is between columns.
const gap = "  "

// appendRows appends lines of cells below one another: the first as numbers, on the right, the others as texts. What
// has several lines, as stacks have, follows on lines of its own.
func appendRows(dst []byte, rows [][]string, numbers int) []byte {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			if !strings.Contains(cell, "\n") && (i < len(row)-1 || i < numbers) {
				widths[i] = max(widths[i], utf8.RuneCountInString(cell))
			}
		}
	}
	for _, row := range rows {
		start := len(dst)
		var below []string
		for i, cell := range row {
			if i > 0 {
				dst = append(dst, gap...)
			}
			if strings.Contains(cell, "\n") {
				below, cell = append(below, cell), ""
			}
			pad := max(0, widths[i]-utf8.RuneCountInString(cell))
			if i < numbers {
				dst = append(dst, strings.Repeat(" ", pad)...)
				dst = append(dst, cell...)
				continue
			}
			dst = append(dst, cell...)
			dst = append(dst, strings.Repeat(" ", pad)...)
		}
		for len(dst) > start && dst[len(dst)-1] == ' ' {
			dst = dst[:len(dst)-1]
		}
		for _, text := range below {
			dst = append(dst, strings.TrimRight(text, "\n")...)
		}
		dst = append(dst, '\n')
	}
	return dst
}
