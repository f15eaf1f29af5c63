package debuginfo

import (
	"bufio"
	"debug/dwarf"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"trocar/internal/binary/types"
	"trocar/internal/need"
)

// TestLinesAgainstStandardLibrary compares line tables with those of debug/dwarf, an independent reader.
func TestLinesAgainstStandardLibrary(t *testing.T) {
	t.Parallel()
	for _, command := range []string{plainO0, plainO2, plainO2v4, clangO2, bookO2, clbookO2, goProgram} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			path := build(t, command)
			in := open(t, path)
			e, err := elf.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			d, err := e.DWARF()
			if err != nil {
				t.Fatal(err)
			}
			n, bad := 0, 0
			r := d.Reader()
			for {
				cu, err := r.Next()
				if err != nil || cu == nil {
					break
				}
				r.SkipChildren()
				lr, err := d.LineReader(cu)
				if err != nil || lr == nil {
					continue
				}
				var prev, le dwarf.LineEntry
				havePrev := false
				for {
					if err := lr.Next(&le); err != nil {
						if !errors.Is(err, io.EOF) {
							t.Fatal(err)
						}
						break
					}
					// The row before holds up to this one, if that has another address.
					if havePrev && !prev.EndSequence && le.Address > prev.Address && prev.Address != 0 && prev.Line != 0 {
						n++
						got, err := in.LineAt(prev.Address)
						if errors.Is(err, ErrNotFound) && len(in.unitsAt(prev.Address)) == 0 {
							continue // a row for padding that no unit calls its own
						}
						want := fmt.Sprintf("%s:%d:%d", filepath.Base(prev.File.Name), prev.Line, prev.Column)
						if have := fmt.Sprintf("%s:%d:%d", filepath.Base(got.File), got.Line, got.Column); err != nil || have != want {
							if bad++; bad < 10 {
								t.Errorf("%#x is %s (%v), debug/dwarf says %s", prev.Address, have, err, want)
							}
						}
					}
					prev, havePrev = le, true
				}
			}
			if n < 30 {
				t.Errorf("only %d rows were compared", n)
			}
			t.Logf("%d rows compared", n)
		})
	}
}

// TestInlineChains compares the chains of inlined copies with those of llvm-symbolizer.
func TestInlineChains(t *testing.T) {
	t.Parallel()
	need.Tool(t, "llvm-symbolizer")
	for _, command := range []string{plainO2, bookO2, clbookO2, rustO2, goProgram} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			path := build(t, command)
			in := open(t, path)
			var addrs []string
			var chains [][]*Instance
			err := in.Functions(func(fn *Function) bool {
				for _, r := range fn.Ranges {
					for a := r.Low; a < r.High && len(addrs) < 4000; a += 13 {
						chain, err := in.InstancesAt(a)
						if err != nil {
							t.Errorf("%#x: %v", a, err)
							continue
						}
						addrs = append(addrs, fmt.Sprintf("%#x", a))
						chains = append(chains, chain)
					}
				}
				return true
			})
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("llvm-symbolizer", "--inlining", "--functions=linkage", "--no-demangle", "-e", path)
			cmd.Stdin = strings.NewReader(strings.Join(addrs, "\n") + "\n")
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			// The output is pairs of a function and a place, then an empty line.
			var want [][]string
			var one []string
			sc := bufio.NewScanner(strings.NewReader(string(out)))
			sc.Buffer(nil, 1<<20)
			for i := 0; sc.Scan(); i++ {
				switch {
				case sc.Text() == "":
					want, one, i = append(want, one), nil, -1
				case i%2 == 0:
					one = append(one, sc.Text())
				}
			}
			if len(want) != len(chains) {
				t.Fatalf("%d answers to %d questions", len(want), len(chains))
			}
			pieces := putBack(t, path)
			bad, deep := 0, 0
			for i, chain := range chains {
				var got []string
				for _, c := range chain {
					name := c.Func.Linkage
					if name == "" || c.Func.Lang == types.C {
						name = c.Func.Name
					}
					got = append(got, name)
				}
				if len(chain) > 1 {
					deep++
				}
				// Pieces of a function that were put back into it are no calls here; nothing else is left out.
				for k := 1; k < len(want[i]) && len(got) < len(want[i]); {
					if name := want[i][k]; name == want[i][k-1] && pieces[name] && (k >= len(got) || got[k] != name) {
						want[i] = slices.Delete(want[i], k, k+1)
					} else {
						k++
					}
				}
				// The outermost name llvm-symbolizer takes from the symbol table, which has clones and parts.
				if len(got) != len(want[i]) || norm(got[:len(got)-1]) != norm(want[i][:len(got)-1]) {
					if bad++; bad < 8 {
						t.Errorf("%s: %v, llvm-symbolizer says %v", addrs[i], got, want[i])
					}
				}
			}
			t.Logf("%d chains compared, %d with inlined copies, %d differ", len(chains), deep, bad)
		})
	}
}

