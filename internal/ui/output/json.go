package output

import (
	"fmt"
	"strconv"

	"trocar/result"
)

// JSON is bpftrace's NDJSON form: a record per line, {"type": …, "data": …}.
//
// Values are written as result.Value.AppendJSON has them. Keys of maps are their text, the parts of a tuple joined by
// commas; spaces in strings stay, other than in bpftrace, where "a b" and "ab" become one key.
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
func (j *JSON) Event(e result.Event) error {
	switch e := e.(type) {
	case *result.Printf:
		j.text("printf", e.Text)
	case *result.Message:
		return j.scriptMessage(e)
	case *result.Time:
		j.text("time", e.Text)
	case *result.Join:
		j.text("join", e.Text)
	case *result.Cat:
		j.text("cat", e.Text)
	case *result.System:
		j.text("syscall", e.Text)
	case *result.Print:
		j.open("value")
		j.out.buf = append(e.Value.AppendJSON(j.out.buf), "}\n"...)
	case *result.PrintMap:
		return j.printMap(e)
	case *result.Attached:
		if !j.o.Quiet {
			j.counted("attached_probes", "probes", uint64(e.Probes))
			j.raw("}\n")
		}
	case *result.Lost:
		j.counted("lost_events", e.What, e.Count)
		if e.Detail != "" {
			j.raw(`, "msg": `)
			j.out.buf = result.AppendJSONString(j.out.buf, e.Detail)
		}
		j.raw("}\n")
	case *result.Notice:
		return j.notice(&e.Diagnostic)
	case *result.HelperError:
		j.helperError(e)
	case *result.RuntimeError:
		j.message("runtime_error", e.Text)
		j.close(&e.At)
	case *result.Bench:
		average, runs := strconv.FormatInt(int64(e.Average), 10), strconv.FormatUint(e.Runs, 10)
		j.named("benchmark_result", e.Name, `{"average": `+average+`, "iters": `+runs+`}`)
	case *result.Test:
		j.named("test_result", e.Name,
			`{"duration": `+strconv.FormatInt(int64(e.Took), 10)+`, "passed": `+strconv.FormatBool(e.Passed)+`}`)
	case *result.End: // what follows it is told by its records
	default:
		return result.UnknownEvent("the JSON format", e)
	}
	return j.out.end()
}

// named writes a record whose data is an object with one name.
func (j *JSON) named(kind, name, value string) {
	j.open(kind)
	j.raw("{")
	j.out.buf = result.AppendJSONString(j.out.buf, name)
	j.raw(": " + value + "}}\n")
}

// scriptMessage writes the text of warnf() or errorf().
func (j *JSON) scriptMessage(e *result.Message) error {
	switch e.Severity {
	case result.Error:
		j.message("errorf", e.Text)
	case result.Warning:
		if j.o.NoWarnings {
			return j.out.end()
		}
		j.message("warnf", e.Text)
	default:
		return unknownSeverity("a script's message", e.Severity)
	}
	j.close(&e.At)
	return j.out.end()
}

// notice writes a message about the run.
func (j *JSON) notice(d *result.Diagnostic) error {
	switch d.Severity {
	case result.Error:
		j.message("error", d.Text)
	case result.Warning:
		if j.o.NoWarnings {
			return j.out.end()
		}
		j.message("warning", d.Text)
	case result.Info:
		j.message("info", d.Text)
	default:
		return unknownSeverity("a notice", d.Severity)
	}
	j.position(&d.At)
	n := 0
	hint := func(text string) {
		if n++; n == 1 {
			j.raw(`, "hints": [`)
		} else {
			j.raw(`,`)
		}
		j.out.buf = result.AppendJSONString(j.out.buf, text)
	}
	for i := range d.Notes {
		hint(d.Notes[i].Text)
	}
	for _, h := range d.Hints {
		hint(h)
	}
	if n > 0 {
		j.raw(`]`)
	}
	j.raw("}\n")
	return j.out.end()
}

func (j *JSON) raw(s string) { j.out.buf = append(j.out.buf, s...) }

// open begins a record with data.
func (j *JSON) open(kind string) {
	j.raw(`{"type": "`)
	j.raw(kind)
	j.raw(`", "data": `)
}

func (j *JSON) text(kind, s string) {
	j.open(kind)
	j.out.buf = append(result.AppendJSONString(j.out.buf, s), "}\n"...)
}

