package flame

import (
	"strings"
	"testing"

	"trocar/result"
)

// stacked is a profile of lines of names from the root inwards, of which the first is no function.
func stacked(lines map[string]uint64) *Profile {
	p := &Profile{Title: "t", Unit: "samples"}
	for line, n := range lines {
		names := strings.Split(line, ";")
		s := Sample{Roots: names[:1], Count: n}
		for i := len(names) - 1; i > 0; i-- {
			f := frameOf(names[i])
			if f.Addr == 0 {
				f.Module, f.ModuleOffset = "/bin/prog", uint64(len(names[i]))
			}
			s.Frames = append(s.Frames, f)
		}
		p.Samples = append(p.Samples, s)
	}
	return p
}

var (
	earlier = map[string]uint64{"sh;main;a": 30, "sh;main;b": 10, "sh;main;a;read_[k]": 60}
	later   = map[string]uint64{"sh;main;a": 10, "sh;main;c": 30, "sh;main;a;read_[k]": 10}
)

func TestChanges(t *testing.T) {
	p := stacked(later)
	p.Compare(stacked(earlier))
	got := string(p.AppendChanges(nil, 0))
	for _, want := range []string{
		"before: 100 samples; after: 50 samples",
		"   0.00%   60.00%  +60.00%  +60.00%  c\n",
		"  60.00%   20.00%  -40.00%  -40.00%  read_[k]\n",
		"  30.00%   20.00%  -10.00%  -50.00%  a\n",
		"  10.00%    0.00%  -10.00%  -10.00%  b\n",
		"   0.00%    0.00%   +0.00%   +0.00%  main\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "  sh\n") {
		t.Errorf("the thread is taken for a function:\n%s", got)
	}
	folded := string(p.AppendFolded(nil))
	for _, want := range []string{"sh;main;c 0 30\n", "sh;main;b 10 0\n", "sh;main;a;read_[k] 60 10\n"} {
		if !strings.Contains(folded, want) {
			t.Errorf("no %q in\n%s", want, folded)
		}
	}
	for _, form := range []string{".svg", ".html"} {
		data, err := p.Encode(form)
		if err != nil {
			t.Fatal(err)
		}
		for _, color := range []string{"#ff", "ff\""} { // more, less
			if !strings.Contains(string(data), color) {
				t.Errorf("%s: nothing is coloured %s…", form, color)
			}
		}
	}
}

// TestReadBack reads what is written, and finds no change in it.
func TestReadBack(t *testing.T) {
	for _, form := range []string{".folded", ".pb.gz"} {
		p := stacked(earlier)
		data, err := p.Encode(form)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Read("x"+form, data)
		if err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		p.Compare(back)
		if got := string(p.AppendFolded(nil)); got != "sh;main;a 30 30\nsh;main;a;read_[k] 60 60\nsh;main;b 10 10\n" {
			t.Errorf("%s:\n%s", form, got)
		}
		if back.Total() != 100 || len(back.Samples[0].Roots) != 1 || back.Samples[0].Roots[0] != "sh" {
			t.Errorf("%s: %+v", form, back.Samples)
		}
	}
}

func TestReadNotStacks(t *testing.T) {
	for name, data := range map[string]string{
		"a.folded": "main;f\n", "b.folded": "main;f x\n", "c.folded": "main;f 1 2\nmain;g 3 4\n", "a.pb.gz": "\x0a\xff",
		"b.pb.gz": "\x1f\x8b", "a.html": "<html>",
	} {
		if _, err := Read(name, []byte(data)); err == nil {
			t.Errorf("%s is taken for stacks", name)
		}
	}
}

func FuzzRead(f *testing.F) {
	p := stacked(earlier)
	both := []*result.Frame{{Symbol: "in", Inlined: true}, {Symbol: "out"}}
	p.Samples = append(p.Samples, Sample{Count: 1, Frames: both})
	for _, form := range []string{".folded", ".pb.gz"} {
		data, err := p.Encode(form)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("\x12\x04\x0a\x02\x01\x02"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, name := range []string{"x", "x.pb.gz"} {
			p, err := Read(name, data)
			if err != nil {
				continue
			}
			p.Compare(stacked(later))
			p.AppendChanges(nil, 0)
			if _, err := p.Encode(".svg"); err != nil {
				t.Error(err)
			}
		}
	})
}
