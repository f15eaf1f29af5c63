package result

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
)

// A recording is a stream of events in a compact form of bytes: 64-bit numbers, texts that are no UTF-8 and times
// come back as they were, which JSON cannot promise.
//
// It begins with the line "trocar events 4", where 4 is the version of the form. Records follow, one for an event:
// the length of the rest as a uvarint (encoding/binary), the number of the event's type, its head, and its fields in
// the order of codecform.go. Numbers are varints and texts have their length before them. Words (names of functions,
// fields and types) are numbered when they come first and are only numbers from then on; so a recording is read from
// its start. A recording that was cut off, by a tracer that was killed, is good up to its last whole record.
//
// Whatever changes the form changes the version; a Decoder reads all versions up to its own.

// recordingVersion is the version that is written.
const recordingVersion = 4

const recordingMagic = "trocar events "

// ErrRecording is the cause of all errors of a Decoder that are about what it reads.
var ErrRecording = errors.New("invalid recording of events")

// Bounds of a record. They keep a damaged or hostile recording from using up the memory, and Encoder refuses what no
// Decoder would read.
const (
	maxRecord    = 256 << 20 // bytes
	maxMemory    = 1 << 30   // bytes of memory that the event takes
	maxDepth     = 256       // of values in values
	maxWords     = 1 << 16   // that are numbered
	maxWordBytes = 16 << 20  // of all words that are numbered
)

// limits are the bounds that tests lower.
type limits struct{ record, memory int }

// Encoder is a sink that writes a recording.
type Encoder struct {
	w     io.Writer
	out   []byte
	form  coder
	words map[string]uint64
	sum   int // bytes in words
	err   error
}

// NewEncoder makes an Encoder. Nothing is written before the first event or Flush.
func NewEncoder(w io.Writer) *Encoder {
	e := &Encoder{w: w, words: map[string]uint64{}}
	e.out = append(e.out, recordingMagic+strconv.Itoa(recordingVersion)+"\n"...)
	e.form.encoder, e.form.limits, e.form.version = e, limits{maxRecord, maxMemory}, recordingVersion
	return e
}

// encodeBatch is how many bytes are put together before they are written.
const encodeBatch = 64 << 10

// Event adds an event. After an error all further calls return it.
func (e *Encoder) Event(ev Event) error {
	if e.err != nil {
		return e.err
	}
	f := &e.form
	f.begin(f.buf[:0])
	f.event(ev)
	if f.err == nil && len(f.buf) > f.limits.record {
		f.fail("it has %d bytes, more than %d", len(f.buf), f.limits.record)
	}
	if f.err != nil {
		e.err = fmt.Errorf("an event of type %T cannot be recorded: %w", ev, f.err)
		return e.err
	}
	e.out = binary.AppendUvarint(e.out, uint64(len(f.buf)))
	e.out = append(e.out, f.buf...)
	if cap(f.buf) > 4*encodeBatch {
		f.buf = nil // a huge event came by: its room is not kept
	}
	if len(e.out) >= encodeBatch {
		return e.Flush()
	}
	return nil
}

// Flush writes all events that there are.
func (e *Encoder) Flush() error {
	if e.err == nil && len(e.out) > 0 {
		_, e.err = e.w.Write(e.out)
		if e.out = e.out[:0]; cap(e.out) > 4*encodeBatch {
			e.out = nil
		}
	}
	return e.err
}

// Close is Flush. It does not close the writer.
func (e *Encoder) Close() error { return e.Flush() }

// word gives the number of a word; new says that it comes for the first time, known that it has one at all.
func (e *Encoder) word(s string) (n uint64, isNew, known bool) {
	if n, ok := e.words[s]; ok {
		return n, false, true
	}
	if len(e.words) == maxWords || e.sum+len(s) > maxWordBytes {
		return 0, false, false
	}
	n = uint64(len(e.words))
	e.words[strings.Clone(s)] = n
	e.sum += len(s)
	return n, true, true
}

// Decoder reads a recording.
type Decoder struct {
	r       *bufio.Reader
	rec     bytes.Buffer
	form    coder
	words   []string
	sum     int
	records int
	err     error
}

// NewDecoder makes a Decoder. It reads ahead.
func NewDecoder(r io.Reader) *Decoder {
	d := &Decoder{r: bufio.NewReaderSize(r, encodeBatch)}
	d.form.decoder, d.form.limits = d, limits{maxRecord, maxMemory}
	return d
}

// Next reads an event, which is the caller's to keep. At the end it returns io.EOF, where a recording was cut off
// io.ErrUnexpectedEOF, and for what is no recording an error with the cause ErrRecording. After an error all further
// calls return it.
func (d *Decoder) Next() (Event, error) {
	if d.err != nil {
		return nil, d.err
	}
	e, err := d.next()
	if err != nil {
		d.err = err
		return nil, err
	}
	d.records++
	return e, nil
}

func (d *Decoder) next() (Event, error) {
	if d.records == 0 {
		if err := d.start(); err != nil {
			return nil, err
		}
	}
	n, err := binary.ReadUvarint(d.r)
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return nil, err
	case err != nil:
		return nil, d.cause(err)
	case n > uint64(d.form.limits.record):
		return nil, d.damaged(fmt.Errorf("it has %d bytes, more than %d", n, d.form.limits.record))
	}
	// The buffer grows by what is there, not by what the length says.
	if d.rec.Reset(); d.rec.Cap() > 4*encodeBatch {
		d.rec = bytes.Buffer{}
	}
	if _, err := io.CopyN(&d.rec, d.r, int64(n)); err != nil {
		if err == io.EOF {
			return nil, io.ErrUnexpectedEOF
		}
		return nil, d.cause(err)
	}
	f := &d.form
	f.begin(d.rec.Bytes())
	e := f.newEvent()
	if f.err == nil && len(f.buf) > 0 {
		f.fail("%d bytes are left over", len(f.buf))
	}
	if f.err != nil {
		return nil, d.damaged(f.err)
	}
	return e, nil
}

// start reads the first line.
func (d *Decoder) start() error {
	line, err := d.r.ReadSlice('\n')
	if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
		return d.cause(err)
	}
	version, ok := strings.CutPrefix(string(line), recordingMagic)
	if !ok {
		return fmt.Errorf("%w: it does not begin with %q", ErrRecording, recordingMagic)
	}
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	n, err := strconv.ParseUint(strings.TrimSuffix(version, "\n"), 10, 32)
	switch {
	case err != nil:
		return fmt.Errorf("%w: its version is %q", ErrRecording, version)
	case n == 0 || n > recordingVersion:
		return fmt.Errorf("%w: it is of version %d, and only those up to %d are known", ErrRecording, n, recordingVersion)
	}
	d.form.version = n
	return nil
}

// cause is an error of the reader.
func (d *Decoder) cause(err error) error { return fmt.Errorf("reading a recording: %w", err) }

// damaged is an error in a record.
func (d *Decoder) damaged(err error) error {
	return fmt.Errorf("%w: record %d: %w", ErrRecording, d.records+1, err)
}

// All gives the events to the end. An error other than io.EOF comes last, with a nil event.
func (d *Decoder) All() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			e, err := d.Next()
			if err == io.EOF || !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// Replay gives a recording to a sink, as the run did that was recorded.
func Replay(r io.Reader, s Sink) error {
	for e, err := range NewDecoder(r).All() {
		if err != nil {
			return errors.Join(err, s.Flush())
		}
		if err := s.Event(e); err != nil {
			return err
		}
	}
	return s.Flush()
}
