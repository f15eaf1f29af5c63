package trocar

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"trocar/internal/compile/record"
	"trocar/internal/kernel"
	"trocar/internal/process/probe"
	"trocar/internal/process/target"
	"trocar/result"
)

// runOptions say how a compiled script is run.
type runOptions struct {
	DryRun bool // attach, then end
	// Progress is told how many points of all are attached.
	Progress func(done, total int)
	// VerifierLog is given what the verifier says; nil: nothing.
	VerifierLog func(program, text string)
	// Tally is called at the end, behind the end probes; it may read the script's maps of one integer, of which those that
	// are not there or have no value are 0. What it gives is told as notices.
	Tally func(value func(name string) int64) []string
}

// run is a run under way.
type run struct {
	*Program
	opts    runOptions
	sink    result.Sink
	loaded  *kernel.Loaded
	family  *kernel.Family // the processes that are followed
	before  target.Stat    // of the process, when it began to be traced
	names   *names
	decoder record.Decoder
	wall    result.Wall

	formats []*result.Format // by layout
	values  []result.Value
	text    []byte
	printf  result.Printf // the event of printf, used again for each

	exit    Exit
	exiting bool // exit() was called
	ending  bool // the end probes run
	// iterates: the script iterates over objects of the kernel, which is one step that exit() does not end.
	iterates bool
	ctx      context.Context
	unrun    uint64 // commands of system() that came too late
	quiet    int    // empty looks at the ring in a row
	records  int    // since the last look
	pending  *pendingMap
	told     []uint64 // losses already reported, by counter
	unseen   <-chan *result.Notice
}

// errExit ends reading when a script has called exit().
var errExit = errors.New("exit")

// run is Run behind its checks.
func (p *Program) run(ctx context.Context, sink result.Sink, o runOptions) (Exit, error) {
	r := &run{Program: p, opts: o, sink: sink, formats: make([]*result.Format, len(p.code.Layouts))}
	var err error
	if r.wall, err = result.NewWall(); err != nil {
		return r.exit, err
	}
	r.names = newNames(r)
	defer r.names.close()
	r.decoder = record.Decoder{Resolver: r.names, Trailer: p.typed.Config.StrTruncTrailer, Quad: !p.machine.arch().Extended}
	if err := r.prepare(); err != nil {
		return r.exit, err
	}
	obj := r.object()
	if r.loaded, err = kernel.Load(obj, kernel.Options{Features: p.features, Log: o.VerifierLog, LogLevel: logLevel(o), RingMap: record.RingName}); err != nil {
		return r.exit, err
	}
	defer func() {
		if r.family != nil {
			r.family.Close()
		}
		r.loaded.Close()
	}()
	if err := errors.Join(r.control(), r.sleep()); err != nil {
		return r.exit, err
	}
	err = r.trace(ctx)
	return r.exit, err
}

func logLevel(o runOptions) uint32 {
	if o.VerifierLog != nil {
		return 1
	}
	return 0
}

// prepare parses the formats of records.
func (r *run) prepare() error {
	for i, l := range r.code.Layouts {
		switch l.Kind {
		case record.Printf, record.Errorf, record.Warnf, record.System, record.Cat:
			f, err := result.ParseFormat(l.Format)
			if err != nil {
				return fmt.Errorf("%v: %w", l.Span, err)
			}
			r.formats[i] = f
		}
	}
	return nil
}

// object is the compiled script in the loader's terms.
func (r *run) object() *kernel.Object {
	obj := &kernel.Object{Maps: r.code.Maps}
	for _, m := range obj.Maps {
		if m.Type == ebpf.RingBuf {
			m.MaxEntries = kernel.DefaultRingSize(uint64(r.typed.Config.PerfRBPages))
		}
	}
	for _, p := range r.code.Programs {
		k := &kernel.Program{
			Name: p.Name, Type: p.Type, Insns: p.Insns, Sleepable: p.Sleepable, Return: p.Return, Session: p.Session, Points: p.Points,
			License: r.typed.Config.License,
		}
		if p.Cookied && !p.Type.RunByUs() {
			k.Cookies = p.Cookies
		}
		obj.Programs = append(obj.Programs, k)
	}
	return obj
}

