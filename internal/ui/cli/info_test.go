package cli

import (
	"bytes"
	"context"
	"math"
	"strings"
	"testing"
)

func TestParseLines(t *testing.T) {
	for _, c := range []struct {
		text, file string
		from, to   int
		wrong      bool
	}{
		{text: "a.c:5", file: "a.c", from: 5, to: 5},
		{text: "src/a.c:5-10", file: "src/a.c", from: 5, to: 10},
		{text: "a.c", file: "a.c", from: 1, to: math.MaxInt32},
		{text: "a.c:10-5", wrong: true},
		{text: "a.c:x", wrong: true},
		{text: "a.c:5-", wrong: true},
		{text: "a.c:-5", wrong: true},
		{text: "a.c:99999999999", wrong: true},
	} {
		file, from, to, err := parseLines(c.text)
		if (err != nil) != c.wrong || err == nil && (file != c.file || from != c.from || to != c.to) {
			t.Errorf("%s: %q %d %d %v", c.text, file, from, to, err)
		}
	}
}

func TestRecipeCommands(t *testing.T) {
	for _, c := range []struct {
		args   []string
		status int
		want   string // on stdout or stderr
	}{
		{[]string{"trace", "--help"}, exitDone, "--args"},
		{[]string{"trace", "f"}, exitUsage, "nothing to trace; give -p PID"},
		{[]string{"trace", "-c", "true"}, exitUsage, "a function name is required"},
		{[]string{"trace", "-c", "true", "f", "--", "false"}, exitUsage, "given twice"},
		{[]string{"trace", "-p", "1", "f", "--", "false"}, exitUsage, "not both"},
		{[]string{"trace", "-p", "x", "f"}, exitUsage, "-p $(pgrep -n x)"},
		{[]string{"trace", "-p", "a b", "f"}, exitUsage, "-p $(pgrep -n 'a b')"},
		{[]string{"trace", "--depth", "x", "f"}, exitUsage, "--depth x: it takes a whole number"},
		{[]string{"profile", "-x", "true"}, exitUsage, "-x is a flag of trace, "},
		{[]string{"trace", "libstdc++:*"}, exitUsage, "trace -x libstdc++ \\*"},
		{[]string{"trace", "-f", "yaml", "-c", "true", "f"}, exitUsage, "Invalid output format"},
		{[]string{"trace", "--min", "5x", "-c", "true", "f"}, exitUsage, "invalid argument"},
		{[]string{"trace", "-x", "/nonexistent", "f"}, exitNoMatch, "/nonexistent"},
		{[]string{"latency", "--args", "x", "f"}, exitUsage, "unknown flag"},
		{[]string{"info"}, exitUsage, "a target is required"},
		{[]string{"info", "-p", "1", "/proc/self/exe"}, exitUsage, "only one"},
		{[]string{"info", "-p", "self"}, exitUsage, "invalid integer: self"},
		{[]string{"info", "-x", "/proc/self/exe"}, exitDone, "Go"},
		{[]string{"info", "/nonexistent"}, exitNoMatch, "no such file"},
		{[]string{"info", "/proc/self/exe", "--lines", "x:y"}, exitUsage, "FILE:N-M"},
		{[]string{"info", "/proc/self/exe"}, exitDone, "Go"},
	} {
		var out, errOut bytes.Buffer
		a := &app{name: "trocar", in: strings.NewReader(""), out: &out, err: &errOut}
		status := a.main(context.Background(), c.args)
		if status != c.status || !strings.Contains(out.String()+errOut.String(), c.want) {
			t.Errorf("%q: status %d, not %d: %s%s", c.args, status, c.status, out.String(), errOut.String())
		}
	}
}
