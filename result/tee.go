package result

import (
	"errors"
	"io"
)

// Tee makes one sink of several. Each event goes to all of them, in their order, and so does Flush.
//
// An error of one keeps the event from none of the others. All errors of a call come back joined, so the run ends as it
// does with a single sink; one that must not end it has to keep its errors to itself. A sink that has returned an error
// gets nothing more but Close.
func Tee(sinks ...Sink) *TeeSink {
	t := &TeeSink{}
	for _, s := range sinks {
		t.parts = append(t.parts, teePart{sink: s})
	}
	return t
}

// TeeSink gives what it gets to several sinks, see Tee.
type TeeSink struct{ parts []teePart }

type teePart struct {
	sink   Sink
	failed bool
}

// Event gives an event to all sinks that have not failed.
func (t *TeeSink) Event(e Event) error {
	return t.each(func(s Sink) error { return s.Event(e) })
}

// Flush flushes all sinks that have not failed.
func (t *TeeSink) Flush() error { return t.each(Sink.Flush) }

// Close closes all sinks that can be closed (io.Closer), also those that have failed.
func (t *TeeSink) Close() error {
	var all error
	for i := range t.parts {
		if c, ok := t.parts[i].sink.(io.Closer); ok {
			all = errors.Join(all, c.Close())
		}
	}
	return all
}

func (t *TeeSink) each(call func(Sink) error) error {
	var all error
	for i := range t.parts {
		p := &t.parts[i]
		if p.failed {
			continue
		}
		if err := call(p.sink); err != nil {
			p.failed = true
			all = errors.Join(all, err)
		}
	}
	return all
}
