// Package flame makes pictures and files of stacks that were counted: a table of functions, folded lines, a flame graph
// as SVG or HTML, pprof and speedscope. It has one file per form.
//
// What was counted comes as the maps of a run whose keys have stacks (Collector): a stack's value is its weight, and
// what else is in a key, such as the name of a thread, stands at the root of the stack.
package flame

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"path/filepath"
	"slices"
	"strings"

	"trocar/result"
)

// Sample is a stack with how often it was seen.
type Sample struct {
	Roots  []string        // what else is in the key, outermost first
	Frames []*result.Frame // those that are the same are one
	Count  uint64
	Parts  uint64 // how many numbers the count is the sum of, if it is one
}

// Profile is what was counted.
type Profile struct {
	Title   string
	Unit    string // of the counts, a plural: "samples"
	Period  int64  // nanoseconds that a sample stands for; 0: the counts are none of time
	Samples []Sample

	Base *Profile // what it is compared with; nil: nothing
	flat bool     // what stands at the roots is not told from functions
}

// Total is the sum of all counts.
func (p *Profile) Total() (n uint64) {
	for i := range p.Samples {
		n += p.Samples[i].Count
	}
	return n
}

// Name is what a frame is called in pictures: its function, or the file with the place in it.
func Name(f *result.Frame) string {
	switch {
	case f.Symbol != "":
		return f.Symbol
	case f.Module != "" && f.Offset != 0:
		return fmt.Sprintf("%s+0x%x", filepath.Base(f.Module), f.Offset)
	}
	return fmt.Sprintf("0x%x", f.Addr)
}

// Kernel tells whether a frame is the kernel's: its addresses are the upper half on all CPUs that have one.
func Kernel(f *result.Frame) bool { return f.Addr>>63 != 0 }

// noStack stands for a stack of which nothing is known.
const noStack = "[no stack]"

// names are the names of a sample from the root inwards. Kernel frames are marked as other tools do it.
func (s *Sample) names() []string {
	names := slices.Clone(s.Roots)
	for i := len(s.Frames) - 1; i >= 0; i-- {
		n := Name(s.Frames[i])
		if Kernel(s.Frames[i]) {
			n += kernelMark
		}
		names = append(names, n)
	}
	if len(s.Frames) == 0 {
		names = append(names, noStack)
	}
	return names
}

const kernelMark = "_[k]"

// Collector is a sink that keeps the stacks of maps and passes on all other events.
type Collector struct {
	result.Sink
	Skip    string // a part of keys that is left out, by its name
	Switch  bool   // the kernel's stacks are of threads that leave their CPU: the frames that all of these have go
	Profile Profile
	// Shown, if not nil, is called when a map is whole; the stacks are then dropped.
	Shown func(*Profile) error

	frames map[result.Frame]*numbered
	near   [1 << 10]*numbered // those that were seen last, by their addresses
	known  map[[2]uint64]int  // samples, by what is in their keys
	seeds  [2]maphash.Seed
	key    []byte // what is in one: the text at its root, and the numbers of its frames
	parted bool   // the map at hand comes in parts
}

// numbered is a frame with a number.
type numbered struct {
	result.Frame
	number uint32
}

// Event keeps the entries of maps that have stacks.
func (c *Collector) Event(e result.Event) error {
	m, ok := e.(*result.PrintMap)
	if !ok || !c.parted && !stacks(m.Map) {
		return c.Sink.Event(e)
	}
	for i := range m.Map.Entries {
		c.add(&m.Map.Entries[i])
	}
	if c.parted = m.More; m.More || c.Shown == nil {
		return nil
	}
	err := c.Shown(&c.Profile)
	c.Profile.Samples, c.frames, c.known = nil, nil, nil
	clear(c.near[:])
	return err
}

// stacks tells whether the keys of a map have stacks, and its values are numbers.
func stacks(m *result.Map) bool {
	if len(m.Entries) == 0 || m.Entries[0].Key == nil {
		return false
	}
	if _, ok := weight(&m.Entries[0].Value); !ok {
		return false
	}
	return slices.ContainsFunc(parts(m.Entries[0].Key), func(v result.Value) bool { return v.Kind == result.Stack })
}

// weight is the number that a value is, or the sum of those that stats() was given.
func weight(v *result.Value) (uint64, bool) {
	switch {
	case v.Kind == result.Uint || v.Kind == result.Int && int64(v.Num) >= 0:
		return v.Num, true
	case v.Kind == result.Stats && len(v.Elems) == 3:
		return v.Elems[2].Num, true
	}
	return 0, false
}

