// Package output writes what a run yields: one file per format, each a result.Sink, and a table of them (Formats).
//
// Results go to the output as a stream; everything that is about the run (attached probes, losses, warnings) goes to
// the error stream in text form, and into the stream as records in the formats for machines. Sinks batch: they write
// when a buffer is full or when the run has no event at hand (Flush), so one event alone is seen at once and a flood
// costs one system call per 64 KiB.
package output

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"trocar/result"
)

// Options of a sink.
type Options struct {
	Out io.Writer // results
	Err io.Writer // text form: messages

	Quiet bool // no "Attached N probes"
	// Attached, of the text form, gives what is said in its place. Nil: that.
	Attached   func(probes int) string
	NoWarnings bool // no warnings, those of warnf() included
	Color      bool // messages in colour
	Buffer     Buffering
	// Bare, of the text form: no empty lines before the maps at the end, and each key of a map is on one line, whatever
	// a program has in its texts.
	Bare bool
	// Shown, of the text form: what comes from traced programs is escaped (result.AppendShown), as a terminal would obey
	// it; without it, texts stay as they are. Controls: the script writes control characters itself, and what printf
	// prints is left alone.
	Shown, Controls bool
	// Fit, of the text form: lines are cut to a terminal's width. Nil: they are whole.
	Fit *Fit
	// Calls, of the records form: a value with names that is printed is a call, written by a command.
	Calls bool
}

// Fit cuts lines to the width of a terminal.
type Fit struct {
	Width func() int
	Cut   bool // one was
}

// Lines appends a text of which each line takes a row.
func (f *Fit) Lines(dst []byte, text string) []byte {
	dst, cut := result.Fit(dst, text, f.Width())
	f.Cut = f.Cut || cut
	return dst
}

// What a line of a call may take at least: time, process and thread take 48 characters.
const callWidth = 240

// call appends a line that may take several rows.
func (f *Fit) call(dst []byte, text string) []byte {
	width := max(f.Width(), 1)
	dst, cut := result.Fit(dst, text, (callWidth+width-1)/width*width)
	f.Cut = f.Cut || cut
	return dst
}

// table appends a map that is shown as a table.
func (f *Fit) table(dst []byte, m *result.Map) []byte {
	dst, cut := m.AppendFitted(dst, f.Width())
	f.Cut = f.Cut || cut
	return dst
}

// RecordsName is the name of trocar's own form for programs.
const RecordsName = "records"

// Buffering says when output is written.
type Buffering uint8

// Kinds of buffering. Line writes at each pause between events, so a reader never waits for a finished line; None
// writes after each event, Full when 64 KiB are together and at the end.
//
// Who else writes to the same file, such as a traced command, shall not come into the middle of a line. So Line and
// Full write whole lines, as long as there is one; a line that stays as it is for a pause is written, too: somebody may
// wait for it.
const (
	Line Buffering = iota
	Full
	None
)

// Bufferings are the names of the kinds of buffering, as -B takes them.
func Bufferings() []string { return []string{Line: "line", Full: "full", None: "none"} }

// ParseBuffering reads the argument of -B; "" is the default.
func ParseBuffering(s string) (Buffering, error) {
	if s == "" {
		return Line, nil
	}
	i := slices.Index(Bufferings(), s)
	if i < 0 {
		return Line, fmt.Errorf("invalid buffer mode %q: valid modes are %s", s, strings.Join(Bufferings(), ", "))
	}
	return Buffering(i), nil
}

// Format is one way to write results.
type Format struct {
	Name string // as -f names it
	Help string // what it is for, in a few words
	// Machine says that the output is read by programs: messages about the run are records among the results. Without it
	// they go to the error stream as text.
	Machine bool

	make func(Options) result.Sink
}

// New makes a sink that writes the format.
func (f *Format) New(o Options) result.Sink { return f.make(o) }

