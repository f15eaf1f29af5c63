package debuginfo

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sort"
	"strconv"
	"strings"
	"testing"

	"trocar/internal/binary/objfile"
	"trocar/internal/need"
)

// The places that this package works out are compared with those that llvm-dwarfdump, an independent reader, prints:
// both are evaluated on made-up registers and memory, for every parameter and variable, at every address at which the
// location changes, and at the function's entry.

// dumpVar is a variable or parameter as llvm-dwarfdump prints it.
type dumpVar struct {
	off    uint64
	isList bool
	exprs  []dumpExpr
	entry  uint64 // of the function around it
	fn     uint64 // its entry
	fbase  string
}

type dumpExpr struct {
	low, high uint64
	ops       string
}

// readDump calls yield with each variable that has a location.
func readDump(r io.Reader, yield func(dumpVar)) error {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 1<<16), 1<<24)
	type fn struct {
		depth int
		off   uint64
		entry uint64
		fbase string
	}
	var funcs []fn
	var cur *dumpVar
	curDepth, curTag := 0, ""
	inLoc := false
	flush := func() {
		variable := curTag == "DW_TAG_formal_parameter" || curTag == "DW_TAG_variable"
		if cur != nil && variable && (cur.isList || len(cur.exprs) > 0) && len(funcs) > 0 {
			f := funcs[len(funcs)-1]
			cur.entry, cur.fbase, cur.fn = f.entry, f.fbase, f.off
			yield(*cur)
		}
		cur = nil
	}
	hex := func(s string) uint64 {
		v, _ := strconv.ParseUint(strings.TrimPrefix(s, "0x"), 16, 64)
		return v
	}
	for sc.Scan() {
		line := sc.Text()
		if strings.HasPrefix(line, "0x") {
			colon := strings.IndexByte(line, ':')
			rest := line[colon+1:]
			body := strings.TrimLeft(rest, " ")
			if !strings.HasPrefix(body, "DW_TAG_") && body != "NULL" {
				continue
			}
			flush()
			inLoc = false
			curDepth = len(rest) - len(body)
			curTag = strings.TrimSpace(body)
			for len(funcs) > 0 && funcs[len(funcs)-1].depth >= curDepth {
				funcs = funcs[:len(funcs)-1]
			}
			cur = &dumpVar{off: hex(line[:colon])}
			if curTag == "DW_TAG_subprogram" {
				funcs = append(funcs, fn{depth: curDepth, off: cur.off})
			}
			continue
		}
		body := strings.TrimSpace(line)
		if inLoc && strings.HasPrefix(body, "[0x") {
			comma := strings.IndexByte(body, ',')
			close := strings.Index(body, "): ")
			if close < 0 {
				close = strings.Index(body, "):")
			}
			ops := strings.TrimSpace(body[close+2:])
			// The list's own closing parenthesis.
			if strings.Count(ops, ")") > strings.Count(ops, "(") {
				ops = ops[:len(ops)-1]
				inLoc = false
			}
			cur.exprs = append(cur.exprs, dumpExpr{hex(body[1:comma]), hex(strings.TrimSpace(body[comma+1 : close])), ops})
			continue
		}
		inLoc = false
		attr, val, ok := strings.Cut(body, "\t")
		if !ok || cur == nil || len(val) < 2 {
			continue
		}
		val = val[1:]
		switch attr {
		case "DW_AT_low_pc":
			if curTag == "DW_TAG_subprogram" {
				funcs[len(funcs)-1].entry = hex(strings.TrimRight(val, ")"))
			}
		case "DW_AT_entry_pc":
			if curTag == "DW_TAG_subprogram" && strings.HasPrefix(val, "0x00000000") {
				funcs[len(funcs)-1].entry = hex(strings.TrimRight(val, ")"))
			}
		case "DW_AT_frame_base":
			if curTag == "DW_TAG_subprogram" {
				funcs[len(funcs)-1].fbase = strings.TrimSuffix(val, ")")
			}
		case "DW_AT_location":
			if strings.HasPrefix(val, "0x") || strings.HasPrefix(val, "indexed") {
				inLoc, cur.isList = true, true
			} else {
				cur.exprs = append(cur.exprs, dumpExpr{ops: strings.TrimSuffix(val, ")")})
			}
		}
	}
	flush()
	return sc.Err()
}