// counted begins a record that has its number twice, for readers of bpftrace's old form as well.
func (j *JSON) counted(kind, what string, n uint64) {
	j.raw(`{"type": "`)
	j.raw(kind)
	j.raw(`", "count": `)
	j.out.buf = strconv.AppendUint(j.out.buf, n, 10)
	j.raw(`, "data": {`)
	j.out.buf = result.AppendJSONString(j.out.buf, what)
	j.raw(`: `)
	j.out.buf = strconv.AppendUint(j.out.buf, n, 10)
	j.raw(`}`)
}

// message begins a record about the run; close ends it.
func (j *JSON) message(kind, text string) {
	j.raw(`{"type": "`)
	j.raw(kind)
	j.raw(`", "msg": `)
	j.out.buf = result.AppendJSONString(j.out.buf, text)
}

// position adds where in the script it is.
func (j *JSON) position(at *result.Position) {
	if at.Line == 0 {
		return
	}
	j.raw(`, "filename": `)
	j.out.buf = result.AppendJSONString(j.out.buf, at.File)
	j.raw(`, "line": `)
	j.out.buf = strconv.AppendInt(j.out.buf, int64(at.Line), 10)
	j.raw(`, "col": `)
	j.out.buf = strconv.AppendInt(j.out.buf, int64(at.Col), 10)
}

// close adds the position and ends the record.
func (j *JSON) close(at *result.Position) {
	j.position(at)
	j.raw("}\n")
}

func (j *JSON) helperError(e *result.HelperError) {
	j.message("helper_error", result.Strerror(-e.Code))
	j.raw(`, "helper": `)
	j.out.buf = result.AppendJSONString(j.out.buf, e.Helper)
	j.raw(`, "retcode": `)
	j.out.buf = strconv.AppendInt(j.out.buf, e.Code, 10)
	j.close(&e.At)
}

// mapType is the type of a map's record.
func mapType(k result.MapKind) (string, error) {
	switch k {
	case result.PlainMap:
		return "map", nil
	case result.HistMap, result.LHistMap:
		return "hist", nil
	case result.StatsMap, result.TimesMap:
		return "stats", nil
	case result.SeriesMap:
		return "tseries", nil
	}
	return "", fmt.Errorf("the JSON format has no form for maps of kind %d", k)
}

// printMap writes a map, or a part of one; one without entries has no record, as in text.
func (j *JSON) printMap(e *result.PrintMap) error {
	m := e.Map
	kind, err := mapType(m.Kind)
	if err != nil {
		return err
	}
	if len(m.Entries) == 0 && !e.Continued {
		return j.out.end()
	}
	if !e.Continued {
		j.open(kind)
		j.raw(`{`)
		j.out.buf = result.AppendJSONString(j.out.buf, m.Name)
		j.raw(`: `)
	}
	if len(m.Entries) > 0 && m.Entries[0].Key == nil {
		j.out.buf = m.Entries[0].Value.AppendJSON(j.out.buf)
		j.raw("}}\n")
		return j.out.end()
	}
	if !e.Continued {
		j.raw(`{`)
	}
	var seen map[string]int // how often a key has come; what comes in several events has none twice
	if !e.Continued && !e.More {
		seen = make(map[string]int, len(m.Entries))
	}
	for i := range m.Entries {
		if i > 0 || e.Continued {
			j.raw(`, `)
		}
		j.entry(&m.Entries[i], seen)
	}
	if !e.More {
		j.raw("}}}\n")
	}
	return j.out.end()
}

// entry writes a key of a map and its value. Of keys that are shown as one, such as addresses in one function, all but
// the first get a number, or readers would lose values.
func (j *JSON) entry(e *result.Entry, seen map[string]int) {
	j.key = e.Key.AppendCompactKey(j.key[:0])
	if text := string(j.key); seen != nil {
		for taken := seen[text] > 0; taken; taken = seen[string(j.key)] > 0 {
			seen[text]++
			j.key = fmt.Appendf(j.key[:len(text)], " #%d", seen[text])
		}
		seen[string(j.key)]++
	}
	j.out.buf = result.AppendJSONString(j.out.buf, j.key)
	j.raw(`: `)
	j.out.buf = e.Value.AppendJSON(j.out.buf)
}
