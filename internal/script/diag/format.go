package diag

import (
	"io"
	"strings"
	"unicode/utf8"

	"trocar/result"
)

// maxContext is how many source lines a message quotes at most: a span may be a whole probe body.
const maxContext = 20

// Public is the diagnostic with the positions and the lines of the script in place of spans.
func (d *Diagnostic) Public() result.Diagnostic {
	p := result.Diagnostic{Severity: d.Severity, Text: d.Text, At: d.Span.Position(), Hints: d.Hints}
	for _, n := range d.Notes {
		p.Notes = append(p.Notes, result.Note{Text: n.Text, At: n.Span.Position()})
	}
	return p
}

// Format writes the diagnostic as text, as result.Diagnostic shows it.
func (d *Diagnostic) Format(w io.Writer, color bool) error {
	p := d.Public()
	_, err := w.Write(p.AppendText(nil, color))
	return err
}

// String is the plain text form.
func (d *Diagnostic) String() string {
	p := d.Public()
	return p.String()
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

// Position is the span with the lines of the script, and the macro calls that it was expanded from.
func (s Span) Position() result.Position {
	p := s.excerpt()
	for _, from := range s.Expansions() {
		p.Expanded = append(p.Expanded, from.excerpt())
	}
	return p
}

// position is the span in lines and columns.
func (s Span) position() (p result.Position) {
	if s.Source != nil {
		p.File = s.Source.Name
		p.Line, p.Col = s.Source.Pos(s.Start)
		p.EndLine, p.EndCol = s.Source.Pos(s.End)
	}
	return p
}

// excerpt is the position with the lines of the script.
func (s Span) excerpt() result.Position {
	p := s.position()
	switch {
	case s.Source == nil:
	case p.Line == p.EndLine:
		line, start, end := window(s.Source.Line(p.Line), p.Col-1, p.EndCol-1)
		p.Source, p.Marks = []string{quote(line)}, marks(line, start, end)
	default:
		for n := p.Line; n <= p.EndLine; n++ {
			if n-p.Line == maxContext {
				p.Source = append(p.Source, "...")
				break
			}
			line, _, _ := window(s.Source.Line(n), 0, 0)
			p.Source = append(p.Source, quote(line))
		}
	}
	return p
}

// Of a line that is longer than maxLine only what is about the place is shown: made scripts have lines of megabytes.
const (
	maxLine = 400
	before  = 80 // bytes ahead of the place
	cutMark = "..."
)

// window cuts a line, and moves the place in it along.
func window(line string, start, end int) (cut string, from, to int) {
	if len(line) <= maxLine {
		return line, start, end
	}
	at := max(0, min(start-before, len(line)-maxLine))
	until := min(len(line), at+maxLine)
	for at > 0 && !utf8.RuneStart(line[at]) {
		at--
	}
	for until < len(line) && !utf8.RuneStart(line[until]) {
		until--
	}
	cut = line[at:until]
	start, end = start-at, min(end, until)-at
	if at > 0 {
		cut, start, end = cutMark+cut, start+len(cutMark), end+len(cutMark)
	}
	if until < len(line) {
		cut += cutMark
	}
	return cut, start, end
}

// quote shows a source line: tabs as four blanks, and no control characters, which could drive the terminal.
func quote(line string) string {
	var b strings.Builder
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
	return b.String()
}

// marks is the line of '~' below bytes [start, end) of a line.
func marks(line string, start, end int) string {
	var b strings.Builder
	for i := 0; i < len(line) && i < end; {
		_, n := utf8.DecodeRuneInString(line[i:])
		c := byte(' ')
		if i >= start {
			c = '~'
		}
		b.WriteByte(c)
		if line[i] == '\t' {
			b.WriteString(strings.Repeat(string(c), 3))
		}
		i += n
	}
	return b.String()
}
