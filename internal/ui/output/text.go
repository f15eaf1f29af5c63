package output

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"trocar/result"
)

// Text is bpftrace's text form.
type Text struct {
	out   stream
	msg   []byte
	table []byte // of benchmarks, until it is whole
	o     Options
}

// NewText makes a text sink.
func NewText(o Options) *Text { return &Text{out: newStream(o.Out, o.Buffer), o: o} }

// Flush writes what is pending.
func (t *Text) Flush() error { return t.out.idle() }

// Close writes what is pending, whatever the buffering.
func (t *Text) Close() error {
	t.endTable()
	return t.out.write()
}

// Event writes one event.
func (t *Text) Event(e result.Event) error {
	begin := len(t.out.buf)
	switch e := e.(type) {
	case *result.Printf:
		if t.o.Controls {
			begin += len(e.Text)
		}
		if t.o.Fit != nil && len(e.Text) > callWidth {
			t.out.buf = t.o.Fit.call(t.out.buf, string(result.AppendShown(nil, e.Text)))
			break
		}
		t.out.buf = append(t.out.buf, e.Text...)
	case *result.Time:
		t.out.buf = append(t.out.buf, e.Text...)
	case *result.Cat:
		t.out.buf = append(t.out.buf, e.Text...)
	case *result.Join:
		t.line(e.Text)
	case *result.System:
		t.line(e.Text)
	case *result.Print:
		t.out.buf = append(e.Value.AppendText(t.out.buf), '\n')
	case *result.PrintMap:
		m := e.Map
		if t.o.Bare {
			m = lineKeys(m)
		}
		if t.o.Fit != nil && m.Table != nil {
			t.out.buf = t.o.Fit.table(t.out.buf, m)
			break
		}
		t.out.buf = m.AppendText(t.out.buf)
	case *result.End:
		if !t.o.Bare {
			t.out.buf = append(t.out.buf, "\n\n"...)
		}
	case *result.Attached:
		return t.attached(e)
	case *result.Lost:
		return t.lost(e)
	case *result.Message:
		return t.scriptMessage(e)
	case *result.Notice:
		return t.notice(&e.Diagnostic)
	case *result.HelperError:
		info := "\nAdditional Info - helper: " + e.Helper + ", retcode: " + strconv.FormatInt(e.Code, 10)
		return t.runtimeError(helperText(e)+info, &e.At)
	case *result.RuntimeError:
		return t.runtimeError(e.Text, &e.At)
	case *result.Bench:
		t.bench(e)
	case *result.Test:
		t.test(e)
	default:
		return result.UnknownEvent("the text format", e)
	}
	if t.o.Shown {
		t.out.buf = result.ShownFrom(t.out.buf, begin)
	}
	return t.out.end()
}

// lineKeys is a map whose keys are escaped.
func lineKeys(m *result.Map) *result.Map {
	c := *m
	c.Entries = slices.Clone(m.Entries)
	for i := range c.Entries {
		if key := c.Entries[i].Key; key != nil {
			own := key.Clone()
			own.Escape()
			c.Entries[i].Key = &own
		}
	}
	return &c
}

func (t *Text) line(s string) { t.out.buf = append(append(t.out.buf, s...), '\n') }

// bench adds a line to bpftrace's table of benchmarks, which is written whole behind the last of them: what they print
// comes before it.
func (t *Text) bench(e *result.Bench) {
	const name, average = 41, 15
	if e.Index == 0 {
		rule := strings.Repeat("-", name+average+len("Iterations"))
		t.table = fmt.Appendf(nil, "%-*s%-*sIterations\n%s\n", name, "Benchmark", average, "Time(ns)", rule)
	}
	t.table = fmt.Appendf(t.table, "%-*s%-*d%d\n", name, e.Name, average, e.Average.Nanoseconds(), e.Runs)
	if e.Index >= e.Total-1 {
		t.endTable()
	}
}

// endTable writes the table of benchmarks as far as there is one.
func (t *Text) endTable() {
	t.out.buf = append(t.out.buf, t.table...)
	t.table = nil
}

// test writes the result of a test probe.
func (t *Text) test(e *result.Test) {
	if e.Index == 0 {
		t.out.buf = fmt.Appendf(t.out.buf, "[==========] Running %d tests.\n", e.Total)
	}
	verdict := "[       OK ]"
	if !e.Passed {
		verdict = "[  FAILED  ]"
	}
	t.out.buf = fmt.Appendf(t.out.buf, "[ RUN      ] %s\n%s %s (%v)\n", e.Name, verdict, e.Name, e.Took)
	if e.Index == e.Total-1 {
		t.out.buf = fmt.Appendf(t.out.buf, "[==========] %d tests ran.\n", e.Total)
	}
}

// say writes what is in t.msg to the error stream, after all output that came before it.
func (t *Text) say() error {
	err := t.out.write()
	if t.o.Err != nil && len(t.msg) > 0 {
		// The error stream may be gone while the results are still wanted.
		_, _ = t.o.Err.Write(t.msg)
	}
	t.msg = t.msg[:0]
	return err
}

