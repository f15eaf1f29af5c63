package debuginfo

import (
	"bufio"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/objfile"
	"trocar/internal/need"
)

// TestFrames compares the rows of call frame information with those that readelf interprets.
func TestFrames(t *testing.T) {
	t.Parallel()
	need.Tool(t, "readelf")
	for _, p := range []struct {
		name, path string
		section    string
		atLeast    int
	}{
		{"libc", "/lib/x86_64-linux-gnu/libc.so.6", ".eh_frame", 20000},
		{"C++", build(t, bookO2), ".eh_frame", 150},
		{"Rust", build(t, rustO0), ".eh_frame", 1000},
		{"Go", build(t, goProgram), ".debug_frame", 5000},
	} {
		t.Run(p.name, func(t *testing.T) { witnessFrames(t, p.path, p.section, p.atLeast) })
	}
}

func witnessFrames(t *testing.T, path, section string, atLeast int) {
	need.File(t, path)
	f, err := objfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	frames := NewFrames(f, nil, f.Arch())
	cmd := exec.Command("readelf", "-W", "--debug-dump=frames-interp", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var columns []string
	var last uint64
	inSection, inFDE := false, false
	rows, bad := 0, 0
	sc := bufio.NewScanner(out)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		line := sc.Text()
		if strings.HasPrefix(line, "Contents of the ") {
			inSection = strings.Contains(line, section+" ")
			continue
		}
		fields := strings.Fields(line)
		if !inSection || len(fields) == 0 {
			continue
		}
		switch {
		case strings.Contains(line, " CIE "):
			inFDE = false
		case strings.Contains(line, " FDE "):
			inFDE = true
		case fields[0] == "LOC":
			columns = fields
		case inFDE && len(fields) == len(columns) && len(fields[0]) == 16:
			addr, err := strconv.ParseUint(fields[0], 16, 64)
			if err != nil || addr == last {
				continue
			}
			last = addr
			row, err := frames.At(addr)
			if err != nil {
				if bad++; bad < 10 {
					t.Errorf("%#x: %v", addr, err)
				}
				continue
			}
			rows++
			for i, col := range columns[1:] {
				want := fields[i+1]
				if got := describeRule(&row, col); got != want && bad < 10 {
					bad++
					t.Errorf("%#x: %s is %q, readelf says %q", addr, col, got, want)
				}
			}
		}
	}
	_ = cmd.Wait() // readelf also fails for what it only warns of
	t.Logf("%d rows compared", rows)
	if rows < atLeast {
		t.Errorf("only %d rows were compared", rows)
	}
	n := 0
	var end uint64
	if err := frames.Each(func(r Row) bool {
		if r.Low >= r.High || r.Low < end {
			t.Errorf("row %#x to %#x behind %#x", r.Low, r.High, end)
			return false
		}
		end = r.High
		n++
		return true
	}); err != nil {
		t.Error(err)
	}
	if n < rows {
		t.Errorf("Each gave %d rows of %d", n, rows)
	}
}

// describeRule writes a rule as readelf does.
func describeRule(row *Row, col string) string {
	if col == "CFA" {
		if row.CFA.Expr != nil {
			return "exp"
		}
		return fmt.Sprintf("%s%+d", abi.AMD64.RegisterName(row.CFA.Reg), row.CFA.Offset)
	}
	reg := row.Return
	if col != "ra" {
		for reg = 0; reg < 17 && abi.AMD64.RegisterName(reg) != col; reg++ {
		}
	}
	found := false
	for _, s := range row.Saved {
		found = found || s.Reg == reg
	}
	rule := row.Rule(reg)
	switch {
	case !found:
		return "u"
	case rule.Kind == Undefined:
		return "u"
	case rule.Kind == SameValue:
		return "s"
	case rule.Kind == AtOffset:
		return fmt.Sprintf("c%+d", rule.Offset)
	case rule.Kind == ValueOffset:
		return fmt.Sprintf("v%+d", rule.Offset)
	case rule.Kind == AtExpr:
		return "exp"
	case rule.Kind == ValueExpr:
		return "vexp"
	}
	return abi.AMD64.RegisterName(int(rule.Offset))
}
