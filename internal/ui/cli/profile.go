package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"trocar"
	"trocar/internal/ui/flame"
	"trocar/internal/ui/output"
)

// picturesHelp tells what -o makes of stacks.
const picturesHelp = `-o FILE writes the stacks in the format given by the file name's extension: .html (flame graph with search and zoom),
.svg, .folded (one line for each stack), .pb.gz (pprof) or .speedscope.json.`

func newProfile(a *app) *cobra.Command {
	return questionCommand{
		kind: trocar.QuestionProfile, short: "Sample what runs on the CPUs, by function and by stack",
		long: `Each CPU is sampled N times a second (-F) by a kernel timer; no hardware counter is needed.
Percentages are of all samples: "self" is time in the function itself, "total" includes its callees. Without a target,
all processes except trocar itself are sampled, and the table counts an inlined function as part of the function that it
is inlined into; flame graphs show both. Only running threads are sampled: see offcpu for threads that wait.
` + picturesHelp + "\n" + diffHelp + `

    trocar profile -p 812 --for 10s
    trocar profile --for 10s -o cpu.html
    trocar profile -p 812 --for 10s --diff yesterday.pb.gz -o more.html
    trocar profile --diff yesterday.pb.gz today.pb.gz
    trocar profile -F 999 --top 20 -- ./server`,
		flags: func(r *recipeFlags, cmd *cobra.Command) {
			f := cmd.Flags()
			f.IntVarP(&r.q.Frequency, "frequency", "F", 99, "samples per second on each CPU")
			f.StringArrayVar(&r.q.By, "by", nil, "also separate by these expressions, separated by commas")
			r.every(cmd)
			r.compares(cmd)
		},
	}.make(a)
}

// drawn says how stacks are shown.
type drawn struct {
	form   string // of the picture; "": a table
	top    int
	skip   string // a part of the keys that is not shown
	title  string
	unit   string
	period time.Duration  // that a sample stands for; 0: none
	base   *flame.Profile // that is compared with; nil: none
	table  func(*flame.Profile, []byte, int) []byte
}

// file tells whether the picture is the file of -o.
func (d *drawn) file() bool { return d != nil && d.form != "" }

// picture finds out whether stacks are shown as a picture or a table.
func (r *recipeFlags) picture() error {
	switch r.q.Kind {
	case trocar.QuestionProfile, trocar.QuestionStack, trocar.QuestionOffCPU, trocar.QuestionLeaks, trocar.QuestionLocks:
	default:
		return nil
	}
	form := flame.Form(r.output)
	if form != "" && r.q.Every > 0 {
		return usageErrorf("-o %s is a picture of the whole run: leave out -i, or use --for for its length", r.output)
	}
	if form != "" && r.machine() {
		return usageErrorf("-o %s: the name tells the format, so that -f %s cannot be used with it", r.output, r.format)
	}
	d := &drawn{form: form, top: r.q.Top, title: r.q.Kind, unit: "samples", table: (*flame.Profile).AppendTable}
	switch {
	case r.q.Kind == trocar.QuestionStack && form == "" && r.diff == "":
		return nil // the map of the script
	case r.q.Kind == trocar.QuestionStack:
		d.skip, d.unit, d.title = "func", "calls", "calls of "+strings.Join(r.q.Functions, ", ")
	case r.machine() && r.diff == "":
		return nil
	case form != "" && r.q.Top > 0:
		return usageErrorf("--top is for the table; a picture (-o %s) has all stacks", r.output)
	case r.q.Kind == trocar.QuestionOffCPU:
		d.unit, d.title, d.table = "nanoseconds", "waiting", (*flame.Profile).AppendWaits
	case r.q.Kind == trocar.QuestionLocks:
		d.unit, d.title, d.table = "nanoseconds", "waiting for locks", (*flame.Profile).AppendWaits
	case r.q.Kind == trocar.QuestionLeaks:
		d.unit, d.title, d.table = "bytes", "memory that is not given back", (*flame.Profile).AppendBlocks
	default:
		d.period = time.Second / time.Duration(r.q.Frequency)
	}
	r.drawn = d
	return r.earlier(d)
}

// draw collects stacks in place of showing maps of them.
func (k *sink) draw(out io.Writer) {
	d := k.s.drawn
	k.stacks = &flame.Collector{Sink: k.Sink, Skip: d.skip, Switch: d.title == "waiting"}
	k.stacks.Profile = flame.Profile{Title: d.title, Unit: d.unit, Period: d.period.Nanoseconds()}
	if !d.file() {
		k.stacks.Shown = func(p *flame.Profile) error {
			if err := k.stacks.Sink.Flush(); err != nil {
				return err
			}
			if d.base != nil {
				p.Compare(d.base)
			}
			text := d.table(p, nil, d.top)
			if k.fit != nil {
				text = k.fit.Lines(nil, string(text))
			}
			_, err := out.Write(text)
			return err
		}
	}
	k.Sink = k.stacks
}

// drawn writes the picture.
func (k *sink) drawn() error {
	if k.picture == nil {
		return nil
	}
	if k.s.drawn.base != nil {
		k.stacks.Profile.Compare(k.s.drawn.base)
	}
	data, err := k.stacks.Profile.Encode(k.s.drawn.form)
	if err != nil {
		return fmt.Errorf("%s: %w", k.s.output, err)
	}
	if _, err := k.picture.Write(data); err != nil && !output.Closed(err) {
		return fmt.Errorf("%s: %s", k.s.output, reason(err))
	}
	return nil
}
