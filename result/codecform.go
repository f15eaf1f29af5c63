package result

import (
	"encoding/binary"
	"fmt"
	"time"
	"unsafe"
)

// coder goes over an event's fields in the order in which they are recorded: one description serves for writing and for
// reading. All of its methods take the place of a field, which is read from when writing and set when reading.
type coder struct {
	encoder *Encoder // set: write
	decoder *Decoder // set: read
	limits  limits
	version uint64
	buf     []byte // what was written, or what is still to be read
	memory  int    // that the event takes so far
	depth   int
	err     error // the first one; everything behind it does nothing
	zones   map[zone]*time.Location
}

func (c *coder) begin(buf []byte) { c.buf, c.memory, c.depth, c.err = buf, 0, 0, nil }

func (c *coder) reading() bool { return c.decoder != nil }

func (c *coder) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
	c.buf = c.buf[:0]
}

// charge counts memory of the event.
func (c *coder) charge(n, size int) {
	if n > (c.limits.memory-c.memory)/size {
		c.fail("it takes more than %d bytes of memory", c.limits.memory)
		return
	}
	c.memory += n * size
}

func (c *coder) uvarint(p *uint64) {
	if !c.reading() {
		c.buf = binary.AppendUvarint(c.buf, *p)
		return
	}
	v, n := binary.Uvarint(c.buf)
	if n <= 0 {
		c.fail("it ends early")
		return
	}
	*p, c.buf = v, c.buf[n:]
}

// zigzag is a number of 64 bits of which small ones of both signs are short.
func (c *coder) zigzag(p *uint64) {
	u := *p<<1 ^ uint64(int64(*p)>>63)
	c.uvarint(&u)
	if c.reading() {
		*p = u>>1 ^ -(u & 1)
	}
}

// number is a field that is an integer of any type.
func number[T ~int | ~int64](c *coder, p *T) {
	u := uint64(*p)
	c.zigzag(&u)
	if c.reading() {
		*p = T(int64(u))
	}
}

// vocabulary is a field that has one of the values 0 to last.
func vocabulary[T ~uint8](c *coder, p *T, last T, what string) {
	if !c.reading() && *p > last {
		c.fail("%s %d is unknown", what, *p)
		return
	}
	u := uint64(*p)
	c.uvarint(&u)
	if c.reading() {
		if u > uint64(last) {
			c.fail("%s %d is unknown", what, u)
			return
		}
		*p = T(u)
	}
}

func (c *coder) boolean(p *bool) {
	var u uint8
	if *p {
		u = 1
	}
	vocabulary(c, &u, 1, "truth value")
	if c.reading() {
		*p = u == 1
	}
}

// flags are several truth values in one number.
func (c *coder) flags(all ...*bool) {
	var u uint64
	for i, p := range all {
		if *p {
			u |= 1 << i
		}
	}
	c.uvarint(&u)
	if !c.reading() {
		return
	}
	if u>>len(all) != 0 {
		c.fail("flags %#x are unknown", u)
		return
	}
	for i, p := range all {
		*p = u>>i&1 == 1
	}
}

func (c *coder) text(p *string) {
	n := c.count(len(*p), 1, 1)
	if !c.reading() {
		c.buf = append(c.buf, *p...)
		return
	}
	*p = string(c.buf[:n])
	c.buf = c.buf[n:]
}

// How a word is recorded: its number, plus firstWord, or one of these.
const (
	emptyWord = iota
	plainWord // the text follows
	newWord   // the text follows and gets the next number
	firstWord
)

// word is a text that is likely to come again.
func (c *coder) word(p *string) {
	if !c.reading() {
		c.writeWord(*p)
		return
	}
	u := uint64(0)
	c.uvarint(&u)
	d := c.decoder
	switch {
	case u == emptyWord:
		*p = ""
	case u == plainWord:
		c.text(p)
	case u == newWord:
		c.text(p)
		if c.err == nil {
			if len(d.words) == maxWords || d.sum+len(*p) > maxWordBytes {
				c.fail("too many words")
				return
			}
			d.words = append(d.words, *p)
			d.sum += len(*p)
		}
	case u-firstWord < uint64(len(d.words)):
		*p = d.words[u-firstWord]
	default:
		c.fail("word %d is unknown", u-firstWord)
	}
}

func (c *coder) writeWord(s string) {
	u := uint64(emptyWord)
	if s != "" {
		n, isNew, known := c.encoder.word(s)
		switch {
		case !known:
			u = plainWord
		case isNew:
			u = newWord
		default:
			u = firstWord + n
		}
	}
	c.uvarint(&u)
	if u == plainWord || u == newWord {
		c.text(&s)
	}
}

// count is the number of elements of a list, each of which takes at least least bytes in the recording and size in
// memory.
func (c *coder) count(n, least, size int) int {
	u := uint64(n)
	c.uvarint(&u)
	if c.reading() && u > uint64(len(c.buf)/least) {
		c.fail("it ends early")
	}
	if c.err != nil {
		return 0
	}
	c.charge(int(u), size)
	if c.err != nil {
		return 0
	}
	return int(u)
}

