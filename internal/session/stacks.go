package session

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"trocar/internal/compile/record"
	"trocar/internal/kernel"
	"trocar/result"
)

// storedStacks are the frames of call stacks by their identity: in the programs' memory, and those that were taken out
// of it, so that there is room.
type storedStacks struct {
	maps  Maps
	taken map[[16]byte][]uint64 // with the time behind the frames
	size  int                   // of a value
	next  time.Time
	seen  uint64 // how many the programs had kept when they were taken last
	err   error  // why one could not be read, of which nobody was told yet
}

const (
	// takeFrom is how many stacks make it worth while to take them.
	takeFrom = record.MostStacks / 32
	// mostTaken bounds those that we keep: of 127 frames each, some hundred megabytes.
	mostTaken = 1 << 17
	takeEvery = 250 * time.Millisecond
)

// stored tells where stored stacks are, if the script has any.
func (s *Session) stored() {
	s.names.stacks.maps = s.kernel.Maps
	for _, st := range s.in.Script.Losses {
		if st.Kind == record.KeptStacks {
			s.names.stacks.size = s.in.Script.StackSize
		}
	}
}

// takeStacks empties the programs' memory of stacks when there are enough new ones: a quarter of what has room in those
// with memory of their own.
func (s *Session) takeStacks() error {
	t := &s.names.stacks
	if t.size == 0 || time.Now().Before(t.next) {
		return nil
	}
	t.next = time.Now().Add(takeEvery)
	value := make([]byte, s.in.Script.CountersSize())
	if err := s.kernel.Maps.Get(record.CountersName, record.Key(), value); err != nil {
		return err
	}
	kept := uint64(0)
	for i, n := range s.in.Script.Counters(value) {
		if s.in.Script.Losses[i].Kind == record.KeptStacks {
			kept += n
		}
	}
	if kept-t.seen < takeFrom || len(t.taken) >= mostTaken {
		return nil
	}
	t.seen = kept
	if t.taken == nil {
		t.taken = map[[16]byte][]uint64{}
	}
	return s.kernel.Maps.Take(record.StacksName, func(key, value []byte) error {
		t.taken[[16]byte(key)] = words(value)
		return nil
	})
}

// tellStacks tells that call stacks could not be read.
func (s *Session) tellStacks() error {
	err := s.names.stacks.err
	if err == nil {
		return nil
	}
	s.names.stacks.err = nil
	return s.notice(result.Warning, "call stacks are shown without frames, since they could not be read: %v", err)
}

// find gives the frames of a stack and when it was first seen, nil if they are not known.
func (t *storedStacks) find(id [16]byte) (frames []uint64, time uint64) {
	all, ok := t.taken[id]
	if !ok {
		if t.size == 0 || t.maps == nil {
			return nil, 0
		}
		value := make([]byte, t.size)
		if err := t.maps.Get(record.StacksName, id[:], value); err != nil {
			if t.err == nil && !errors.Is(err, kernel.ErrNoEntry) { // there is none if there was no room: that is counted
				t.err = err
			}
			return nil, 0
		}
		all = words(value)
	}
	if len(all) == 0 {
		return nil, 0
	}
	last := len(all) - 1
	return all[:last], all[last]
}

// words are those of a value; frames behind the last one of the stack need not be.
func words(value []byte) []uint64 {
	frames := make([]uint64, len(value)/8)
	for i := range frames {
		frames[i] = binary.LittleEndian.Uint64(value[8*i:])
	}
	return slices.Clip(frames)
}
