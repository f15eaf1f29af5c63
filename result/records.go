package result

import (
	"strconv"
	"time"
)

// AppendRecord appends the value as JSON in the form of trocar's own records (docs/json.md). It differs from bpftrace's
// (AppendJSON) where that loses something: stacks are arrays of frames, averages have their count and sum, and
// histograms say what their ranges are, so that those of several runs can be added up.
func (v *Value) AppendRecord(dst []byte) []byte {
	switch v.Kind {
	case Stack:
		return v.appendFrames(dst)
	case Int, Uint:
		if len(v.Elems) == 3 {
			return appendAverage(dst, v.Elems)
		}
	case Stats:
		if len(v.Elems) == 3 {
			return appendAverage(dst, v.Elems)
		}
	case Times:
		return v.appendTimes(dst)
	case Histogram:
		return append(v.Hist.appendRecord(append(dst, '{')), '}')
	case Array, Tuple:
		if v.holdsStack() {
			dst = append(dst, '[')
			for i := range v.Elems {
				if i > 0 {
					dst = append(dst, ", "...)
				}
				dst = v.Elems[i].AppendRecord(dst)
			}
			return append(dst, ']')
		}
	case Record, Struct:
		if v.holdsStack() {
			return append(v.appendRecordFields(append(dst, '{')), '}')
		}
	}
	return v.AppendJSON(dst)
}

// AppendRecordFields appends the values of a Record with their names, as members of a JSON object.
func (v *Value) AppendRecordFields(dst []byte) []byte { return v.appendRecordFields(dst) }

func (v *Value) appendRecordFields(dst []byte) []byte {
	names := v.FieldNames()
	for i := range min(len(v.Elems), len(names)) {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = append(AppendJSONString(dst, names[i]), ": "...)
		dst = v.Elems[i].AppendRecord(dst)
	}
	return dst
}

// AppendRecordKey appends a key of a map as an array of its parts.
func (v *Value) AppendRecordKey(dst []byte) []byte {
	if v.Kind == Tuple && v.Type == "" {
		dst = append(dst, '[')
		for i := range v.Elems {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = v.Elems[i].AppendRecord(dst)
		}
		return append(dst, ']')
	}
	return append(v.AppendRecord(append(dst, '[')), ']')
}

// holdsStack tells whether a stack is in a value, so that it has another form in records.
func (v *Value) holdsStack() bool {
	if v.Cut {
		return false // has marks of what is missing
	}
	for i := range v.Elems {
		if e := &v.Elems[i]; e.Kind == Stack || e.Kind <= Tuple && e.holdsStack() || e.Kind == Record && e.holdsStack() {
			return true
		}
	}
	return false
}

// appendFrames appends the frames of a stack, innermost first, with what is known of each.
func (v *Value) appendFrames(dst []byte) []byte {
	dst = append(dst, '[')
	for i := range v.Frames {
		f := &v.Frames[i]
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = append(dst, `{"address": "0x`...)
		dst = append(strconv.AppendUint(dst, f.Addr, 16), '"')
		text := func(name, value string) {
			if value != "" {
				dst = append(dst, `, "`+name+`": `...)
				dst = AppendJSONString(dst, value)
			}
		}
		text("function", f.Symbol)
		if f.Symbol != "" && !f.Inlined {
			dst = strconv.AppendUint(append(dst, `, "offset": `...), f.Offset, 10)
		}
		if f.Inlined {
			dst = append(dst, `, "inlined": true`...)
		}
		text("module", f.Module)
		if f.Module != "" {
			dst = append(dst, `, "module_offset": "0x`...)
			dst = append(strconv.AppendUint(dst, f.ModuleOffset, 16), '"')
		}
		text("build_id", f.BuildID)
		text("file", f.File)
		if f.File != "" && f.Line > 0 {
			dst = strconv.AppendInt(append(dst, `, "line": `...), int64(f.Line), 10)
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// appendAverage appends a count, an average and a total.
func appendAverage(dst []byte, parts []Value) []byte {
	dst = parts[0].AppendJSON(append(dst, `{"count": `...))
	dst = parts[2].AppendJSON(append(dst, `, "sum": `...))
	bare := parts[1]
	bare.Elems = nil
	return append(bare.AppendJSON(append(dst, `, "average": `...)), '}')
}

// appendRecord appends the members for a histogram: its parameters; of the buckets those that are not empty.
func (h *Hist) appendRecord(dst []byte) []byte {
	if h == nil {
		h = &Hist{}
	}
	switch {
	case h.Linear && (h.Min != 0 || h.Max != 0):
		dst = appendIntJSON(append(dst, `"min": `...), h.Min)
		dst = appendIntJSON(append(dst, `, "max": `...), h.Max)
		dst = appendIntJSON(append(dst, `, "step": `...), h.Step)
	case h.Linear:
		dst = appendIntJSON(append(dst, `"step": `...), h.Step)
	default:
		dst = strconv.AppendInt(append(dst, `"bits": `...), int64(h.Bits), 10)
	}
	dst = append(dst, `, "buckets": [`...)
	first := true
	for i := range h.Buckets {
		b := &h.Buckets[i]
		if b.Count == 0 {
			continue
		}
		if !first {
			dst = append(dst, ", "...)
		}
		first = false
		dst = append(dst, '{')
		if !b.LoInf {
			dst = append(appendIntJSON(append(dst, `"min": `...), b.Lo), ", "...)
		}
		if !b.HiInf {
			dst = append(appendIntJSON(append(dst, `"max": `...), b.Hi-1), ", "...)
		}
		dst = append(strconv.AppendUint(append(dst, `"count": `...), b.Count, 10), '}')
	}
	return append(dst, ']')
}

// appendTimes appends what is known of durations, in nanoseconds, with their histogram.
func (v *Value) appendTimes(dst []byte) []byte {
	dst = append(dst, '{')
	for i, name := range []string{"count", "sum_ns", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns"} {
		if i < len(v.Elems) {
			dst = append(append(append(dst, '"'), name...), `": `...)
			dst = append(v.Elems[i].AppendJSON(dst), ", "...)
		}
	}
	return append(v.Hist.appendRecord(dst), '}')
}

// AppendRecordTime appends a moment as RFC 3339 has it.
func AppendRecordTime(dst []byte, t time.Time) []byte {
	dst = t.AppendFormat(append(dst, '"'), time.RFC3339Nano)
	return append(dst, '"')
}
