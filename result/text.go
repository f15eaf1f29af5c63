package result

import (
	"math"
	"strconv"
	"strings"
)

// AppendText appends the value as print() shows it, without a line break of its own. Stacks begin with a line break and
// end with one; histograms and time series are several lines.
//
// Text by itself is shown as it is, and so is text in tuples and records, which scripts make. Text in values of the
// traced program is in quotes and escaped (see AppendLine): it can be told from what stands around it, from names, and
// from words such as nil.
func (v *Value) AppendText(dst []byte) []byte { return v.appendText(dst, spaced) }

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
		return v.appendText(dst, compact)
	}
	for i := range v.Elems {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = v.Elems[i].appendKeyPart(dst, `,`)
	}
	return dst
}

// appendKeyPart appends a part of a key: a text in quotes if it has marks by which parts are told apart, or begins with
// a quote, so that ("a,b", "c") and ("a", "b,c") stay two keys.
func (v *Value) appendKeyPart(dst []byte, marks string) []byte {
	switch {
	case v.Kind == Tuple:
		dst = append(dst, '(')
		for i := range v.Elems {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = v.Elems[i].appendKeyPart(dst, `,()`)
		}
		return append(dst, ')')
	case v.Kind == String || v.Kind == Buffer || v.Kind == Symbol || v.Kind == Timestamp:
		start := len(dst)
		dst = v.appendText(dst, compact)
		text := string(dst[start:])
		if !strings.ContainsAny(text, marks) && !strings.HasPrefix(text, "\"") {
			return dst
		}
		dst = append(dst[:start], '"')
		for i := range len(text) {
			if c := text[i]; c == '"' || c == '\\' {
				dst = append(dst, '\\')
			}
			dst = append(dst, text[i])
		}
		return append(dst, '"')
	}
	return v.appendText(dst, compact)
}

// style is how a value is written.
type style struct {
	sep  string // between the elements of tuples and records
	line bool   // escaped, see AppendLine
	text bool   // text is in quotes: it is a part of a value
}

// inside is the style of a value's parts. Tuples and records have a type if they are the traced program's.
func (st style) inside(v *Value) style {
	st.text = st.text || st.line || v.Kind != Tuple && v.Kind != Record || v.Type != ""
	return st
}

var (
	spaced  = style{sep: ", "}
	compact = style{sep: ","}
	oneLine = style{sep: ", ", line: true}
)

// name appends the name of a field or type.
func (st style) name(dst []byte, name string) []byte {
	start := len(dst)
	if dst = append(dst, name...); st.line {
		return escapeFrom(dst, start, false)
	}
	return dst
}