// putBack are the names of functions of which the compiler has put a piece back into the rest: it is "called" where the
// function is declared.
func putBack(t *testing.T, path string) map[string]bool {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err := f.DWARF()
	if err != nil {
		t.Fatal(err)
	}
	names, entries := map[string]bool{}, d.Reader()
	origins := d.Reader()
	for {
		e, err := entries.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e == nil {
			return names
		}
		at, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
		if e.Tag != dwarf.TagInlinedSubroutine || !ok {
			continue
		}
		origins.Seek(at)
		o, err := origins.Next()
		if err != nil {
			t.Fatal(err)
		}
		if of, ok := o.Val(dwarf.AttrSpecification).(dwarf.Offset); ok {
			origins.Seek(of)
			if o, err = origins.Next(); err != nil {
				t.Fatal(err)
			}
		}
		if e.Val(dwarf.AttrCallLine) == o.Val(dwarf.AttrDeclLine) {
			for _, a := range []dwarf.Attr{dwarf.AttrName, dwarf.AttrLinkageName} {
				if name, ok := o.Val(a).(string); ok {
					names[name] = true
				}
			}
		}
	}
}

// norm leaves out which variant of a constructor or destructor it is.
func norm(names []string) string {
	s := strings.Join(names, " ")
	for _, v := range []string{"1", "2", "4"} {
		s = strings.ReplaceAll(strings.ReplaceAll(s, "C"+v, "C"), "D"+v, "D")
	}
	return s
}

// TestSitesOf asks where the code of a line begins.
func TestSitesOf(t *testing.T) {
	t.Parallel()
	in := open(t, build(t, plainO0))
	lines := strings.Split(readFile(t, "testdata/plain.c"), "\n")
	at := func(text string) int {
		for i, l := range lines {
			if strings.Contains(l, text) {
				return i + 1
			}
		}
		t.Fatalf("no line has %q", text)
		return 0
	}
	for _, c := range []struct {
		text  string
		funcs []string
	}{
		{"*p -= 1;", []string{"taken"}},
		{"int r = v * by;", []string{"scaled", "scaled"}}, // inlined twice
		{"s->neg = -3;", []string{"make"}},
		{"__attribute__((noinline)) pair_t swap", []string{"swap"}},
	} {
		sites, err := in.SitesOf("plain.c", at(c.text), 0)
		if err != nil {
			t.Fatal(err)
		}
		var funcs []string
		for _, s := range sites {
			funcs = append(funcs, s.Chain[0].Func.Name)
			if s.Line.Line != at(c.text) {
				t.Errorf("%q: the site is in line %d", c.text, s.Line.Line)
			}
		}
		if fmt.Sprint(funcs) != fmt.Sprint(c.funcs) {
			t.Errorf("%q is in %v, not %v", c.text, funcs, c.funcs)
		}
	}
	// A line without code means the next one that has some.
	sites, err := in.SitesOf("testdata/plain.c", at("int *volatile p = &n;")+1, 0)
	if err != nil || len(sites) != 1 || sites[0].Chain[0].Func.Name != "taken" {
		t.Errorf("%v, %v", sites, err)
	}
	if sites, err := in.SitesOf("other.c", 10, 0); err != nil || len(sites) != 0 {
		t.Errorf("%v, %v for a file that isn't there", sites, err)
	}
}
