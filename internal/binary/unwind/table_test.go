package unwind

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"trocar/internal/binary/cfi"
	"trocar/internal/binary/objfile"
	"trocar/internal/need"
)

const testdata = "../debuginfo/testdata/"

func build(t testing.TB, args ...string) string {
	t.Helper()
	need.Tool(t, args[0])
	out := filepath.Join(t.TempDir(), "program")
	if text, err := exec.Command(args[0], append(args[1:], "-o", out)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, text)
	}
	return out
}

func open(t testing.TB, path string) *objfile.File {
	t.Helper()
	need.File(t, path)
	f, err := objfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func compile(t testing.TB, f *objfile.File, rules *Rules) *Table {
	t.Helper()
	table, err := Compile(f, cfi.Open(f), rules)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestTable compares all rows with what readelf makes of them.
func TestTable(t *testing.T) {
	t.Parallel()
	need.Tool(t, "readelf")
	for _, p := range []struct {
		name, path string
		atLeast    int
	}{
		{"libc", "/lib/x86_64-linux-gnu/libc.so.6", 20000},
		{"libcrypto", "/usr/lib/x86_64-linux-gnu/libcrypto.so.3", 20000},
		{"bash", "/bin/bash", 10000},
		{"realigned", build(t, "gcc", "-O2", "-fomit-frame-pointer", "testdata/realign.c"), 10},
		{"C++", build(t, "g++", "-std=c++17", "-O2", testdata+"book.cpp"), 150},
		{"Rust", build(t, "rustc", testdata+"shapes.rs"), 1000},
	} {
		t.Run(p.name, func(t *testing.T) { witness(t, p.path, p.atLeast) })
	}
}

// TestGap: neither padding nor assembly without call frame information that is as small is part of the function in
// front.
func TestGap(t *testing.T) {
	t.Parallel()
	f := open(t, build(t, "gcc", "-O2", "-fno-toplevel-reorder", "testdata/gap.c"))
	rules := NewRules()
	table := compile(t, f, rules)
	at := map[string]uint64{}
	if err := f.Functions(func(s *objfile.Symbol) bool {
		at[s.Name] = s.Addr
		return true
	}); err != nil {
		t.Fatal(err)
	}
	entered := at["entered"]
	for a := entered; a < entered+8; a++ {
		if rule := table.Find(a); rule != 0 {
			t.Errorf("entered+%d: the rule is %+v", a-entered, rules.At(rule))
		}
	}
	for _, name := range []string{"first", "second"} {
		if rule := table.Find(at[name]); rule == 0 {
			t.Errorf("%s has no rule", name)
		}
	}
}

// readelfRow is a row as readelf writes it.
type readelfRow struct {
	addr           uint64
	cfa, frame, ra string
	signal         bool
}

func readelf(t *testing.T, path string, yield func(readelfRow)) {
	t.Helper()
	cmd := exec.Command("readelf", "-W", "--debug-dump=frames-interp", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var columns []string
	section, entry, signals := false, false, map[string]bool{}
	var cie string
	var end uint64
	sc := bufio.NewScanner(out)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		line := sc.Text()
		fields := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "Contents of the "):
			section = strings.Contains(line, ".eh_frame ")
		case !section || len(fields) == 0:
		case strings.Contains(line, " CIE "):
			entry, signals[fields[0]] = false, strings.Contains(line, `"zRS"`)
		case strings.Contains(line, " FDE "):
			entry = true
			_, cie, _ = strings.Cut(line, "cie=")
			cie, _, _ = strings.Cut(cie, " ")
			_, high, _ := strings.Cut(line, "..")
			end, _ = strconv.ParseUint(high, 16, 64)
		case fields[0] == "LOC":
			columns = fields
		case entry && len(fields) == len(columns) && len(fields[0]) == 16:
			addr, err := strconv.ParseUint(fields[0], 16, 64)
			if err != nil || addr >= end { // some rows begin behind their function
				continue
			}
			row := readelfRow{addr: addr, frame: "u", signal: signals[cie]}
			for i, c := range columns {
				switch c {
				case "CFA":
					row.cfa = fields[i]
				case "rbp":
					row.frame = fields[i]
				case "ra":
					row.ra = fields[i]
				}
			}
			yield(row)
		}
	}
	_ = cmd.Wait() // readelf also fails for what it only warns of
}

func witness(t *testing.T, path string, atLeast int) {
	f := open(t, path)
	rules := NewRules()
	table := compile(t, f, rules)
	rows := map[uint64]readelfRow{} // the last of those at one address holds
	readelf(t, path, func(r readelfRow) { rows[r.addr] = r })
	bad, odd := 0, 0
	for addr, want := range rows {
		rule := rules.At(table.Find(addr))
		cfa, frame := rule.describe()
		switch {
		case want.signal && rule.Kind == Signal, want.ra == "u" && rule.Kind == Stop:
		case want.ra != "c-8" || rule.Kind == None:
			odd++
		case want.cfa == cfa && (want.frame == frame || rule.Saved == Lost):
		default:
			if bad++; bad < 10 {
				t.Errorf("%#x: CFA %s, frame pointer %s (%v); readelf says %+v", addr, cfa, frame, rule, want)
			}
		}
	}
	t.Logf("%d rows, %d without a rule, %d rules, %d words", len(rows), odd, rules.Len(), table.Words(0))
	if len(rows) < atLeast {
		t.Errorf("only %d rows were compared", len(rows))
	}
	if odd*1000 > len(rows) && odd > 2 {
		t.Errorf("%d of %d rows have no rule", odd, len(rows))
	}
}

