package result

import (
	"fmt"
	"strconv"
	"strings"
)

// Severity says how much a message matters.
type Severity uint8

// Severities.
const (
	Error   Severity = iota // something that was asked for is not done
	Warning                 // it is done, but maybe not as it was meant
	Info
)

// String is "ERROR", "WARNING" or "INFO".
func (s Severity) String() string {
	switch s {
	case Error:
		return "ERROR"
	case Warning:
		return "WARNING"
	case Info:
		return "INFO"
	}
	return fmt.Sprintf("SEVERITY %d", uint8(s))
}

// Diagnostic is a message about a script or a run, as data.
type Diagnostic struct {
	Severity Severity
	Text     string   // what was asked, and the cause
	At       Position // where in the script; zero: at no place in it
	Notes    []Note   // further facts
	Hints    []string // the ways out
}

// Note is a further fact.
type Note struct {
	Text string
	At   Position // zero: at no place in the script
}

// Position is a stretch of the text of a script, with what stands there. The zero Position is none.
type Position struct {
	File            string // as it is named in messages: a path, or "stdin" for the text of -e
	Line, Col       int    // of its first byte, counted from 1, columns in bytes; Line 0: no position
	EndLine, EndCol int    // of the byte behind it
	// Source are the lines of the script, safe to be shown: a tab is four spaces, other control characters are question
	// marks. Of a long stretch there are the first lines only, and "...". Nil: not known.
	Source []string
	// Marks is what is shown below the line if there is only one: spaces, then a ~ for each character of the stretch.
	Marks string
	// Expanded are the macro calls that the text was expanded from, innermost first. They have no Expanded themselves.
	Expanded []Position
}

// String is "stdin:1:9-20" on one line, "stdin:1-4" over several, "" for none.
func (p *Position) String() string {
	switch p.Line {
	case 0:
		return ""
	case p.EndLine:
		return p.File + ":" + strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Col) + "-" + strconv.Itoa(p.EndCol)
	}
	return p.File + ":" + strconv.Itoa(p.Line) + "-" + strconv.Itoa(p.EndLine)
}

// AppendSource appends the lines of the script with the marks, each with a line break.
func (p *Position) AppendSource(dst []byte) []byte { return p.appendSource(dst, "") }

func (p *Position) appendSource(dst []byte, color string) []byte {
	for _, line := range p.Source {
		dst = append(AppendShown(dst, line), '\n')
	}
	if len(p.Source) == 0 || p.Line != p.EndLine {
		return dst
	}
	n := len(p.Marks) - len(strings.TrimLeft(p.Marks, " "))
	dst = append(dst, p.Marks[:n]...)
	if n < len(p.Marks) {
		dst = appendPainted(dst, color, p.Marks[n:])
	}
	return append(dst, '\n')
}

// Colours of the terminal (ECMA-48 SGR).
const (
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	cyan   = "\x1b[36m"
	bold   = "\x1b[1m"
	reset  = "\x1b[0m"
)

// appendPainted appends text in a colour; "" is none.
func appendPainted(dst []byte, color, text string) []byte {
	if color == "" {
		return append(dst, text...)
	}
	return append(append(append(dst, color...), text...), reset...)
}

// palette are the colours of a message; all are "" if it is shown without.
type palette struct{ place, word, aside string }

func (s Severity) palette(color bool) palette {
	p := palette{place: bold, aside: cyan}
	switch {
	case !color:
		return palette{}
	case s == Error:
		p.word = red
	case s == Warning:
		p.word = yellow
	default:
		p.word = cyan
	}
	return p
}

// AppendText appends the message as text: "file:line:col-col: ERROR: text", the source line with ~~~ below the
// stretch, then each note in the same form, the hints, and the macro calls that the text was expanded from. Color
// adds the escape sequences of a terminal. Line breaks are kept: they are the message's own (see Messagef).
func (d *Diagnostic) AppendText(dst []byte, color bool) []byte {
	p := d.Severity.palette(color)
	word := d.Severity.String() + ":"
	head := func(at *Position, text string) {
		if at.Line != 0 {
			dst = append(appendPainted(dst, p.place, ShownLine(at.String())+":"), ' ')
		}
		dst = appendPainted(dst, p.word, word)
		dst = append(AppendShown(append(dst, ' '), strings.TrimSuffix(text, "\n")), '\n')
		dst = at.appendSource(dst, p.word)
	}
	aside := func(word, text string) {
		dst = appendPainted(dst, p.aside, word)
		dst = append(AppendShown(append(dst, ' '), strings.TrimSuffix(text, "\n")), '\n')
	}
	head(&d.At, d.Text)
	for i := range d.Notes {
		if n := &d.Notes[i]; n.At.Line != 0 {
			head(&n.At, n.Text)
		} else {
			aside("NOTE:", n.Text)
		}
	}
	for _, h := range d.Hints {
		aside("HINT:", h)
	}
	for i := range d.At.Expanded {
		head(&d.At.Expanded[i], "expanded from")
	}
	return dst
}

// String is the text without colours.
func (d *Diagnostic) String() string { return string(d.AppendText(nil, false)) }
