package session

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"trocar/internal/kernel"
	"trocar/internal/process/probe"
	"trocar/result"
)

// A probe on an instruction that the kernel cannot emulate costs a multiple of another, whatever the script does there.
// Hit often, that slows down what is traced, so it is said; and of many probes, that they do so together.

const (
	costlyRate   = 100_000                // hits of a point in a second that are said,
	costlyLeast  = 20_000                 // or so many at least, if they take
	costlyShare  = 0.5                    // so much of a CPU
	costlyWindow = 50 * time.Millisecond  // for which hits are counted
	costlyFirst  = 300 * time.Millisecond // after which that is done first; the pauses double
	costlyPause  = time.Minute            // at most
	mostCostly   = 4                      // points that are named
)

// site is an instruction that is probed: several points may be on it.
type site struct {
	path   string
	offset uint64
}

// findCostly looks from time to time how often points are hit where the kernel steps over the instruction, and sends
// what is to be said of them, once for each. What cannot be counted is not said: that is known from nothing else.
func findCostly(
	ctx context.Context, background *sync.WaitGroup, points []*probe.Point, programs Programs,
) <-chan *result.Notice {
	if len(points) < 2 && !slices.ContainsFunc(points, func(p *probe.Point) bool { return p.Stepped }) {
		return nil
	}
	found := make(chan *result.Notice, mostCostly+2)
	background.Go(func() {
		defer close(found)
		told := map[site]bool{}
		cost := stepCosts{programs: programs}
		for pause := costlyFirst; ; pause = min(2*pause, costlyPause) {
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
			hits, err := programs.Hits(ctx, costlyWindow, costlyLeast)
			if ctx.Err() != nil {
				return
			}
			for _, r := range hits.Often {
				at := site{r.Point.Path, r.Point.Offset}
				if told[at] || !cost.much(r.PerSecond) {
					continue
				}
				if told[at] = true; len(told) > mostCostly {
					tell(found, &result.Notice{Diagnostic: result.Diagnostic{
						Severity: result.Warning, Text: "more probes are hit so often at such instructions: they are not named",
					}})
					return
				}
				tell(found, costlyNotice(r, cost.text()))
			}
			if share := cost.share(&hits); len(told) == 0 && share >= costlyShare {
				told[site{}] = true
				tell(found, togetherNotice(points, &hits, share))
			}
			if err != nil {
				return // what cannot be counted now cannot be later
			}
		}
	})
	return found
}

// stepCosts is what a hit costs on this machine, where that can be tried.
type stepCosts struct {
	programs          Programs
	tried             bool
	stepped, emulated time.Duration
	err               error
}

func (c *stepCosts) try() {
	if !c.tried {
		c.tried = true
		c.stepped, c.emulated, c.err = c.programs.StepCost()
	}
}

// much tells whether so many hits in a second are worth to be said.
func (c *stepCosts) much(perSecond float64) bool {
	c.try()
	return perSecond >= costlyRate || c.err == nil && perSecond*c.stepped.Seconds() >= costlyShare
}

// share is how much of a CPU many probes take together, 0 if it is not worth a trial.
func (c *stepCosts) share(h *kernel.Hits) float64 {
	if h.Together < costlyLeast {
		return 0
	}
	if c.try(); c.err != nil {
		return h.Running
	}
	return h.Running + h.Stepped*c.stepped.Seconds() + max(0, h.Together-h.Stepped)*c.emulated.Seconds()
}

func togetherNotice(points []*probe.Point, h *kernel.Hits, share float64) *result.Notice {
	hint := "probe fewer functions"
	if slices.ContainsFunc(points, func(p *probe.Point) bool { return p.Path != "" && p.PID == 0 }) {
		hint += "; other processes are left alone with -p PID"
	}
	return &result.Notice{Diagnostic: result.Diagnostic{
		Severity: result.Warning,
		Text: fmt.Sprintf("the probes are hit about %d,000 times a second altogether, which takes about %.0f%% of a CPU's "+
			"time", int(h.Together/1000), 100*share),
		Hints: []string{"a filter does not make a hit cheaper: " + hint},
	}}
}

func (c *stepCosts) text() string {
	if c.try(); c.err != nil {
		return "several times what a hit costs elsewhere"
	}
	us := func(d time.Duration) string { return fmt.Sprintf("%.1f us", float64(d)/float64(time.Microsecond)) }
	return us(c.stepped) + " a hit, against " + us(c.emulated) + " where it can emulate it"
}

func costlyNotice(r kernel.Rate, cost string) *result.Notice {
	p := r.Point
	hint := "probe a function that runs less often, or an instruction that is emulated: push, call, jump or nop " +
		"(FUNC+OFFSET)"
	switch {
	case p.AtReturn || p.Kind == probe.Uretprobe:
		hint = "look at the function's entry only (trocar count, uprobe), or at a function that runs less often"
	case p.Kind == probe.USDT:
		hint = "probe a place that runs less often"
	}
	if p.PID == 0 {
		hint += "; other processes are left alone with -p PID"
	}
	return &result.Notice{Diagnostic: result.Diagnostic{
		Severity: result.Warning,
		Text: result.Messagef("%s is hit about %d,000 times a second, and the kernel cannot emulate the instruction there, "+
			"but single-steps it: %s", p.Name, int(r.PerSecond/1000), cost),
		Hints: []string{"a filter does not make a hit cheaper: " + hint},
	}}
}
