// Command truth compares what trocar shows of programs with what they do. It writes random programs in C, C++, Rust and
// Go: functions of random signatures that use their parameters in random ways, called with random values. Each is built
// with random compiler flags and traced, and each argument and result that is shown is compared with what the program
// passed and returned. A value that differs is wrong; one that is not shown is refused, counted by reason; a call that
// neither is shown nor has a reason is lost.
//
//	go run ./e2e/truth -trocar bin/trocar -seed 1 -n 20
//	go run ./e2e/truth -trocar bin/trocar -seed 7 -n 1 -lang rust -only 'opt-level=2' -keep
//
// It needs root and the compilers of the languages that are chosen. The exit status is 1 if a value was wrong or a call
// lost.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// options are what is tried.
type options struct {
	trocar    string
	seed      uint64
	programs  int // of each language
	langs     []*language
	functions int // of each program
	only      *regexp.Regexp
	keep      string // folder in which programs of which something was wrong stay
	verbose   bool
	refused   *regexp.Regexp // reasons for which values that are not shown are listed
}

// maxFunctions bounds the functions of a program: each makes some BPF programs.
const maxFunctions = 60

func main() {
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	o, err := parse(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "truth:", err)
		return 2
	}
	total := newReport()
	err = o.each(context.Background(), func(r *report) { total.add(r) })
	total.print(os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "truth:", err)
		return 1
	}
	if total.wrong+total.lost+total.failed > 0 {
		return 1
	}
	return 0
}

// parse reads the flags.
func parse(args []string) (*options, error) {
	o := &options{}
	set := flag.NewFlagSet("truth", flag.ContinueOnError)
	set.StringVar(&o.trocar, "trocar", "bin/trocar", "the tracer")
	set.Uint64Var(&o.seed, "seed", 1, "of the first program; the others count on")
	set.IntVar(&o.programs, "n", 10, "programs of each language")
	set.IntVar(&o.functions, "functions", 30, "functions of each program")
	set.StringVar(&o.keep, "keep", "", "folder in which programs of which something was wrong stay")
	set.BoolVar(&o.verbose, "v", false, "a line for each program")
	refused := set.String("refused", "^$", "list values that are not shown for a reason that matches this expression")
	langs := set.String("lang", "c,cpp,rust,go", "languages")
	only := set.String("only", "", "only builds whose command matches this expression")
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	for _, name := range strings.Split(*langs, ",") {
		i := slices.IndexFunc(languages(), func(l *language) bool { return l.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no language %q: c, cpp, rust, go", name)
		}
		o.langs = append(o.langs, languages()[i])
	}
	if o.functions < 1 || o.functions > maxFunctions {
		return nil, fmt.Errorf("-functions is 1 to %d", maxFunctions)
	}
	var err error
	if o.only, err = regexp.Compile(*only); err != nil {
		return nil, err
	}
	if o.refused, err = regexp.Compile(*refused); err != nil {
		return nil, err
	}
	o.trocar, err = filepath.Abs(o.trocar)
	return o, err
}

// each tries all programs.
func (o *options) each(ctx context.Context, done func(*report)) error {
	for i := range o.programs {
		for _, l := range o.langs {
			r, err := o.one(ctx, l, o.seed+uint64(i))
			if err != nil {
				return fmt.Errorf("%s, seed %d: %w", l.name, o.seed+uint64(i), err)
			}
			done(r)
			if o.verbose || r.bad() {
				r.line(os.Stdout)
			}
		}
	}
	return nil
}

// one makes a program, builds it, traces it and compares. The seed decides all of it.
func (o *options) one(ctx context.Context, l *language, seed uint64) (*report, error) {
	r := source(seed, l)
	var b build
	for range 1000 { // until it is one that is wanted
		if b = l.build(r); o.only.MatchString(b.String()) {
			break
		}
	}
	p := newProgram(l, r, o.functions, &b)
	dir, err := os.MkdirTemp("", "truth")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := l.write(p, dir); err != nil {
		return nil, err
	}
	rep := newReport()
	rep.list = o.refused
	rep.programs, rep.name = 1, fmt.Sprintf("%s seed %d: %s", l.name, seed, &b)
	if err := b.run(ctx, dir); err != nil {
		rep.fail(fmt.Sprintf("not built: %v", err))
	} else if t, err := o.trace(ctx, p, dir); err != nil {
		rep.fail(fmt.Sprintf("not traced: %v", err))
	} else if t.image, err = openImage(filepath.Join(dir, "program")); err != nil {
		return nil, err
	} else {
		t.stripped = b.stripped()
		rep.compare(p, t)
	}
	if o.keep != "" && rep.bad() {
		kept := filepath.Join(o.keep, fmt.Sprintf("%s-%d", l.name, seed))
		if err := os.RemoveAll(kept); err != nil {
			return nil, err
		}
		if err := os.CopyFS(kept, os.DirFS(dir)); err != nil {
			return nil, err
		}
	}
	return rep, nil
}

// source are the random numbers of a seed.
func source(seed uint64, l *language) *rng {
	return rand.New(rand.NewPCG(seed, uint64(l.name[0])<<8|uint64(len(l.name))))
}
