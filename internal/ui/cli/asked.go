package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"trocar"
	"trocar/result"
)

// A question to which nothing came is answered as well: that nothing was called, and why that may be.

// asked is what a command asked for.
type asked struct {
	functions int      // that it is about; 0: those of the program
	events    int      // so many of the words are about events
	words     int      // of all
	texts     []asText // expressions
	filters   []string // flags that leave calls out
	waits     bool     // for what other processes do, not a command of its own
	samples   bool     // it is about what runs, not about calls
	memory    bool     // it is about what is allocated
	waiting   bool     // it is about how long threads wait
}

// asText is an expression as the user gave it, and by which flag.
type asText struct{ flag, text string }

// texts are the expressions of the flags.
func (r *recipeFlags) texts() (all []asText) {
	all = append(all, asText{"--if", r.q.If}, asText{"", r.q.Value})
	for _, list := range []struct {
		flag  string
		texts []string
	}{{"--args", r.q.Args}, {"--by", r.q.By}, {"--result", r.q.Results}} {
		for _, text := range list.texts {
			all = append(all, asText{list.flag, text})
		}
	}
	return all
}

// inWords puts an error in what a command wrote in the words of the command: it is about a flag, not a line of the
// script behind it. The names of arguments have "args." in front there.
func (a *asked) inWords(d *trocar.Diagnostic) bool {
	if len(d.At.Source) == 0 || d.At.Line != d.At.EndLine {
		return false
	}
	line, from := d.At.Source[0], len(d.At.Marks)-len(strings.TrimLeft(d.At.Marks, " "))
	if from >= len(d.At.Marks) || len(d.At.Marks) > len(line) {
		return false
	}
	part := line[from:len(d.At.Marks)]
	plain := func() bool {
		d.At, d.Notes = result.Position{}, slices.Clone(d.Notes)
		for i := range d.Notes {
			d.Notes[i].At = result.Position{}
		}
		return true
	}
	if strings.HasPrefix(part, "uprobe:") || strings.HasPrefix(part, "uretprobe:") {
		return plain() // the text names the function
	}
	blanks := strings.NewReplacer(" ", "") // the script has its own
	for _, of := range a.texts {
		for _, text := range []string{part, strings.ReplaceAll(part, "args.", "")} {
			if text != "" && strings.Contains(blanks.Replace(of.text), blanks.Replace(text)) {
				d.Text = strings.TrimSpace(fmt.Sprintf("%s '%s'", of.flag, of.text)) + ": " + d.Text
				return plain()
			}
		}
	}
	return false
}

// filters are the flags that leave out calls of the functions.
func (r *recipeFlags) filters() (flags []string) {
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"--if", r.q.If != ""}, {"--min", r.q.Min != 0}, {"--comm", r.q.Comm != ""}, {"--tid", r.thread != 0},
	} {
		if f.given {
			flags = append(flags, f.name)
		}
	}
	return flags
}

// answers tells whether an event is a part of the answer.
func answers(e result.Event) bool {
	switch e := e.(type) {
	case *result.Printf, *result.Print, *result.Join:
		return true
	case *result.PrintMap:
		return len(e.Map.Entries) > 0
	}
	return false
}

// hides tells whether an event says that there may be calls that are not shown.
func hides(e result.Event) bool {
	switch e := e.(type) {
	case *result.Notice:
		return e.Blind
	case *result.Lost:
		return true
	}
	return false
}

// attachedTo says to what a command is attached, as its user counts: a function takes several probes.
func (k *sink) attachedTo(probes int) string {
	a := &k.s.asked
	n := k.program.Functions()
	if a.functions > 0 && (n > 0 || a.events > 0) {
		n = a.functions
	}
	text := "Attached"
	switch {
	case n == 0: // to what threads do
	case a.events == 0:
		text += result.Messagef(" to %d function%s", n, either(n == 1, "", "s"))
	case a.events == a.words:
		text += result.Messagef(" to %d event%s", n, either(n == 1, "", "s"))
	default:
		text += result.Messagef(" to %d functions and events", n)
	}
	if k.s.verbose {
		text += result.Messagef(" (%d probe%s)", probes, either(probes == 1, "", "s"))
	}
	return text
}

// silent says that nothing was called, after a run without an answer.
func (k *sink) silent(p *trocar.Program) {
	if k.answers > 0 || k.attached.IsZero() {
		return
	}
	took := time.Since(k.attached).Round(100 * time.Millisecond)
	d := trocar.Diagnostic{Severity: result.Info}
	n := p.Functions()
	if own := k.s.asked.functions; own > 0 && n > 0 {
		n = own // there may be probes on others, such as those that throw exceptions
	}
	what := either(k.s.asked.events > 0 && k.s.asked.events == k.s.asked.words, "event", "function")
	probed := either(n == 1, "1 "+what+" was probed", fmt.Sprintf("%d %ss were probed", n, what))
	if k.s.asked.samples {
		d.Text = fmt.Sprintf("no samples in %v: no thread that is traced was running when a CPU was looked at", took)
		k.diagnostic(d)
		return
	}
	if k.s.asked.waiting {
		d.Text = fmt.Sprintf("no thread that is traced waited in %v, or its waits do not fit the flags", took)
		k.diagnostic(d)
		return
	}
	if k.s.asked.memory {
		d.Text = fmt.Sprintf("nothing that was allocated in %v is still allocated, or it does not fit the flags: %s",
			took, probed)
		k.diagnostic(d)
		return
	}
	d.Text = k.noCalls(n, probed, took)
	if k.s.asked.waits && k.s.process == 0 {
		for _, path := range p.Files() {
			if n, err := trocar.Mapped(path); err == nil && n == 0 {
				d.Hints = append(d.Hints, result.Messagef("no running process uses %s", path))
			}
		}
	}
	k.diagnostic(d)
}

// noCalls says that there were none, or that none were seen.
func (k *sink) noCalls(functions int, probed string, took time.Duration) string {
	fits := strings.Join(k.s.asked.filters, ", ")
	text := "no calls" + either(k.blind, " were seen", "") + " in " + took.String()
	if fits != "" {
		text += " that fit " + fits
	}
	if functions == 0 { // it is about system calls and the like
		return text
	}
	return text + ": " + probed + either(k.blind || fits != "", "", ", none was called")
}
