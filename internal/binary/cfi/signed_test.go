package cfi

import (
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"trocar/internal/binary/objfile"
	"trocar/internal/need"
)

// signedProgram is one for arm64 whose functions sign their return addresses.
func signedProgram(t *testing.T) string {
	return build(t, "aarch64-linux-gnu-gcc", "-O2", "-mbranch-protection=pac-ret+leaf", "testdata/signed.c")
}

var (
	fdeLine     = regexp.MustCompile(` FDE .* pc=([0-9a-f]+)\.\.([0-9a-f]+)`)
	advanceLine = regexp.MustCompile(`DW_CFA_advance_loc\d*: \d+ to ([0-9a-f]+)`)
)

// TestFramesARM64 is TestFrames for programs that do not run here.
func TestFramesARM64(t *testing.T) {
	t.Parallel()
	need.Tool(t, "readelf")
	program := signedProgram(t)
	witnessFrames(t, "/usr/aarch64-linux-gnu/lib/libc.so.6", ".eh_frame", 18000)
	witnessFrames(t, program, ".eh_frame", 20)
}

// TestSigned: where return addresses are signed is what the instructions say that readelf shows.
func TestSigned(t *testing.T) {
	t.Parallel()
	need.Tool(t, "readelf")
	path := signedProgram(t)
	out, err := exec.Command("readelf", "-W", "--debug-dump=frames", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	f, err := objfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	frames := Open(f)
	var low, end uint64
	var signed bool
	var kept []bool
	states := map[bool]int{}
	until := func(high uint64) {
		for at := low; at < high; at += 4 {
			row, err := frames.At(at)
			if err != nil || row.SignedAddr != signed {
				t.Errorf("%#x: signed is %v, not %v: %v", at, row.SignedAddr, signed, err)
			}
			states[signed]++
		}
		low = high
	}
	number := func(s string) uint64 {
		n, err := strconv.ParseUint(s, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for line := range strings.Lines(string(out)) {
		if m := fdeLine.FindStringSubmatch(line); m != nil {
			until(end)
			low, end, signed, kept = number(m[1]), number(m[2]), false, nil
		}
		switch m := advanceLine.FindStringSubmatch(line); {
		case m != nil:
			until(number(m[1]))
		case strings.Contains(line, "DW_CFA_AARCH64_negate_ra_state"):
			signed = !signed
		case strings.Contains(line, "DW_CFA_remember_state"):
			kept = append(kept, signed)
		case strings.Contains(line, "DW_CFA_restore_state"):
			signed, kept = kept[len(kept)-1], kept[:len(kept)-1]
		}
	}
	until(end)
	if states[true] < 30 || states[false] < 30 {
		t.Errorf("instructions: %v", states)
	}
}

// TestCallersSigned: the short rules are those of whole rows, on arm64, too.
func TestCallersSigned(t *testing.T) {
	t.Parallel()
	for _, path := range []string{signedProgram(t), "/usr/aarch64-linux-gnu/lib/libc.so.6"} {
		need.File(t, path)
		f, err := objfile.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		frames, rows := Open(f), Open(f)
		n := 0
		if err := frames.Callers(func(c *Caller) bool {
			row, err := rows.At(c.Low)
			want := Caller{
				c.Range, CallerRules{row.CFA, row.Rule(row.Return), row.Rule(f.Arch().FP)}, row.Signal,
			}
			same := func(a, b RegRule) bool { return a.Kind == b.Kind && (a.Kind != AtOffset || a.Offset == b.Offset) }
			if n++; err != nil || c.CFA.Reg != want.CFA.Reg || c.CFA.Offset != want.CFA.Offset || c.Signal != want.Signal ||
				!same(c.Return, want.Return) || !same(c.Frame, want.Frame) {
				t.Errorf("%s: %#x: %+v, not %+v: %v", path, c.Low, c, want, err)
				return false
			}
			return true
		}); err != nil {
			t.Error(err)
		}
		if n < 20 {
			t.Errorf("%s: %d rows", path, n)
		}
	}
}
