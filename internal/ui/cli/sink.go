package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"trocar"
	"trocar/internal/ui/flame"
	"trocar/internal/ui/output"
	"trocar/result"
)

// notify is the name of a variable of the environment: if it is set, its name is written as a line once the probes are
// attached. bpftrace does so; its test suite, ours and bench wait for that.
const notify = "__BPFTRACE_NOTIFY_PROBES_ATTACHED"

// sink is where results go, with the messages that come before a run.
type sink struct {
	result.Sink
	app  *app
	s    *settings
	file *os.File // of -o
	// picture is the file of -o if a picture is drawn, of what was collected.
	picture *os.File
	stacks  *flame.Collector
	locks   *flame.Locks // waits for locks are told from others; nil: there are none
	notify  bool
	err     io.Writer   // for messages
	fit     *output.Fit // to the terminal; nil: results do not go to one, or are not to be cut

	program  *trocar.Program // nil: not compiled yet
	attached time.Time       // when the probes were; zero: not yet
	answers  int             // events since that are a part of the answer to a command's question
	blind    bool            // it was told that calls are not seen, or that some were lost
}

func (a *app) sink(s *settings) (*sink, error) {
	buffering, err := output.ParseBuffering(s.buffering)
	if err != nil {
		return nil, &statusError{exitUsage, err}
	}
	k := &sink{app: a, s: s, err: a.said(s.made), notify: os.Getenv(notify) != ""}
	out := a.out
	if s.drawn.file() {
		if k.picture, err = output.Create(s.output); err != nil {
			//lint:ignore ST1005 bpftrace's words, which scripts' tests look for
			return nil, &statusError{exitFailed, fmt.Errorf("Failed to open output file: %q: %s", s.output, reason(err))}
		}
	} else if s.output != "" {
		if k.file, err = output.Create(s.output); err != nil {
			//lint:ignore ST1005 bpftrace's words, which scripts' tests look for
			return nil, &statusError{exitFailed, fmt.Errorf("Failed to open output file: %q: %s", s.output, reason(err))}
		}
		out = k.file
	}
	format, err := output.Lookup(s.format)
	if err != nil {
		return nil, &statusError{exitUsage, err}
	}
	var said func(int) string
	if s.made {
		said = k.attachedTo
	}
	if s.made && !s.full && isTerminal(out) {
		k.fit = &output.Fit{Width: func() int { return width(out) }}
	}
	k.Sink = format.New(output.Options{
		Out: out, Attached: said, Err: k.err, Quiet: s.quiet, NoWarnings: s.noWarnings, Color: a.color(),
		Buffer: buffering, Bare: s.bare,
		Shown: s.made || isTerminal(out), Controls: s.controls && !s.made, Calls: s.made,
		Fit: k.fit,
	})
	if s.drawn != nil {
		k.draw(out)
	}
	k.waits()
	return k, nil
}

// plain shows messages as text, whatever the format: for what has no results.
func (a *app) plain(s *settings) *sink {
	return &sink{app: a, s: &settings{noWarnings: s.noWarnings}, err: a.err}
}

// Event passes events on, and keeps the promise of notify.
func (k *sink) Event(e result.Event) error {
	if n, ok := e.(*result.Notice); ok && k.s.made && n.Diagnostic.Severity != result.Error {
		plain := *n
		plain.Diagnostic.At = result.Position{} // nobody wrote the line that it is about
		e = &plain
	}
	k.blind = k.blind || hides(e)
	if answers(e) {
		k.answers++
	}
	err := k.Sink.Event(e)
	_, attached := e.(*result.Attached)
	if attached {
		k.attached = time.Now()
	}
	if attached && k.notify && err == nil {
		if err = k.Flush(); err == nil {
			_, err = fmt.Fprintln(k.app.out, notify)
		}
	}
	return err
}

// diagnostic shows one message about the script: as text, or as a record among the results.
func (k *sink) diagnostic(d trocar.Diagnostic) {
	if d.Severity != result.Error && k.s.noWarnings {
		return
	}
	if k.s.made && d.Severity != result.Error {
		d.At = result.Position{} // nobody wrote the line that it is about
	}
	if k.s.machine() {
		err := k.Sink.Event(&result.Notice{Diagnostic: d})
		if err == nil && d.Severity == result.Error {
			err = k.Flush()
		}
		if err == nil || output.Closed(err) {
			return
		}
		// The results cannot be written, so this has to be said where they are not.
	}
	_, _ = k.err.Write(d.AppendText(nil, k.app.color()))
}

// mostPoints is how many points are named where all are asked for.
const mostPoints = 200

// points tells to what a script is attached.
func (k *sink) points(points []string) {
	for i, p := range points {
		if i == mostPoints {
			k.diagnostic(trocar.Diagnostic{Severity: result.Info, Text: fmt.Sprintf("and %d more", len(points)-i)})
			break
		}
		k.diagnostic(trocar.Diagnostic{Severity: result.Info, Text: result.ShownLine(p)})
	}
}

