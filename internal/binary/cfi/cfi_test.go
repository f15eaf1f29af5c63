package cfi

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
		{"C++", build(t, "g++", "-std=c++17", "-O2", testdata+"book.cpp"), ".eh_frame", 150},
		{"Rust", build(t, "rustc", testdata+"shapes.rs"), ".eh_frame", 1000},
		{"Go", buildGo(t), ".debug_frame", 5000},
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
	frames := Open(f)
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
				if f.Arch() == abi.ARM64 && col[0] == 'v' {
					continue // rules of vector registers are not kept
				}
				want := fields[i+1]
				if got := describeRule(f.Arch(), &row, col); got != want && bad < 10 {
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
	if err := frames.Each(func(r *Row) bool {
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
func describeRule(cpu *abi.Arch, row *Row, col string) string {
	if col == "CFA" {
		if row.CFA.Expr != nil {
			return "exp"
		}
		return fmt.Sprintf("%s%+d", cpu.RegisterName(row.CFA.Reg), row.CFA.Offset)
	}
	reg := row.Return
	if col != "ra" {
		for reg = 0; reg < maxFrameRegs && cpu.RegisterName(reg) != col; reg++ {
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
	return cpu.RegisterName(int(rule.Offset))
}

// TestStripped: .eh_frame stays in a file without symbols and debug information, and tells the same of it.
func TestStripped(t *testing.T) {
	t.Parallel()
	need.Tool(t, "strip")
	full := build(t, "gcc", "-O2", "-g", testdata+"plain.c")
	bare := full + ".stripped"
	if out, err := exec.Command("strip", "--strip-all", "-o", bare, full).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	open := func(path string) *objfile.File {
		f, err := objfile.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	f, stripped := open(full), Open(open(bare))
	names := 0
	if err := f.Functions(func(s *objfile.Symbol) bool {
		r, ok := stripped.Function(s.Addr)
		if !ok || s.Size == 0 {
			return true // what belongs to no compiler's code
		}
		names++
		if r.Low != s.Addr || r.High < s.Addr+s.Size {
			t.Errorf("%s from %#x, %d bytes: %#x", s.Name, s.Addr, s.Size, r)
		}
		for _, addr := range []uint64{r.Low, r.High - 1} {
			want, err := Open(f).At(addr)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := stripped.At(addr); err != nil || got.CFA.Reg != want.CFA.Reg || got.CFA.Offset != want.CFA.Offset {
				t.Errorf("%s at %#x: %+v, %v, not %+v", s.Name, addr, got.CFA, err, want.CFA)
			}
			if r2, ok := stripped.Function(addr); !ok || r2 != r {
				t.Errorf("%#x is in %#x, not %#x", addr, r2, r)
			}
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if names < 5 {
		t.Errorf("only %d functions", names)
	}
	for _, addr := range []uint64{0x40, 1 << 62} {
		if r, ok := stripped.Function(addr); ok {
			t.Errorf("%#x is in %#x", addr, r)
		}
		if _, err := stripped.At(addr); !errors.Is(err, ErrNotFound) {
			t.Errorf("%#x: %v", addr, err)
		}
	}
}

// TestEachAllocates: unwinding tables are made of all rows of large files.
func TestEachAllocates(t *testing.T) {
	f, err := objfile.Open(build(t, "gcc", "-O2", testdata+"plain.c"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	frames, rows := Open(f), 0
	frames.Each(func(*Row) bool { rows++; return true })
	allocs := testing.AllocsPerRun(3, func() { frames.Each(func(*Row) bool { return true }) })
	if rows < 20 || allocs > 10 {
		t.Errorf("%v allocations for %d rows", allocs, rows)
	}
}

const testdata = "../debuginfo/testdata/"

// build compiles a program, if the compiler is here.
func build(t testing.TB, args ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "program")
	compile(t, exec.Command(args[0], append(args[1:], "-o", out)...))
	return out
}

func buildGo(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	source, err := os.ReadFile(testdata + "gokinds.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"main.go": source, "go.mod": []byte("module kinds\n\ngo 1.26\n")} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "build", "-o", "program", ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	compile(t, cmd)
	return filepath.Join(dir, "program")
}

func compile(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	need.Tool(t, cmd.Args[0])
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
}

// TestHostile: entries that are small, and share large ones by turns, don't have each of them read for each function.
func TestHostile(t *testing.T) {
	t.Parallel()
	const functions, large = 20000, 1 << 20
	var b []byte
	word := func(v int) { b = binary.LittleEndian.AppendUint32(b, uint32(v)) }
	var at [2]int
	for i := range at {
		at[i] = len(b)
		word(4 + 9 + large)
		word(0)
		b = append(b, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0) // absolute addresses of 8 bytes
		b = append(b, make([]byte, large)...)            // DW_CFA_nop
	}
	for i := range functions {
		word(4 + 16 + 1)
		word(len(b) - at[i%2])
		b = binary.LittleEndian.AppendUint64(b, uint64(0x1000+16*i))
		b = binary.LittleEndian.AppendUint64(b, 16)
		b = append(b, 0)
	}
	word(0)
	table := New(fakeSections{".eh_frame": b}, abi.AMD64, func() Sections { return nil })
	if err := table.Callers(func(c *Caller) bool {
		t.Errorf("%+v", c)
		return false
	}); err != nil {
		t.Error(err)
	}
}
