package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"trocar/internal/need"
)

// TestTruth is the short form of `make truth`: small programs of each language, always the same ones.
func TestTruth(t *testing.T) {
	need.Root(t)
	tracer := os.Getenv("TROCAR_E2E_TRACER")
	if tracer == "" {
		t.Skip("TROCAR_E2E_TRACER names no tracer")
	}
	compilers := map[string]string{"c": "gcc", "cpp": "g++", "rust": "rustc", "go": "go"}
	for _, l := range languages() {
		t.Run(l.name, func(t *testing.T) {
			need.Tool(t, compilers[l.name])
			t.Parallel()
			o := &options{
				trocar: tracer, seed: 4, programs: 2, langs: []*language{l}, functions: 12,
				only: regexp.MustCompile(""),
			}
			check(t, o)
		})
	}
}

// TestFoundWrong tries programs again of which values were shown wrongly once, if their compilers are there.
func TestFoundWrong(t *testing.T) {
	need.Root(t)
	tracer := os.Getenv("TROCAR_E2E_TRACER")
	if tracer == "" {
		t.Skip("TROCAR_E2E_TRACER names no tracer")
	}
	for _, c := range []struct {
		lang, tool string
		seed       uint64
	}{
		{"c", "gcc", 310},        // what is in a register behind a call need not be a result
		{"c", "gcc", 20014},      // a packed structure on the stack
		{"c", "gcc", 20015},      // an address that another convention's function loads later
		{"cpp", "g++", 316},      // objects that callers do not fill
		{"rust", "rustc", 20014}, // a reference to what nobody stored
	} {
		t.Run(fmt.Sprintf("%s-%d", c.lang, c.seed), func(t *testing.T) {
			need.Tool(t, c.tool)
			i := slices.IndexFunc(languages(), func(l *language) bool { return l.name == c.lang })
			o := &options{
				trocar: tracer, seed: c.seed, programs: 1, langs: []*language{languages()[i]}, functions: 30,
				only: regexp.MustCompile(""),
			}
			check(t, o)
		})
	}
}

// check tries programs, none of which may be wrong.
func check(t *testing.T, o *options) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	err := o.each(ctx, func(r *report) {
		t.Logf("%s: %s", r.name, r.counts())
		if r.bad() {
			for _, f := range r.faults {
				t.Error(f)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestProgramsAreTheSame(t *testing.T) {
	for _, l := range languages() {
		write := func() (files map[string]string) {
			dir := t.TempDir()
			r := source(7, l)
			b := l.build(r)
			if err := l.write(newProgram(l, r, 12, &b), dir); err != nil {
				t.Fatal(err)
			}
			files = map[string]string{"": b.String()}
			list, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range list {
				data, err := os.ReadFile(dir + "/" + f.Name())
				if err != nil {
					t.Fatal(err)
				}
				files[f.Name()] = string(data)
			}
			return files
		}
		a, b := write(), write()
		for name := range a {
			if a[name] != b[name] {
				t.Errorf("%s: %s is another one the second time", l.name, name)
			}
		}
	}
}
