package probe

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"trocar/internal/binary/types"
	"trocar/internal/script/diag"
)

// Tracepoints: the kernel's static events with records that tracefs describes.

// tracefs is where the kernel's trace files are, on old systems in debugfs.
func tracefs(name string) string {
	for _, dir := range []string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"} {
		if _, err := os.Stat(dir + "/events"); err == nil {
			return filepath.Join(dir, name)
		}
	}
	return filepath.Join("/sys/kernel/tracing", name)
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
		m.diags.Errorf(s.ap.Span, "tracepoint probe must have a target").Hint("the form is %s", form(Tracepoint))
		return false
	}
	return true
}

// event is a tracepoint.
type event struct{ category, name string }

// maxEvents bounds the tracepoints that are read; kernels have some thousand.
const maxEvents = 1 << 16

// events reads the names of all tracepoints, sorted.
func events() (all []event, err error) {
	err = eachLine(tracefs("available_events"), func(line string) bool {
		if c, n, ok := strings.Cut(line, ":"); ok {
			all = append(all, event{strings.Clone(c), strings.Clone(n)})
		}
		return len(all) < maxEvents
	})
	slices.SortFunc(all, func(a, b event) int {
		if c := strings.Compare(a.category, b.category); c != 0 {
			return c
		}
		return strings.Compare(a.name, b.name)
	})
	return all, err
}

// eachLine calls f with the lines of a file until it returns false. The line is only good during the call.
func eachLine(path string, f func(string) bool) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	sc := bufio.NewScanner(file)
	sc.Buffer(make([]byte, 64<<10), 1<<20)
	for sc.Scan() {
		if !f(sc.Text()) {
			break
		}
	}
	return sc.Err()
}

// tracepoints gives the events that a spec fits.
func tracepoints(s *spec) ([]event, error) {
	if !hasWildcard(s.target) && !hasWildcard(s.fn) {
		if strings.Contains(s.target+s.fn, "/") {
			return nil, nil
		}
		if _, err := os.Stat(filepath.Join(tracefs("events"), s.target, s.fn, "format")); err == nil {
			return []event{{s.target, s.fn}}, nil
		} else if !os.IsNotExist(err) {
			return nil, err
		}
		if _, err := os.Stat(tracefs("events")); err != nil {
			return nil, err
		}
		return nil, nil
	}
	all, err := events()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(e event) bool { return !matchGlob(s.target, e.category) || !matchGlob(s.fn, e.name) }), nil
}

