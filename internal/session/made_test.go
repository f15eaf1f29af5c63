package session_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"trocar/internal/kernel"
	"trocar/internal/process/probe"
	"trocar/internal/process/runtimes"
	"trocar/internal/session"
)

// maker is a runtime that makes code: a note is "NAME TIER", at the address of its length.
type maker struct{ runtimes.Process }

func (maker) Names() error                                 { return nil }
func (maker) Close() error                                 { return nil }
func (maker) Notes(func(runtimes.Note)) error              { return nil }
func (maker) Writes() (int, bool)                          { return 5, true }
func (maker) Compiler() (*probe.Compiler, error)           { return &probe.Compiler{}, nil }
func (maker) Mapped(_ string, off uint64) (addrs []uint64) { return []uint64{0x5000 + off} }
func (maker) Note(line string) (b runtimes.Note, known bool) {
	name, tier, ok := strings.Cut(line, " ")
	b = runtimes.Note{Addr: 0x100 * uint64(len(line)), Size: 0x10, Keys: []string{name}, Name: name, Tier: tier, Rank: 1}
	switch tier {
	case "again":
		b.Rank = 3
	case "loop":
		b.Rank = runtimes.NotEntered
	}
	return b, ok
}

// TestMade: breakpoints are on code before any thread can run it, as far as the compiler tells of it in time; what may
// be missing else is told.
func TestMade(t *testing.T) {
	const source = 0x5000 + 0x7
	for _, test := range []struct {
		name       string
		does       func(to kernel.FeedTo, set func() []string)
		late       int
		unrun      uint64
		noCompiler error
		want       string
	}{
		{name: "told in time", does: func(to kernel.FeedTo, set func() []string) {
			to.Compiled(source+1, 0x300, 0x10) // of another method
			to.Compiled(source, 0x600, 0x10)
			if got := set(); !slices.Equal(got, []string{"N::M 0x600"}) {
				t.Errorf("compiled: %q", got)
			}
			to.Line("N::M 1")
			if got := set(); !slices.Equal(got, []string{"N::M 0x600"}) {
				t.Errorf("noted: %q", got)
			}
			to.Line("N::M again")
			if got := set(); !slices.Equal(got, []string{"N::M 0x600", "N::M 0xa00"}) {
				t.Errorf("again: %q", got)
			}
		}},
		{name: "a loop goes on", does: func(to kernel.FeedTo, set func() []string) {
			to.Line("N::M 1")
			to.Compiled(source, 0x900, 0x10)
			to.Line("N::M loop")
			if got := set(); !slices.Equal(got, []string{"N::M 0x600"}) {
				t.Errorf("loop: %q", got)
			}
		}, want: "calls of 1 methods that other threads made at the very moment of the compilation may be missing"},
		{name: "not told", does: func(to kernel.FeedTo, _ func() []string) {
			to.Line("N::M 1")
			to.Line("N::M again")
		}, noCompiler: errors.New("in the program"), want: "calls of 1 methods that other threads made " +
			"at the very moment of the compilation may be missing: in the program"},
		{
			name: "threads", does: func(to kernel.FeedTo, _ func() []string) { to.Look() }, late: 2,
			want: "2 threads began while breakpoints were set: their first calls may be missing, or be counted twice",
		},
		{name: "not run", does: func(to kernel.FeedTo, _ func() []string) {
			to.Compiled(source, 0x600, 0x10)
			to.Line("N::M 1")
		}, unrun: 2, want: "2 calls and returns came by breakpoints whose program the kernel did not run: they are missing"},
		{name: "given up", does: func(to kernel.FeedTo, set func() []string) {
			to.Compiled(source, 0x600, 0x10)
			to.Compiled(source, 0x600, 0x10)
			to.Compiled(source, 0x608, 0x10)
			if got := set(); !slices.Equal(got, []string{"N::M 0x608"}) {
				t.Errorf("given up: %q", got)
			}
		}},
		{name: "never noted", does: func(to kernel.FeedTo, set func() []string) {
			for i := range uint64(40) {
				to.Compiled(source, 0x600+0x100*i, 0x10)
			}
			if len(set()) > kernel.BreakpointSlots {
				t.Errorf("never noted: %q", set())
			}
		}},
	} {
		f, s := newFake(), newScript()
		s.points = append(s.points, &probe.Point{
			Kind: probe.Uprobe, Path: "/x.dll", Func: "N::M", Entry: true, Pattern: true,
			Start: runtimes.Unnumbered, Made: &probe.Made{Keys: []string{"N::M"}, Func: "N::M", Source: 7},
		})
		f.late, f.unrun, f.noCompiler = test.late, test.unrun, test.noCompiler
		going := make(chan bool)
		f.feed = func(to kernel.FeedTo) {
			<-going
			test.does(to, func() (all []string) {
				for _, b := range f.breaks {
					all = append(all, b.at)
				}
				return all
			})
			f.send(rec(s.exitLayout(), 0))
		}
		o := start(t, t.Context(), s, f, func(in *session.Input, k *sink) {
			in.PID, in.Write = 1, &probe.Point{}
			in.Runtimes = []runtimes.Runtime{{Inside: func(int) runtimes.Process { return maker{} }}}
			k.fail = func(line string) error {
				if strings.HasPrefix(line, "attached") {
					close(going)
				}
				return nil
			}
		})
		want := []string{"attached 1"}
		if test.want != "" {
			want = append(want, "notice WARNING "+test.want)
		}
		if got := slices.DeleteFunc(o.sink.lines, func(l string) bool {
			return l == "end" || strings.Contains(l, "INFO")
		}); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", test.name, got, want)
		}
	}
}
