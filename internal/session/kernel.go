package session

import (
	"context"
	"fmt"
	"io"
	"time"

	"trocar/internal/kernel"
	"trocar/internal/process/probe"
	"trocar/internal/process/target"
)

// Kernel is what a run needs of the programs that were loaded for its script.
type Kernel struct {
	Records  Records
	Maps     Maps
	Programs Programs
}

// Records is where records come from; *kernel.Ring is one. What is given to fn is gone when fn returns. Errors of fn
// and idle end both and are returned.
type Records interface {
	// Read gives what is there, and the number of records.
	Read(fn func(rec []byte) error) (int, error)
	// Run reads until ctx is done, which is no error, and calls idle after each look.
	Run(ctx context.Context, fn func(rec []byte) error, idle func() error) error
	// Also has a file descriptor end the wait between two looks when it can be read.
	Also(fd int) error
}

// Maps are the programs' maps, by name. Values are those of all CPUs, one behind the other, where a map is kept per
// CPU. Slices that are given to fn are gone when fn returns.
type Maps interface {
	Each(name string, fn func(key, value []byte) error) error
	// Take removes what it reads: an update is either seen by fn or stays for the next time.
	Take(name string, fn func(key, value []byte) error) error
	Clear(name string) error
	Zero(name string) error // all values, and keeps the keys
	// Get reads an entry into value; the error is kernel.ErrNoEntry if there is none.
	Get(name string, key, value []byte) error
	Put(name string, key, value []byte) error
	// PutPiece writes the only value of a map in an array of maps.
	PutPiece(name string, index uint32, value []byte) error
	// PutAt writes a part of an array's only value.
	PutAt(name string, at int, part []byte) error
}

// Programs are attached, or run by us, by name.
type Programs interface {
	// Attach attaches those that have points, and gives the points that could not be. Ctx ends it with an error.
	Attach(ctx context.Context, progress func(done, total int)) ([]kernel.AttachError, error)
	Detach()
	// Missed are the programs that the kernel passed over, with how often.
	Missed() []kernel.Missed
	// Hits tells how often points are hit, by a look for a while, if that is so often; StepCost what a hit costs where the
	// kernel steps over the instruction, and elsewhere.
	Hits(ctx context.Context, window time.Duration, perSecond float64) (kernel.Hits, error)
	StepCost() (stepped, emulated time.Duration, err error)
	Move(p *probe.Point, addr uint64) error // has the breakpoints of a method elsewhere, 0: nowhere
	Unwatch(addr uint64) int                // ends the watchpoints at an address, and tells how many there were
	// Break sets a breakpoint of a point on code that was made at run time. kernel.ErrNoSlot: there is none to be had.
	Break(p *probe.Point, pid int, addr uint64) (Breakpoint, error)
	// Rejoin sets breakpoints in threads that were just being made, and gives those that may have gone without.
	Rejoin() (late []int)
	// Late are those that Attach has found to be so.
	Late() []int
	// Feed has lines with one of the words handed over that a process writes to one of its files; no words: all lines.
	Feed(write *probe.Point, fd int, words []string) (Lines, error)
	Run(name string) (uint32, error)
	RunMany(name string, n uint32) (code uint32, average time.Duration, err error)
	Iterate(name string, pid int, w io.Writer) error
	// Follow begins to follow what processes of a set start; first, if not nil, belongs to the set.
	Follow(name string, first *kernel.Namespaced) (Descendants, error)
}

// Descendants is a set of processes that grows by those that they start; *kernel.Family is one.
type Descendants interface {
	Add(pid int)
	Remove(pid int)
	Has(pid int) bool
	Missed() uint64 // how often a process started another and the kernel did not tell
	Close()
}

// Command is the process that was started for a run; *target.Child is one.
type Command interface {
	PID() target.PID
	Release() error
	Done() <-chan struct{} // closed when Exit is known
	Exit() target.Exit
	Kill(grace time.Duration) // returns when it has ended
}

// Loaded is the running kernel.
func Loaded(l *kernel.Loaded) Kernel {
	return Kernel{Records: l.Ring(), Maps: maps{l}, Programs: programs{l}}
}

type maps struct{ l *kernel.Loaded }

// with does something with a map, if there is one of that name.
func (m maps) with(name string, do func(*kernel.Map) error) error {
	if km := m.l.Map(name); km != nil {
		return do(km)
	}
	return fmt.Errorf("no map %q", name)
}

func (m maps) Each(name string, fn func(key, value []byte) error) error {
	return m.with(name, func(km *kernel.Map) error { return km.Each(fn) })
}

func (m maps) Take(name string, fn func(key, value []byte) error) error {
	return m.with(name, func(km *kernel.Map) error { return km.Take(fn) })
}

func (m maps) Clear(name string) error { return m.with(name, (*kernel.Map).Clear) }

func (m maps) Zero(name string) error { return m.with(name, (*kernel.Map).Zero) }

func (m maps) Get(name string, key, value []byte) error {
	return m.with(name, func(km *kernel.Map) error { return km.Get(key, value) })
}

func (m maps) Put(name string, key, value []byte) error {
	return m.with(name, func(km *kernel.Map) error { return km.Put(key, value) })
}

func (m maps) PutPiece(name string, index uint32, value []byte) error {
	return m.with(name, func(km *kernel.Map) error { return km.PutPiece(index, value) })
}

func (m maps) PutAt(name string, at int, part []byte) error {
	return m.with(name, func(km *kernel.Map) error { return km.PutAt(at, part) })
}

type programs struct{ *kernel.Loaded }

func (p programs) Break(point *probe.Point, pid int, addr uint64) (Breakpoint, error) {
	b, err := p.Loaded.Break(point, pid, addr)
	if err != nil {
		return nil, err // not a nil *Breakpoint
	}
	return b, nil
}

func (p programs) Feed(write *probe.Point, fd int, words []string) (Lines, error) {
	f, err := p.Loaded.Feed(write, fd, words)
	if err != nil {
		return nil, err // not a nil *Feed
	}
	return f, nil
}

func (programs) StepCost() (stepped, emulated time.Duration, err error) { return kernel.StepCost() }

func (p programs) Follow(name string, first *kernel.Namespaced) (Descendants, error) {
	f, err := p.Loaded.Follow(name, first)
	if err != nil {
		return nil, err // not a nil *Family, which would be a set
	}
	return f, nil
}
