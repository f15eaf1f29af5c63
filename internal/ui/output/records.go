package output

import (
	"fmt"
	"strconv"

	"trocar/result"
)

// Records is trocar's own form for programs: a JSON object on each line, with the version of the form (docs/json.md).
type Records struct {
	out stream
	o   Options
}

// recordsVersion is the version of the form: it changes when a reader of the one before would misunderstand it.
const recordsVersion = 1

// NewRecords makes a sink of records.
func NewRecords(o Options) *Records { return &Records{out: newStream(o.Out, o.Buffer), o: o} }

// Flush writes what is pending.
func (r *Records) Flush() error { return r.out.idle() }

// Close writes what is pending, whatever the buffering.
func (r *Records) Close() error { return r.out.write() }

// Event writes one event.
func (r *Records) Event(e result.Event) error {
	switch e := e.(type) {
	case *result.Printf:
		r.output("printf", e.Common(), e.Text)
	case *result.Join:
		r.output("join", e.Common(), e.Text)
	case *result.Cat:
		r.output("cat", e.Common(), e.Text)
	case *result.System:
		r.output("system", e.Common(), e.Text)
	case *result.Time:
		r.begin("time", e.Common())
		if !e.Shown.IsZero() {
			r.name("shown")
			r.out.buf = result.AppendRecordTime(r.out.buf, e.Shown)
		}
		r.text("text", e.Text)
		r.close()
	case *result.Print:
		r.value(e)
	case *result.PrintMap:
		if err := r.printMap(e); err != nil {
			return err
		}
	case *result.Attached:
		if !r.o.Quiet {
			r.begin("attached", e.Common())
			r.number("probes", int64(e.Probes))
			r.close()
		}
	case *result.Lost:
		r.begin("lost", e.Common())
		r.text("what", e.What)
		r.name("count")
		r.out.buf = strconv.AppendUint(r.out.buf, e.Count, 10)
		if e.Detail != "" {
			r.text("detail", e.Detail)
		}
		r.close()
	case *result.Message:
		if e.Severity == result.Info {
			return unknownSeverity("a script's message", e.Severity)
		}
		return r.message("script", e.Common(), &result.Diagnostic{Severity: e.Severity, Text: e.Text, At: e.At})
	case *result.Notice:
		return r.message("run", e.Common(), &e.Diagnostic)
	case *result.RuntimeError:
		return r.message("script", e.Common(), &result.Diagnostic{Severity: result.Warning, Text: e.Text, At: e.At})
	case *result.HelperError:
		text := fmt.Sprintf("%s: %s", e.Helper, result.Strerror(-e.Code))
		return r.message("helper", e.Common(), &result.Diagnostic{Severity: result.Warning, Text: text, At: e.At})
	case *result.Bench:
		r.begin("benchmark", e.Common())
		r.text("name", e.Name)
		r.number("average_ns", int64(e.Average))
		r.name("runs")
		r.out.buf = strconv.AppendUint(r.out.buf, e.Runs, 10)
		r.close()
	case *result.Test:
		r.begin("test", e.Common())
		r.text("name", e.Name)
		r.name("passed")
		r.out.buf = strconv.AppendBool(r.out.buf, e.Passed)
		r.number("took_ns", int64(e.Took))
		r.close()
	case *result.End:
		r.begin("end", e.Common())
		r.close()
	default:
		return result.UnknownEvent("the records format", e)
	}
	return r.out.end()
}

// begin opens a record with what all have.
func (r *Records) begin(kind string, h *result.Head) {
	r.raw(`{"version": ` + strconv.Itoa(recordsVersion) + `, "type": "` + kind + `"`)
	if !h.Time.IsZero() {
		r.name("time")
		r.out.buf = result.AppendRecordTime(r.out.buf, h.Time)
	}
	if h.Probe != "" {
		r.text("probe", h.Probe)
	}
	if h.PID != 0 {
		r.number("process", int64(h.PID))
		r.number("thread", int64(h.TID))
	}
}

func (r *Records) close() { r.raw("}\n") }