// failure shows why there is no run, or why it broke off, and gives the exit status.
func (k *sink) failure(err error) error {
	status := exitFailed
	var hints []string
	var compile *trocar.CompileError
	var launch *trocar.StartError
	var thread *trocar.ThreadError
	var ambiguous *trocar.AmbiguousError
	var known *statusError
	switch {
	case errors.As(err, &known) && known.err != nil:
		status = known.status
	case errors.Is(err, context.Canceled):
		err = errors.New("interrupted before the probes were attached")
	case errors.As(err, &compile):
		status = exitUsage
		if compile.NoMatch {
			status = exitNoMatch
		}
		k.compileError(compile)
		if !errors.Is(err, trocar.ErrNoProbes) {
			return &statusError{status: status}
		}
		if !k.s.machine() && !k.s.quiet {
			fmt.Fprintln(k.app.err, "No probes to attach") // bpftrace's line, to the letter
			return &statusError{status: status}
		}
	case errors.As(err, &ambiguous), errors.Is(err, trocar.ErrRequest):
		status = exitUsage
	case errors.Is(err, trocar.ErrNotFound):
		status = exitNoMatch
	case errors.As(err, &thread):
		status = exitUsage
		hints = []string{fmt.Sprintf("-p %d traces the whole process, --tid %d this thread only", thread.PID, thread.Thread)}
	case errors.As(err, &launch):
		status = launch.Status()
		if launch.Hint != "" {
			hints = []string{result.ShownLine(launch.Hint)}
		}
	case trocar.IsMissing(err):
		status = exitNoMatch
	case trocar.Unavailable(err):
		status = exitNotPermitted
	}
	k.diagnostic(trocar.Diagnostic{Severity: result.Error, Text: result.ShownLine(err.Error()), Hints: hints})
	return &statusError{status: status}
}

// compileError shows what is wrong with a script.
func (k *sink) compileError(e *trocar.CompileError) {
	shown := map[string]bool{} // each of several functions may have the same to say of their file
	for _, d := range e.Diagnostics {
		if text := d.String(); shown[text] {
			continue
		} else {
			shown[text] = true
		}
		wrong := d.Severity == result.Error && k.s.made
		if wrong && !k.s.asked.inWords(&d) && len(d.At.Source) > 0 {
			d.Hints = append(d.Hints, "--script prints the generated script")
		}
		k.diagnostic(d)
		if wrong {
			break // the others follow from it, and nobody wrote the lines that they are about
		}
	}
}

// fail shows why there is no run: as a record where results would be records, else as text.
func (a *app) fail(s *settings, made bool, err error) error {
	if !s.machine() {
		k := a.plain(s)
		k.err = a.said(made)
		return k.failure(err)
	}
	k, err2 := a.sink(s)
	if err2 != nil {
		return err2
	}
	return k.failed(err)
}

// failed shows why there is no run, and ends the output; what goes wrong with that is told as well.
func (k *sink) failed(err error) error {
	status := k.failure(err)
	if err := k.close(); err != nil {
		_ = k.app.status(err)
	}
	return status
}

// close writes what is pending. That nobody reads any more is no failure.
func (k *sink) close() error {
	var err error
	sink := k.Sink
	if k.stacks != nil {
		sink = k.stacks.Sink
	}
	if c, ok := sink.(io.Closer); ok {
		err = c.Close()
	}
	if drawn := k.drawn(); err == nil {
		err = drawn
	}
	for _, f := range []*os.File{k.file, k.picture} {
		if f == nil {
			continue
		}
		if closed := f.Close(); err == nil {
			err = closed
		}
	}
	if err != nil && !output.Closed(err) {
		return &statusError{exitFailed, err}
	}
	return nil
}

// color: by BPFTRACE_COLOR if set; else if messages go to a terminal that can show it and NO_COLOR is not set.
func (a *app) color() bool {
	switch os.Getenv("BPFTRACE_COLOR") {
	case "always":
		return true
	case "never":
		return false
	}
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(a.err)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// width is how many characters a line of a terminal has, whatever it is at the moment.
func width(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
	}
	return 80
}

// said is where messages go; those of commands have no lines of a script, and end between words.
func (a *app) said(made bool) io.Writer {
	if made && isTerminal(a.err) {
		return folding{a.err}
	}
	return a.err
}

// folding writes messages to a terminal, whose lines end between words.
type folding struct{ io.Writer }

func (f folding) Write(text []byte) (int, error) {
	if _, err := f.Writer.Write(result.Fold(nil, string(text), width(f.Writer))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// tellCut says that texts were shortened.
func (k *sink) tellCut() {
	if k.fit != nil && k.fit.Cut {
		k.diagnostic(trocar.Diagnostic{
			Severity: result.Info, Text: "texts marked with … are shortened to fit the terminal: --full prints them in full",
		})
	}
}

// waiting shows on a terminal what is being done, if it takes long, until the function that it gives is called.
func (a *app) waiting(s *settings, what string) (done func()) {
	if s.quiet || s.machine() || !isTerminal(a.err) {
		return func() {}
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-end:
			return
		case <-time.After(300 * time.Millisecond):
		}
		fmt.Fprint(a.err, what)
		<-end
		fmt.Fprintf(a.err, "\r%s\r", strings.Repeat(" ", len(what)))
	}()
	return func() { close(end); <-ended }
}

// progress shows on a terminal how many probes are attached, if that takes longer than one notices.
func progress(w io.Writer) func(done, total int) {
	begin, last := time.Now(), time.Time{}
	shown := 0
	return func(done, total int) {
		now := time.Now()
		switch {
		case done == total && shown > 0:
			fmt.Fprintf(w, "\r%s\r", strings.Repeat(" ", shown))
			shown = 0
		case done < total && now.Sub(begin) > 300*time.Millisecond && now.Sub(last) > 100*time.Millisecond:
			n, _ := fmt.Fprintf(w, "\rattached %d of %d", done, total)
			shown, last = max(shown, n-1), now
		}
	}
}
