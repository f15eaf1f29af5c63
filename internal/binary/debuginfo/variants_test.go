package debuginfo

import (
	"fmt"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"trocar/internal/binary/types"
)

// describe lists a program's own functions with their parameters at the entry and in the body, their inlined copies
// and the members of some types: what must not depend on how debug info is stored.
func describe(t *testing.T, in *Info, source string) string {
	t.Helper()
	var lines []string
	add := func(fn *Function) bool {
		if !strings.Contains(fn.File, source) {
			return true
		}
		p, err := in.Prototype(fn)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s line %d", p, fn.Line)
		if own := fn.Own(); own != nil {
			body, _ := in.Body(fn)
			fmt.Fprintf(&b, " body +%d", body-fn.Entry)
			for _, pc := range []uint64{fn.Entry, body} {
				vars, err := in.Params(own, pc)
				if err != nil {
					t.Fatal(err)
				}
				locals, err := in.Locals(own, pc)
				if err != nil {
					t.Fatal(err)
				}
				for _, v := range append(vars, locals...) {
					fmt.Fprintf(&b, "\n\t%s: %v", types.Declare(v.Type, v.Name), shown(v.Place))
				}
			}
		}
		copies, err := in.Copies(fn)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range copies {
			fmt.Fprintf(&b, "\n\tcopy in %s, called in line %d", c.Outer().Func.Name, c.CallLine)
			vars, err := in.Params(c, c.Entry)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range vars {
				fmt.Fprintf(&b, "\n\t\t%s: %v", v.Name, shown(v.Place))
			}
		}
		n, err := in.CopyCount(fn)
		if err != nil || n != len(copies) {
			t.Errorf("%s: %d copies counted, %d found (%v)", fn.Name, n, len(copies), err)
		}
		lines = append(lines, b.String())
		return true
	}
	if err := in.Functions(add); err != nil {
		t.Fatal(err)
	}
	if err := in.InlinedOnly(add); err != nil {
		t.Fatal(err)
	}
	if err := in.Damage(); err != nil {
		t.Error(err)
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

// shown is what a place gives on a made-up machine; of pieces the bytes.
func shown(p types.Place) string {
	m := fakeMachine{seed: 1}
	o := evalPlace(m, p)
	if o.kind != "pieces" {
		return o.String()
	}
	var b strings.Builder
	for _, piece := range o.pieces {
		v := piece.n
		switch piece.kind {
		case "none":
			fmt.Fprintf(&b, " [%d: %v]", piece.size, piece)
			continue
		case "reg":
			v = m.reg(int(piece.n))
		case "mem":
			v = m.load(piece.n, 8)
		}
		if piece.size < 8 {
			v &= 1<<(8*piece.size) - 1
		}
		fmt.Fprintf(&b, " [%d: %#x]", piece.size, v)
	}
	return b.String()
}

// Flags of TestStorage, and its sources.
const (
	gcc5     = "gcc -O2 -g -gdwarf-5 -gno-variable-location-views "
	gcc4     = "gcc -O2 -g -gdwarf-4 -gno-variable-location-views "
	cl5      = "clang -O2 -g -gdwarf-5 "
	cl4      = "clang -O2 -g -gdwarf-4 "
	gxx4     = "g++ -std=c++17 -O2 -g -gdwarf-4 -gno-variable-location-views "
	gxx5     = "g++ -std=c++17 -O2 -g -gdwarf-5 -gno-variable-location-views "
	clxx5    = "clang++ -std=c++17 -O2 -g -gdwarf-5 "
	plainC   = "-o $OUT $SRC/plain.c"
	shelfCpp = "-o $OUT $SRC/shelf.cpp"
)

// TestStorage compares programs that differ only in where and how their debug info is stored.
func TestStorage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, base, variant, source string }{
		{"zlib", gcc5 + plainC, gcc5 + "-gz=zlib " + plainC, "plain.c"},
		{
			"zlib-gnu", gcc5 + plainC, gcc5 + plainC + "|cp $BASE $OUT && objcopy --compress-debug-sections=zlib-gnu $OUT",
			"plain.c",
		},
		{"zstd", gcc5 + plainC, gcc5 + plainC + "|cp $BASE $OUT && objcopy --compress-debug-sections=zstd $OUT", "plain.c"},
		{"separate", gcc5 + plainC, gcc5 + plainC + " && objcopy --only-keep-debug $OUT prog.debug && objcopy " +
			"--strip-debug --add-gnu-debuglink=prog.debug $OUT", "plain.c"},
		{"split 5", gcc5 + plainC, gcc5 + "-gsplit-dwarf " + plainC, "plain.c"},
		{"split 4", gcc4 + plainC, gcc4 + "-gsplit-dwarf " + plainC, "plain.c"},
		{"split 5 clang", cl5 + plainC, cl5 + "-gsplit-dwarf " + plainC, "plain.c"},
		{"split 4 clang", cl4 + plainC, cl4 + "-gsplit-dwarf " + plainC, "plain.c"},
		{"split 5 C++", gxx5 + shelfCpp, gxx5 + "-gsplit-dwarf " + shelfCpp, "shelf.cpp"},
		{"split 5 C++ type units", gxx5 + shelfCpp, gxx5 + "-gsplit-dwarf -fdebug-types-section " + shelfCpp, "shelf.cpp"},
		{"split 5 C++ clang", clxx5 + shelfCpp, clxx5 + "-gsplit-dwarf " + shelfCpp, "shelf.cpp"},
		{"package 4", gcc4 + plainC, gcc4 + "-gsplit-dwarf " + plainC + " && dwp -e $OUT -o $OUT.dwp && find . -name " +
			"*.dwo -delete", "plain.c"},
		{"package 5 clang", cl5 + plainC, cl5 + "-gsplit-dwarf " + plainC + " && llvm-dwp -e $OUT -o $OUT.dwp && find . " +
			"-name *.dwo -delete", "plain.c"},
		{"package 5 C++ clang", clxx5 + shelfCpp, clxx5 + "-gsplit-dwarf " + shelfCpp + " && llvm-dwp -e $OUT -o $OUT.dwp " +
			"&& find . -name *.dwo -delete", "shelf.cpp"},
		{"dwz", gxx5 + shelfCpp, gxx5 + shelfCpp + "|cp $BASE $OUT && dwz $OUT", "shelf.cpp"},
		{"dwz common", gxx5 + shelfCpp, gxx5 + shelfCpp + "|cp $BASE $OUT && cp $BASE other && dwz -m common.debug " +
			"$OUT other", "shelf.cpp"},
		{"type units", gxx5 + shelfCpp, gxx5 + "-fdebug-types-section " + shelfCpp, "shelf.cpp"},
		{"type units 4", gxx5 + shelfCpp, gxx4 + "-fdebug-types-section " + shelfCpp, "shelf.cpp"},
		{"DWARF 64", gcc5 + plainC, gcc5 + "-gdwarf64 " + plainC, "plain.c"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			want := describe(t, open(t, build(t, c.base)), c.source)
			got := describe(t, open(t, build(t, c.variant)), c.source)
			if got != want {
				t.Errorf("debug info differs from that of %q:\n%s", c.base, diff(want, got))
			}
			if n := strings.Count(want, "\n"); n < 20 {
				t.Errorf("only %d lines were compared", n)
			}
		})
	}
}

