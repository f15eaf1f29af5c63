package diag

import (
	"strings"
	"testing"
)

func TestPos(t *testing.T) {
	s := &Source{Name: "x", Text: "ab\n\ncd\r\ne"}
	for _, c := range []struct{ off, line, col int }{
		{-1, 1, 1}, {0, 1, 1}, {2, 1, 3}, {3, 2, 1}, {4, 3, 1}, {7, 3, 4}, {8, 4, 1}, {9, 4, 2}, {99, 4, 2},
	} {
		if l, k := s.Pos(c.off); l != c.line || k != c.col {
			t.Errorf("offset %d: got %d:%d, want %d:%d", c.off, l, k, c.line, c.col)
		}
	}
	for i, want := range []string{"", "ab", "", "cd", "e", ""} {
		if got := s.Line(i); got != want {
			t.Errorf("line %d: got %q, want %q", i, got, want)
		}
	}
}

func TestSpan(t *testing.T) {
	s := &Source{Name: "x", Text: "abc\ndef"}
	a, b := Span{Source: s, Start: 1, End: 2}, Span{Source: s, Start: 5, End: 6}
	for _, c := range []struct{ got, want string }{
		{a.String(), "x:1:2-3"},
		{a.To(b).String(), "x:1-2"},
		{Span{}.String(), ""},
		{Span{}.To(b).String(), "x:2:2-3"},
		{a.To(Span{Source: &Source{}, End: 9}).String(), "x:1:2-3"},
	} {
		if c.got != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
}

func TestFormat(t *testing.T) {
	src := &Source{Name: "stdin", Text: "one two\n\ttab\x1b[2J x\nlast é y"}
	at := func(start, end int) Span { return Span{Source: src, Start: start, End: end} }
	inner := &Source{Name: "lib.bt", Text: "macro body", From: at(4, 7)}
	long := &Source{Name: "long", Text: strings.Repeat("line\n", 100)}
	for _, c := range []struct {
		d    *Diagnostic
		want string
	}{
		{&Diagnostic{Span: at(4, 7), Text: "bad"}, `
stdin:1:5-8: ERROR: bad
one two
    ~~~
`},
		{&Diagnostic{Severity: Warning, Span: at(9, 12), Text: "tabs are four blanks, escapes are not passed on"}, `
stdin:2:2-5: WARNING: tabs are four blanks, escapes are not passed on
    tab?[2J x
    ~~~
`},
		{&Diagnostic{Span: at(8, 10), Text: "on a tab"}, `
stdin:2:1-3: ERROR: on a tab
    tab?[2J x
~~~~~
`},
		{&Diagnostic{Span: at(27, 28), Text: "behind a letter of two bytes"}, `
stdin:3:9-10: ERROR: behind a letter of two bytes
last é y
       ~
`},
		{&Diagnostic{Text: "no place"}, "ERROR: no place\n"},
		{&Diagnostic{Severity: Info, Text: "fyi"}, "INFO: fyi\n"},
		{(&Diagnostic{Span: at(0, 3), Text: "with more"}).Note(at(4, 7), "the other is %s", "here").Note(Span{}, "a fact").
			Hint("do %d", 1).Hint("or this"), `
stdin:1:1-4: ERROR: with more
one two
~~~
stdin:1:5-8: ERROR: the other is here
one two
    ~~~
NOTE: a fact
HINT: do 1
HINT: or this
`},
		{&Diagnostic{Span: at(4, 12), Text: "two lines"}, `
stdin:1-2: ERROR: two lines
one two
    tab?[2J x
`},
		{(&Diagnostic{Span: Span{Source: inner, Start: 6, End: 10}, Text: "in a macro"}).Hint("look"), `
lib.bt:1:7-11: ERROR: in a macro
macro body
      ~~~~
HINT: look
stdin:1:5-8: ERROR: expanded from
one two
    ~~~
`},
		{
			&Diagnostic{Span: Span{Source: long, Start: 0, End: 400}, Text: "much"},
			"long:1-81: ERROR: much\n" + strings.Repeat("line\n", 20) + "...\n",
		},
	} {
		if got, want := c.d.String(), strings.TrimPrefix(c.want, "\n"); got != want {
			t.Errorf("got:\n%s\nwant:\n%s", got, want)
		}
	}
}

func TestFormatColor(t *testing.T) {
	var b strings.Builder
	d := (&Diagnostic{Span: Span{Source: &Source{Name: "x", Text: "abc"}, Start: 1, End: 2}, Text: "bad"}).Hint("fix it")
	if err := d.Format(&b, true); err != nil {
		t.Fatal(err)
	}
	want := "\x1b[1mx:1:2-3:\x1b[0m \x1b[31mERROR:\x1b[0m bad\nabc\n \x1b[31m~\x1b[0m\n\x1b[36mHINT:\x1b[0m fix it\n"
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

func TestList(t *testing.T) {
	var l, m List
	l.Warnf(Span{}, "w")
	l.Errorf(Span{}, "e %d", 1)
	m.Errorf(Span{}, "e 2")
	l.Append(&m)
	var b strings.Builder
	if err := l.Format(&b, false); err != nil || b.String() != "ERROR: e 1\nERROR: e 2\nWARNING: w\n" || l.Errors() != 2 {
		t.Errorf("%v %d: %s", err, l.Errors(), b.String())
	}
}

// TestLongLines: what is shown of a line is bounded, and the marks stand below the place.
func TestLongLines(t *testing.T) {
	long := strings.Repeat("é", 1<<19)
	for _, c := range []struct {
		name, text string
		start, end int
		marked     string
	}{
		{"at the start", "bad " + long, 0, 3, "bad"},
		{"in the middle", long + " bad " + long, len(long) + 1, len(long) + 4, "bad"},
		{"at the end", long + " bad", len(long) + 1, len(long) + 4, "bad"},
		{"all of it", long, 0, len(long), ""},
	} {
		s := &Source{Name: "x", Text: c.text}
		p := Span{Source: s, Start: c.start, End: c.end}.Position()
		if len(p.Source) != 1 || len(p.Source[0]) > 500 || len(p.Marks) > 500 || !strings.Contains(p.Source[0], "...") {
			t.Errorf("%s: %d lines, the first of %d bytes; marks %q", c.name, len(p.Source), len(p.Source[0]), p.Marks)
			continue
		}
		line := []rune(p.Source[0])
		if from := strings.IndexByte(p.Marks, '~'); c.marked != "" && string(line[from:len(p.Marks)]) != c.marked {
			t.Errorf("%s: the marks are below %q", c.name, string(line[from:len(p.Marks)]))
		}
	}
	s := &Source{Name: "x", Text: long + "\n" + long}
	for _, line := range (Span{Source: s, End: len(s.Text)}).Position().Source {
		if len(line) > 500 {
			t.Errorf("a line of %d bytes of several", len(line))
		}
	}
}
