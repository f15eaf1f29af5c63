package match

import (
	"testing"

	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// FuzzAttachPoint parses anything as an attach point, and lists by it.
func FuzzAttachPoint(f *testing.F) {
	for _, s := range []string{
		"uprobe:/bin/sh:main+4", "u:libc:cpp:\"A::b(int)\"", "usdt:*:a:b", "i:ms:1", "profile:5us", "s:cpu:1e3",
		"w:0x10:8:rw",
		"t:sched:*", "k:mod:f+0x1", "fentry:bpf:1:x", "*:/bin/sh:*", "self:signal:SIGUSR1", "u:x@y.c:1:2", "iter:task:/p",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1000 {
			return
		}
		var diags diag.List
		file := syntax.Parse(&diag.Source{Name: "fuzz", Text: text + " {}"}, syntax.ParseOptions{}, &diags)
		for _, listing := range []bool{false, true} {
			for _, pid := range []int{0, 1} {
				m := newMatcher(t.Context(), Options{PID: pid, Missing: "warn"}, &diags)
				m.listing = listing
				for _, p := range file.Probes {
					for _, ap := range p.Points {
						if ap == nil {
							continue
						}
						for _, s := range m.specs(ap) {
							s.kind.parse(m, s)
						}
					}
				}
				for _, s := range m.listSpecs(splitPattern(text)) {
					s.kind.parse(m, s)
				}
				m.close()
			}
		}
	})
}

// FuzzFormat reads anything as the description of an event.
func FuzzFormat(f *testing.F) {
	f.Add("\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\tfield:__data_loc char[] " +
		"name;\toffset:24;\tsize:4;\tsigned:0;\n")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseFormat(event{"a", "b"}, text, nil)
		if err != nil {
			return
		}
		for _, fl := range r.Fields {
			if fl.Type == nil || fl.Offset < 0 || fl.Offset > maxRecord || fl.Type.Size > maxRecord {
				t.Fatalf("%+v", fl)
			}
		}
	})
}
