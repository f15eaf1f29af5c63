package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"trocar/internal/kernel"
	"trocar/internal/order"
	"trocar/internal/process/probe"
	"trocar/internal/process/runtimes"
	"trocar/internal/process/target"
	"trocar/result"
)

// Code that a runtime makes while the program runs is followed: the runtime writes a note of each piece that it makes,
// before it is run, and the breakpoints are set while the thread that writes is held for some hundred microseconds. So
// no call is missed when code takes the place of other code. The CPU has few breakpoints: those of code that is not
// begun any more are given to newer code.

// follower sets the breakpoints of points on such code.
type follower struct {
	s       *Session
	at      runtimes.Maker
	feed    Lines // nil: notes are only looked for from time to time
	why     error // why that is so
	unaware error // why the compiler does not tell of code before it is known; nil: it does
	stop    context.CancelFunc
	done    sync.WaitGroup

	making    sync.Mutex // of what follows, while it is followed
	functions []*madeFunction
	byKey     map[string]*madeFunction
	bySource  map[uint64]*madeFunction // by what they are compiled from, in memory
	unmapped  []*madeFunction          // of which that is not there yet
	fresh     map[uint64]*madeBody     // by address, those that are compiled and have no note yet
	early     int                      // functions that were run perhaps before their breakpoints were set
	unnoted   int                      // pieces of code that the compiler told of, and no note
	unrun     uint64                   // hits of breakpoints whose program was not run
	unended   uint64                   // calls that began before breakpoints were set where they end
	used      int                      // breakpoints
	swapped   int                      // times that they were taken off code while calls may still have begun there
	asked     bool
	following bool // what is found in the file was made since
	lost      bool // it was told that it cannot be followed any more

	mu      sync.Mutex
	notices []*result.Notice
}

// madeFunction is a function with the points on its code.
type madeFunction struct {
	*probe.Made
	path             string // of its file
	entries, returns []*probe.Point
	tails            []*probe.Point // where it goes on in another one, if these are not among the returns
	ahead            bool           // the file has code of it
	named            bool           // it was asked for by its name
	fed              bool           // notes of its code are handed over
	bodies           []*madeBody
	hasRun           bool // there is code that calls begin with
	unseen           bool // some of its code has no breakpoints, which was told
}

// madeBody is a piece of code.
type madeBody struct {
	runtimes.Note
	begins, ends []Breakpoint
	failed       bool      // it has no breakpoints, which was told
	fresh        time.Time // since when it waits for its note
	past         time.Time // since when calls begin with newer code, as far as is known; zero: they begin here
}

func (b *madeBody) slots() int { return len(b.begins) + len(b.ends) }

// Breakpoint is one that is set.
type Breakpoint interface {
	Hits() (all, lost uint64)
	Close()
}

// Lines are those that a process writes to a file, before they are written, and what it compiles; *kernel.Feed is one.
type Lines interface {
	Run(ctx context.Context, to kernel.FeedTo)
	// Compiler has what is compiled handed over, too, before the process knows of it.
	Compiler(c *probe.Compiler) error
	// Source adds one to what is looked for.
	Source(addr uint64) error
	Late() uint64
	Close()
}

// notesEvery is how often notes are read that the feed has not handed over.
const notesEvery = 25 * time.Millisecond

// followMade sets breakpoints on the code that is there, and follows what is made.
func (s *Session) followMade() error {
	f := &follower{
		s: s, byKey: map[string]*madeFunction{}, bySource: map[uint64]*madeFunction{}, fresh: map[uint64]*madeBody{},
	}
	for _, p := range s.in.Points {
		f.add(p)
	}
	if len(f.functions) == 0 || s.in.DryRun {
		return nil
	}
	// What was asked for by its name comes first to the breakpoints that there are.
	order.By(f.functions, func(a, b *madeFunction) int {
		switch {
		case a.named == b.named:
			return 0
		case a.named:
			return -1
		}
		return 1
	})
	var ctx context.Context
	ctx, f.stop = context.WithCancel(s.ctx)
	if err := f.begin(ctx); err != nil {
		f.end()
		f.close()
		return s.notice(result.Warning, "calls of code that is compiled at run time are not seen: %v", err)
	}
	s.made = f
	f.making.Lock()
	for _, fn := range f.functions {
		f.tell(fn)
	}
	f.following = true
	f.making.Unlock()
	if err := f.tellAll(); err != nil {
		return err
	}
	f.done.Go(func() { f.follow(ctx) })
	return nil
}

