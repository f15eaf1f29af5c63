// Package session is one run of a compiled script: it attaches the programs, turns their records and maps into events
// for a sink, and ends when the script, the traced process, the command or the caller does.
//
// It sees the kernel through three small interfaces (see Kernel) that tests fake, and knows nothing of how the script
// was compiled: what is to be known of records and maps is data (record.Script).
//
// It is more than 4,000 lines because a run has much to tell beside its records: names, losses, costs, probes that
// cannot be hit, and code that is made while it lasts.
package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"trocar/internal/binary/image"
	"trocar/internal/binary/types"
	"trocar/internal/compile/record"
	"trocar/internal/kernel"
	"trocar/internal/process/probe"
	"trocar/internal/process/runtimes"
	"trocar/internal/process/target"
	"trocar/result"
)

// Input is what a run is of.
type Input struct {
	Script   *record.Script
	Points   []*probe.Point // by the numbers in records
	Programs []Program      // in the order of the script
	Probes   int            // as users count them
	Config   Config

	PID       int                // only this process; the run ends with it. 0: none in particular
	Advanced  int                // the command, if it has gone on until a runtime is at work in it
	Others    []int              // more processes; the run ends with the last one
	Command   Command            // is released when all is attached; the run ends with it. Nil: none
	Follow    bool               // the processes that PID or the command starts are traced as well
	Namespace *kernel.Namespaced // of PIDs, if it is not the initial one; its PID is not used
	Mode      Mode
	DryRun    bool // attach, then end
	// Images opens the files that are probed and mapped. Nil: types that only a program's file tells of are not known.
	Images *image.Set
	// Given is what the function of a point is given, or gives back, where a script keeps that of all functions; false: it
	// is not known. Nil: no script does.
	Given func(p *probe.Point) (list []record.Given, known bool)
	// Runtimes are those that are known.
	Runtimes []runtimes.Runtime

	// Errors is where commands of system() write their errors; nil: nowhere.
	Errors io.Writer
	// EachFailure tells the user how each failed read is shown; "": that is not said.
	EachFailure string
	// Asked: the script was written for a question; nothing is said of its own words.
	Asked bool
	// InParts: maps whose keys have stacks are given entry by entry, in any order, a key perhaps more than once, and their
	// frames are good for the call only.
	InParts bool
	// Patience is how long results wait for the probes to be taken away; 0: some seconds.
	Patience time.Duration
	// Progress is told how many points of all are attached; nil: nobody is.
	Progress func(done, total int)
	// Totals is called at the end, behind the end probes; it may read the script's maps of one integer, of which those
	// that are not there or have no value are 0. What it gives is said as notices. Nil: nothing is.
	Totals func(value func(name string) int64) []string
	// Bodies tells where the code of the points is that are methods, while the session runs; with copies, also where it is
	// inlined; nothing: the process has ended. Nil: there are none. It is not called concurrently.
	Bodies func(copies bool) []probe.Body
	// Write is the function write of the C library of the process; nil: it is not known.
	Write *probe.Point
	// Late tells at the end what fits the script, but was not there when the probes were attached. Nil: it is not known.
	Late func() []string
}

// Program is a BPF program with its first point.
type Program struct {
	Name  string
	Type  probe.ProgramType
	Point *probe.Point
}

// Mode says which probes are run.
type Mode uint8

// Modes.
const (
	Trace Mode = iota // all but test and bench probes
	Test              // the test probes only: nothing is attached
	Bench             // the bench probes only: nothing is attached
)

// Config is what the script's settings say of its run.
type Config struct {
	Trailer         string // put behind strings that were longer in memory
	Quad            bool   // a long double is IEEE's of 128 bits, not x87's
	StackMode       types.StackMode
	StackSources    bool   // stacks show inlined functions and places in the source
	Mangled         bool   // symbols are shown as the symbol table has them
	MaxCatBytes     int    // of a file that cat() shows
	PrintMapsOnExit bool   // also those that the script does not print
	MissingProbes   string // "error", "warn" or "ignore": what is done about points that could not be attached
	MapTables       bool   // maps of numbers are shown as tables
	MapHistograms   bool   // those of times with their histograms
	// SeriesTime: time series count nanoseconds since 1970, of a clock that the script itself keeps, not of the boot
	// clock.
	SeriesTime bool
}

// Exit is how a run ended.
type Exit struct {
	Code    int          // of exit(), or 1 if a test probe failed
	Command *target.Exit // nil: there is none, or it was still running
}

