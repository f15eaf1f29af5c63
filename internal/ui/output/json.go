package output

import (
	"math"
	"math/bits"
	"strconv"

	"trocar/result"
)

// JSON is bpftrace's NDJSON form: a record per line, {"type": …, "data": …}.
//
// Numbers that a double can't hold exactly are strings. Text that isn't UTF-8 has U+FFFD in place of each bad byte (bpftrace
// 0.27 writes invalid JSON there); buffers are arrays of signed bytes. Enums and pointers are numbers. Keys of maps are
// their text, the parts of a tuple joined by commas; spaces in strings stay, other than in bpftrace, where "a b" and
// "ab" become one key.
type JSON struct {
	out stream
	key []byte
	o   Options
}

// NewJSON makes a JSON sink.
func NewJSON(o Options) *JSON { return &JSON{out: newStream(o.Out, o.Buffer), o: o} }

// Flush writes what is pending.
func (j *JSON) Flush() error { return j.out.idle() }

// Close writes what is pending, whatever the buffering.
func (j *JSON) Close() error { return j.out.write() }

// Event writes one event.
func (j *JSON) Event(e *result.Event) error {
	switch e.Kind {
	case result.EvPrintf:
		switch {
		case e.Level == result.Info:
			j.text("printf", e.Text)
		case e.Level == result.Error:
			j.message("errorf", e.Text)
			j.close(e)
		case !j.o.NoWarnings:
			j.message("warnf", e.Text)
			j.close(e)
		}
	case result.EvTime:
		j.text("time", e.Text)
	case result.EvJoin:
		j.text("join", e.Text)
	case result.EvCat:
		j.text("cat", e.Text)
	case result.EvSystem:
		j.text("syscall", e.Text)
	case result.EvPrint:
		j.open("value")
		j.out.buf = append(appendValue(j.out.buf, e.Value), "}\n"...)
	case result.EvMap:
		j.printMap(e.Map)
	case result.EvAttached:
		if !j.o.Quiet {
			j.counted("attached_probes", "probes", e.N)
			j.raw("}\n")
		}
		if j.o.Attached != nil {
			_ = j.out.write() // an error comes back from end
			j.o.Attached()
		}
	case result.EvLost:
		j.counted("lost_events", lostWhat(e), e.N)
		if e.Text != "" {
			j.raw(`, "msg": `)
			j.out.buf = appendString(j.out.buf, e.Text)
		}
		j.raw("}\n")
	case result.EvNotice:
		if e.Level != result.Warning || !j.o.NoWarnings {
			j.message(noticeTypes[e.Level], e.Text)
			j.close(e)
		}
	case result.EvHelperError:
		j.runtimeError(e)
	case result.EvBench:
		j.named("benchmark_result", e.Text, `{"average": `+strconv.FormatInt(e.Code, 10)+`, "iters": `+strconv.FormatUint(e.N, 10)+`}`)
	case result.EvTest:
		j.named("test_result", e.Text, `{"duration": `+strconv.FormatUint(e.N, 10)+`, "passed": `+strconv.FormatBool(e.Code == 0)+`}`)
	}
	return j.out.end()
}

// named writes a record whose data is an object with one name.
func (j *JSON) named(kind, name, value string) {
	j.open(kind)
	j.raw("{")
	j.out.buf = appendString(j.out.buf, name)
	j.raw(": " + value + "}}\n")
}

var noticeTypes = [...]string{result.Info: "info", result.Warning: "warning", result.Error: "error"}

func (j *JSON) raw(s string) { j.out.buf = append(j.out.buf, s...) }

// open begins a record with data.
func (j *JSON) open(kind string) {
	j.raw(`{"type": "`)
	j.raw(kind)
	j.raw(`", "data": `)
}

func (j *JSON) text(kind, s string) {
	j.open(kind)
	j.out.buf = append(appendString(j.out.buf, s), "}\n"...)
}

// counted begins a record that has its number twice, for readers of bpftrace's old form as well.
func (j *JSON) counted(kind, what string, n uint64) {
	j.raw(`{"type": "`)
	j.raw(kind)
	j.raw(`", "count": `)
	j.out.buf = strconv.AppendUint(j.out.buf, n, 10)
	j.raw(`, "data": {`)
	j.out.buf = appendString(j.out.buf, what)
	j.raw(`: `)
	j.out.buf = strconv.AppendUint(j.out.buf, n, 10)
	j.raw(`}`)
}