// witnessPlaces compares all places of a program. It returns how many were equal.
func witnessPlaces(t *testing.T, path string) (equal int) {
	t.Helper()
	f, err := objfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in, err := Open(f)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	cmd := exec.Command("llvm-dwarfdump", "--debug-info", in.src.DebugAt)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	left := make(map[string]int)
	refused := make(map[string]int)
	bad, vars := 0, 0
	in.mu.Lock()
	defer in.mu.Unlock()
	err = readDump(out, func(v dumpVar) {
		vars++
		u := in.main.unitAt(secInfo, v.off)
		if u == nil {
			t.Errorf("no unit has the entry %#x", v.off)
			return
		}
		d, ok := u.at(v.off)
		if !ok {
			t.Errorf("no entry at %#x", v.off)
			return
		}
		var own *Instance
		if fd, ok := u.at(v.fn); ok {
			own = in.function(fd).Own()
		}
		if own == nil {
			left["no code"]++
			return
		}
		pcs := []uint64{v.entry}
		if body, ok := in.body(own.Func); ok {
			pcs = append(pcs, body)
		}
		for _, x := range v.exprs {
			if v.isList && x.low < x.high {
				pcs = append(pcs, x.low)
			}
		}
		if v.entry == 0 || len(pcs) > 40 {
			pcs = pcs[1:min(len(pcs), 40)]
		}
		for _, pc := range pcs {
			m := fakeMachine{seed: pc, pc: pc + 0x5500000000}
			e := in.env(own, pc)
			e.u = u
			if strings.HasPrefix(v.fbase, "DW_OP_reg") && strings.Contains(fmt.Sprint(v.exprs), "fbreg") {
				// The register is the frame base only where the frame is whole; elsewhere only this package makes something
				// of it.
				n, _, _ := strings.Cut(v.fbase[len("DW_OP_reg"):], " ")
				reg, _ := strconv.Atoi(n)
				here, err := in.frames.At(pc)
				off, ok := in.wholeFrame(own.Func, reg)
				if err != nil || !ok || here.CFA.Reg != reg || here.CFA.Offset != off {
					left["no frame base there"]++
					continue
				}
			}
			d2 := &dumpEval{m: m, bias: 0x5500000000, fbase: v.fbase, entry: e.entry}
			d2.cfa = func() (uint64, bool) {
				row, err := in.frames.At(pc)
				if err != nil || row.CFA.Expr != nil {
					return m.reg(7) + 8, err != nil && e.entry
				}
				return m.reg(row.CFA.Reg) + uint64(row.CFA.Offset), true
			}
			want, skip := d2.at(v, pc)
			if skip != "" {
				left[skip]++
				continue
			}
			got := evalPlace(m, e.variable(d))
			if m.same(got, want) {
				equal++
				continue
			}
			if want.kind == "none" && got.missing() {
				equal++ // in registers that have no value here
				continue
			}
			if e.entry && v.isList && got.kind == "none" && want.kind != "none" {
				left["a later view of the entry"]++ // what is there after a part of the first statement
				continue
			}
			if got.kind == "none" && want.kind != "none" {
				switch got.why {
				case "its value takes too long a computation", "its value takes an operation that is not supported",
					"its location depends on a condition":
					refused[got.why]++
					continue
				}
			}
			if bad++; bad <= 20 {
				t.Errorf("%s: entry %#x at %#x: %v, llvm-dwarfdump %v: %v", path, v.off, pc, got, want, v.exprs)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %d variables, %d places equal, %d different; refused: %v; not compared: %v", path, vars, equal, bad,
		refused, sorted(left))
	return equal
}

func sorted(m map[string]int) []string {
	var out []string
	for k, n := range m {
		out = append(out, fmt.Sprintf("%s: %d", k, n))
	}
	sort.Strings(out)
	return out
}

// TestPlaces compares the places in programs of each compiler.
func TestPlaces(t *testing.T) {
	t.Parallel()
	need.Tool(t, "llvm-dwarfdump")
	for _, p := range []struct {
		name, command string
		atLeast       int
	}{
		{"C -O0", plainO0, 20},
		{"C -O2", plainO2, 80},
		{"C -O2 DWARF 4", plainO2v4, 80},
		{"C -O2 DWARF 3", plainO2v3, 80},
		{"C -O2 DWARF 2", plainO2v2, 50},
		{"C clang -O0", clangO0, 20},
		{"C clang -O2", clangO2, 50},
		{"C++ -O0", bookO0, 500},
		{"C++ -O2", bookO2, 3000},
		{"C++ -O2 type units", bookO2v4, 3000},
		{"C++ LTO", bookLTO, 1000},
		{"C++ clang -O0", clbookO0, 400},
		{"C++ clang -O2", clbookO2, 1200},
		{"Rust", rustO0, 1000},
		{"Rust -O", rustO2, 2000},
		{"Go", goProgram, 30000},
	} {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			if n := witnessPlaces(t, build(t, p.command)); n < p.atLeast {
				t.Errorf("only %d places were compared", n)
			}
		})
	}
}

// TestPlacesOfLibc compares those of a big real program.
func TestPlacesOfLibc(t *testing.T) {
	t.Parallel()
	need.Tool(t, "llvm-dwarfdump")
	const libc = "/lib/x86_64-linux-gnu/libc.so.6"
	need.File(t, libc)
	f, err := objfile.Open(libc)
	if err != nil {
		t.Fatal(err)
	}
	if f.Debug() == nil {
		need.Missing(t, "the debug file of libc (libc6-dbg)")
	}
	f.Close()
	if n := witnessPlaces(t, libc); n < 100000 {
		t.Errorf("only %d places were compared", n)
	}
}

// TestPlacesOfPrograms compares those of the programs named in WITNESS, for trying big ones.
func TestPlacesOfPrograms(t *testing.T) {
	t.Parallel()
	programs := strings.Fields(os.Getenv("WITNESS"))
	if programs == nil {
		t.Skip("WITNESS names no programs")
	}
	need.Tool(t, "llvm-dwarfdump")
	for _, path := range programs {
		t.Run(path, func(t *testing.T) { witnessPlaces(t, path) })
	}
}
