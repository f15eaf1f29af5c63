package output

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"

	"trocar/result"
)

// Text is bpftrace's text form.
type Text struct {
	out stream
	msg []byte
	o   Options
}

// NewText makes a text sink.
func NewText(o Options) *Text { return &Text{out: newStream(o.Out, o.Buffer), o: o} }

// Flush writes what is pending.
func (t *Text) Flush() error { return t.out.idle() }

// Close writes what is pending, whatever the buffering.
func (t *Text) Close() error { return t.out.write() }

// Event writes one event.
func (t *Text) Event(e *result.Event) error {
	switch e.Kind {
	case result.EvPrintf:
		if e.Level != result.Info {
			return t.notice(e)
		}
		t.out.buf = append(t.out.buf, e.Text...)
	case result.EvTime, result.EvCat:
		t.out.buf = append(t.out.buf, e.Text...)
	case result.EvJoin, result.EvSystem:
		t.out.buf = append(t.out.buf, e.Text...)
		t.out.buf = append(t.out.buf, '\n')
	case result.EvPrint:
		t.out.buf = e.Value.AppendText(t.out.buf)
		t.out.buf = append(t.out.buf, '\n')
	case result.EvMap:
		t.out.buf = e.Map.AppendText(t.out.buf)
	case result.EvEnd:
		t.out.buf = append(t.out.buf, "\n\n"...)
	case result.EvAttached:
		return t.attached(e)
	case result.EvLost:
		return t.lost(e)
	case result.EvNotice:
		return t.notice(e)
	case result.EvHelperError:
		return t.runtimeError(e)
	case result.EvBench:
		t.bench(e)
	case result.EvTest:
		t.test(e)
	}
	return t.out.end()
}

// bench writes a line of bpftrace's table of benchmarks, with its head before the first.
func (t *Text) bench(e *result.Event) {
	const name, average = 41, 15
	if e.Action == 0 {
		t.out.buf = fmt.Appendf(t.out.buf, "%-*s%-*sIterations\n%s\n", name, "Benchmark", average, "Time(ns)", strings.Repeat("-", name+average+len("Iterations")))
	}
	t.out.buf = fmt.Appendf(t.out.buf, "%-*s%-*d%d\n", name, e.Text, average, e.Code, e.N)
}

// test writes the result of a test probe.
func (t *Text) test(e *result.Event) {
	if e.Action == 0 {
		t.out.buf = fmt.Appendf(t.out.buf, "[==========] Running %d tests.\n", e.Total)
	}
	verdict := "[       OK ]"
	if e.Code != 0 {
		verdict = "[  FAILED  ]"
	}
	t.out.buf = fmt.Appendf(t.out.buf, "[ RUN      ] %s\n%s %s (%v)\n", e.Text, verdict, e.Text, time.Duration(e.N))
	if e.Action == e.Total-1 {
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

func (t *Text) attached(e *result.Event) error {
	if !t.o.Quiet {
		t.msg = append(t.msg, "Attached "...)
		t.msg = strconv.AppendUint(t.msg, e.N, 10)
		t.msg = append(t.msg, " probe"...)
		if e.N != 1 {
			t.msg = append(t.msg, 's')
		}
		t.msg = append(t.msg, '\n')
	}
	err := t.say()
	if t.o.Attached != nil {
		t.o.Attached()
	}
	return err
}

func (t *Text) lost(e *result.Event) error {
	t.msg = append(t.msg, "Lost "...)
	t.msg = strconv.AppendUint(t.msg, e.N, 10)
	t.msg = append(t.msg, ' ')
	t.msg = append(t.msg, lostWhat(e)...)
	if e.Text != "" {
		t.msg = append(t.msg, ": "...)
		t.msg = append(t.msg, e.Text...)
	}
	t.msg = append(t.msg, '\n')
	return t.say()
}

// lostWhat names what was lost: events, if nothing else is said.
func lostWhat(e *result.Event) string {
	if e.Cause == "" {
		return "events"
	}
	return e.Cause
}

func (t *Text) notice(e *result.Event) error {
	if e.Level == result.Warning && t.o.NoWarnings {
		return t.out.end()
	}
	t.headline(e.Level, e.Place, e.Text)
	if e.Kind == result.EvNotice { // the line of an errorf() says nothing new
		t.source(e.Source)
	}
	for _, h := range e.Hints {
		t.msg = append(t.msg, "HINT: "...)
		t.msg = append(t.msg, h...)
		t.msg = append(t.msg, '\n')
	}
	t.expanded(e)
	return t.say()
}

// runtimeError tells of a failed helper, or another error of the running script.
func (t *Text) runtimeError(e *result.Event) error {
	if t.o.NoWarnings {
		return t.out.end()
	}
	text := e.Text
	if e.Cause != "" {
		text = helperText(e) + "\nAdditional Info - helper: " + e.Cause + ", retcode: " + strconv.FormatInt(e.Code, 10)
	}
	t.headline(result.Warning, e.Place, text)
	t.source(e.Source)
	t.expanded(e)
	return t.say()
}

// helperText explains why a helper failed.
func helperText(e *result.Event) string {
	switch {
	case e.Text != "":
		return e.Text
	case e.Cause == "map_update_elem" && e.Code == -int64(syscall.E2BIG):
		return "Map full; can't update element. Try increasing max_map_keys config " +
			"or manually setting the max entries in a map declaration e.g. `let @a = hash(5000)`"
	case e.Cause == "map_delete_elem" && e.Code == -int64(syscall.ENOENT):
		return "Can't delete map element because it does not exist."
	case e.Cause == "map_lookup_elem":
		return "Can't lookup map element because it does not exist."
	}
	return result.Strerror(-e.Code)
}

const (
	red    = "\033[31m"
	yellow = "\033[33m"
	reset  = "\033[0m"
)

// headline is "place: WARNING: text", of which a final line break is left out.
func (t *Text) headline(level result.Level, place, text string) {
	color, word := "", ""
	switch level {
	case result.Warning:
		color, word = yellow, "WARNING: "
	case result.Error:
		color, word = red, "ERROR: "
	}
	if !t.o.Color {
		color = ""
	}
	t.msg = append(t.msg, color...)
	if place != "" {
		t.msg = append(t.msg, place...)
		t.msg = append(t.msg, ": "...)
	}
	t.msg = append(t.msg, word...)
	if n := len(text); n > 0 && text[n-1] == '\n' {
		text = text[:n-1]
	}
	t.msg = append(t.msg, text...)
	if color != "" {
		t.msg = append(t.msg, reset...)
	}
	t.msg = append(t.msg, '\n')
}

// source appends laid-out lines of the script.
func (t *Text) source(s string) {
	if s == "" {
		return
	}
	t.msg = append(t.msg, s...)
	if s[len(s)-1] != '\n' {
		t.msg = append(t.msg, '\n')
	}
}

func (t *Text) expanded(e *result.Event) {
	level := e.Level
	if e.Kind == result.EvHelperError {
		level = result.Warning
	}
	for _, p := range e.Expanded {
		t.headline(level, p.Span, "expanded from")
		t.source(p.Source)
	}
}