// control writes the clocks that programs compute with.
func (r *run) control() error {
	c := record.Control{Start: r.names.start, TAI: r.names.tai}
	return r.loaded.Map(record.ControlName).Put(record.Key(), c.Bytes())
}

// sleep tells the programs that nobody looks at the ring for a while: the next record wakes us.
func (r *run) sleep() error {
	return r.loaded.Map(record.IdleName).Put(record.Key(), record.Idle())
}

// trace is the life of a loaded script.
func (r *run) trace(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.ctx = ctx
	if err := r.names.prepare(ctx); err != nil {
		if err := r.notice(result.Warning, "stacks of processes that end soon may lack names: %v", err); err != nil {
			return err
		}
	}
	if err := r.special(probe.Begin); err != nil {
		return err
	}
	if mode := r.Program.opts.Mode; mode == "bench" || mode == "test" {
		return r.measure(mode)
	}
	if err := r.follow(); err != nil {
		return err
	}
	failed, err := r.loaded.Attach(ctx, r.opts.Progress)
	if err != nil {
		return err
	}
	if err := r.unattached(failed); err != nil {
		return err
	}
	n := r.Probes() - len(failed)
	if err := r.emit(&result.Attached{Probes: n}); err != nil {
		return err
	}
	if r.child == nil && r.waits() {
		r.unseen = unseen(ctx, r.code.Points, r.Program.opts.PID)
	}
	if err := r.read(); err != nil {
		return err
	}
	if r.child != nil && !r.opts.DryRun {
		if err := r.child.Release(); err != nil {
			return err
		}
	}
	switch iterators := r.iterators(); {
	case r.opts.DryRun || r.exiting:
	case len(iterators) > 0:
		if err := r.iterate(ctx, cancel, iterators); err != nil {
			return err
		}
	case r.waits():
		r.watch(ctx, cancel)
		err := r.loaded.Ring().Run(ctx, r.record, r.idle)
		if err != nil && !errors.Is(err, errExit) {
			return err
		}
	}
	return r.finish()
}

// finish takes the probes away, runs the end probes and shows the maps.
func (r *run) finish() error {
	r.loaded.Detach()
	if err := errors.Join(r.drain(), r.tellUnseen()); err != nil {
		return err
	}
	if err := r.unfollowed(); err != nil {
		return err
	}
	if r.child != nil {
		select {
		case <-r.child.Done():
			e := ExitStatus(r.child.Exit())
			r.exit.Command = &e
		default:
			r.child.Kill(time.Second)
		}
		r.child = nil
	}
	r.ending = true
	if err := r.special(probe.End); err != nil {
		return err
	}
	if err := r.drain(); err != nil {
		return err
	}
	if err := r.emit(&result.End{}); err != nil {
		return err
	}
	if r.typed.Config.PrintMapsOnExit && !r.opts.DryRun {
		if err := r.printMaps(); err != nil {
			return err
		}
	}
	if r.opts.Tally != nil {
		for _, text := range r.opts.Tally(r.scalar) {
			if err := r.notice(result.Info, "%s", text); err != nil {
				return err
			}
		}
	}
	if r.unrun > 0 {
		late := &result.Lost{What: "commands of system()", Count: r.unrun, Detail: "the run ended before they were started"}
		if err := r.emit(late); err != nil {
			return err
		}
	}
	if err := r.losses(); err != nil {
		return err
	}
	return r.sink.Flush()
}

// drain reads what is left in the ring; exit() in it changes nothing any more.
func (r *run) drain() error {
	for {
		_, err := r.loaded.Ring().Read(r.record)
		if err == nil {
			return r.flushPending(false)
		}
		if !errors.Is(err, errExit) {
			return err
		}
	}
}