func (t *Text) attached(e *result.Attached) error {
	if t.o.Attached != nil && !t.o.Quiet {
		t.msg = append(append(t.msg, t.o.Attached(e.Probes)...), '\n')
	} else if !t.o.Quiet {
		t.msg = append(t.msg, "Attached "...)
		t.msg = strconv.AppendInt(t.msg, int64(e.Probes), 10)
		t.msg = append(t.msg, " probe"...)
		if e.Probes != 1 {
			t.msg = append(t.msg, 's')
		}
		t.msg = append(t.msg, '\n')
	}
	return t.say()
}

func (t *Text) lost(e *result.Lost) error {
	t.msg = append(t.msg, "Lost "...)
	t.msg = strconv.AppendUint(t.msg, e.Count, 10)
	t.msg = append(t.msg, ' ')
	t.msg = append(t.msg, e.What...)
	if e.Detail != "" {
		t.msg = append(t.msg, ": "...)
		t.msg = result.AppendShown(t.msg, e.Detail)
	}
	t.msg = append(t.msg, '\n')
	return t.say()
}

// scriptMessage writes the text of warnf() or errorf(). The line of the script says nothing new.
func (t *Text) scriptMessage(e *result.Message) error {
	if e.Severity == result.Info {
		return unknownSeverity("a script's message", e.Severity)
	}
	if e.Severity == result.Warning && t.o.NoWarnings {
		return t.out.end()
	}
	h, err := heading(e.Severity)
	if err != nil {
		return err
	}
	t.headline(h, &e.At, e.Text)
	t.expanded(h, &e.At)
	return t.say()
}

// notice writes a message about the run.
func (t *Text) notice(d *result.Diagnostic) error {
	if d.Severity == result.Warning && t.o.NoWarnings {
		return t.out.end()
	}
	h, err := heading(d.Severity)
	if err != nil {
		return err
	}
	t.headline(h, &d.At, d.Text)
	t.msg = d.At.AppendSource(t.msg)
	for i := range d.Notes {
		n := &d.Notes[i]
		if n.At.Line == 0 {
			t.aside("NOTE: ", n.Text)
			continue
		}
		t.headline(h, &n.At, n.Text)
		t.msg = n.At.AppendSource(t.msg)
	}
	for _, hint := range d.Hints {
		t.aside("HINT: ", hint)
	}
	t.expanded(h, &d.At)
	return t.say()
}

// runtimeError tells of a failed helper, or another error of the running script.
func (t *Text) runtimeError(text string, at *result.Position) error {
	if t.o.NoWarnings {
		return t.out.end()
	}
	t.headline(warningHeading, at, text)
	t.msg = at.AppendSource(t.msg)
	t.expanded(warningHeading, at)
	return t.say()
}

// helperText explains why a helper failed.
func helperText(e *result.HelperError) string {
	switch {
	case e.Helper == "map_update_elem" && e.Code == -int64(syscall.E2BIG):
		return "Map full; can't update element. Try increasing max_map_keys config " +
			"or manually setting the max entries in a map declaration e.g. `let @a = hash(5000)`"
	case e.Helper == "map_delete_elem" && e.Code == -int64(syscall.ENOENT):
		return "Can't delete map element because it does not exist."
	case e.Helper == "map_lookup_elem":
		return "Can't lookup map element because it does not exist."
	}
	return result.Strerror(-e.Code)
}

const (
	red    = "\033[31m"
	yellow = "\033[33m"
	reset  = "\033[0m"
)

// headWord is what a message begins with, and its colour.
type headWord struct{ color, word string }

var warningHeading = headWord{yellow, "WARNING: "}

// heading is the head of a message; notices that are for information have none.
func heading(s result.Severity) (headWord, error) {
	switch s {
	case result.Error:
		return headWord{red, "ERROR: "}, nil
	case result.Warning:
		return warningHeading, nil
	case result.Info:
		return headWord{}, nil
	}
	return headWord{}, unknownSeverity("a message", s)
}

// headline is "position: WARNING: text", of which a final line break is left out.
func (t *Text) headline(h headWord, at *result.Position, text string) {
	color := h.color
	if !t.o.Color {
		color = ""
	}
	t.msg = append(t.msg, color...)
	if at.Line != 0 {
		t.msg = result.AppendShownLine(t.msg, at.String())
		t.msg = append(t.msg, ": "...)
	}
	t.msg = append(t.msg, h.word...)
	t.msg = result.AppendShown(t.msg, strings.TrimSuffix(text, "\n"))
	if color != "" {
		t.msg = append(t.msg, reset...)
	}
	t.msg = append(t.msg, '\n')
}

// aside appends a line that belongs to a message.
func (t *Text) aside(word, text string) {
	t.msg = append(result.AppendShown(append(t.msg, word...), strings.TrimSuffix(text, "\n")), '\n')
}

// expanded tells of the macro calls that the text was expanded from.
func (t *Text) expanded(h headWord, at *result.Position) {
	for i := range at.Expanded {
		t.headline(h, &at.Expanded[i], "expanded from")
		t.msg = at.Expanded[i].AppendSource(t.msg)
	}
}