func matchTracepoint(m *matcher, s *spec) []*Point {
	found, err := tracepoints(s)
	if err != nil {
		m.noTracefs(s, err)
		return nil
	}
	need := m.needArgs(s)
	var points []*Point
	for _, e := range found {
		p := &Point{Kind: Tracepoint, Name: "tracepoint:" + e.category + ":" + e.name, Category: e.category, Event: e.name, PID: m.pid()}
		if need {
			t, err := eventRecord(e)
			if err != nil {
				m.diags.Warnf(s.ap.Span, "the fields of %s cannot be read: %s", p.Name, err)
			} else {
				p.Scope = &Scope{ArgsType: t}
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
	all, err := events()
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
	switch n := near(s.fn, names); {
	case len(other) > 0:
		d.Hint("did you mean %s?", orList(other[:min(3, len(other))]))
	case len(n) > 0:
		d.Hint("did you mean %s:%s?", s.target, orList(n))
	}
}

func (m *matcher) noTracefs(s *spec, err error) {
	if s.skip {
		return
	}
	d := m.diags.Errorf(s.ap.Span, "the kernel's events cannot be read: %s", err)
	if os.IsPermission(err) {
		d.Hint("run as root")
	} else {
		d.Hint("mount them: mount -t tracefs tracefs /sys/kernel/tracing")
	}
}

// maxFormat bounds the description of one event.
const maxFormat = 1 << 20

// eventRecord reads the type of an event's record from its format file.
func eventRecord(e event) (*types.Type, error) {
	f, err := os.Open(filepath.Join(tracefs("events"), e.category, e.name, "format"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	buf := make([]byte, 8192)
	var text []byte
	for len(text) < maxFormat {
		n, err := f.Read(buf)
		text = append(text, buf[:n]...)
		if err != nil || n == 0 {
			break
		}
	}
	return parseFormat(e, string(text))
}

// parseFormat reads lines of the form
//
//	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
//
// of Documentation/trace/events.rst, section 2.2.
func parseFormat(e event, text string) (*types.Type, error) {
	t := &types.Type{Kind: types.Struct, Name: "struct " + e.category + ":" + e.name, Align: 1}
	// Pointers in records of system calls are the caller's.
	space := types.Kernel
	if e.category == "syscalls" {
		space = types.User
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "field:") {
			continue
		}
		f, size, err := parseField(line, space)
		if err != nil {
			return nil, err
		}
		t.Fields = append(t.Fields, f)
		t.Size = max(t.Size, f.Offset+size)
	}
	if len(t.Fields) == 0 {
		return nil, fmt.Errorf("no fields are described")
	}
	return t, nil
}

// maxRecord is the largest record the kernel makes (PERF_MAX_TRACE_SIZE is 8192).
const maxRecord = 1 << 16

func parseField(line string, space types.Space) (f types.Field, size int, err error) {
	part := func(key string) string {
		_, rest, _ := strings.Cut(line, key)
		value, _, _ := strings.Cut(rest, ";")
		return value
	}
	decl := part("field:")
	offset, err1 := strconv.Atoi(part("offset:"))
	size, err2 := strconv.Atoi(part("size:"))
	if err1 != nil || err2 != nil || offset < 0 || size < 0 || offset+size > maxRecord {
		return f, 0, fmt.Errorf("cannot be understood: %q", line)
	}
	signed := part("signed:") == "1"
	i := strings.LastIndexAny(decl, " \t*")
	if i < 0 {
		return f, 0, fmt.Errorf("cannot be understood: %q", line)
	}
	typ, name := strings.TrimSpace(decl[:i+1]), decl[i+1:]
	f.Offset = offset

	length := -1
	if j := strings.IndexByte(name, '['); j >= 0 {
		length = 0
		if n, err := strconv.Atoi(strings.TrimSuffix(name[j+1:], "]")); err == nil {
			length = n
		}
		name = name[:j]
	}
	f.Name = name
	switch {
	case strings.HasPrefix(typ, "__data_loc"), strings.HasPrefix(typ, "__rel_loc"):
		if strings.HasPrefix(typ, "__rel_loc") {
			// Relative to the field itself: not the form that DataLoc stands for.
			f.Type = types.IntOf(4, false)
			break
		}
		elem := types.TChar
		if word := strings.TrimSuffix(strings.TrimSpace(strings.TrimPrefix(typ, "__data_loc")), "[]"); word != "char" {
			elem = namedInt(strings.TrimSpace(word), 1, false)
		}
		f.Type, f.DataLoc = types.PointerTo(elem, types.Kernel), true
	case length >= 0:
		// The elements' size is not told, but follows from the number.
		if length == 0 || size%length != 0 {
			f.Type = types.ArrayOf(types.TUint8, size)
			break
		}
		n := size / length
		switch {
		case typ == "char" && n == 1:
			f.Type = types.ArrayOf(types.TChar, length)
		case n == 1 || n == 2 || n == 4 || n == 8:
			f.Type = types.ArrayOf(namedInt(typ, n, signed), length)
		default:
			f.Type = types.ArrayOf(types.TUint8, size)
		}
	case strings.HasSuffix(typ, "*") && size == 8:
		f.Type = types.PointerTo(pointee(strings.TrimSpace(strings.TrimSuffix(typ, "*"))), space)
	case size == 1 || size == 2 || size == 4 || size == 8:
		f.Type = namedInt(typ, size, signed)
	default:
		f.Type = types.ArrayOf(types.TUint8, size)
	}
	return f, size, nil
}

// namedInt is an integer with the name that the kernel uses for it.
func namedInt(name string, size int, signed bool) *types.Type {
	if name == "bool" && size == 1 {
		return types.TBool
	}
	if name == "char" && size == 1 {
		return types.TChar
	}
	return &types.Type{Kind: types.Int, Name: name, Size: size, Align: size, Signed: signed}
}

// pointee is what a pointer of a record points to, as far as its name tells.
func pointee(name string) *types.Type {
	name = strings.TrimSpace(strings.TrimPrefix(name, "const "))
	switch {
	case name == "char":
		return types.TChar
	case name == "void", strings.HasSuffix(name, "*"):
		return types.TVoid
	case strings.HasPrefix(name, "struct "), strings.HasPrefix(name, "union "):
		k := types.Struct
		if name[0] == 'u' {
			k = types.Union
		}
		return &types.Type{Kind: k, Name: name, Incomplete: true}
	}
	for _, t := range []struct {
		name string
		size int
		sign bool
	}{
		{"int", 4, true}, {"unsigned int", 4, false}, {"long", 8, true}, {"unsigned long", 8, false}, {"short", 2, true},
		{"size_t", 8, false}, {"u8", 1, false}, {"u16", 2, false}, {"u32", 4, false}, {"u64", 8, false}, {"loff_t", 8, true},
	} {
		if t.name == name {
			return types.IntOf(t.size, t.sign)
		}
	}
	return types.TVoid
}