// message begins a record about the run; close ends it.
func (j *JSON) message(kind, text string) {
	j.raw(`{"type": "`)
	j.raw(kind)
	j.raw(`", "msg": `)
	j.out.buf = appendString(j.out.buf, text)
}

// close adds place and hints and ends the record.
func (j *JSON) close(e *result.Event) {
	if e.File != "" || e.Line != 0 {
		j.raw(`, "filename": `)
		j.out.buf = appendString(j.out.buf, e.File)
		j.raw(`, "line": `)
		j.out.buf = strconv.AppendInt(j.out.buf, int64(e.Line), 10)
		j.raw(`, "col": `)
		j.out.buf = strconv.AppendInt(j.out.buf, int64(e.Col), 10)
	}
	for i, h := range e.Hints {
		if i == 0 {
			j.raw(`, "hints": [`)
		} else {
			j.raw(`,`)
		}
		j.out.buf = appendString(j.out.buf, h)
	}
	if len(e.Hints) > 0 {
		j.raw(`]`)
	}
	j.raw("}\n")
}

func (j *JSON) runtimeError(e *result.Event) {
	if e.Cause == "" {
		j.message("runtime_error", e.Text)
		j.close(e)
		return
	}
	text := e.Text
	if text == "" {
		text = result.Strerror(-e.Code)
	}
	j.message("helper_error", text)
	j.raw(`, "helper": `)
	j.out.buf = appendString(j.out.buf, e.Cause)
	j.raw(`, "retcode": `)
	j.out.buf = strconv.AppendInt(j.out.buf, e.Code, 10)
	j.close(e)
}

var mapTypes = [...]string{
	result.PlainMap:  "map",
	result.HistMap:   "hist",
	result.LHistMap:  "hist",
	result.StatsMap:  "stats",
	result.SeriesMap: "tseries",
}

// printMap writes a map; one without entries has no record, as in text.
func (j *JSON) printMap(m *result.Map) {
	if len(m.Entries) == 0 {
		return
	}
	j.open(mapTypes[m.Kind])
	j.raw(`{`)
	j.out.buf = appendString(j.out.buf, m.Name)
	j.raw(`: `)
	if m.Entries[0].Key == nil {
		j.out.buf = appendValue(j.out.buf, &m.Entries[0].Value)
	} else {
		j.raw(`{`)
		for i := range m.Entries {
			e := &m.Entries[i]
			if i > 0 {
				j.raw(`, `)
			}
			if e.Key.Kind == result.String {
				j.out.buf = appendString(j.out.buf, e.Key.Text)
			} else {
				j.key = e.Key.AppendCompactKey(j.key[:0])
				j.out.buf = appendString(j.out.buf, j.key)
			}
			j.raw(`: `)
			j.out.buf = appendValue(j.out.buf, &e.Value)
		}
		j.raw(`}`)
	}
	j.raw("}}\n")
}

// appendValue appends a value as JSON.
func appendValue(dst []byte, v *result.Value) []byte {
	switch v.Kind {
	case result.None:
		return append(dst, "null"...)
	case result.Int:
		return appendInt(dst, int64(v.Num))
	case result.Enum:
		if v.Signed {
			return appendInt(dst, int64(v.Num))
		}
		return appendUint(dst, v.Num)
	case result.Pointer:
		if len(v.Elems) > 0 {
			dst = appendUint(append(dst, `{"address": `...), v.Num)
			return append(appendValue(append(dst, `, "value": `...), &v.Elems[0]), '}')
		}
		return appendUint(dst, v.Num)
	case result.Uint:
		return appendUint(dst, v.Num)
	case result.Bool:
		return strconv.AppendBool(dst, v.Num != 0)
	case result.Float:
		if f := math.Float64frombits(v.Num); math.IsNaN(f) || math.IsInf(f, 0) {
			return appendString(dst, v.String())
		}
		return v.AppendText(dst)
	case result.Buffer:
		dst = append(dst, '[')
		for i := range len(v.Text) {
			if i > 0 {
				dst = append(dst, ',')
			}
			if v.Type != "" {
				dst = strconv.AppendUint(dst, uint64(v.Text[i]), 10)
				continue
			}
			dst = strconv.AppendInt(dst, int64(int8(v.Text[i])), 10)
		}
		if v.Cut {
			dst = appendString(append(dst, ','), string(v.AppendMore(nil)))
		}
		return append(dst, ']')
	case result.Array, result.Tuple:
		dst = append(dst, '[')
		for i := range v.Elems {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendValue(dst, &v.Elems[i])
		}
		if v.Cut && v.Kind == result.Array {
			if len(v.Elems) > 0 {
				dst = append(dst, ',')
			}
			dst = appendString(dst, string(v.AppendMore(nil)))
		}
		return append(dst, ']')
	case result.Mapping:
		return appendMapping(dst, v)
	case result.Dynamic:
		dst = appendString(append(dst, `{"type": `...), v.Type)
		dst = append(dst, `, "value": `...)
		if len(v.Elems) == 0 {
			return append(dst, "null}"...)
		}
		return append(appendValue(dst, &v.Elems[0]), '}')
	case result.Struct, result.Record, result.Stats:
		return appendFields(dst, v)
	case result.Unavailable:
		dst = append(dst, `{"unavailable": `...)
		return append(appendString(dst, v.Text), '}')
	case result.Histogram:
		return appendHist(dst, v.Hist)
	case result.Series:
		return appendSeries(dst, v.Series)
	case result.String, result.Address, result.Timestamp:
		return appendString(dst, v.Text)
	}
	return appendString(dst, v.String())
}

