package diag

import (
	"io"
	"strings"
	"unicode/utf8"
)

// maxContext is how many source lines a message quotes at most: a span may be a whole probe body.
const maxContext = 20

// Colours of the terminal (ECMA-48 SGR).
const (
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	cyan   = "\x1b[36m"
	bold   = "\x1b[1m"
	reset  = "\x1b[0m"
)

// Format writes the diagnostic as text: `file:line:col-col: ERROR: text`, the source line with `~~~` below the place,
// then each note in the same form, the hints, and the places of the macro calls the text was expanded from.
func (d *Diagnostic) Format(w io.Writer, color bool) error {
	var b strings.Builder
	header(&b, d.Severity, d.Span, d.Text, color)
	for _, n := range d.Notes {
		if n.Span.Source != nil {
			header(&b, d.Severity, n.Span, n.Text, color)
		} else {
			paint(&b, cyan, "NOTE:", color)
			b.WriteString(" " + n.Text + "\n")
		}
	}
	for _, h := range d.Hints {
		paint(&b, cyan, "HINT:", color)
		b.WriteString(" " + h + "\n")
	}
	for _, s := range d.Span.Expansions() {
		header(&b, d.Severity, s, "expanded from", color)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// String is the plain text form.
func (d *Diagnostic) String() string {
	var b strings.Builder
	_ = d.Format(&b, false) // a strings.Builder never fails
	return b.String()
}

// Format writes all diagnostics, errors first.
func (l *List) Format(w io.Writer, color bool) error {
	for sev := Error; sev <= Info; sev++ {
		for _, d := range l.All {
			if d.Severity != sev {
				continue
			}
			if err := d.Format(w, color); err != nil {
				return err
			}
		}
	}
	return nil
}

// Append takes over all diagnostics of another list.
func (l *List) Append(m *List) {
	l.All = append(l.All, m.All...)
	l.errors += m.errors
}

// Expansions are the macro calls that the place was expanded from, innermost first.
func (s Span) Expansions() []Span {
	var list []Span
	for s.Source != nil && s.Source.From.Source != nil && len(list) < 64 {
		s = s.Source.From
		list = append(list, s)
	}
	return list
}

// header writes one place with its message and source lines.
func header(b *strings.Builder, sev Severity, span Span, text string, color bool) {
	if place := span.String(); place != "" {
		paint(b, bold, place+":", color)
		b.WriteByte(' ')
	}
	paint(b, sev.color(), sev.String()+":", color)
	b.WriteString(" " + text + "\n")
	lines(b, sev, span, color)
}

// Quote is the source line of the place with `~~~` below it, or its lines if it spans several, without colours.
func (s Span) Quote() string {
	var b strings.Builder
	lines(&b, Error, s, false)
	return b.String()
}

// lines writes the source lines of a place.
func lines(b *strings.Builder, sev Severity, span Span, color bool) {
	if span.Source == nil {
		return
	}
	first, start := span.Source.Pos(span.Start)
	last, end := span.Source.Pos(span.End)
	if first == last {
		line := span.Source.Line(first)
		quote(b, line)
		marks(b, line, start-1, end-1, sev, color)
		return
	}
	for n := first; n <= last; n++ {
		if n-first == maxContext {
			b.WriteString("...\n")
			break
		}
		quote(b, span.Source.Line(n))
	}
}

// quote writes a source line: tabs as four blanks, and no control characters, which could drive the terminal.
func quote(b *strings.Builder, line string) {
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\t':
			b.WriteString("    ")
		case c < ' ' || c == 0x7f:
			b.WriteByte('?')
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('\n')
}

// marks writes the line of '~' below bytes [start, end) of a line.
func marks(b *strings.Builder, line string, start, end int, sev Severity, color bool) {
	var lead, mark strings.Builder
	for i := 0; i < len(line) && i < end; {
		_, n := utf8.DecodeRuneInString(line[i:])
		to, c := &lead, byte(' ')
		if i >= start {
			to, c = &mark, '~'
		}
		to.WriteByte(c)
		if line[i] == '\t' {
			to.WriteString(strings.Repeat(string(c), 3))
		}
		i += n
	}
	b.WriteString(lead.String())
	if mark.Len() > 0 {
		paint(b, sev.color(), mark.String(), color)
	}
	b.WriteByte('\n')
}

func (s Severity) color() string { return [...]string{red, yellow, cyan}[s] }

func paint(b *strings.Builder, code, text string, color bool) {
	if !color {
		b.WriteString(text)
		return
	}
	b.WriteString(code + text + reset)
}