// diff shows lines that only one side has.
func diff(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	count := make(map[string]int)
	for _, l := range a {
		count[l]++
	}
	for _, l := range b {
		count[l]--
	}
	var out strings.Builder
	shown := 0
	for _, l := range append(a, b...) {
		if n := count[l]; n != 0 && shown < 20 {
			fmt.Fprintf(&out, "%+d %s\n", -n, l)
			count[l] = 0
			shown++
		}
	}
	return out.String()
}

// TestMissingSplit asks for a unit whose .dwo file is gone: the error names it.
func TestMissingSplit(t *testing.T) {
	t.Parallel()
	path := build(t, "gcc -O2 -g -gsplit-dwarf -o $OUT $SRC/plain.c && rm prog-plain.dwo")
	in := open(t, path)
	addr := symbol(t, path, "many")
	_, err := in.FunctionAt(addr)
	if err == nil || !strings.Contains(err.Error(), "prog-plain.dwo") {
		t.Errorf("error %v doesn't name the missing file", err)
	}
	if l, err := in.LineAt(addr); err != nil || filepath.Base(l.File) != "plain.c" {
		t.Errorf("the line table is in the program, but gave %v, %v", l, err)
	}
}

// TestOtherBuild gives a .dwo file of another build.
func TestOtherBuild(t *testing.T) {
	t.Parallel()
	path := build(t, "gcc -O2 -g -gsplit-dwarf -DX -o $OUT $SRC/plain.c && cp prog-plain.dwo old.dwo && gcc -O1 -g "+
		"-gsplit-dwarf -o $OUT $SRC/plain.c && mv old.dwo prog-plain.dwo")
	in := open(t, path)
	_, err := in.FunctionAt(symbol(t, path, "many"))
	if err == nil || !strings.Contains(err.Error(), "another build") {
		t.Errorf("error %v doesn't say that the file belongs to another build", err)
	}
}

func symbol(t *testing.T, path, name string) uint64 {
	t.Helper()
	out := run(t, "nm", path)
	for _, line := range strings.Split(out, "\n") {
		var addr uint64
		var kind, sym string
		if n, _ := fmt.Sscanf(line, "%x %s %s", &addr, &kind, &sym); n == 3 && sym == name {
			return addr
		}
	}
	t.Fatalf("%s has no symbol %s", path, name)
	return 0
}