// read handles the records at hand.
func (r *run) read() error {
	_, err := r.loaded.Ring().Read(r.record)
	if err != nil && !errors.Is(err, errExit) {
		return err
	}
	if err := r.flushPending(false); err != nil {
		return err
	}
	return r.sink.Flush()
}

// special runs the begin or end probes, in the order of the script.
func (r *run) special(kind probe.Kind) error {
	if r.opts.DryRun {
		return nil
	}
	for _, p := range r.code.Programs {
		if !p.Type.RunByUs() || p.Points[0].Kind != kind {
			continue
		}
		if _, err := r.loaded.Run(p.Name); err != nil {
			return err
		}
	}
	return nil
}

// waits tells whether anything can still happen: a script with nothing but begin and end ends by itself.
func (r *run) waits() bool {
	for _, p := range r.code.Points {
		if p.Kind != probe.Begin && p.Kind != probe.End {
			return true
		}
	}
	return false
}

// watch ends the run with the command or the process.
func (r *run) watch(ctx context.Context, cancel func()) {
	if r.child != nil {
		done := r.child.Done()
		go func() {
			select {
			case <-done:
				if r.family != nil {
					r.waitFamily(ctx)
				}
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	if r.Program.opts.PID != 0 {
		go func() {
			waitProcess(ctx, r.Program.opts.PID)
			if r.family != nil {
				r.waitFamily(ctx)
			}
			cancel()
		}()
	}
}

// waitProcess returns when a process has ended or ctx is done. Without pidfds (before Linux 5.3) it looks twice a second.
func waitProcess(ctx context.Context, pid int) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err == nil {
		defer unix.Close(fd)
	}
	for ctx.Err() == nil && target.PID(pid).Exists() {
		if err != nil {
			select {
			case <-ctx.Done():
			case <-time.After(500 * time.Millisecond):
			}
			continue
		}
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if n, _ := unix.Poll(poll, 500); n > 0 {
			return
		}
	}
}

// idleLooks is how many empty looks at the ring in a row make the reader idle: the next record then wakes it.
const idleLooks = 5

// idle is called after each look at the ring.
func (r *run) idle() error {
	r.names.poll()
	if err := r.tellUnseen(); err != nil {
		return err
	}
	if r.pending != nil {
		if r.pending.looks++; r.pending.looks > 1 {
			if err := r.flushPending(false); err != nil {
				return err
			}
		}
	}
	if r.records == 0 {
		r.quiet++
		if r.quiet == idleLooks {
			return r.sleep()
		}
		return nil
	}
	r.quiet, r.records = 0, 0
	return r.sink.Flush()
}

// maxUnattached is how many points that could not be attached are named.
const maxUnattached = 10

// unattached reports points that could not be attached, as the script's setting says.
func (r *run) unattached(failed []kernel.AttachError) (err error) {
	if len(failed) == 0 || r.typed.Config.MissingProbes == "ignore" {
		return nil
	}
	if len(failed) == len(r.code.Points) {
		return &failed[0]
	}
	if r.typed.Config.MissingProbes == "error" {
		// What a pattern found may be missing: it was not asked for by its name.
		for i := range failed {
			if !failed[i].Point.Pattern {
				return &failed[i]
			}
		}
	}
	if more := len(failed) - maxUnattached; more > 0 {
		failed = failed[:maxUnattached]
		defer func() {
			if err == nil {
				err = r.notice(result.Warning, "%d more points could not be attached", more)
			}
		}()
	}
	for i := range failed {
		if err := r.notice(result.Warning, "%s", failed[i].Error()); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) emit(e result.Event) error { return r.sink.Event(e) }

// notice tells something about the run.
func (r *run) notice(s result.Severity, format string, args ...any) error {
	return r.emit(&result.Notice{Diagnostic: result.Diagnostic{Severity: s, Text: fmt.Sprintf(format, args...)}})
}