func (r *Records) raw(s string) { r.out.buf = append(r.out.buf, s...) }

func (r *Records) name(name string) { r.raw(`, "` + name + `": `) }

func (r *Records) text(name, value string) {
	r.name(name)
	r.out.buf = result.AppendJSONString(r.out.buf, value)
}

func (r *Records) number(name string, n int64) {
	r.name(name)
	r.out.buf = strconv.AppendInt(r.out.buf, n, 10)
}

// output writes what a script has written.
func (r *Records) output(kind string, h *result.Head, text string) {
	r.begin(kind, h)
	r.text("text", text)
	r.close()
}

// value writes a value; one with names that a command has made of a call is a record of its own.
func (r *Records) value(e *result.Print) {
	if r.o.Calls && e.Value.Kind == result.Record {
		r.begin("call", &result.Head{})
		r.raw(", ")
		r.out.buf = e.Value.AppendRecordFields(r.out.buf)
	} else {
		r.begin("value", e.Common())
		r.name("value")
		r.out.buf = e.Value.AppendRecord(r.out.buf)
	}
	r.close()
}

// message writes what is to be said of the script or the run.
func (r *Records) message(about string, h *result.Head, d *result.Diagnostic) error {
	severity := ""
	switch d.Severity {
	case result.Error:
		severity = "error"
	case result.Warning:
		severity = "warning"
	case result.Info:
		severity = "info"
	default:
		return unknownSeverity("a message", d.Severity)
	}
	if d.Severity == result.Warning && r.o.NoWarnings {
		return r.out.end()
	}
	r.begin("message", h)
	r.text("severity", severity)
	r.text("about", about)
	r.text("text", d.Text)
	if d.At.Line > 0 {
		r.raw(`, "place": {"file": `)
		r.out.buf = result.AppendJSONString(r.out.buf, d.At.File)
		r.number("line", int64(d.At.Line))
		r.number("column", int64(d.At.Col))
		r.raw("}")
	}
	hints := make([]string, 0, len(d.Notes)+len(d.Hints))
	for i := range d.Notes {
		hints = append(hints, d.Notes[i].Text)
	}
	for i, hint := range append(hints, d.Hints...) {
		if i == 0 {
			r.name("hints")
			r.raw("[")
		} else {
			r.raw(", ")
		}
		r.out.buf = result.AppendJSONString(r.out.buf, hint)
	}
	if len(d.Notes)+len(d.Hints) > 0 {
		r.raw("]")
	}
	r.close()
	return r.out.end()
}

// recordKind is the kind of a map in records.
func recordKind(m *result.Map) (string, error) {
	switch m.Kind {
	case result.PlainMap:
		return "plain", nil
	case result.HistMap:
		return "hist", nil
	case result.LHistMap:
		return "lhist", nil
	case result.StatsMap:
		if len(m.Entries) > 0 && m.Entries[0].Value.Kind != result.Stats {
			return "avg", nil
		}
		return "stats", nil
	case result.SeriesMap:
		return "tseries", nil
	case result.TimesMap:
		return "times", nil
	}
	return "", fmt.Errorf("the records format has no form for maps of kind %d", m.Kind)
}

// printMap writes a map, its keys as arrays.
func (r *Records) printMap(e *result.PrintMap) error {
	kind, err := recordKind(e.Map)
	if err != nil {
		return err
	}
	if !e.Continued {
		r.begin("map", e.Common())
		r.text("name", e.Map.Name)
		r.text("kind", kind)
		r.name("entries")
		r.raw("[")
	}
	for i := range e.Map.Entries {
		entry := &e.Map.Entries[i]
		if i > 0 || e.Continued {
			r.raw(", ")
		}
		r.raw(`{"key": `)
		if entry.Key == nil {
			r.raw("[]")
		} else {
			r.out.buf = entry.Key.AppendRecordKey(r.out.buf)
		}
		r.name("value")
		r.out.buf = entry.Value.AppendRecord(r.out.buf)
		r.raw("}")
	}
	if e.More {
		return nil
	}
	r.raw("]}\n")
	return nil
}