// list is a field that is a list; nil and empty are the same.
func list[T any](c *coder, p *[]T, least int, each func(*T)) {
	var t T
	n := c.count(len(*p), least, int(unsafe.Sizeof(t)))
	if c.reading() {
		if *p = nil; n > 0 {
			*p = make([]T, n)
		}
	}
	for i := range *p {
		if c.err != nil {
			return
		}
		each(&(*p)[i])
	}
}

// made is a field that points to something that is there.
func made[T any](c *coder, p **T) {
	var t T
	c.charge(1, int(unsafe.Sizeof(t)))
	if c.reading() {
		*p = new(T)
	}
}

func (c *coder) wordList(p *[]string) { list(c, p, 1, c.word) }

// zone is an offset from UTC with its name.
type zone struct {
	name   string
	offset int // seconds east
}

// maxZones bounds how many zones are kept.
const maxZones = 64

// time is a moment with its zone's name and offset. A reading of the monotonic clock is not kept.
func (c *coder) time(p *time.Time) {
	sec, nsec := p.Unix(), uint64(p.Nanosecond())
	number(c, &sec)
	c.uvarint(&nsec)
	local := p.Location() != time.UTC
	c.boolean(&local)
	var z zone
	if local {
		z.name, z.offset = p.Zone()
		c.word(&z.name)
		number(c, &z.offset)
	}
	if !c.reading() || c.err != nil {
		return
	}
	if nsec >= 1e9 {
		c.fail("a time has %d nanoseconds", nsec)
		return
	}
	*p = time.Unix(sec, int64(nsec)).UTC()
	if local {
		*p = p.In(c.location(z))
	}
}

func (c *coder) location(z zone) *time.Location {
	if l, ok := c.zones[z]; ok {
		return l
	}
	l := time.FixedZone(z.name, z.offset)
	if c.zones == nil || len(c.zones) == maxZones {
		c.zones = map[zone]*time.Location{}
	}
	c.zones[z] = l
	return l
}

// newEvent reads the type of an event and then the event.
func (c *coder) newEvent() Event {
	var kind uint64
	c.uvarint(&kind)
	if c.err != nil {
		return nil
	}
	var e Event
	switch eventKind(min(kind, 255)) {
	case kindPrintf:
		e = &Printf{}
	case kindMessage:
		e = &Message{}
	case kindPrint:
		e = &Print{}
	case kindPrintMap:
		e = &PrintMap{}
	case kindTime:
		e = &Time{}
	case kindJoin:
		e = &Join{}
	case kindCat:
		e = &Cat{}
	case kindSystem:
		e = &System{}
	case kindAttached:
		e = &Attached{}
	case kindLost:
		e = &Lost{}
	case kindNotice:
		e = &Notice{}
	case kindHelperError:
		e = &HelperError{}
	case kindRuntimeError:
		e = &RuntimeError{}
	case kindBench:
		e = &Bench{}
	case kindTest:
		e = &Test{}
	case kindEnd:
		e = &End{}
	default:
		c.fail("an event of type %d is unknown", kind)
		return nil
	}
	c.fields(e)
	return e
}

// event writes the type of an event and then the event.
func (c *coder) event(e Event) {
	if e == nil {
		c.fail("there is none")
		return
	}
	kind := uint64(e.kind())
	c.uvarint(&kind)
	c.fields(e)
}

// fields are those of an event.
func (c *coder) fields(e Event) {
	c.head(e.Common())
	switch e := e.(type) {
	case *Printf:
		c.text(&e.Text)
	case *Message:
		vocabulary(c, &e.Severity, Info, "severity")
		c.text(&e.Text)
		c.position(&e.At)
	case *Print:
		if made(c, &e.Value); e.Value == nil {
			c.fail("it has no value")
			return
		}
		c.value(e.Value)
	case *PrintMap:
		if made(c, &e.Map); e.Map == nil {
			c.fail("it has no map")
			return
		}
		c.entries(e.Map)
		if c.version >= 3 { // before, maps had no parts
			c.flags(&e.Continued, &e.More)
		}
	case *Time:
		c.text(&e.Text)
		c.time(&e.Shown)
	case *Join:
		c.text(&e.Text)
	case *Cat:
		c.text(&e.Text)
	case *System:
		c.text(&e.Text)
	case *Attached:
		number(c, &e.Probes)
	case *Lost:
		c.word(&e.What)
		c.uvarint(&e.Count)
		c.text(&e.Detail)
	case *Notice:
		c.diagnostic(&e.Diagnostic)
		if c.version >= 4 {
			c.boolean(&e.Blind)
		}
	case *HelperError:
		c.word(&e.Helper)
		number(c, &e.Code)
		c.position(&e.At)
	case *RuntimeError:
		c.word(&e.Text)
		c.position(&e.At)
	case *Bench:
		c.text(&e.Name)
		number(c, &e.Index)
		number(c, &e.Total)
		c.uvarint(&e.Runs)
		number(c, &e.Average)
	case *Test:
		c.text(&e.Name)
		number(c, &e.Index)
		number(c, &e.Total)
		c.boolean(&e.Passed)
		number(c, &e.Took)
	case *End:
	default:
		c.fail("its type has no form")
	}
}

