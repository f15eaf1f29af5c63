package match

import (
	"fmt"
	"strconv"
	"strings"

	"trocar/internal/binary/objfile"
	"trocar/internal/script/syntax"
)

// spec is an attach point taken apart. Which fields count depends on the kind.
type spec struct {
	ap   *syntax.AttachPoint
	kind *kind
	skip bool // it is one of several that a pattern for the kind was expanded to: what doesn't fit is left out silently

	parts  []string
	quoted []bool

	target string // path of a file, category, module, unit of time, event, trigger
	lang   string // "cpp", "rust", objfile.Exact
	tail   bool   // see Tail
	ns     string // USDT: provider
	fn     string // function, event or signal
	offset uint64 // behind the function's start
	hasOff bool
	addr   uint64
	isAddr bool
	file   string // source position file:line[:column]
	line   int
	column int

	freq   uint64 // of timers as written, in units of target; count of perf events, 0: default
	length uint64 // watchpoint
	mode   string
	pin    string // iter
	progID uint64 // fentry:bpf
}

// hasWildcard tells whether a part is a pattern. Brackets are part of Go's names, not of patterns.
func hasWildcard(s string) bool { return strings.Contains(s, "*") }

// pattern tells whether the name may mean several functions.
func (s *spec) pattern() bool { return s.lang != objfile.Exact && hasWildcard(s.fn) }

// argCount reports a wrong number of parts.
func (m *matcher) argCount(s *spec, want ...int) bool {
	if s.skip {
		return false
	}
	text := strconv.Itoa(want[0])
	if len(want) > 1 {
		text += fmt.Sprintf(" or %d", want[1])
	}
	d := m.diags.Errorf(s.ap.Span, "%s probe type requires %s arguments, found %d", s.kind.name, text, len(s.parts))
	d.Hint("the form is %s", s.kind.form)
	return false
}

// parseUint reads an integer as scripts write it: decimal, 0x…, 0…, with '_' between digits, or an exponent (1e9).
func parseUint(s string) (uint64, error) {
	bad := fmt.Errorf("invalid integer: %s", s)
	if s == "" || s[0] == '+' || s[0] == '-' {
		return 0, bad
	}
	if m, e, ok := strings.Cut(strings.ToLower(s), "e"); ok && !strings.HasPrefix(s, "0x") && !strings.HasPrefix(s, "0X") {
		n, err1 := strconv.ParseUint(strings.ReplaceAll(m, "_", ""), 10, 64)
		exp, err2 := strconv.ParseUint(e, 10, 8)
		if err1 != nil || err2 != nil || exp > 16 {
			return 0, bad
		}
		for range exp {
			if n > 1<<63/5 {
				return 0, bad
			}
			n *= 10
		}
		return n, nil
	}
	base := 10
	digits := s
	switch {
	case strings.HasPrefix(s, "0x"), strings.HasPrefix(s, "0X"):
		base, digits = 16, s[2:]
	case len(s) > 1 && s[0] == '0':
		base, digits = 8, s[1:]
	}
	if strings.HasPrefix(digits, "_") || strings.HasSuffix(digits, "_") {
		return 0, bad
	}
	n, err := strconv.ParseUint(strings.ReplaceAll(digits, "_", ""), base, 64)
	if err != nil {
		return 0, bad
	}
	return n, nil
}

// durations are the units a bare time may have, in nanoseconds.
var durations = []struct {
	unit string
	ns   uint64
}{{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}, {"d", 86400e9}}

// parseDuration reads "5s" or a number of nanoseconds.
func parseDuration(s string) (uint64, error) {
	for _, d := range durations {
		if digits, ok := strings.CutSuffix(s, d.unit); ok && digits != "" && digits[len(digits)-1] <= '9' {
			n, err := parseUint(digits)
			if err != nil || n > ^uint64(0)/d.ns {
				return 0, fmt.Errorf("invalid integer: %s", s)
			}
			return n * d.ns, nil
		}
	}
	return parseUint(s)
}