// describe writes a rule as readelf does.
func (r Rule) describe() (cfa, frame string) {
	names := map[int]string{
		0: "r15", 1: "r14", 2: "r13", 3: "r12", 5: "rbx", 6: "r11", 7: "r10", 8: "r9", 9: "r8", 10: "rax", 11: "rcx",
		12: "rdx", 13: "rsi", 14: "rdi",
	}
	switch r.Kind {
	case Stack:
		cfa = fmt.Sprintf("rsp%+d", r.Offset)
	case Frame:
		cfa = fmt.Sprintf("rbp%+d", r.Offset)
	case Register:
		cfa = fmt.Sprintf("%s%+d", names[int(r.Arg)], r.Offset)
	case Deref, PLT, StackDeref:
		cfa = "exp"
	case None, Stop, Signal, FP:
	}
	switch r.Saved {
	case Kept:
		frame = "u"
	case AtFrame:
		frame = "exp"
	case Lost:
		frame = "?"
	default:
		frame = fmt.Sprintf("c%+d", r.Saved)
	}
	return cfa, frame
}

// into copies parts to where they belong.
func into(t *testing.T, words []uint32) func(uint32, []uint32) error {
	return func(at uint32, part []uint32) error {
		if len(part) > 0 && at/ChunkWords != (at+uint32(len(part))-1)/ChunkWords {
			t.Errorf("a part of %d words from %d on is in two chunks", len(part), at)
		}
		copy(words[at:], part)
		return nil
	}
}

// TestPlace: the words where a program searches give the same rules.
func TestPlace(t *testing.T) {
	t.Parallel()
	rules := NewRules()
	table := compile(t, open(t, "/lib/x86_64-linux-gnu/libc.so.6"), rules)
	words := make([]uint32, 4*ChunkWords)
	for _, at := range []uint32{0, ChunkWords - 700, ChunkWords - 9000, 3000} {
		end, err := table.Place(at, into(t, words))
		if err != nil {
			t.Fatal(err)
		}
		if end-at > uint32(table.Words(at)) {
			t.Errorf("at %d: %d words, said to be at most %d", at, end-at, table.Words(at))
		}
		for addr := table.Low; addr < table.High; addr += 3 {
			index := words[at+uint32((addr-table.Low)>>8)]
			first, n := index&0xffffff, index>>24+1
			if first>>16 != (first+n-1)>>16 {
				t.Fatalf("rows %d to %d are in two chunks", first, first+n-1)
			}
			var found uint32
			for _, row := range words[first : first+n] {
				if row&0xff <= uint32(addr&0xff) {
					found = row >> 8
				}
			}
			if want := table.Find(addr); uint16(found) != want {
				t.Fatalf("%#x: rule %d, not %d", addr, found, want)
			}
		}
	}
	if _, err := table.Place(MaxWords-ChunkWords/2, into(t, words)); err == nil {
		t.Error("a table was written where there is no room")
	}
}

// TestGo: Go's own table of the stack says what its call frame information says, and stays where that is stripped.
func TestGo(t *testing.T) {
	t.Parallel()
	need.Tool(t, "go")
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
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f := open(t, filepath.Join(dir, "program"))
	rules := NewRules()
	table := compile(t, f, rules)
	same, other := 0, 0
	if err := cfi.Open(f).Callers(func(c *cfi.Caller) bool {
		switch rule := rules.At(table.Find(c.Low)); {
		case rule.Kind == Stack && c.CFA.Reg == 7 && int64(rule.Offset) == c.CFA.Offset:
			same++
		case rule.Kind == Stop, rule.Kind == FP:
		default:
			if other++; other < 10 {
				t.Errorf("%#x: %v, .debug_frame says %+v", c.Low, rule, *c)
			}
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d rows are as in .debug_frame", same)
	if same < 5000 {
		t.Errorf("only %d rows were compared", same)
	}
}

func BenchmarkCompile(b *testing.B) {
	for _, path := range []string{
		"/lib/x86_64-linux-gnu/libc.so.6", "/bin/bash", "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1",
	} {
		b.Run(filepath.Base(path), func(b *testing.B) {
			f := open(b, path)
			var table *Table
			b.ReportAllocs()
			for b.Loop() {
				table = compile(b, f, NewRules())
			}
			b.ReportMetric(float64(4*table.Words(0)), "tablebytes")
			b.ReportMetric(float64(table.Rows()), "rows")
		})
	}
}

// TestStubs: the jumps to functions that are chosen at the start of a static program leave the stack as it is; those of
// other programs, which push, are known by their call frame information alone.
func TestStubs(t *testing.T) {
	source := filepath.Join(t.TempDir(), "a.c")
	text := "#include <string.h>\nint main(int n, char **v) { return strlen(v[0]) + (strchr(v[0], n) != 0); }\n"
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"-static", "-static-pie", "-pie"} {
		f := open(t, build(t, "gcc", "-O2", "-fno-builtin", how, source))
		rules := NewRules()
		table := compile(t, f, rules)
		plt, ok := f.Section(".plt")
		if !ok {
			t.Fatalf("%s: no .plt", how)
		}
		want := Rule{Kind: Stack, Offset: 8}
		for at := plt.Addr; at < plt.Addr+plt.Size; at++ {
			rule := rules.At(table.Find(at))
			if how == "-static" && rule != want || rule.Kind == None {
				t.Errorf("%s: %#x: %+v", how, at, rule)
			}
		}
	}
	for _, b := range []string{"\xff\x35\x00\x00\x00\x00\xff\x25\x00\x00\x00\x00", "\x68\x07\x00\x00\x00", "\xc3"} {
		if onlyJumps([]byte(b)) {
			t.Errorf("% x has nothing but jumps", b)
		}
	}
}
