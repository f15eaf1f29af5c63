package session

import (
	"encoding/binary"
	"errors"
	"time"

	"trocar/internal/compile/record"
	"trocar/internal/kernel"
	"trocar/result"
)

// storedStacks are the frames of call stacks by their identity: in the programs' memory, and those that were taken out
// of it, so that there is room.
type storedStacks struct {
	maps  Maps
	taken map[[16]byte]stored
	size  int // of a value
	next  time.Time
	seen  uint64 // how many the programs had kept when they were taken last
	err   error  // why one could not be read, of which nobody was told yet
	value []byte // in which they are read
}

// stored is a stack, with when and in which process it was first seen.
type stored struct {
	frames []uint64
	time   uint64
	tgid   uint32
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
		t.taken = map[[16]byte]stored{}
	}
	return s.kernel.Maps.Take(record.StacksName, func(key, value []byte) error {
		t.taken[[16]byte(key)] = storedOf(value)
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

// find gives a stack, one without frames if it is not known.
func (t *storedStacks) find(id [16]byte) stored {
	if s, ok := t.taken[id]; ok {
		return s
	}
	if t.size == 0 || t.maps == nil {
		return stored{}
	}
	if t.value == nil {
		t.value = make([]byte, t.size)
	}
	if err := t.maps.Get(record.StacksName, id[:], t.value); err != nil {
		if t.err == nil && !errors.Is(err, kernel.ErrNoEntry) { // there is none if there was no room: that is counted
			t.err = err
		}
		return stored{}
	}
	return storedOf(t.value)
}

// storedOf reads a value of the programs' memory.
func storedOf(value []byte) (s stored) {
	n := len(value) - record.StackTail
	if n < 0 {
		return s
	}
	tail := value[n:]
	s.time, s.tgid = binary.LittleEndian.Uint64(tail), binary.LittleEndian.Uint32(tail[12:])
	s.frames = make([]uint64, min(int(binary.LittleEndian.Uint32(tail[8:])), n/8))
	for i := range s.frames {
		s.frames[i] = binary.LittleEndian.Uint64(value[8*i:])
	}
	return s
}
