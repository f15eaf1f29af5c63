package result

import (
	"fmt"
	"time"
)

// Event is one thing that a run yields. It is one of the types below (see EventTypes), always as a pointer: a type
// switch tells them apart. No other package can add one.
//
// An event and all that it holds belong to the sender: they may be reused as soon as Sink.Event has returned, so
// whoever keeps something copies it (Clone). That is what makes a printf without allocation possible.
type Event interface {
	// Common is the event's head, in place.
	Common() *Head
	kind() eventKind
}

// Head is what all events have in common. Action is always set for what a probe's action sent; the others are set only
// for events of probes and only if the run was asked to record them.
type Head struct {
	Time   time.Time // when the probe was hit; zero: not recorded
	Action int       // which probe of the script sent it, counted from 1; 0: none, it is the run's own
	Probe  string    // name of the probe point that was hit; "": not recorded
	PID    int       // process (thread group) that hit it, in the tracer's PID namespace; 0: not recorded
	TID    int       // thread that hit it; 0: not recorded
}

// Common is the head itself.
func (h *Head) Common() *Head { return h }

// Printf is the text of printf().
type Printf struct {
	Head
	Text string // with the line break that the script wrote, if any
}

// Message is the text of warnf() or errorf().
type Message struct {
	Head
	Severity Severity // Warning or Error
	Text     string
	At       Position // of the call
}

// Print is print() of a value.
type Print struct {
	Head
	Value *Value
}

// PrintMap is a map as print(@map) shows it, or, behind End, as it is shown at the end of the run. A map with thousands
// of entries comes in parts, in its order and with nothing in between.
type PrintMap struct {
	Head
	Map *Map
	// Continued: the entries are behind those of the event before; More: further ones are in the next event.
	Continued, More bool
}

// Time is the text of time().
type Time struct {
	Head
	Text  string
	Shown time.Time // the moment that Text shows, in the local zone
}

// Join is the text of join(): the words of an array of strings with the separator between them.
type Join struct {
	Head
	Text string
}

// Cat is the beginning of a file that cat() names.
type Cat struct {
	Head
	Text string // up to max_cat_bytes of the file
}

// System is what a command of system() has printed.
type System struct {
	Head
	Text string
}

// Attached says that the probes are in place: from now on events come.
type Attached struct {
	Head
	Probes int // as users count them: one for each name of an attach point, however many places it has
}

// Lost says that something is missing from the results.
type Lost struct {
	Head
	What   string // a plural: "events" …
	Count  uint64 // how many of them since the last such event
	Detail string // more about it; may be ""
}

// Notice is a message about the run.
type Notice struct {
	Head
	Diagnostic
	Blind bool // it tells of calls that are not seen: where there are none, some may have been made
}

// HelperError says that a helper function of the kernel failed in a probe's action.
type HelperError struct {
	Head
	Helper string   // its name, without "bpf_"
	Code   int64    // what it returned: a negative errno; 0 for a look-up that found nothing
	At     Position // of the call that needs the helper
}

// RuntimeError says that a probe's action did something that has no result, such as a division by zero.
type RuntimeError struct {
	Head
	Text string
	At   Position
}

// Bench is the result of a bench probe.
type Bench struct {
	Head
	Name    string        // of the probe, without "bench:"
	Index   int           // its number, counted from 0
	Total   int           // how many bench probes there are
	Runs    uint64        // how often it was run
	Average time.Duration // how long a run took
}

// Test is the result of a test probe.
type Test struct {
	Head
	Name   string        // of the probe, without "test:"
	Index  int           // its number, counted from 0
	Total  int           // how many test probes there are
	Passed bool          // it returned 0
	Took   time.Duration // how long it ran, with what it takes to start it
}

// End says that the probes are gone and the end probes have run. What follows are the maps that are shown at the end,
// by name, and what is said of the whole run.
type End struct{ Head }

// eventKind numbers the types of events. The numbers are part of the form that Encoder writes: they are never changed
// or used again.
type eventKind uint8

const (
	kindPrintf eventKind = 1 + iota
	kindMessage
	kindPrint
	kindPrintMap
	kindTime
	kindJoin
	kindCat
	kindSystem
	kindAttached
	kindLost
	kindNotice
	kindHelperError
	kindRuntimeError
	kindBench
	kindTest
	kindEnd
)

func (*Printf) kind() eventKind       { return kindPrintf }
func (*Message) kind() eventKind      { return kindMessage }
func (*Print) kind() eventKind        { return kindPrint }
func (*PrintMap) kind() eventKind     { return kindPrintMap }
func (*Time) kind() eventKind         { return kindTime }
func (*Join) kind() eventKind         { return kindJoin }
func (*Cat) kind() eventKind          { return kindCat }
func (*System) kind() eventKind       { return kindSystem }
func (*Attached) kind() eventKind     { return kindAttached }
func (*Lost) kind() eventKind         { return kindLost }
func (*Notice) kind() eventKind       { return kindNotice }
func (*HelperError) kind() eventKind  { return kindHelperError }
func (*RuntimeError) kind() eventKind { return kindRuntimeError }
func (*Bench) kind() eventKind        { return kindBench }
func (*Test) kind() eventKind         { return kindTest }
func (*End) kind() eventKind          { return kindEnd }

// EventTypes gives an empty event of each type that there is.
func EventTypes() []Event {
	return []Event{
		&Printf{}, &Message{}, &Print{}, &PrintMap{}, &Time{}, &Join{}, &Cat{}, &System{}, &Attached{}, &Lost{}, &Notice{},
		&HelperError{}, &RuntimeError{}, &Bench{}, &Test{}, &End{},
	}
}

// Sink takes what a run yields. Calls come from one goroutine, in order. An error ends the run. A sink that does not
// know a type of event returns UnknownEvent: nothing is dropped in silence.
type Sink interface {
	Event(Event) error
	// Flush is called when no event is at hand.
	Flush() error
}

// UnknownEvent is the error of a sink that does not know a type of event. By is the sink: "the text format".
func UnknownEvent(by string, e Event) error {
	return fmt.Errorf("%s has no form for events of type %T", by, e)
}
