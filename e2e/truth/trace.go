package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// traced is what the tracer shows of a run.
type traced struct {
	calls    map[int][]call    // by function, in order
	reasons  map[string]string // by function and name, why a value is not shown
	messages map[int][]string  // by function
	losses   []string
	stripped bool
	image    *image
}

type call struct {
	function string
	args     map[string]any
	result   any
	returned bool // with its result
	ended    bool // its return was seen
}

// maxTrace bounds the time of a trace.
const maxTrace = time.Minute

var (
	numbered = regexp.MustCompile(`\bf(\d+)\b`)
	tail     = regexp.MustCompile(
		`(?s)^(.*?): (where it ends in a tail call|only calls are shown, without .*|its result is not seen.*)`)
	notShown = regexp.MustCompile(`(?s)^(.*?): (\S+|the result|an argument) (?:is|are) not shown: (.*)$`)
)

// trace runs the program under the tracer.
func (o *options) trace(ctx context.Context, p *program, dir string) (*traced, error) {
	patterns := p.lang.patterns(p)
	for {
		t, err := o.traceOf(ctx, patterns, dir)
		var missing *missingError
		if !errors.As(err, &missing) {
			return t, err
		}
		// The compiler has left nothing of the function.
		n := len(patterns)
		if patterns = slices.DeleteFunc(patterns, func(s string) bool { return s == missing.name }); len(patterns) == n {
			return nil, err
		}
		p.gone(missing.name)
	}
}

// missingError tells a function that the tracer does not find.
type missingError struct{ name string }

func (e *missingError) Error() string { return "not found: " + e.name }

var noMatches = regexp.MustCompile(`no function (\S+) in \./program\."`)

func (o *options) traceOf(ctx context.Context, patterns []string, dir string) (*traced, error) {
	ctx, cancel := context.WithTimeout(ctx, maxTrace)
	defer cancel()
	out := filepath.Join(dir, "trace.json")
	args := append([]string{"trace", "-f", "json", "-o", out}, patterns...)
	args = append(args, "--", "./program")
	cmd := exec.CommandContext(ctx, o.trocar, args...)
	cmd.Dir = dir
	cmd.WaitDelay = 5 * time.Second
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	line := fmt.Sprintf("trocar %s\n", strings.Join(args, " "))
	if err := os.WriteFile(filepath.Join(dir, "command"), []byte(line), 0o644); err != nil {
		return nil, err
	}
	err := cmd.Run()
	data, readErr := os.ReadFile(out)
	if m := noMatches.FindSubmatch(data); err != nil && m != nil {
		return nil, &missingError{string(m[1])}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s%s", err, firstLines(stderr.Bytes(), 5), messagesOf(data))
	}
	if readErr != nil {
		return nil, readErr
	}
	return parseTrace(data)
}

// messagesOf are the messages of a trace that failed.
func messagesOf(data []byte) (s string) {
	for l := range bytes.Lines(data) {
		if !bytes.Contains(l, []byte(`"call"`)) && len(s) < 2000 {
			s += string(l)
		}
	}
	return s
}

func parseTrace(data []byte) (*traced, error) {
	t := &traced{calls: map[int][]call{}, reasons: map[string]string{}, messages: map[int][]string{}}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	for {
		var e event
		if err := d.Decode(&e); errors.Is(err, io.EOF) {
			return t, nil
		} else if err != nil {
			return nil, fmt.Errorf("the output of the tracer: %w", err)
		}
		switch e.Type {
		case "call":
			t.called(&e)
		case "message":
			t.message(e.Severity, e.Text)
		case "lost":
			t.message("lost", fmt.Sprint(e.Count, " ", e.What, " are lost"))
		case "attached", "end":
		default:
			t.losses = append(t.losses, "a record of type "+e.Type)
		}
	}
}

// event is one record of the tracer's.
type event struct {
	Type, Function string
	Arguments      map[string]any
	Result         json.RawMessage
	Duration       json.RawMessage `json:"duration_ns"`
	Severity, Text string
	What           string
	Count          json.Number
}

// called notes a call. One of which all arguments are too large to be kept has two records, of its begin and of its
// return.
func (t *traced) called(e *event) {
	n, ok := numberOf(e.Function)
	if !ok {
		return
	}
	c := call{function: e.Function, args: e.Arguments, returned: e.Result != nil, ended: e.Duration != nil}
	if e.Result != nil {
		d := json.NewDecoder(bytes.NewReader(e.Result))
		d.UseNumber()
		if err := d.Decode(&c.result); err != nil {
			t.losses = append(t.losses, err.Error())
		}
	}
	if e.Arguments == nil && c.ended {
		for i := range t.calls[n] {
			if begun := &t.calls[n][i]; !begun.ended && begun.args != nil {
				begun.result, begun.returned, begun.ended = c.result, c.returned, true
				return
			}
		}
	}
	t.calls[n] = append(t.calls[n], c)
}

// message notes why something is not shown.
func (t *traced) message(kind, text string) {
	for _, f := range numbered.FindAllString(text, -1) {
		n, _ := numberOf(f)
		t.messages[n] = append(t.messages[n], text)
	}
	m := notShown.FindStringSubmatch(text)
	if t := tail.FindStringSubmatch(text); t != nil && m == nil {
		m = []string{text, t[1], resultName, t[2]}
	}
	if m != nil {
		for _, f := range numbered.FindAllString(m[1], -1) {
			n, _ := numberOf(f)
			t.reasons[fmt.Sprint(n, " ", m[2])] = m[3]
		}
		if strings.Contains(m[1], " more") { // some of which the names are not told
			t.reasons["* "+m[2]] = m[3]
		}
		return
	}
	if kind != "info" {
		t.losses = append(t.losses, text)
	}
}

func numberOf(name string) (n int, ok bool) {
	m := numbered.FindStringSubmatch(name)
	if m == nil {
		return 0, false
	}
	_, err := fmt.Sscan(m[1], &n)
	return n, err == nil
}
