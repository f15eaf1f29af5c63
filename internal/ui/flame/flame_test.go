package flame

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"trocar/result"
)

// hostile is what a name may be, if whoever made the program wants harm.
const hostile = "</script><b>&\";\n\x01f"

func frame(name string, addr uint64) *result.Frame {
	return &result.Frame{
		Symbol: name, Addr: addr, Module: "/bin/a", ModuleOffset: addr, BuildID: "abc", File: "a.c", Line: 3,
	}
}

func example() *Profile {
	inlined := frame("inl", 16)
	inlined.Inlined = true
	return &Profile{Title: "t<", Unit: "samples", Period: 10, Samples: []Sample{
		{Roots: []string{"th"}, Frames: []*result.Frame{inlined, frame("f", 16), frame("main", 32)}, Count: 3},
		{Roots: []string{"th"}, Frames: []*result.Frame{frame("f", 17), frame("f", 18), frame("main", 32)}, Count: 1},
		{Roots: []string{"th"}, Frames: []*result.Frame{frame(hostile, 99), frame("main", 33)}, Count: 2},
		{Roots: []string{"th"}, Frames: []*result.Frame{{Symbol: "irq", Addr: 1 << 63}, frame("main", 32)}, Count: 1},
		{Roots: []string{"th"}, Count: 1},
	}}
}

func TestFolded(t *testing.T) {
	want := `th;[no stack] 1
th;main;</script><b>&":??f 2
th;main;f;f 1
th;main;f;inl 3
th;main;irq_[k] 1
`
	if got := string(example().AppendFolded(nil)); got != want {
		t.Errorf("%s", got)
	}
}

// TestTable: a recursive function counts once in a stack.
func TestTable(t *testing.T) {
	got := string(example().AppendTable(nil, 3))
	want := `8 samples, 5 stacks

  self   total  function
 37.5%   37.5%  inl  a
 25.0%   25.0%  </script><b>&";\n\x01f  a
 12.5%   50.0%  f  a
and 3 more functions

 37.5%  th
        inl
        f
        main

 25.0%  th
        </script><b>&";\n\x01f
        main

 12.5%  th
        f
        f
        main

and 2 more stacks
`
	if got != want {
		t.Errorf("%s", got)
	}
}

func TestSVG(t *testing.T) {
	d := xml.NewDecoder(bytes.NewReader(example().appendSVG(nil)))
	boxes := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "g" {
			boxes++
		}
	}
	if boxes != 9 { // all, th, no stack, main, f, f, inl, the hostile one, irq
		t.Errorf("%d boxes", boxes)
	}
}

func TestHTML(t *testing.T) {
	data, err := example().Encode(".html")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(data), "</script>"); n != 1 {
		t.Errorf("%d ends of the script", n)
	}
	if strings.Contains(string(data), "{{") || strings.Contains(string(data), "http") {
		t.Error("a place is left open, or something is fetched")
	}
}

func TestSpeedscope(t *testing.T) {
	data, err := example().Encode(".speedscope.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Shared   struct{ Frames []struct{ Name string } }
		Profiles []struct {
			Type     string
			EndValue int
			Samples  [][]int
			Weights  []int
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	p := file.Profiles[0]
	if p.Type != "sampled" || p.EndValue != 80 || len(p.Samples) != 5 || p.Weights[0] != 30 {
		t.Errorf("%+v", p)
	}
	var names []string
	for _, n := range p.Samples[0] {
		names = append(names, file.Shared.Frames[n].Name)
	}
	if got := strings.Join(names, " "); got != "th main f inl" {
		t.Error(got)
	}
}

// TestPprof: go tool pprof reads it in a test of whole runs; here is that names are in it, each once.
func TestPprof(t *testing.T) {
	data, err := example().Encode(".pb.gz")
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"\x03inl", "\x04main", "\x06/bin/a", "\x03abc", "\x0bnanoseconds"} {
		if n := bytes.Count(raw, []byte(name)); n != 1 {
			t.Errorf("%q: %d times", name, n)
		}
	}
}

func TestForm(t *testing.T) {
	for path, want := range map[string]string{
		"a.svg": ".svg", "a.pb.gz": ".pb.gz", "a.txt": "", "": "", "a.json": "", "x.speedscope.json": ".speedscope.json",
	} {
		if got := Form(path); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
	if _, err := example().Encode(".txt"); err == nil {
		t.Error("no error")
	}
}

type others struct{ n int }

func (o *others) Event(result.Event) error { o.n++; return nil }
func (o *others) Flush() error             { return nil }

// TestCollector: maps in parts are one, what has no stacks is passed on, and the frames are copies.
func TestCollector(t *testing.T) {
	frames := []result.Frame{*frame("f", 1)}
	entry := result.Entry{
		Key: &result.Value{Kind: result.Record, Names: []string{"func", "stack"}, Elems: []result.Value{
			{Kind: result.String, Text: "f"}, {Kind: result.Stack, Frames: frames},
		}},
		Value: result.Value{Kind: result.Uint, Num: 2},
	}
	m := &result.Map{Name: "@calls", Keyed: true, Entries: []result.Entry{entry}}
	rest := &others{}
	c := &Collector{Sink: rest, Skip: "func"}
	for _, e := range []result.Event{
		&result.PrintMap{Map: m, More: true}, &result.PrintMap{Map: m, Continued: true},
		&result.PrintMap{Map: &result.Map{Name: "@n"}}, &result.End{},
	} {
		if err := c.Event(e); err != nil {
			t.Fatal(err)
		}
	}
	frames[0].Symbol = "reused"
	if got := string(c.Profile.AppendFolded(nil)); got != "f 4\n" || rest.n != 2 {
		t.Errorf("%q, %d others", got, rest.n)
	}
}