// appendMapping writes the entries of a map of the traced program by the text of their keys.
func appendMapping(dst []byte, v *result.Value) []byte {
	dst = append(dst, '{')
	for i := 0; i+1 < len(v.Elems); i += 2 {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		key := v.Elems[i].Text
		if v.Elems[i].Kind != result.String {
			key = string(v.Elems[i].AppendCompactKey(nil))
		}
		dst = append(appendString(dst, key), ": "...)
		dst = appendValue(dst, &v.Elems[i+1])
	}
	if v.Cut {
		if len(v.Elems) > 1 {
			dst = append(dst, ", "...)
		}
		dst = append(appendString(dst, "…"), ": "...)
		dst = appendString(dst, string(v.AppendMore(nil)))
	}
	return append(dst, '}')
}

func appendFields(dst []byte, v *result.Value) []byte {
	names := v.FieldNames()
	dst = append(dst, '{')
	for i := range v.Elems {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		name := ""
		if i < len(names) {
			name = names[i]
		}
		dst = append(appendString(dst, name), ": "...)
		dst = appendValue(dst, &v.Elems[i])
	}
	if v.Cut {
		if len(v.Elems) > 0 {
			dst = append(dst, ", "...)
		}
		dst = append(dst, `"…": null`...)
	}
	return append(dst, '}')
}

// appendHist appends the buckets with their least and largest value; the infinite ends have none.
func appendHist(dst []byte, h *result.Hist) []byte {
	dst = append(dst, '[')
	if h != nil {
		for i := range h.Buckets {
			b := &h.Buckets[i]
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, '{')
			if !b.LoInf {
				dst = append(appendInt(append(dst, `"min": `...), b.Lo), ", "...)
			}
			if !b.HiInf {
				dst = append(appendInt(append(dst, `"max": `...), b.Hi-1), ", "...)
			}
			dst = strconv.AppendUint(append(dst, `"count": `...), b.Count, 10)
			dst = append(dst, '}')
		}
	}
	return append(dst, ']')
}

// appendSeries appends the intervals that have a value, with the time of day in UTC.
func appendSeries(dst []byte, s *result.SeriesData) []byte {
	dst = append(dst, '[')
	if s != nil {
		first := true
		for i := range s.Points {
			p := &s.Points[i]
			if !p.Set {
				continue
			}
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = append(dst, `{"interval_start":"`...)
			dst = p.Start.UTC().AppendFormat(dst, "2006-01-02 15:04:05.000000000")
			dst = append(dst, `","value":`...)
			if s.Unsigned {
				dst = appendUint(dst, uint64(p.Value))
			} else {
				dst = appendInt(dst, p.Value)
			}
			dst = append(dst, '}')
		}
	}
	return append(dst, ']')
}

// appendInt and appendUint quote numbers that a double can't hold: readers would change them in silence.
func appendInt(dst []byte, n int64) []byte {
	u := uint64(n)
	if n < 0 {
		u = -u
	}
	if exact(u) {
		return strconv.AppendInt(dst, n, 10)
	}
	dst = append(dst, '"')
	return append(strconv.AppendInt(dst, n, 10), '"')
}

func appendUint(dst []byte, u uint64) []byte {
	if exact(u) {
		return strconv.AppendUint(dst, u, 10)
	}
	dst = append(dst, '"')
	return append(strconv.AppendUint(dst, u, 10), '"')
}

// exact tells whether a double has enough bits for the number.
func exact(u uint64) bool { return bits.Len64(u)-bits.TrailingZeros64(u) <= 53 || u == 0 }
