package output

import (
	"fmt"
	"testing"

	"trocar/result"
)

// toy is a format as one adds it: a sink in a file of its own, and a row of the table. It names the types of events.
type toy struct{ out stream }

var _ result.Sink = (*toy)(nil)

func (s *toy) Event(e result.Event) error {
	if e == nil {
		return result.UnknownEvent("the toy format", e)
	}
	s.out.buf = fmt.Appendf(s.out.buf, "%T\n", e)
	return s.out.end()
}

func (s *toy) Flush() error { return s.out.idle() }

// toyRow is the row. With it the format passes what all formats are held to.
func toyRow() Format {
	return Format{Name: "toy", Help: "types of events", Machine: true, make: func(o Options) result.Sink {
		return &toy{out: newStream(o.Out, o.Buffer)}
	}}
}

func TestToyFormat(t *testing.T) {
	row := toyRow()
	everyEvent(t, &row)
	out, _ := run(t, &row, Options{}, []result.Event{&result.Printf{}, &result.End{}})
	if string(out) != "*result.Printf\n*result.End\n" {
		t.Errorf("got %q", out)
	}
}

// TestTable looks that the rows of the table are whole.
func TestTable(t *testing.T) {
	names := map[string]bool{}
	for _, f := range Formats() {
		if f.Name == "" || f.Help == "" || f.make == nil || names[f.Name] {
			t.Errorf("the row of %q is not whole, or its second", f.Name)
		}
		names[f.Name] = true
	}
	if f, err := Lookup(""); err != nil || f.Name != Names()[0] {
		t.Errorf("the default is %v, %v", f, err)
	}
	for i, name := range Bufferings() {
		if b, err := ParseBuffering(name); err != nil || int(b) != i {
			t.Errorf("buffering %q is %v, %v", name, b, err)
		}
	}
}

// TestBare: no empty lines before the maps at the end, and a key is one line.
func TestBare(t *testing.T) {
	key := text("a\nb")
	m := &result.Map{Name: "@", Keyed: true, Entries: []result.Entry{{Key: &key, Value: integer(1)}}}
	out, _ := run(t, format(t, "text"), Options{Bare: true}, []result.Event{&result.End{}, &result.PrintMap{Map: m}})
	if string(out) != `@[a\nb]: 1`+"\n" || m.Entries[0].Key.Text != "a\nb" {
		t.Errorf("got %q; the key is now %q", out, m.Entries[0].Key.Text)
	}
}
