// Package diag holds places in script text and the messages about them.
//
// A diagnostic is data: severity, place, text, notes and hints. How it looks on a terminal or in JSON is decided
// when it is shown, never where it is made. Spans point into the text of scripts; what leaves the compiler is a
// result.Diagnostic (Public), which has the positions and the lines themselves.
package diag

import (
	"sort"
	"sync"

	"trocar/result"
)

// Source is one piece of script text: a file, or the text of -e.
type Source struct {
	Name string // as shown in messages: a path, or "stdin" for -e text (bpftrace's word)
	Text string

	// From is the macro call that this text was expanded at; zero for text that stands where it was written. The
	// expansion of a macro has a Source of its own (see Expanded), so its spans know where they ended up.
	From Span

	once  sync.Once
	lines []int // offsets at which lines begin; built on first use
}

// Expanded is the same text as the body of a macro called at a place.
func (s *Source) Expanded(at Span) *Source {
	return &Source{Name: s.Name, Text: s.Text, From: at, lines: s.index()}
}

// Pos gives the 1-based line and column (in bytes) of an offset.
func (s *Source) Pos(offset int) (line, col int) {
	lines := s.index()
	if offset < 0 {
		offset = 0
	}
	if offset > len(s.Text) {
		offset = len(s.Text)
	}
	i := sort.SearchInts(lines, offset+1) - 1
	return i + 1, offset - lines[i] + 1
}

// index gives the offsets at which lines begin.
func (s *Source) index() []int {
	s.once.Do(func() {
		if s.lines != nil {
			return
		}
		s.lines = append(s.lines, 0)
		for i := 0; i < len(s.Text); i++ {
			if s.Text[i] == '\n' {
				s.lines = append(s.lines, i+1)
			}
		}
	})
	return s.lines
}

// Line returns the text of a 1-based line, without its line break.
func (s *Source) Line(line int) string {
	lines := s.index()
	if line < 1 || line > len(lines) {
		return ""
	}
	start, end := lines[line-1], len(s.Text)
	if line < len(lines) {
		end = lines[line] - 1
	}
	if end > start && s.Text[end-1] == '\r' {
		end--
	}
	return s.Text[start:end]
}

// Span is a stretch of a source: [Start, End) in bytes. The zero Span is "no place".
type Span struct {
	Source     *Source
	Start, End int
}

// To joins two spans of one source.
func (s Span) To(t Span) Span {
	if s.Source == nil {
		return t
	}
	if t.Source != s.Source {
		return s
	}
	return Span{Source: s.Source, Start: min(s.Start, t.Start), End: max(s.End, t.End)}
}

// String is "name:line:col-col" on one line, "name:line-line" over several: bpftrace's form.
func (s Span) String() string {
	p := s.position()
	return p.String()
}

// Severity tells who must act: an error stops the run, a warning does not.
type Severity = result.Severity

// Severities.
const (
	Error   = result.Error
	Warning = result.Warning
	Info    = result.Info
)

// Diagnostic is one message about a script or a run.
type Diagnostic struct {
	Severity Severity
	Span     Span // may be zero
	Text     string
	Notes    []Note   // more places or facts
	Hints    []string // the ways out
	// Points are the probe points that it is about, of a script's probe that has several; none: it is about all.
	Points []string
}

// Note is a further fact, with or without a place.
type Note struct {
	Span Span
	Text string
}

// Note adds a fact and returns d.
func (d *Diagnostic) Note(span Span, format string, args ...any) *Diagnostic {
	d.Notes = append(d.Notes, Note{span, result.Messagef(format, args...)})
	return d
}

// Hint adds a way out and returns d.
func (d *Diagnostic) Hint(format string, args ...any) *Diagnostic {
	d.Hints = append(d.Hints, result.Messagef(format, args...))
	return d
}

// List collects diagnostics in the order they were made.
type List struct {
	All    []*Diagnostic
	errors int
}

// Add appends a diagnostic.
func (l *List) Add(severity Severity, span Span, format string, args ...any) *Diagnostic {
	d := &Diagnostic{Severity: severity, Span: span, Text: result.Messagef(format, args...)}
	l.All = append(l.All, d)
	if severity == Error {
		l.errors++
	}
	return d
}

// Errorf adds an error.
func (l *List) Errorf(span Span, format string, args ...any) *Diagnostic {
	return l.Add(Error, span, format, args...)
}

// Warnf adds a warning.
func (l *List) Warnf(span Span, format string, args ...any) *Diagnostic {
	return l.Add(Warning, span, format, args...)
}

// Take adds diagnostics that are elsewhere already.
func (l *List) Take(diags ...*Diagnostic) {
	for _, d := range diags {
		l.All = append(l.All, d)
		if d.Severity == Error {
			l.errors++
		}
	}
}

// Errors is the number of errors so far.
func (l *List) Errors() int { return l.errors }