// add takes a point that is on such code.
func (f *follower) add(p *probe.Point) {
	if p.Made == nil {
		return
	}
	fn := f.byKey[p.Made.Keys[0]]
	if fn == nil {
		fn = &madeFunction{Made: p.Made, path: p.Path, named: !p.Pattern, ahead: p.Start < runtimes.Unnumbered}
		f.functions = append(f.functions, fn)
		for _, key := range p.Made.Keys {
			f.byKey[key] = fn
		}
	}
	switch {
	case p.Tail:
		fn.tails = append(fn.tails, p)
	case p.AtReturn:
		fn.returns = append(fn.returns, p)
	default:
		fn.entries = append(fn.entries, p)
	}
}

func (f *follower) begin(ctx context.Context) error {
	for _, r := range f.s.in.Runtimes {
		if r.Inside == nil {
			continue
		}
		if at, ok := r.Inside(f.s.running()).(runtimes.Maker); ok {
			f.at = at
			break
		}
	}
	if f.at == nil {
		return fmt.Errorf("process %d has no runtime that tells of it", f.s.running())
	}
	if err := f.at.Names(); err != nil {
		return err
	}
	first := map[*madeFunction][]runtimes.Note{}
	if err := f.at.Notes(func(b runtimes.Note) {
		if fn := f.of(&b); fn != nil {
			first[fn] = append(first[fn], b)
		}
	}); err != nil {
		return err
	}
	f.why = f.hold()
	if f.feed != nil {
		f.done.Go(func() { f.feed.Run(ctx, kernel.FeedTo{Line: f.line, Compiled: f.compiled, Look: f.look}) })
	}
	for _, fn := range f.functions {
		for _, b := range current(first[fn]) {
			f.making.Lock() // a thread may be held for each piece that is made meanwhile
			f.made(fn, b)
			f.making.Unlock()
		}
	}
	return f.notes()
}

// line takes a note before it is written.
func (f *follower) line(text string) {
	b, ok := f.at.Note(text)
	if !ok {
		return
	}
	f.making.Lock()
	defer f.making.Unlock()
	f.replace(&b)
	if fn := f.of(&b); fn != nil {
		f.made(fn, b)
	}
}

// notes takes those that were written since.
func (f *follower) notes() error {
	f.making.Lock()
	defer f.making.Unlock()
	f.retire()
	f.findSources()
	f.s.joined.add(f.s.kernel.Programs.Rejoin())
	return f.at.Notes(f.note)
}

// replace takes the breakpoints off code in whose place there is other code now: the runtime had given its memory back.
func (f *follower) replace(by *runtimes.Note) {
	for _, fn := range f.functions {
		for _, b := range fn.bodies {
			if b.slots() > 0 && b.Addr < by.Addr+by.Size && by.Addr < b.Addr+b.Size && (b.Addr != by.Addr || b.Name != by.Name) {
				f.release(b)
			}
		}
	}
}

// hold begins to have notes handed over before they are written, or tells why that cannot be.
func (f *follower) hold() error {
	fd, ok := f.at.Writes()
	if !ok || f.s.in.Write == nil {
		return errors.New("the function with which the runtime writes is not known")
	}
	words := f.words(func(*madeFunction) bool { return true })
	if len(words) > kernel.MostFeedWords { // of what a pattern has found more, new code is looked for from time to time
		words = f.words(func(fn *madeFunction) bool { return fn.named })
	}
	if n := len(words); n == 0 || n > kernel.MostFeedWords {
		return fmt.Errorf("it is done for up to %d names", kernel.MostFeedWords)
	}
	feed, err := f.s.kernel.Programs.Feed(f.s.in.Write, fd, words)
	if err != nil {
		return err
	}
	f.feed = feed
	f.precede()
	return nil
}