// Session is a run.
type Session struct {
	in      Input
	sink    result.Sink
	kernel  Kernel
	names   *resolver
	decoder record.Decoder
	wall    result.Wall

	began, ended time.Time         // all probes were attached, and detached again
	cleared      map[int]time.Time // maps that were cleared since, by their index
	// background are the goroutines of Run.
	background  sync.WaitGroup
	ctx, caller context.Context // the run's, which ends with what is traced, and the caller's
	command     Command         // nil once it has ended
	descendants Descendants     // nil: nothing is followed
	before      target.Stat     // of the process, when it began to be traced
	idleProbes  <-chan *result.Notice
	renewing    <-chan *result.Notice // see findRenewed
	toldRenewed map[string]bool       // written before renewing is closed, as is
	renews      bool                  // that a runtime does so
	costly      <-chan *result.Notice
	joined      joined
	bodies      *bodies          // nil: no methods are traced
	made        *follower        // nil: no code is followed that is made at run time
	walks       *walks           // nil: no user stacks are walked by tables
	late        bool             // the results did not wait for the probes to be taken away
	detached    atomic.Bool      // or about to be
	held        []*target.Handle // the processes

	// Of the records.
	formats []*result.Format // by layout
	values  []result.Value   // used again for each, as are text and printf
	text    []byte
	hit     record.Head // of the record at hand, if records have heads
	printf  result.Printf
	pending *pendingMap

	exit    Exit
	exiting bool // exit() was called
	ending  bool // the end probes run
	// iterating: programs run over objects of the kernel, which is one step that exit() does not end.
	iterating    bool
	lateCommands uint64   // of system(), which came too late
	emptyLooks   int      // at the ring, in a row
	woken        bool     // what came since was no event, so that programs are to wake us again
	newRecords   int      // since the last look
	reported     []uint64 // losses, by counter
}

// errEnough ends reading when the results cannot wait any longer.
var errEnough = errors.New("enough")

// errExit ends reading when a script has called exit().
var errExit = errors.New("exit")

// New makes a run, which begins now as far as clocks tell. Nothing else is done before Run.
func New(in Input, sink result.Sink) (*Session, error) {
	s := &Session{in: in, sink: sink, command: in.Command, formats: make([]*result.Format, len(in.Script.Layouts))}
	var err error
	if s.wall, err = result.NewWall(); err != nil {
		return nil, err
	}
	for i, l := range in.Script.Layouts {
		if !l.Kind.Formatted() {
			continue
		}
		if s.formats[i], err = result.ParseFormat(l.Format); err != nil {
			return nil, fmt.Errorf("the format %q: %w", l.Format, err)
		}
	}
	s.names = newResolver(&s.in, s.wall)
	s.decoder = record.Decoder{Resolver: s.names, Trailer: in.Config.Trailer, Quad: in.Config.Quad}
	return s, nil
}

// Close closes the files that were opened for names.
func (s *Session) Close() { s.names.close() }

// Run attaches and reads until the script exits, the process or command ends, or ctx is done, which is no error; then
// it detaches, runs the end probes, and gives the maps to the sink. It may be called once. When it returns nothing of
// it runs any more. Errors are the sink's and the kernel's.
func (s *Session) Run(ctx context.Context, k Kernel) (Exit, error) {
	s.kernel, s.caller = k, ctx
	ctx, cancel := context.WithCancel(ctx)
	s.ctx = ctx
	defer func() {
		_ = s.made.close() // if it was not before
		cancel()
		s.background.Wait()
		for _, h := range s.held {
			h.Close()
		}
		if s.descendants != nil {
			s.descendants.Close()
		}
	}()
	err := errors.Join(s.control(), s.sleep())
	if err == nil {
		err = s.trace(ctx, cancel)
	}
	return s.exit, err
}

// control writes the clocks that programs compute with.
func (s *Session) control() error {
	return s.kernel.Maps.Put(record.ControlName, record.Key(), s.names.clocks.Bytes())
}

// sleep tells the programs that nobody looks at the ring for a while: the next record wakes us.
func (s *Session) sleep() error {
	return s.kernel.Maps.Put(record.IdleName, record.Key(), record.Idle())
}

