// Command bench measures what tracing costs: time to the first event and memory, cost of a hit, attaching to many
// functions, and losses. Each row is measured with trocar and, in the same run, with every bpftrace that is installed;
// what counts is the ratio, since the figures themselves belong to one machine.
//
//	go run ./bench -trocar bin/trocar
//	go run ./bench -trocar bin/trocar -only start,hits
//	go run ./bench -trocar bin/trocar -row 'histogram|memory'
//
// It needs root, gcc and a quiet machine. Each figure is the best of several rounds. A tracer that fails, or takes too
// long, has no figure in that row: what went wrong is reported, and the others go on. The exit status is 1 if that
// tracer is trocar.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
)

// tracer is a program that takes bpftrace's command line.
type tracer struct {
	name, path string
	late       int // times that it took longer than was waited
}

// mostLate is how often a tracer is waited for in vain before it is not tried any more.
const mostLate = 2

// tooLate notes that a tracer took longer than was waited.
func (t *tracer) tooLate(format string, args ...any) error {
	t.late++
	return fmt.Errorf(format, args...)
}

// tried refuses a tracer that has been waited for too often.
func (t *tracer) tried() error {
	if t.late >= mostLate {
		return fmt.Errorf("not tried: it was too late %d times", t.late)
	}
	return nil
}

// row is one line of the result: a measure of each tracer, in one unit.
type row struct {
	what   string
	unit   string
	values []value // of each tracer
	budget string  // what design asks of the ratio to the first peer, or of the figure
}

// value is one figure. A tracer that could not do it has none; one that lost events gets a mark, since it saved itself
// work.
type value struct {
	v    float64
	none bool
	lost bool
}

// best keeps the smaller of two measures.
func (v value) best(measure float64) value {
	if v.none || measure < v.v {
		v.v, v.none = measure, false
	}
	return v
}

// bench is one group of rows.
type bench struct {
	name string
	run  func(*stage) ([]row, error)
}

// stage is what all groups share.
type stage struct {
	tracers  []*tracer
	dir      string // for what is built
	rounds   int
	big      string         // a program with much debug info, or ""
	wanted   *regexp.Regexp // rows by what they measure; nil: all
	failures []failure
}

// failure is a tracer that could not be measured.
type failure struct {
	tracer int // index in stage.tracers
	row    string
	err    error
}

// wants tells whether one of the rows was asked for.
func (s *stage) wants(rows ...string) bool {
	return s.wanted == nil || slices.ContainsFunc(rows, s.wanted.MatchString)
}

// keep leaves only the rows that were asked for.
func (s *stage) keep(rows ...row) []row {
	return slices.DeleteFunc(rows, func(r row) bool { return !s.wants(r.what) })
}

// each measures every tracer. What fails is noted for one row, and the next tracer is measured.
func (s *stage) each(row string, measure func(*tracer) error) {
	for i, t := range s.tracers {
		if err := measure(t); err != nil {
			fmt.Fprintf(os.Stderr, "  %s: %s: %v\n", t.name, row, err)
			s.failures = append(s.failures, failure{i, row, err})
		}
	}
}

func main() {
	if err := run(); err != nil {
		if !errors.Is(err, errReported) {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
		os.Exit(1)
	}
}

func run() error {
	own := flag.String("trocar", "bin/trocar", "the trocar to measure")
	peers := flag.String("peers", "bpftrace,bpftrace-new", "other tracers, measured if installed")
	only := flag.String("only", "", "only these groups: start,library,hits,attach,wildcards,loss,profile,debuginfo")
	big := flag.String("big", "", "program with much debug info, from bench/bigcxx/build.sh, for the group debuginfo")
	rounds := flag.Int("rounds", 5, "rounds of which the best counts")
	rows := flag.String("row", "", "only rows whose text matches this regular expression")
	flag.Parse()

	if os.Geteuid() != 0 {
		return fmt.Errorf("tracing needs root")
	}
	if done, err := withTracefs(); done || err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "trocar-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s := &stage{dir: dir, rounds: *rounds, big: *big}
	if *rows != "" {
		if s.wanted, err = regexp.Compile(*rows); err != nil {
			return fmt.Errorf("-row: %w", err)
		}
	}
	if s.tracers, err = find(*own, strings.Split(*peers, ",")); err != nil {
		return err
	}
	groups := []bench{
		{"start", start},
		{"library", library},
		{"hits", hits},
		{"attach", attachMany},
		{"wildcards", wildcards},
		{"loss", loss},
		{"profile", profile},
		{"debuginfo", debugInfo},
	}
	chosen := strings.Split(*only, ",")
	for _, name := range chosen {
		if *only != "" && !slices.ContainsFunc(groups, func(b bench) bool { return b.name == name }) {
			return fmt.Errorf("-only: no group %q", name)
		}
	}
	var table []row
	for _, b := range groups {
		if *only != "" && !slices.Contains(chosen, b.name) || *only == "" && b.name == "debuginfo" && *big == "" {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s …\n", b.name)
		more, err := b.run(s)
		if err != nil {
			s.print(table)
			return fmt.Errorf("%s: %w", b.name, err)
		}
		table = append(table, more...)
	}
	if len(table) == 0 {
		return fmt.Errorf("no row matches %q", *rows)
	}
	s.print(table)
	if slices.ContainsFunc(s.failures, func(f failure) bool { return f.tracer == 0 }) {
		return fmt.Errorf("%s could not be measured in every row", s.tracers[0].name)
	}
	return nil
}

// find makes the list of tracers, ours first. A tracer that is installed under two names is measured once.
func find(own string, peers []string) ([]*tracer, error) {
	path, err := filepath.Abs(own)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("%w (make build)", err)
	}
	all := []*tracer{{name: "trocar", path: path}}
	for _, name := range peers {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		version, err := exec.Command(path, "--version").Output()
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s --version: %v: not measured\n", path, err)
			continue
		}
		label := strings.TrimSpace(string(version))
		if !slices.ContainsFunc(all, func(t *tracer) bool { return t.name == label }) {
			all = append(all, &tracer{name: label, path: path})
		}
	}
	return all, nil
}

func (s *stage) print(rows []row) {
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	fmt.Printf("kernel %s, %s, %d CPUs; best of %d rounds\n\n",
		strings.TrimSpace(string(release)), runtime.GOARCH, runtime.NumCPU(), s.rounds)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "what\tunit")
	for i, t := range s.tracers {
		fmt.Fprintf(w, "\t%s", t.name)
		if i > 0 {
			fmt.Fprint(w, "\tratio")
		}
	}
	fmt.Fprint(w, "\tbudget\n")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s", r.what, r.unit)
		for i, v := range r.values {
			fmt.Fprintf(w, "\t%s", v)
			switch {
			case i > 0 && v.v > 0 && !v.none && !r.values[0].none:
				fmt.Fprintf(w, "\t%.3f", r.values[0].v/v.v)
			case i > 0:
				fmt.Fprint(w, "\t-")
			}
		}
		fmt.Fprintf(w, "\t%s\n", r.budget)
	}
	w.Flush()
	fmt.Println("\n* lost events on the way")
	for _, f := range s.failures {
		fmt.Printf("- %s: %s: %v\n", s.tracers[f.tracer].name, f.row, f.err)
	}
}

func (v value) String() string {
	mark := ""
	if v.lost {
		mark = "*"
	}
	switch {
	case v.none:
		return "-"
	case v.v >= 100 || v.v == float64(int64(v.v)):
		return fmt.Sprintf("%.0f%s", v.v, mark)
	default:
		return fmt.Sprintf("%.1f%s", v.v, mark)
	}
}
