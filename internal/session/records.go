package session

import (
	"fmt"
	"strings"
	"time"
	"unsafe"

	"trocar/internal/compile/record"
	"trocar/result"
)

// take handles one record of the ring.
func (s *Session) take(rec []byte) error {
	s.newRecords++
	if s.exiting && !s.ending && !s.iterating {
		return nil // exit() was called: what came behind it is not wanted
	}
	id, ok := record.ID(rec)
	if !ok {
		return fmt.Errorf("a record of %d bytes came from the ring buffer", len(rec))
	}
	if uint64(id) >= uint64(len(s.in.Script.Layouts)) {
		return fmt.Errorf("a record of unknown kind %d came from the ring buffer", id)
	}
	l := s.in.Script.Layouts[id]
	if a, ok := asks(l, rec); ok {
		s.newRecords--
		s.woken = true
		s.mapped(a)
		return nil
	}
	if s.pending != nil {
		cleared := l.Kind == record.Clear && l.Map == s.pending.index && !s.storage(l.Map).Scalar
		if err := s.showPending(cleared); err != nil || cleared {
			return err
		}
	}
	if s.values, ok = s.decoder.Record(l, rec, s.values); !ok {
		return fmt.Errorf("a record of %d bytes is shorter than its layout says (%d)", len(rec), l.Size)
	}
	if s.in.Script.Heads {
		s.hit, _ = s.in.Script.Head(rec)
	}
	if l.Kind == record.Printf {
		s.text = s.formats[id].Append(s.text[:0], s.values)
		s.printf = result.Printf{Head: result.Head{Action: l.Action + 1}, Text: view(s.text)}
		if s.in.Script.Heads {
			s.fill(&s.printf.Head)
		}
		return s.sink.Event(&s.printf)
	}
	return s.dispatch(l)
}

// head is what a record's event has in common with others.
func (s *Session) head(l *record.Layout) result.Head {
	h := result.Head{Action: l.Action + 1}
	if s.in.Script.Heads {
		s.fill(&h)
	}
	return h
}

// fill says in a head when, where and by whom the probe was hit.
func (s *Session) fill(h *result.Head) {
	h.Time, h.PID, h.TID = s.wall.Time(s.hit.Time), int(s.hit.PID), int(s.hit.TID)
	if n := uint64(s.hit.Point); n < uint64(len(s.in.Points)) {
		h.Probe = s.in.Points[n].Name
	}
}

// view is a string on bytes that are used again: sinks copy what they keep.
func view(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	return unsafe.String(&b[0], len(b))
}

// formatted is the text of a record that has a format.
func (s *Session) formatted(l *record.Layout) string {
	return string(s.formats[l.ID].Append(nil, s.values))
}

// dispatch does what a record of any kind asks for.
func (s *Session) dispatch(l *record.Layout) error {
	switch l.Kind {
	case record.Printf:
		return s.emit(&result.Printf{Head: s.head(l), Text: s.formatted(l)})
	case record.Errorf:
		return s.emit(&result.Message{Head: s.head(l), Severity: result.Error, Text: s.formatted(l), At: l.At})
	case record.Warnf:
		return s.emit(&result.Message{Head: s.head(l), Severity: result.Warning, Text: s.formatted(l), At: l.At})
	case record.Print:
		return s.emit(&result.Print{Head: s.head(l), Value: &s.values[0]})
	case record.PrintMap:
		s.pending = &pendingMap{head: s.head(l), index: l.Map, top: int(min(s.number(0), 1<<31)), div: s.number(1)}
		return nil
	case record.Clear:
		s.filledFrom(l.Map)
		return s.kernel.Maps.Clear(s.storage(l.Map).Name)
	case record.Zero:
		s.filledFrom(l.Map)
		return s.zero(s.storage(l.Map))
	case record.Time:
		now := time.Now()
		return s.emit(&result.Time{Head: s.head(l), Text: string(result.AppendTime(nil, l.Format, now)), Shown: now})
	case record.Join:
		var parts []string
		for i := range s.values {
			if s.values[i].Kind != result.None {
				parts = append(parts, s.values[i].Text)
			}
		}
		return s.emit(&result.Join{Head: s.head(l), Text: strings.Join(parts, l.Sep)})
	case record.Cat:
		return s.cat(l, s.formatted(l))
	case record.System:
		return s.system(l, s.formatted(l))
	case record.Unwatch:
		if addr := s.number(0); s.kernel.Programs.Unwatch(addr) == 0 {
			return s.notice(result.Warning, "unwatch(%#x): there is no watchpoint at this address", addr)
		}
		return nil
	case record.Exit:
		if len(s.values) > 0 {
			s.exit.Code = int(uint8(s.values[0].Num))
		}
		s.exiting = true
		return errExit
	case record.Mapped:
		return nil // see take
	case record.HelperError:
		if l.Helper == "" {
			return s.emit(&result.RuntimeError{Head: s.head(l), Text: l.Format, At: l.At})
		}
		return s.emit(&result.HelperError{Head: s.head(l), Helper: l.Helper, Code: int64(s.number(0)), At: l.At})
	}
	return fmt.Errorf("unexpected record of kind %d", l.Kind)
}

// number is an argument of the record, 0 if it has no such.
func (s *Session) number(i int) uint64 {
	if i < len(s.values) {
		return s.values[i].Num
	}
	return 0
}

func (s *Session) storage(i int) *record.Storage { return &s.in.Script.Storage[i] }
