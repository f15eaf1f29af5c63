package result

import (
	"errors"
	"io"
	"math/rand/v2"
	"reflect"
	"testing"
	"unsafe"
)

// keeper is a sink that keeps events, and fails from the event that after counts down to, if it has an error.
type keeper struct {
	events  []Event
	flushed int
	closed  int
	after   int
	err     error
}

func (k *keeper) Event(e Event) error {
	if k.after--; k.after < 0 && k.err != nil {
		return k.err
	}
	k.events = append(k.events, Clone(e))
	return nil
}

func (k *keeper) Flush() error { k.flushed++; return nil }
func (k *keeper) Close() error { k.closed++; return k.err }

func TestTee(t *testing.T) {
	full, gone := errors.New("full"), errors.New("gone")
	a, b, c := &keeper{}, &keeper{after: 1, err: full}, &keeper{after: 2, err: gone}
	tee := Tee(a, b, c, flushOnly{})
	send := func(want ...error) {
		t.Helper()
		err := tee.Event(&Printf{Text: "x"})
		if (err != nil) != (len(want) > 0) {
			t.Errorf("got %v, want %v", err, want)
		}
		for _, w := range want {
			if !errors.Is(err, w) {
				t.Errorf("got %v, want %v", err, w)
			}
		}
	}
	send()
	send(full)
	send(gone)
	send() // those that have failed are left alone
	if err := tee.Flush(); err != nil {
		t.Error(err)
	}
	if len(a.events) != 4 || len(b.events) != 1 || len(c.events) != 2 {
		t.Errorf("%d, %d and %d events", len(a.events), len(b.events), len(c.events))
	}
	if a.flushed != 1 || b.flushed != 0 || c.flushed != 0 {
		t.Errorf("%d, %d and %d flushes", a.flushed, b.flushed, c.flushed)
	}
	if err := tee.Close(); !errors.Is(err, full) || !errors.Is(err, gone) {
		t.Errorf("closing: %v", err)
	}
	if a.closed != 1 || b.closed != 1 || c.closed != 1 {
		t.Errorf("closed %d, %d and %d times", a.closed, b.closed, c.closed)
	}
	both := Tee(&keeper{err: full}, &keeper{err: gone})
	if err := both.Event(&End{}); !errors.Is(err, full) || !errors.Is(err, gone) {
		t.Errorf("got %v, want both errors", err)
	}
	if err := Tee().Event(&End{}); err != nil {
		t.Error(err)
	}
}

// flushOnly is a sink that cannot be closed.
type flushOnly struct{}

func (flushOnly) Event(Event) error { return nil }
func (flushOnly) Flush() error      { return nil }

func TestTeeAllocates(t *testing.T) {
	tee := Tee(NewEncoder(io.Discard), NewEncoder(io.Discard))
	var p Printf
	if n := testing.AllocsPerRun(10000, func() {
		p = Printf{Text: "12345 bash 3\n"}
		if err := tee.Event(&p); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations for an event", n)
	}
}

// TestClone destroys the original in place: the copy must not see it.
func TestClone(t *testing.T) {
	r := random{rand.New(rand.NewPCG(5, 6))}
	for range 100 {
		for _, typ := range EventTypes() {
			e := r.event(typ)
			want := encode(t, e)
			c := Clone(e)
			destroy(reflect.ValueOf(e))
			if got := encode(t, c); string(got) != string(want) {
				t.Fatalf("%T: the copy has changed with the original", e)
			}
		}
	}
}

// destroy overwrites all that a value refers to, Text with the bytes themselves.
func destroy(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			destroy(v.Elem())
			v.Elem().SetZero()
		}
	case reflect.Slice:
		for i := range v.Len() {
			destroy(v.Index(i))
			v.Index(i).SetZero()
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f, name := v.Field(i), v.Type().Field(i).Name
			if !f.CanSet() {
				continue
			}
			if s := f.Addr(); f.Kind() == reflect.String && name == "Text" && borrowed(v.Type()) && f.Len() > 4 {
				clear(unsafe.Slice(unsafe.StringData(*s.Interface().(*string)), f.Len()))
			}
			destroy(f)
		}
	}
}

// borrowed are the types whose Text may lie in memory that is used again.
func borrowed(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[Diagnostic](), reflect.TypeFor[Note](), reflect.TypeFor[RuntimeError]():
		return false
	}
	return true
}