// parts are the parts of a key.
func parts(key *result.Value) []result.Value {
	if key.Kind == result.Tuple || key.Kind == result.Record {
		return key.Elems
	}
	return []result.Value{*key}
}

// add keeps an entry: frames of the kernel are further in than those of the program.
func (c *Collector) add(e *result.Entry) {
	n, ok := weight(&e.Value)
	if !ok || n == 0 {
		return
	}
	s := Sample{Count: n}
	if e.Value.Kind == result.Stats {
		s.Parts = e.Value.Elems[0].Num
	}
	var user []*result.Frame
	c.key = c.key[:0]
	for i, p := range parts(e.Key) {
		switch {
		case p.Kind == result.Stack && len(p.Frames) > 0 && Kernel(&p.Frames[0]):
			s.Frames = c.appended(s.Frames, c.inner(p.Frames))
		case p.Kind == result.Stack:
			user = c.appended(user, p.Frames)
		case i < len(e.Key.Names) && e.Key.Names[i] == c.Skip:
		default:
			start := len(c.key)
			c.key = p.AppendKey(c.key)
			s.Roots = append(s.Roots, string(c.key[start:]))
			c.key = append(c.key, 0)
		}
	}
	s.Frames = append(s.Frames, user...)
	if c.known == nil {
		c.known, c.seeds = map[[2]uint64]int{}, [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	}
	id := [2]uint64{maphash.Bytes(c.seeds[0], c.key), maphash.Bytes(c.seeds[1], c.key)}
	if i, ok := c.known[id]; ok {
		c.Profile.Samples[i].Count += s.Count
		c.Profile.Samples[i].Parts += s.Parts
		return
	}
	c.known[id] = len(c.Profile.Samples)
	c.Profile.Samples = append(c.Profile.Samples, s)
}

// is tells whether it is a frame, but for the address, which is another one.
func (f *numbered) is(p *result.Frame, addr uint64) bool {
	return f.Addr == addr && f.Offset == p.Offset && f.ModuleOffset == p.ModuleOffset && f.Line == p.Line &&
		f.Inlined == p.Inlined && f.Symbol == p.Symbol && f.Module == p.Module && f.File == p.File && f.BuildID == p.BuildID
}

// numbered finds a frame with another address, or makes it.
func (c *Collector) numbered(p *result.Frame, addr uint64) *numbered {
	key := *p
	key.Addr = addr
	f := c.frames[key]
	if f == nil {
		v := result.Value{Kind: result.Stack, Frames: []result.Frame{key}}
		f = &numbered{v.Clone().Frames[0], uint32(len(c.frames))}
		c.frames[f.Frame] = f
	}
	return f
}

// inner are the frames of a stack of the kernel that tell something.
func (c *Collector) inner(frames []result.Frame) []result.Frame {
	for c.Switch && len(frames) > 0 && switches(frames[0].Symbol) {
		frames = frames[1:]
	}
	return frames
}

// switches tells the functions of the kernel's scheduler that a thread leaves its CPU by (kernel/sched/core.c).
func switches(name string) bool {
	return strings.HasPrefix(name, "__traceiter_") || strings.HasPrefix(name, "__bpf_trace") ||
		strings.HasPrefix(name, "bpf_trace_run") || strings.HasPrefix(name, "bpf_prog_") || // our own program
		slices.Contains([]string{
			"__schedule", "schedule", "schedule_timeout", "schedule_idle", "io_schedule", "preempt_schedule_common",
			"preempt_schedule", "preempt_schedule_notrace", "preempt_schedule_irq", "__cond_resched",
		}, name)
}

// appended appends frames, which are the sender's, each once for all stacks that it is in.
func (c *Collector) appended(to []*result.Frame, frames []result.Frame) []*result.Frame {
	if c.frames == nil {
		c.frames = map[result.Frame]*numbered{}
	}
	to = slices.Grow(to, len(frames))
	for i := range frames {
		p := &frames[i]
		addr := p.Addr
		if p.Module != "" && !Kernel(p) {
			addr = 0 // processes have a file at several addresses
		}
		near := &c.near[(addr^p.ModuleOffset)*0x9e3779b97f4a7c15>>(64-10)]
		f := *near
		if f == nil || !f.is(p, addr) {
			f = c.numbered(p, addr)
			*near = f
		}
		to = append(to, &f.Frame)
		c.key = binary.LittleEndian.AppendUint32(c.key, f.number)
	}
	return to
}
