package session

import (
	"sync"

	"trocar/result"
)

// joined are the threads that were being made while breakpoints were set. Such a thread has taken over the breakpoints
// that its maker had when its making began, and is seen some time later.
type joined struct {
	mu   sync.Mutex
	late map[int]bool // those that may have gone without at first
}

func (j *joined) add(late []int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, tid := range late {
		if j.late == nil {
			j.late = map[int]bool{}
		}
		j.late[tid] = true
	}
}

// tellJoined says how many threads may have gone without.
func (s *Session) tellJoined() error {
	s.joined.mu.Lock()
	n := len(s.joined.late)
	s.joined.mu.Unlock()
	if n == 0 {
		return nil
	}
	return s.notice(result.Warning, "%s", plural(uint64(n),
		"1 thread began while breakpoints were set: its first calls may be missing, or be counted twice",
		"%d threads began while breakpoints were set: their first calls may be missing, or be counted twice"))
}