// appendText is AppendText in a style.
func (v *Value) appendText(dst []byte, st style) []byte {
	if st.line {
		switch v.Kind {
		case Array, Tuple, Struct, Record, Mapping, Dynamic, Pointer, Buffer: // escaped by their parts
		case String:
			if !st.text {
				start := len(dst)
				return escapeFrom(append(dst, v.Text...), start, v.Type == "")
			}
		default:
			start := len(dst)
			return escapeFrom(v.appendText(dst, style{sep: st.sep}), start, false)
		}
	}
	switch v.Kind {
	case None:
		if v.Text != "" {
			return append(dst, v.Text...)
		}
		return append(dst, "null"...)
	case Int:
		return strconv.AppendInt(dst, int64(v.Num), 10)
	case Uint:
		return strconv.AppendUint(dst, v.Num, 10)
	case Bool:
		return strconv.AppendBool(dst, v.Num != 0)
	case Pointer:
		dst = appendAddr(dst, v.Num)
		if len(v.Elems) > 0 {
			dst = v.Elems[0].appendContent(dst, st)
		}
		return dst
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
	case String:
		if st.text {
			return v.appendQuoted(dst)
		}
		return append(dst, v.Text...)
	case Address, Timestamp:
		return append(dst, v.Text...)
	case Symbol:
		if v.Text == "" {
			return appendAddr(dst, v.Num)
		}
		return append(dst, v.Text...)
	case Buffer:
		if !st.text {
			dst = appendBuffer(dst, v.Text, false)
		} else {
			dst = append(appendBuffer(append(dst, '"'), v.Text, true), '"')
		}
		if v.Cut {
			dst = append(dst, trailer...)
		}
		return dst
	case Array:
		st = st.inside(v)
		dst = append(dst, '[')
		for i := range v.Elems {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = v.Elems[i].appendText(dst, st)
		}
		if v.Cut {
			if len(v.Elems) > 0 {
				dst = append(dst, ',')
			}
			dst = v.AppendMore(dst)
		}
		return append(dst, ']')
	case Mapping:
		return v.appendMapping(dst, st)
	case Dynamic:
		dst = st.name(dst, v.Type)
		if len(v.Elems) > 0 {
			dst = v.Elems[0].appendContent(dst, st)
		}
		return dst
	case Tuple:
		st = st.inside(v)
		dst = append(dst, '(')
		for i := range v.Elems {
			if i > 0 {
				dst = append(dst, st.sep...)
			}
			dst = v.Elems[i].appendText(dst, st)
		}
		return append(dst, ')')
	case Struct, Record:
		switch v.Type {
		case ArgumentsType:
			return v.appendArguments(dst, st)
		case ReturnType:
			return v.appendReturn(dst, st)
		}
		return v.appendFields(dst, v.Names, st)
	case Stats:
		return v.appendFields(dst, statsNames[:], st)
	case Times:
		return v.appendFields(dst, timesNames[:], st)
	case Stack:
		return v.appendStack(dst, st.sep == ",")
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
	u := v.unknown()
	return u.appendText(dst, st)
}

// unknown is shown for a value of a kind that there is not.
func (v *Value) unknown() Value {
	return Value{Kind: Unavailable, Text: "a value of unknown kind " + strconv.Itoa(int(v.Kind))}
}

// AppendMore appends the words that stand for the elements or entries that a value has beyond those it shows.
func (v *Value) AppendMore(dst []byte) []byte {
	if v.Num == 0 { // how many is not known
		return append(dst, "…"...)
	}
	return strconv.AppendUint(append(dst, "… of "...), v.Num, 10)
}

// appendContent appends what a type or an address stands in front of: a value with braces or brackets as it is, others
// in parentheses.
func (v *Value) appendContent(dst []byte, st style) []byte {
	st.text = true
	switch v.Kind {
	case Struct, Record, Array, Mapping, Tuple:
		return v.appendText(dst, st)
	}
	return append(v.appendText(append(dst, '('), st), ')')
}

// CharType is the Type of a String that is a single character, whose number is in Num.
const CharType = "char"

// appendQuoted appends a text in quotes, escaped. What has a type is no text (a time, a variant's name): it stands as
// it is.
func (v *Value) appendQuoted(dst []byte) []byte {
	switch v.Type {
	case "":
	case CharType:
		if v.Text == "'" {
			return append(dst, `'\''`...)
		}
		dst = append(dst, '\'')
		return append(escapeFrom(append(dst, v.Text...), len(dst), false), '\'')
	default:
		return escapeFrom(append(dst, v.Text...), len(dst), false)
	}
	text, more := v.Text, ""
	if v.Cut && strings.HasSuffix(text, trailer) {
		text, more = strings.TrimSuffix(text, trailer), trailer
	}
	dst = append(dst, '"')
	dst = append(escapeFrom(append(dst, text...), len(dst), true), '"')
	return append(dst, more...)
}

// trailer is the usual end of text that was longer in memory.
const trailer = ".."

func (v *Value) appendMapping(dst []byte, st style) []byte {
	st = st.inside(v)
	if len(v.Elems) < 2 && !v.Cut {
		return append(dst, "{}"...)
	}
	open, assign, end := "{ ", "] = ", " }"
	if st.sep == "," {
		open, assign, end = "{", "]=", "}"
	}
	dst = append(dst, open...)
	for i := 0; i+1 < len(v.Elems); i += 2 {
		if i > 0 {
			dst = append(dst, st.sep...)
		}
		dst = v.Elems[i].appendText(append(dst, '['), st)
		dst = v.Elems[i+1].appendText(append(dst, assign...), st)
	}
	if v.Cut {
		if len(v.Elems) > 1 {
			dst = append(dst, st.sep...)
		}
		dst = v.AppendMore(dst)
	}
	return append(dst, end...)
}

var statsNames = [...]string{"count", "average", "total"}

// FieldNames are the names of Elems: those of the value, or of a statistic.
func (v *Value) FieldNames() []string {
	switch v.Kind {
	case Stats:
		return statsNames[:]
	case Times:
		return timesNames[:]
	}
	return v.Names
}

// appendArguments appends the arguments of a call as they stand behind its name.
func (v *Value) appendArguments(dst []byte, st style) []byte {
	st.text = true
	dst = append(dst, '(')
	for i := range v.Elems {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		if i < len(v.Names) && v.Names[i] != "" {
			dst = append(st.name(dst, v.Names[i]), '=')
		}
		if v.Elems[i].Kind == Unavailable {
			dst = append(dst, '?')
			continue
		}
		dst = v.Elems[i].appendText(dst, st)
	}
	return append(dst, ')')
}

// ArgumentsType is the Type of a Record that is the arguments of a call.
const ArgumentsType = "arguments"

// ReturnType is the Type of a Record that is a call's result, if it has one, with the sign before it.
const ReturnType = "return"

func (v *Value) appendReturn(dst []byte, st style) []byte {
	if len(v.Elems) == 0 {
		return dst
	}
	if dst = append(dst, " = "...); v.Elems[0].Kind == Unavailable {
		return append(dst, '?')
	}
	return v.Elems[0].appendText(dst, st)
}

func (v *Value) appendFields(dst []byte, names []string, st style) []byte {
	st = st.inside(v)
	if len(v.Elems) == 0 {
		if v.Cut {
			return append(dst, "{…}"...)
		}
		return append(dst, "{}"...)
	}
	open, assign, end := "{ .", " = ", " }"
	if st.sep == "," {
		open, assign, end = "{.", "=", "}"
	}
	if v.Cut {
		end = st.sep + "…" + end
	}
	for i := range v.Elems {
		if i == 0 {
			dst = append(dst, open...)
		} else {
			dst = append(dst, st.sep...)
			dst = append(dst, '.')
		}
		if i < len(names) {
			dst = st.name(dst, names[i])
		}
		dst = append(dst, assign...)
		dst = v.Elems[i].appendText(dst, st)
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
	if v.Text != "" {
		return append(dst, v.Text...)
	}
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

// appendBuffer shows printable ASCII as it is and other bytes as \xNN, and so a backslash that would look like the
// begin of that. In quotes, backslashes and quotes are escaped as well.
func appendBuffer(dst []byte, b string, quoted bool) []byte {
	for i := range len(b) {
		switch c := b[i]; {
		case quoted && (c == '"' || c == '\\'):
			dst = append(dst, '\\', c)
		case c >= ' ' && c <= '~' && !(c == '\\' && strings.HasPrefix(b[i+1:], "x")):
			dst = append(dst, c)
		default:
			dst = append(dst, '\\', 'x', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return dst
}

// AppendText appends the map as it is printed: each entry with the map's name; histograms and time series on lines of
// their own, followed by an empty line. Entries are shown in their order (see Sort).
func (m *Map) AppendText(dst []byte) []byte {
	if m.Table != nil {
		return m.AppendTable(dst)
	}
	if own := *m; m.Kind == TimesMap && own.Tabulate(0, 0) {
		return own.AppendTable(dst)
	}
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