// Formats are all that there are; the first is the default. A new one is a file of its own and a row here.
func Formats() []Format {
	return []Format{
		{Name: "text", Help: "for people, as bpftrace shows it", make: func(o Options) result.Sink { return NewText(o) }},
		{
			Name: "json", Help: "a JSON record on each line", Machine: true,
			make: func(o Options) result.Sink { return NewJSON(o) },
		},
		{
			Name: RecordsName, Help: "trocar's own JSON records, with all that is known", Machine: true,
			make: func(o Options) result.Sink { return NewRecords(o) },
		},
	}
}

// Names are the names of the formats.
func Names() (names []string) {
	for _, f := range Formats() {
		names = append(names, f.Name)
	}
	return names
}

// Lookup finds a format by its name; "" is the default.
func Lookup(name string) (*Format, error) {
	all := Formats()
	for i := range all {
		if all[i].Name == name || name == "" {
			return &all[i], nil
		}
	}
	return nil, fmt.Errorf("invalid output format %q: valid formats are %s", name, strings.Join(Names(), ", "))
}

// unknownSeverity is the error for a message whose severity a format does not know.
func unknownSeverity(what string, s result.Severity) error {
	return fmt.Errorf("%s has no severity %v", what, s)
}

// Create opens the file of -o, emptied.
func Create(path string) (*os.File, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("failed to open output file %q: %w", path, errors.Unwrap(err))
	}
	return f, nil
}

// Closed tells whether an error of a sink means that nobody reads any more, which ends a run quietly.
func Closed(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, os.ErrClosed)
}

// batch is how much output is put together before it is written.
const batch = 64 << 10

// stream collects output and writes it in batches.
type stream struct {
	w    io.Writer
	buf  []byte
	mode Buffering
	pipe bool // w is a pipe
	held int  // bytes of buf that waited for the end of their line at the last pause
	err  error
}

// atomic is how much a pipe takes at once: nobody's output comes in between (PIPE_BUF).
const atomic = 4096

func newStream(w io.Writer, mode Buffering) stream {
	return stream{w: w, mode: mode, pipe: isPipe(w), buf: make([]byte, 0, batch+batch/4)}
}

// end is called after each event.
func (s *stream) end() error {
	switch {
	case s.mode == None:
		return s.write()
	case len(s.buf) >= batch:
		return s.writeLines()
	}
	return s.err
}

// idle is called when no event is at hand.
func (s *stream) idle() error {
	if s.mode == Full {
		return s.err
	}
	if s.held == len(s.buf) {
		return s.write()
	}
	err := s.writeLines()
	s.held = len(s.buf)
	return err
}

// writeLines writes all lines that are whole. A line that is larger than a batch is not waited for.
func (s *stream) writeLines() error {
	n := bytes.LastIndexByte(s.buf, '\n') + 1
	if n == 0 && len(s.buf) < batch {
		return s.err
	}
	if n == 0 {
		n = len(s.buf)
	}
	return s.writeFirst(n)
}

// write writes all there is.
func (s *stream) write() error { return s.writeFirst(len(s.buf)) }

// writeFirst writes so many bytes. After an error nothing is written any more.
func (s *stream) writeFirst(n int) error {
	for p := s.buf[:n]; s.err == nil && len(p) > 0; {
		part := p
		if s.pipe && len(p) > atomic {
			if part = p[:bytes.LastIndexByte(p[:atomic], '\n')+1]; len(part) == 0 {
				part = p[:bytes.IndexByte(p, '\n')+1] // a longer line
			}
			if len(part) == 0 {
				part = p
			}
		}
		_, s.err = s.w.Write(part)
		p = p[len(part):]
	}
	rest := s.buf[n:]
	if cap(s.buf) > 4*batch { // a huge value came by; don't keep its room
		s.buf = make([]byte, 0, batch+batch/4)
	}
	s.buf, s.held = append(s.buf[:0], rest...), 0
	return s.err
}

// isPipe tells whether what is written goes into a pipe.
func isPipe(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeNamedPipe != 0
}