// trace is the life of a loaded script.
func (s *Session) trace(ctx context.Context, cancel func()) error {
	if err := s.runtimesAtWork(); err != nil {
		return err
	}
	if err := s.names.prepare(ctx, s.kernel.Records); err != nil {
		if err := s.notice(result.Warning, "call stacks of short-lived processes may lack symbols: %v", err); err != nil {
			return err
		}
	}
	s.stored()
	if why := s.in.Script.FramePointers; why != "" {
		err := s.notice(result.Warning, "call stacks are walked by frame pointers, so frames of code without them are "+
			"missing or wrong: %s", why)
		if err != nil {
			return err
		}
	}
	s.walk(ctx)
	if err := s.runProbes(probe.Begin); err != nil {
		return err
	}
	if s.in.Mode != Trace {
		return s.measure()
	}
	s.hold()
	before := programOf(target.PID(s.in.PID))
	if err := s.attach(ctx); err != nil {
		return err
	}
	if s.command == nil && s.waits() && !s.in.DryRun {
		s.idleProbes = findIdle(ctx, &s.background, s.in.Points, target.PID(s.in.PID), before, s.detached.Load)
	}
	if s.waits() && !s.in.DryRun && (s.made == nil || len(s.in.Others) > 0) {
		s.findRenewed()
	}
	if !s.in.DryRun {
		s.costly = findCostly(ctx, &s.background, s.in.Points, s.kernel.Programs)
	}
	if err := s.read(); err != nil {
		return err
	}
	if s.command != nil && !s.in.DryRun && !s.exiting {
		if err := s.command.Release(); err != nil {
			return err
		}
	}
	waits := s.waits()
	if iterators := s.iterators(); len(iterators) > 0 && !s.in.DryRun && !s.exiting {
		if err := s.iterate(ctx, iterators); err != nil {
			return err
		}
		waits = s.command != nil
	}
	if waits && !s.in.DryRun && !s.exiting {
		s.iterating = false
		s.endWithTarget(ctx, cancel)
		err := s.kernel.Records.Run(ctx, s.take, s.idle)
		if err != nil && !errors.Is(err, errExit) {
			return err
		}
	}
	return s.finish()
}

// attach attaches the probes and says so.
func (s *Session) attach(ctx context.Context) error {
	if err := s.follow(); err != nil {
		return err
	}
	failed, err := s.kernel.Programs.Attach(ctx, s.in.Progress)
	if err != nil {
		return err
	}
	// What took only what others have left is told otherwise.
	var wanted []kernel.AttachError
	for _, f := range failed {
		if f.Point.Next == 0 {
			wanted = append(wanted, f)
		}
	}
	if err := s.unattached(wanted); err != nil {
		return err
	}
	if err := s.placeBodies(ctx, failed); err != nil {
		return err
	}
	if err := s.followMade(); err != nil {
		return err
	}
	s.joined.add(s.kernel.Programs.Late())
	s.began = time.Now()
	return s.emit(&result.Attached{Probes: s.in.Probes - len(wanted)})
}

// finish takes the probes away, runs the end probes and shows the maps.
func (s *Session) finish() (err error) {
	s.made.end()
	detached, err := s.detach()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, detached()) }() // before anything is freed
	s.names.rename()
	for _, step := range []func() error{
		s.drain, s.tellJoined, s.tellIdle, s.tellRenewed, s.tellBodies, s.tellWalks, s.unfollowed, s.tellDeath,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	s.endCommand()
	s.ending = true
	if err := s.runProbes(probe.End); err != nil {
		return err
	}
	if err := s.drain(); err != nil {
		return err
	}
	if err := s.emit(&result.End{}); err != nil {
		return err
	}
	if s.in.Config.PrintMapsOnExit && !s.in.DryRun {
		if err := s.printMaps(); err != nil {
			return err
		}
	}
	if s.in.Totals != nil {
		for _, text := range s.in.Totals(s.scalar) {
			if err := s.notice(result.Info, "%s", text); err != nil {
				return err
			}
		}
	}
	if s.lateCommands > 0 {
		late := &result.Lost{
			What: "commands of system()", Count: s.lateCommands, Detail: "the run ended before they were started",
		}
		if err := s.emit(late); err != nil {
			return err
		}
	}
	if s.in.Late != nil && !s.in.DryRun {
		for _, text := range s.in.Late() {
			if err := s.notice(result.Warning, "%s", text); err != nil {
				return err
			}
		}
	}
	if s.made != nil {
		if err := s.made.tellAll(); err != nil {
			return err
		}
		if err := s.made.close(); err != nil {
			if err := s.notice(result.Warning, "process %d: %v", s.in.PID, err); err != nil {
				return err
			}
		}
	}
	if err := s.leaveRuntimes(); err != nil {
		return err
	}
	if err := errors.Join(s.missed(), s.losses()); err != nil {
		return err
	}
	return s.sink.Flush()
}

