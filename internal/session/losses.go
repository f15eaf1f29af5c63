package session

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"trocar/internal/compile/record"
	"trocar/internal/kernel"
	"trocar/result"
)

// missed reports hits at which the kernel ran no program. That of a family is passed over like others.
func (s *Session) missed() error {
	var n uint64
	var at []string
	for _, m := range s.kernel.Programs.Missed() {
		n += m.Count
		at = append(at, m.Point.Name)
	}
	if n > 0 {
		const most = 3
		names := strings.Join(at[:min(len(at), most)], ", ")
		if more := len(at) - most; more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		err := s.emit(&result.Lost{What: "hits", Count: n, Detail: "the kernel passed over " + names +
			" while another BPF program or the tracer was at work on the CPU; which process it was is not known"})
		if err != nil {
			return err
		}
	}
	if s.descendants == nil {
		return nil
	}
	if n := s.descendants.Missed(); n > 0 {
		return s.notice(result.Warning, "%s", plural(n,
			"the kernel passed over the start of 1 process or thread: if it was a child process, it was not traced",
			"the kernel passed over the starts of %d processes or threads: those that were child processes were not traced"))
	}
	return nil
}

// losses reports what the programs counted, once.
func (s *Session) losses() error {
	if err := s.tellStacks(); err != nil {
		return err
	}
	value := make([]byte, s.in.Script.CountersSize())
	if err := s.kernel.Maps.Get(record.CountersName, record.Key(), value); err != nil {
		if errors.Is(err, kernel.ErrNoEntry) {
			return nil
		}
		return err
	}
	if s.reported == nil {
		s.reported = make([]uint64, len(s.in.Script.Losses))
	}
	for i, total := range s.in.Script.Counters(value) {
		l := s.in.Script.Losses[i]
		if l.Open != "" {
			total = 0
			if err := s.kernel.Maps.Each(l.Open, func(_, _ []byte) error { total++; return nil }); err != nil {
				return err
			}
		}
		n := total - s.reported[i]
		if n == 0 || l.Kind == record.KeptStacks {
			continue
		}
		s.reported[i] = total
		e, err := s.loss(&l, n)
		if err != nil {
			return err
		}
		if err := s.emit(e); err != nil {
			return err
		}
	}
	return nil
}

// loss is the event for a counter.
func (s *Session) loss(l *record.Loss, n uint64) (result.Event, error) {
	d := result.Diagnostic{Severity: result.Warning, At: l.At}
	switch l.Kind {
	case record.LostRecords:
		return &result.Lost{What: "events", Count: n}, nil
	case record.LostScratch:
		return &result.Lost{What: "events", Count: n, Detail: "no scratch memory was free"}, nil
	case record.LostUpdates:
		m := &s.storage(l.Map).Map
		d.Text = fmt.Sprintf("Map full; can't update element of %s (%d times)", m.Name, n)
		d.Hints = []string{fmt.Sprintf("Try increasing max_map_keys config (now %d) or manually setting the max entries in "+
			"a map declaration e.g. `let %s = hash(%d)`", m.Max, m.Name, 4*m.Max)}
		if s.in.Asked {
			d.Text = fmt.Sprintf("%d hits are missing: there was no room for more than %d entries at once "+
				"(functions, values, stacks, open calls or blocks)", n, m.Max)
			d.Hints = []string{"select fewer functions or processes, or leave out some with --if"}
		}
	case record.LostReads:
		d.Text = fmt.Sprintf("%d reads of memory failed; their values were taken as 0 or empty", n)
		if s.in.EachFailure != "" {
			d.Hints = []string{s.in.EachFailure}
		}
	case record.LostStacks:
		d.Text = fmt.Sprintf("%d call stacks have no frames: there were too many different ones at once", n)
	case record.LostNames:
		d.Text = fmt.Sprintf("%d times a Python function was met whose name was not kept: there are too many", n)
	case record.LostBegins:
		d.Text = fmt.Sprintf("%d returns were left out: their calls had begun before, "+
			"and the location of the result is known only at function entry", n)
	case record.LostCalls:
		d.Text = fmt.Sprintf("%d calls were not timed: too many were open at once", n)
	case record.LostReturns:
		d.Text = fmt.Sprintf("%d returns were lost: the kernel sees those of only 64 calls that are nested in a thread", n)
	case record.LeftCalls:
		d.Severity = result.Info
		by := cmp.Or(l.By, "an exception, longjmp or the end of a thread")
		d.Text = plural(n, "1 call was left by "+by+": it has no duration",
			"%d calls were left by "+by+": they have no duration")
	case record.OpenCalls:
		d.Severity = result.Info
		d.Text = plural(n, "1 call had not returned, or was left: it has no duration",
			"%d calls had not returned, or were left: they have no duration")
	case record.GuessedStacks:
		d.Severity = result.Info
		d.Text = plural(n, "1 call stack goes through code that no unwinding table is known of: "+
			"frames there may be missing or wrong",
			"%d call stacks go through code that no unwinding table is known of: "+
				"frames there may be missing or wrong")
		d.Hints = s.walks.hints()
	case record.BrokenStacks:
		d.Severity = result.Info
		d.Text = plural(n, "1 call stack ends early: the caller of its last frame was not found",
			"%d call stacks end early: the callers of their last frames were not found")
	case record.LostFloats:
		d.Text = plural(n, "the floating-point values of 1 hit are not known: the thread was not switched off",
			"the floating-point values of %d hits are not known: the thread was not switched off") +
			" (a real-time or SCHED_IDLE thread, no thread of trocar's on its CPU, or trocar was stopped)"
	case record.LostLoops:
		d.Text = fmt.Sprintf("a loop was stopped %d times by the kernel's limit of iterations", n)
	default:
		return nil, fmt.Errorf("the programs counted %d losses of unknown kind %d", n, l.Kind)
	}
	return &result.Notice{Head: result.Head{Action: l.Action + 1}, Diagnostic: d}, nil
}

// plural is the text for a number; there is a %d in that for several.
func plural(n uint64, one, many string) string {
	if n == 1 {
		return one
	}
	return fmt.Sprintf(many, n)
}
