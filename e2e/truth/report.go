package main

import (
	"fmt"
	"io"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"
)

// report counts what came of programs.
type report struct {
	name     string
	programs int
	right    int
	wrong    int
	lost     int // calls
	calls    int
	failed   int
	refused  map[string]int // by reason
	faults   []string
	list     *regexp.Regexp // reasons of which refused values are listed
	listed   bool
}

func newReport() *report { return &report{refused: map[string]int{}} }

func (r *report) fail(why string) {
	r.failed++
	r.faults = append(r.faults, why)
}

func (r *report) add(o *report) {
	r.programs += o.programs
	r.right += o.right
	r.wrong += o.wrong
	r.lost += o.lost
	r.calls += o.calls
	r.failed += o.failed
	for k, n := range o.refused {
		r.refused[k] += n
	}
}

func (r *report) refusals() (n int) {
	for _, k := range r.refused {
		n += k
	}
	return n
}

func (r *report) counts() string {
	values := r.right + r.wrong + r.refusals()
	return fmt.Sprintf("%d values: %d right, %d wrong, %d refused (%.1f %%); %d calls, %d lost",
		values, r.right, r.wrong, r.refusals(), 100*float64(r.refusals())/float64(max(values, 1)), r.calls, r.lost)
}

// line is a report of one program.
func (r *report) line(w io.Writer) {
	fmt.Fprintf(w, "%s\n\t%s\n", r.name, r.counts())
	for _, f := range r.faults {
		fmt.Fprintf(w, "\t%s\n", f)
	}
}

// print is the report of all.
func (r *report) print(w io.Writer) {
	reasons := slices.SortedFunc(maps.Keys(r.refused), func(a, b string) int { return r.refused[b] - r.refused[a] })
	fmt.Fprintf(w, "%d programs, %d failed\n%s\n", r.programs, r.failed, r.counts())
	for _, why := range reasons {
		fmt.Fprintf(w, "%8d %s\n", r.refused[why], why)
	}
}

// shortened makes reasons alike that differ in names and numbers only.
var shortened = regexp.MustCompile(`0x[0-9a-f]+|\b(xmm|st|s|e|f|Class|m|p|S|E|F)\d+\b|'[^']*'`)

// bad tells whether something is to be looked at.
func (r *report) bad() bool { return r.wrong+r.lost+r.failed > 0 || r.listed }

func (r *report) refuse(why string) {
	r.refused[shortened.ReplaceAllString(why, "$1*")]++
}

// compare holds what was shown against what the program did.
func (r *report) compare(p *program, t *traced) {
	for _, f := range p.funcs {
		if f.absent {
			continue
		}
		got := t.calls[f.n]
		r.calls += len(f.rows)
		if len(got) != len(f.rows) {
			r.missed(f, t, got)
			continue
		}
		for i, c := range got {
			for k, prm := range f.params {
				name := prm.name
				if p.build.stripped() {
					name = p.lang.raw(f, k)
				}
				got, shown := c.args[name]
				if !shown {
					got, shown = c.args[name+"_"] // a builtin has the name
				}
				r.value(t, f, i, name, prm.typ, f.rows[i][k], got, shown)
			}
			if f.result != nil {
				r.value(t, f, i, resultName, f.result, f.results[i], c.result, c.returned)
			}
		}
	}
	for _, l := range t.losses {
		r.faults = append(r.faults, "told: "+l)
	}
}

func has(m map[string]any, k string) bool {
	_, ok := m[k]
	return ok
}

// missed notes a function of which not all calls are shown, or more than there were.
func (r *report) missed(f *function, t *traced, got []call) {
	n := len(f.params)
	if f.result != nil {
		n++
	}
	told := strings.Join(t.messages[f.n], "; ")
	switch {
	case len(got) > len(f.rows):
		r.wrong += len(got) - len(f.rows)
		r.faults = append(r.faults, fmt.Sprintf("%s: %d calls are shown, but there were %d (%s)", f.name, len(got),
			len(f.rows), got[0].function))
	case f.inlined, told != "":
		why := "not all of its calls are shown, which is told"
		if f.inlined && told == "" {
			why = "not all of its calls are shown: it may be inlined"
		}
		for range (len(f.rows) - len(got)) * n {
			r.refuse(why)
		}
		r.faults = append(r.faults, fmt.Sprintf("%s: %d of %d calls: %s", f.name, len(got), len(f.rows), told))
	default:
		r.lost += len(f.rows) - len(got)
		r.faults = append(r.faults, fmt.Sprintf("%s: %d calls are shown of %d", f.name, len(got), len(f.rows)))
	}
}

// resultName is what messages call a function's result.
const resultName = "the result"

// value compares one value.
func (r *report) value(t *traced, f *function, row int, name string, typ *typ, want value, got any, shown bool) {
	if !shown {
		// Of many functions messages do not tell all names.
		why := ""
		for _, key := range []string{
			fmt.Sprint(f.n, " ", name), fmt.Sprint(f.n, " an argument"), "* " + name,
			"* an argument",
		} {
			if why == "" && (name != resultName || !strings.HasSuffix(key, "argument")) {
				why = t.reasons[key]
			}
		}
		if why == "" && t.stripped {
			why = "the program is stripped"
		}
		if why == "" {
			why = "no reason: " + strings.Join(t.messages[f.n], "; ")
			r.faults = append(r.faults, fmt.Sprintf("%s: %s: not shown, no reason", f.name, name))
		}
		r.refuse(why)
		if row == 0 && r.list != nil && r.list.MatchString(why) {
			r.listed = true
			r.faults = append(r.faults, fmt.Sprintf("%s: %s %s: %s", f.name, typ.name, name, why))
		}
		return
	}
	// What is shown of a value of which a part is not is compared all the same.
	why := incomplete(got)
	if t.image.same(typ, want, got) || t.stripped && sameRaw(typ, want, got) {
		if why != "" {
			r.refuse(why)
		} else {
			r.right++
		}
		return
	}
	r.wrong++
	if row > 1 {
		return // it is alike
	}
	r.faults = append(r.faults, fmt.Sprintf("WRONG %s, call %d: %s %s is %v, shown as %v", f.name, row+1, typ.name, name,
		show(want), got))
}

// incomplete is the reason for which a part of a value that is shown is not.
func incomplete(got any) (why string) {
	switch got := got.(type) {
	case map[string]any:
		if s, ok := got["unavailable"].(string); ok && len(got) == 1 {
			return "a part is not shown: " + s
		}
		for _, m := range got {
			if why == "" {
				why = incomplete(m)
			}
		}
	case []any:
		for _, e := range got {
			if why == "" {
				why = incomplete(e)
			}
		}
	}
	return why
}

// show is a value in messages.
func show(v value) string {
	switch v := v.(type) {
	case *big.Int:
		return v.String()
	case []value:
		var s []string
		for _, e := range v {
			s = append(s, show(e))
		}
		return "[" + strings.Join(s, " ") + "]"
	case choice:
		return fmt.Sprintf("%d(%s)", v.of, show(v.v))
	case string:
		return fmt.Sprintf("%q", v)
	}
	return fmt.Sprint(v)
}
