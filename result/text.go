package result

import (
	"math"
	"strconv"
)

// AppendText appends the value as print() shows it, without a line break of its own. Stacks begin with a line break and
// end with one; histograms and time series are several lines.
func (v *Value) AppendText(dst []byte) []byte { return v.appendText(dst, ", ") }

// String is the text of AppendText.
func (v *Value) String() string { return string(v.AppendText(nil)) }

// AppendKey appends the value as it is shown between the brackets of a map entry: a tuple loses its parentheses.
func (v *Value) AppendKey(dst []byte) []byte {
	if v.Kind != Tuple {
		return v.AppendText(dst)
	}
	for i := range v.Elems {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = v.Elems[i].AppendText(dst)
	}
	return dst
}

// AppendCompactKey appends the key as the name of a JSON member: as AppendKey, without the spaces between parts and
// without the indentation of stacks. Spaces that belong to a string stay, so that different keys have different names.
func (v *Value) AppendCompactKey(dst []byte) []byte {
	if v.Kind != Tuple {
		return v.appendText(dst, ",")
	}
	for i := range v.Elems {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = v.Elems[i].appendText(dst, ",")
	}
	return dst
}

// appendText is AppendText with sep between the elements of tuples and records: ", ", or "," for the compact form.
func (v *Value) appendText(dst []byte, sep string) []byte {
	switch v.Kind {
	case None:
		return append(dst, "null"...)
	case Int:
		return strconv.AppendInt(dst, int64(v.Num), 10)
	case Uint:
		return strconv.AppendUint(dst, v.Num, 10)
	case Bool:
		return strconv.AppendBool(dst, v.Num != 0)
	case Pointer:
		return appendAddr(dst, v.Num)
	case Float:
		return v.appendFloat(dst)
	case Enum:
		switch {
		case v.Text != "":
			return append(dst, v.Text...)
		case v.Signed:
			return strconv.AppendInt(dst, int64(v.Num), 10)
		}
		return strconv.AppendUint(dst, v.Num, 10)
	case String, Address, Timestamp:
		return append(dst, v.Text...)
	case Symbol:
		if v.Text == "" {
			return appendAddr(dst, v.Num)
		}
		return append(dst, v.Text...)
	case Buffer:
		return appendBuffer(dst, v.Text)
	case Array:
		dst = append(dst, '[')
		for i := range v.Elems {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = v.Elems[i].appendText(dst, sep)
		}
		return append(dst, ']')
	case Tuple:
		dst = append(dst, '(')
		for i := range v.Elems {
			if i > 0 {
				dst = append(dst, sep...)
			}
			dst = v.Elems[i].appendText(dst, sep)
		}
		return append(dst, ')')
	case Struct, Record:
		return v.appendFields(dst, v.Names, sep)
	case Stats:
		return v.appendFields(dst, statsNames[:], sep)
	case Stack:
		return v.appendStack(dst, sep == ",")
	case Unavailable:
		return appendReason(dst, v.Text)
	case Histogram:
		if v.Hist != nil {
			dst = v.Hist.AppendText(dst)
		}
		return dst
	case Series:
		if v.Series != nil {
			dst = v.Series.AppendText(dst)
		}
		return dst
	}
	return dst
}

var statsNames = [...]string{"count", "average", "total"}

// FieldNames are the names of Elems: those of the value, or of a statistic.
func (v *Value) FieldNames() []string {
	if v.Kind == Stats {
		return statsNames[:]
	}
	return v.Names
}

func (v *Value) appendFields(dst []byte, names []string, sep string) []byte {
	if len(v.Elems) == 0 {
		return append(dst, "{}"...)
	}
	open, assign, end := "{ .", " = ", " }"
	if sep == "," {
		open, assign, end = "{.", "=", "}"
	}
	for i := range v.Elems {
		if i == 0 {
			dst = append(dst, open...)
		} else {
			dst = append(dst, sep...)
			dst = append(dst, '.')
		}
		if i < len(names) {
			dst = append(dst, names[i]...)
		}
		dst = append(dst, assign...)
		dst = v.Elems[i].appendText(dst, sep)
	}
	return append(dst, end...)
}

func appendAddr(dst []byte, a uint64) []byte {
	return strconv.AppendUint(append(dst, "0x"...), a, 16)
}

// appendReason shows why a value is not there, in a form that no value has.
func appendReason(dst []byte, reason string) []byte {
	if reason == "" {
		reason = "unavailable"
	}
	dst = append(dst, '<')
	dst = append(dst, reason...)
	return append(dst, '>')
}

// appendFloat gives the shortest digits that mean the same number in the value's own precision.
func (v *Value) appendFloat(dst []byte) []byte {
	f, bits := math.Float64frombits(v.Num), 64
	if v.Size == 4 {
		bits = 32
	}
	switch {
	case math.IsNaN(f):
		return append(dst, "nan"...)
	case math.IsInf(f, 1):
		return append(dst, "inf"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf"...)
	}
	return strconv.AppendFloat(dst, f, 'g', -1, bits)
}

const hexDigits = "0123456789abcdef"

// appendBuffer shows printable ASCII as it is and other bytes as \xNN.
func appendBuffer(dst []byte, b string) []byte {
	for i := range len(b) {
		if c := b[i]; c >= ' ' && c <= '~' {
			dst = append(dst, c)
		} else {
			dst = append(dst, '\\', 'x', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return dst
}

// AppendText appends the map as it is printed: each entry with the map's name; histograms and time series on lines of
// their own, followed by an empty line. Entries are shown in their order (see Sort).
func (m *Map) AppendText(dst []byte) []byte {
	block := m.Kind == HistMap || m.Kind == LHistMap || m.Kind == SeriesMap
	for i := range m.Entries {
		e := &m.Entries[i]
		dst = append(dst, m.Name...)
		if e.Key != nil {
			dst = append(dst, '[')
			dst = e.Key.AppendKey(dst)
			dst = append(dst, ']')
		}
		if block {
			dst = append(dst, ":\n"...)
		} else {
			dst = append(dst, ": "...)
		}
		dst = e.Value.AppendText(dst)
		dst = append(dst, '\n')
	}
	return dst
}
