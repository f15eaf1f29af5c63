package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// fake is a tracer that is a shell script.
func fake(t *testing.T, name, script string) *tracer {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return &tracer{name: name, path: path}
}

// TestPeerFails: the row goes on with the next tracer, and what failed is named.
func TestPeerFails(t *testing.T) {
	s := &stage{tracers: []*tracer{
		fake(t, "ours", "echo "+notice+"; exec sleep 60"),
		fake(t, "broken", "echo 'no such event' >&2; exit 1"),
		fake(t, "stuck", "echo 'still looking' >&2; exec sleep 60"),
		fake(t, "last", "echo "+notice+"; exec sleep 60"),
	}}
	var attached []string
	measure := func(tracer *tracer) error {
		wait := time.Minute
		if tracer.name == "stuck" {
			wait = 100 * time.Millisecond
		}
		session, err := tracer.trace(wait)
		if err != nil {
			return err
		}
		attached = append(attached, tracer.name)
		session.kill()
		return nil
	}
	for range mostLate + 1 {
		s.each("a row", measure)
	}
	if got, want := strings.Join(attached, " "), strings.Repeat("ours last ", mostLate+1); got+" " != want {
		t.Errorf("measured %q, want %q", got, want)
	}
	var told []string
	for _, f := range s.failures {
		told = append(told, s.tracers[f.tracer].name+": "+f.err.Error())
	}
	for i, want := range []string{
		"broken: did not attach (exit status 1): no such event",
		"stuck: did not attach within 100ms",
	} {
		if !strings.HasPrefix(told[i], want) {
			t.Errorf("%q, want %q", told[i], want)
		}
	}
	if last := told[len(told)-1]; last != "stuck: not tried: it was too late 2 times" {
		t.Errorf("%q: it was waited for again", last)
	}
}

// TestRows: -row chooses rows, whatever group they are of.
func TestRows(t *testing.T) {
	rows := []row{{what: "memory then"}, {what: "events lost"}}
	for expression, want := range map[string]int{"": 2, "memory": 1, "lost|then": 2, "none": 0} {
		s := &stage{}
		if expression != "" {
			s.wanted = regexp.MustCompile(expression)
		}
		if got := len(s.keep(slices.Clone(rows)...)); got != want {
			t.Errorf("-row %q: %d rows, want %d", expression, got, want)
		}
		if got := s.wants("memory then", "events lost"); got != (want > 0) {
			t.Errorf("-row %q: group wanted: %v", expression, got)
		}
	}
}