// words are those by which notes are known that are handed over, of some functions.
func (f *follower) words(of func(*madeFunction) bool) (words []string) {
	for _, fn := range f.functions {
		name, _, _ := strings.Cut(fn.Func, "(")
		_, after, ok := strings.Cut(name, "::")
		if fn.fed = ok && of(fn); !fn.fed {
			continue
		}
		if word := "::" + runtimes.WithoutTypes(after) + "("; !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return words
}

// precede has the compiler tell of code, too. Where that cannot be it is told when it matters.
func (f *follower) precede() {
	c, err := f.at.Compiler()
	if err == nil {
		err = f.feed.Compiler(c)
	}
	if f.unaware = err; err != nil {
		return
	}
	for _, fn := range f.functions {
		if fn.Source != 0 && fn.fed {
			f.unmapped = append(f.unmapped, fn)
		}
	}
	f.findSources()
}

// findSources looks for what functions are compiled from, in files that were loaded since.
func (f *follower) findSources() {
	f.unmapped = slices.DeleteFunc(f.unmapped, func(fn *madeFunction) bool {
		at := f.at.Mapped(fn.path, fn.Source)
		for _, at := range at {
			if f.bySource[at] = fn; f.unaware == nil {
				f.unaware = f.feed.Source(at)
			}
		}
		return len(at) > 0
	})
}

// compiled takes code of which only the compiler knows yet. Whether calls begin there is known with its note,
// and not before that they begin where a loop goes on in it.
func (f *follower) compiled(source, addr, size uint64) {
	f.making.Lock()
	defer f.making.Unlock()
	fn := f.bySource[source]
	if fn == nil {
		return
	}
	b := &madeBody{Note: runtimes.Note{Addr: addr, Size: size}, fresh: time.Now()}
	f.replace(&b.Note)
	for at, o := range f.fresh { // which was given up
		if at < addr+size && addr < at+o.Size {
			f.release(o)
			delete(f.fresh, at)
		}
	}
	for _, p := range fn.entries {
		if f.set(fn, p, addr, &b.begins) != nil {
			f.release(b) // it is tried again with the note
			break
		}
	}
	const most = 16 // of which some were given up, and have no notes
	if len(f.fresh) >= most {
		f.giveUpFresh()
	}
	f.fresh[addr] = b
}

// giveUpFresh gives up code without a note.
func (f *follower) giveUpFresh() {
	for addr, b := range f.fresh {
		f.release(b)
		delete(f.fresh, addr)
		if time.Since(b.fresh) > time.Second {
			f.unnoted++
		}
	}
}

// of is the function that a piece of code is of; nil: of none that is traced.
func (f *follower) of(b *runtimes.Note) *madeFunction {
	for _, key := range b.Keys {
		if fn := f.byKey[key]; fn != nil {
			return fn
		}
	}
	return nil
}

// current are the pieces that calls begin with, of those that there are, and those that other code goes on in.
func current(all []runtimes.Note) (out []runtimes.Note) {
	best := map[string]int{}
	for i, b := range all {
		if at, ok := best[b.Name]; b.Rank != runtimes.NotEntered && (!ok || b.Rank >= all[at].Rank) {
			best[b.Name] = i
		}
	}
	for i, b := range all {
		if b.Rank == runtimes.NotEntered || best[b.Name] == i {
			out = append(out, b)
		}
	}
	return out
}

// note takes one that was found in the file.
func (f *follower) note(b runtimes.Note) {
	f.replace(&b)
	fn := f.of(&b)
	if fn == nil || fn.knows(&b) {
		return
	}
	if f.following && f.fresh[b.Addr] == nil {
		f.warn("%s was compiled (%s): its first calls in this code may be missing", fn.Func, b.Tier)
	}
	f.made(fn, b)
}

func (fn *madeFunction) knows(b *runtimes.Note) bool {
	return slices.ContainsFunc(fn.bodies, func(o *madeBody) bool {
		return o.Addr == b.Addr && o.Name == b.Name && (o.slots() > 0 || o.failed)
	})
}

// made sets the breakpoints of a piece of code.
func (f *follower) made(fn *madeFunction, b runtimes.Note) {
	if fn.knows(&b) {
		return
	}
	body := f.fresh[b.Addr]
	delete(f.fresh, b.Addr)
	if body != nil && b.Rank == runtimes.NotEntered {
		f.release(body) // no call has begun there
	}
	if b.Rank == runtimes.NotEntered && len(fn.returns)+len(fn.tails) == 0 {
		return
	}
	switch {
	case body == nil || len(body.begins) < len(fn.entries):
		body = &madeBody{Note: b}
		// Code that takes the place of other code is run after its note, and the first when it is there.
		if fn.fed && f.following && b.Rank != runtimes.NotEntered && !fn.hasRun && (b.Rank < 2 || !fn.ahead) {
			f.early++
		}
	default:
		body.Note = b
		for _, p := range body.begins {
			if len(fn.returns) > 0 {
				all, _ := p.Hits()
				f.unended += all
			}
		}
	}
	fn.hasRun = fn.hasRun || !fn.Several && b.Rank != runtimes.NotEntered
	if !fn.Several && b.Rank != runtimes.NotEntered {
		for _, o := range fn.bodies {
			if o.past.IsZero() && o.Name == b.Name && o.Rank != runtimes.NotEntered {
				o.past = time.Now()
			}
		}
	}
	if err := f.arm(fn, body); err != nil {
		f.release(body)
		body.failed = true
		if !fn.unseen {
			fn.unseen = true
			f.notSeen(fn, body, err)
		}
	}
	fn.bodies = append(fn.bodies, body)
}

// follow takes what is made, until ctx ends, where it is not handed over.
func (f *follower) follow(ctx context.Context) {
	for f.feed == nil {
		select {
		case <-ctx.Done():
			return
		case <-time.After(notesEvery):
			f.look()
		}
	}
}

// look takes what was made since.
func (f *follower) look() {
	if err := f.notes(); err != nil && !f.lost && target.PID(f.s.running()).Exists() {
		f.lost = true
		f.warn("what the runtime compiles from now on may not be seen: %v", err)
	}
}