func (c *coder) head(h *Head) {
	timed, probe, pid, tid := !h.Time.IsZero(), h.Probe != "", h.PID != 0, h.TID != 0
	action := h.Action != 0
	c.flags(&action, &timed, &probe, &pid, &tid)
	if action {
		number(c, &h.Action)
	}
	if timed {
		c.time(&h.Time)
	}
	if probe {
		c.word(&h.Probe)
	}
	if pid {
		number(c, &h.PID)
	}
	if tid {
		number(c, &h.TID)
	}
}

func (c *coder) diagnostic(d *Diagnostic) {
	vocabulary(c, &d.Severity, Info, "severity")
	c.text(&d.Text)
	c.position(&d.At)
	list(c, &d.Notes, 2, func(n *Note) {
		c.text(&n.Text)
		c.position(&n.At)
	})
	list(c, &d.Hints, 1, c.text)
}

func (c *coder) position(p *Position) {
	if c.depth++; c.depth > maxDepth {
		c.fail("it is deeper than %d levels", maxDepth)
		return
	}
	defer func() { c.depth-- }()
	there := p.File != "" || p.Line != 0 || p.Col != 0 || p.EndLine != 0 || p.EndCol != 0 || len(p.Source) > 0 ||
		p.Marks != "" || len(p.Expanded) > 0
	c.boolean(&there)
	if !there {
		return
	}
	c.word(&p.File)
	number(c, &p.Line)
	number(c, &p.Col)
	number(c, &p.EndLine)
	number(c, &p.EndCol)
	c.wordList(&p.Source)
	c.word(&p.Marks)
	list(c, &p.Expanded, 1, c.position)
}

func (c *coder) entries(m *Map) {
	c.word(&m.Name)
	vocabulary(c, &m.Kind, TimesMap, "kind of map")
	table := m.Table != nil
	c.flags(&m.Keyed, &table)
	list(c, &m.Entries, 3, func(e *Entry) {
		keyed := e.Key != nil
		c.boolean(&keyed)
		if keyed {
			made(c, &e.Key)
			c.value(e.Key)
		}
		c.value(&e.Value)
	})
	if table {
		made(c, &m.Table)
		number(c, &m.Table.Span)
		number(c, &m.Table.Entries)
		c.boolean(&m.Table.Histograms)
		c.value(&m.Table.Total)
	}
}

func (c *coder) value(v *Value) {
	if c.depth++; c.depth > maxDepth {
		c.fail("it is deeper than %d levels", maxDepth)
		return
	}
	defer func() { c.depth-- }()
	vocabulary(c, &v.Kind, Times, "kind of value")
	size, num, text, typ := v.Size != 0, v.Num != 0, v.Text != "", v.Type != ""
	names, elems, frames, mode := len(v.Names) > 0, len(v.Elems) > 0, len(v.Frames) > 0, v.Mode != 0
	hist, series := v.Hist != nil, v.Series != nil
	c.flags(&size, &num, &v.Signed, &v.Cut, &text, &elems, &typ, &names, &frames, &mode, &hist, &series)
	if size {
		number(c, &v.Size)
	}
	if num {
		c.zigzag(&v.Num)
	}
	if text {
		c.text(&v.Text)
	}
	if elems {
		list(c, &v.Elems, 2, c.value)
	}
	if typ {
		c.word(&v.Type)
	}
	if names {
		c.wordList(&v.Names)
	}
	if frames {
		list(c, &v.Frames, 9, c.frame)
	}
	if mode {
		vocabulary(c, &v.Mode, ModeBuildID, "mode of stacks")
	}
	if hist {
		made(c, &v.Hist)
		c.hist(v.Hist)
	}
	if series {
		made(c, &v.Series)
		c.series(v.Series)
	}
}

func (c *coder) frame(f *Frame) {
	c.uvarint(&f.Addr)
	c.word(&f.Symbol)
	c.uvarint(&f.Offset)
	c.word(&f.Module)
	c.uvarint(&f.ModuleOffset)
	c.word(&f.BuildID)
	c.word(&f.File)
	number(c, &f.Line)
	c.boolean(&f.Inlined)
}

func (c *coder) hist(h *Hist) {
	c.boolean(&h.Linear)
	number(c, &h.Bits)
	number(c, &h.Step)
	if c.version >= 2 {
		number(c, &h.Min)
		number(c, &h.Max)
	}
	list(c, &h.Buckets, 4, func(b *Bucket) {
		number(c, &b.Lo)
		number(c, &b.Hi)
		c.flags(&b.LoInf, &b.HiInf)
		c.uvarint(&b.Count)
	})
}

func (c *coder) series(s *SeriesData) {
	number(c, &s.Interval)
	c.boolean(&s.Unsigned)
	list(c, &s.Points, 5, func(pt *SeriesPoint) {
		c.time(&pt.Start)
		number(c, &pt.Value)
		c.boolean(&pt.Set)
	})
}
