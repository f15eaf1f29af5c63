package match

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"trocar/internal/binary/types"
	"trocar/internal/near"
	"trocar/internal/order"
	"trocar/internal/process/probe"
	"trocar/internal/process/tracefs"
	"trocar/internal/script/diag"
)

// Tracepoints: the kernel's static events with records that tracefs describes.

// trace is tracefs, opened when something needs it and once for a matcher.
func (m *matcher) trace() (*tracefs.FS, error) {
	if m.tracefs == nil {
		f, err := tracefs.Open()
		if err != nil {
			return nil, err
		}
		m.tracefs = f
	}
	return m.tracefs, nil
}

func (m *matcher) closeTrace() {
	if m.tracefs != nil {
		m.tracefs.Close()
		m.tracefs = nil
	}
}

func parseTracepoint(m *matcher, s *spec) bool {
	parts := s.parts
	if len(parts) == 1 && hasWildcard(parts[0]) {
		parts = []string{"*", parts[0]} // the event's name is what people search for
	}
	if len(parts) != 2 {
		return m.argCount(s, 2)
	}
	s.target, s.fn = parts[0], parts[1]
	if s.target == "" || s.fn == "" {
		m.diags.Errorf(s.ap.Span, "tracepoint probe must have a target").Hint("the form is %s", s.kind.form)
		return false
	}
	return true
}

// event is a tracepoint.
type event struct{ category, name string }

// maxEvents bounds the tracepoints that are read; kernels have some thousand.
const maxEvents = 1 << 16

// events reads the names of all tracepoints, sorted.
func (m *matcher) events() (all []event, err error) {
	files, err := m.trace()
	if err != nil {
		return nil, err
	}
	err = files.Lines("available_events", func(line string) bool {
		if c, n, ok := strings.Cut(line, ":"); ok {
			all = append(all, event{strings.Clone(c), strings.Clone(n)})
		}
		return len(all) < maxEvents
	})
	order.By(all, func(a, b event) int {
		if c := strings.Compare(a.category, b.category); c != 0 {
			return c
		}
		return strings.Compare(a.name, b.name)
	})
	return all, err
}

// format is the file that describes an event's record.
func (e event) format() string { return "events/" + e.category + "/" + e.name + "/format" }

// tracepoints gives the events that a spec fits.
func (m *matcher) tracepoints(s *spec) ([]event, error) {
	if !hasWildcard(s.target) && !hasWildcard(s.fn) {
		e := event{s.target, s.fn}
		if strings.Contains(s.target+s.fn, "/") || !fs.ValidPath(e.format()) {
			return nil, nil
		}
		files, err := m.trace()
		if err != nil {
			return nil, err
		}
		if _, err := files.Stat(e.format()); err == nil {
			return []event{e}, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		_, err = files.Stat("events")
		return nil, err
	}
	all, err := m.events()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(e event) bool {
		return !matchGlob(s.target, e.category) ||
			!matchGlob(s.fn, e.name)
	}), nil
}

func matchTracepoint(m *matcher, s *spec) []*probe.Point {
	found, err := m.tracepoints(s)
	if err != nil {
		m.noTracefs(s, err)
		return nil
	}
	need := m.needs.Typed()
	var points []*probe.Point
	for _, e := range found {
		p := &probe.Point{
			Kind: probe.Tracepoint, Name: "tracepoint:" + e.category + ":" + e.name, Category: e.category, Event: e.name,
			PID: m.pid(),
		}
		if need {
			t, err := m.eventRecord(e, m.opts.KernelType)
			if err != nil {
				m.diags.Warnf(s.ap.Span, "the fields of %s cannot be read: %s", p.Name, err)
			} else {
				p.Scope = &probe.Scope{ArgsType: t}
			}
		}
		points = append(points, p)
	}
	if len(points) == 0 && !s.skip {
		if d := m.missing(s, "No matches for tracepoint %s:%s", s.target, s.fn); d != nil && !hasWildcard(s.target+s.fn) {
			m.nearEvents(s, d)
		}
	}
	return points
}

func (m *matcher) nearEvents(s *spec, d *diag.Diagnostic) {
	all, err := m.events()
	if err != nil {
		return
	}
	var names, other []string
	for _, e := range all {
		if e.category == s.target {
			names = append(names, e.name)
		}
		if e.name == s.fn {
			other = append(other, e.category+":"+e.name)
		}
	}
	switch n := near.Names(s.fn, names); {
	case len(other) > 0:
		d.Hint("did you mean %s?", near.List(other[:min(3, len(other))]))
	case len(n) > 0:
		d.Hint("did you mean %s:%s?", s.target, near.List(n))
	}
}

func (m *matcher) noTracefs(s *spec, err error) {
	if s.skip {
		return
	}
	d := m.diags.Errorf(s.ap.Span, "the kernel's tracepoints cannot be read: %s", err)
	switch {
	case errors.Is(err, fs.ErrPermission):
		d.Hint("run as root")
	case errors.Is(err, tracefs.ErrNone):
		d.Hint("tracepoints need a kernel with CONFIG_TRACING; before Linux 5.2, mount them: mount -t tracefs tracefs " +
			"/sys/kernel/tracing")
	}
}

// eventRecord reads the type of an event's record from its format file.
func (m *matcher) eventRecord(e event, named func(string) *types.Type) (*types.Type, error) {
	files, err := m.trace()
	if err != nil {
		return nil, err
	}
	text, err := files.ReadFile(e.format())
	if err != nil {
		return nil, err
	}
	return parseFormat(e, string(text), named)
}

// parseFormat reads lines of the form
//
//	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
//
// of Documentation/trace/events.rst, section 2.2. Types of the kernel are looked up by named (nil: there are none).
// The fields that all events have (struct trace_entry) are left out: where they are in the record, a program of BPF
// finds something of the kernel's own.
func parseFormat(e event, text string, named func(string) *types.Type) (*types.Type, error) {
	t := &types.Type{Kind: types.Struct, Name: "struct " + e.category + ":" + e.name, Align: 1}
	// Pointers in records of system calls are the caller's.
	r := recordTypes{space: types.Kernel, named: named}
	if e.category == "syscalls" {
		r.space, r.words = types.User, strings.HasPrefix(e.name, "sys_enter_")
	}
	described := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "field:") {
			continue
		}
		f, size, err := r.field(line)
		if err != nil {
			return nil, err
		}
		if described = true; f.Offset+size > entryHead {
			t.Fields = append(t.Fields, f)
			t.Size = max(t.Size, f.Offset+size)
		}
	}
	if !described {
		return nil, fmt.Errorf("no fields are described")
	}
	return t, nil
}

// entryHead is the size of what all events begin with (struct trace_entry).
const entryHead = 8
