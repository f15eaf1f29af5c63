package result

import (
	"slices"
	"strings"
)

// Clone is a copy of an event that stays as it is, whatever its sender does with the original. Of strings, only those
// that a decoder may use again are copied: Text in events and values.
func Clone(e Event) Event {
	switch e := e.(type) {
	case *Printf:
		c := *e
		c.Text = strings.Clone(e.Text)
		return &c
	case *Message:
		c := *e
		c.Text, c.At = strings.Clone(e.Text), e.At.clone()
		return &c
	case *Print:
		c := *e
		if e.Value != nil {
			v := e.Value.Clone()
			c.Value = &v
		}
		return &c
	case *PrintMap:
		c := *e
		c.Map = e.Map.Clone()
		return &c
	case *Time:
		c := *e
		c.Text = strings.Clone(e.Text)
		return &c
	case *Join:
		c := *e
		c.Text = strings.Clone(e.Text)
		return &c
	case *Cat:
		c := *e
		c.Text = strings.Clone(e.Text)
		return &c
	case *System:
		c := *e
		c.Text = strings.Clone(e.Text)
		return &c
	case *Notice:
		c := *e
		c.Diagnostic = e.Diagnostic.clone()
		return &c
	case *HelperError:
		c := *e
		c.At = e.At.clone()
		return &c
	case *RuntimeError:
		c := *e
		c.At = e.At.clone()
		return &c
	case *Attached:
		c := *e
		return &c
	case *Lost:
		c := *e
		return &c
	case *Bench:
		c := *e
		return &c
	case *Test:
		c := *e
		return &c
	case *End:
		c := *e
		return &c
	}
	return nil // there is no other type: see Event
}

func (d *Diagnostic) clone() Diagnostic {
	c := *d
	c.At = d.At.clone()
	c.Notes = slices.Clone(d.Notes)
	for i := range c.Notes {
		c.Notes[i].At = c.Notes[i].At.clone()
	}
	c.Hints = slices.Clone(d.Hints)
	return c
}

func (p *Position) clone() Position {
	c := *p
	c.Source = slices.Clone(p.Source)
	c.Expanded = slices.Clone(p.Expanded)
	for i := range c.Expanded {
		c.Expanded[i] = c.Expanded[i].clone()
	}
	return c
}

// Clone is a copy that shares no memory with what a decoder may use again.
func (v *Value) Clone() Value {
	c := *v
	c.Text = strings.Clone(v.Text)
	c.Names = slices.Clone(v.Names)
	c.Elems = slices.Clone(v.Elems)
	for i := range c.Elems {
		c.Elems[i] = c.Elems[i].Clone()
	}
	c.Frames = slices.Clone(v.Frames)
	if v.Hist != nil {
		h := *v.Hist
		h.Buckets = slices.Clone(h.Buckets)
		c.Hist = &h
	}
	if v.Series != nil {
		s := *v.Series
		s.Points = slices.Clone(s.Points)
		c.Series = &s
	}
	return c
}

// Clone is a copy of the map with all its entries; that of nil is nil.
func (m *Map) Clone() *Map {
	if m == nil {
		return nil
	}
	c := *m
	c.Entries = slices.Clone(m.Entries)
	for i := range c.Entries {
		e := &c.Entries[i]
		if e.Key != nil {
			key := e.Key.Clone()
			e.Key = &key
		}
		e.Value = e.Value.Clone()
	}
	if m.Table != nil {
		t := *m.Table
		t.Total = t.Total.Clone()
		c.Table = &t
	}
	return &c
}