// endCommand ends the command if it still runs.
func (s *Session) endCommand() {
	if s.command == nil {
		return
	}
	select {
	case <-s.command.Done():
		e := s.command.Exit()
		s.exit.Command = &e
	default:
		s.command.Kill(time.Second)
	}
	s.command = nil
}

// drain reads what is left in the ring; exit() in it changes nothing any more.
func (s *Session) drain() error {
	take := s.take
	if s.late { // records may come faster than they are read
		end := time.Now().Add(mostDraining)
		if s.caller.Err() != nil {
			end = time.Now().Add(mostInterrupting / 2)
		}
		take = func(rec []byte) error {
			if time.Now().After(end) {
				return errEnough
			}
			return s.take(rec)
		}
	}
	for {
		_, err := s.kernel.Records.Read(take)
		if err == nil || errors.Is(err, errEnough) {
			return s.showPending(false)
		}
		if !errors.Is(err, errExit) {
			return err
		}
	}
}

// read handles the records at hand.
func (s *Session) read() error {
	_, err := s.kernel.Records.Read(s.take)
	if err != nil && !errors.Is(err, errExit) {
		return err
	}
	if err := s.showPending(false); err != nil {
		return err
	}
	return s.sink.Flush()
}

// runProbes runs the begin or end probes, in the order of the script.
func (s *Session) runProbes(kind probe.Kind) error {
	if s.in.DryRun {
		return nil
	}
	for _, p := range s.in.Programs {
		if !p.Type.RunByUs() || p.Point.Kind != kind {
			continue
		}
		if _, err := s.kernel.Programs.Run(p.Name); err != nil {
			return err
		}
	}
	return nil
}

// waits tells whether anything can still happen: a script with nothing but begin and end ends by itself, or with its
// command.
func (s *Session) waits() bool {
	if s.command != nil {
		return true
	}
	for _, p := range s.in.Points {
		if p.Kind != probe.Begin && p.Kind != probe.End {
			return true
		}
	}
	return false
}

// maxEmptyLooks is how many empty looks at the ring in a row make the reader idle: the next record then wakes it.
const maxEmptyLooks = 5

// idle is called after each look at the ring.
func (s *Session) idle() error {
	s.names.poll()
	if err := s.takeStacks(); err != nil {
		return err
	}
	if err := s.tellWalks(); err != nil {
		return err
	}
	if err := s.tellIdle(); err != nil {
		return err
	}
	if s.made != nil {
		if err := s.made.tellAll(); err != nil {
			return err
		}
	}
	if s.pending != nil {
		if s.pending.looks++; s.pending.looks > 1 {
			if err := s.showPending(false); err != nil {
				return err
			}
		}
	}
	if s.newRecords == 0 {
		if s.emptyLooks++; s.woken {
			s.woken, s.emptyLooks = false, maxEmptyLooks
			if err := errors.Join(s.sink.Flush(), s.sleep()); err != nil {
				return err
			}
			return kernel.ErrSeldom
		}
		switch s.emptyLooks {
		case 1:
			return s.sink.Flush() // what is not a whole line does not wait longer
		case maxEmptyLooks:
			return s.sleep()
		}
		return nil
	}
	s.emptyLooks, s.newRecords, s.woken = 0, 0, false
	return s.sink.Flush()
}

// maxUnattached is how many points that could not be attached are named.
const maxUnattached = 10

// unattached reports points that could not be attached, as the script's setting says.
func (s *Session) unattached(failed []kernel.AttachError) error {
	if len(failed) == 0 || s.in.Config.MissingProbes == "ignore" {
		return nil
	}
	if len(failed) == len(s.in.Points) {
		return &failed[0]
	}
	if s.in.Config.MissingProbes == "error" {
		// What a pattern found may be missing: it was not asked for by its name.
		for i := range failed {
			if !failed[i].Point.Pattern {
				return &failed[i]
			}
		}
	}
	for i := range min(len(failed), maxUnattached) {
		if err := s.notice(result.Warning, "%s", failed[i].Error()); err != nil {
			return err
		}
	}
	if more := len(failed) - maxUnattached; more > 0 {
		return s.notice(result.Warning, "%d more points could not be attached", more)
	}
	return nil
}

func (s *Session) emit(e result.Event) error { return s.sink.Event(e) }

// notice says something about the run.
func (s *Session) notice(severity result.Severity, format string, args ...any) error {
	d := result.Diagnostic{Severity: severity, Text: result.Messagef(format, args...)}
	return s.emit(&result.Notice{Diagnostic: d})
}
