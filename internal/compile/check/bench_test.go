package check

import (
	"testing"

	"trocar/internal/compile/builtin"
	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// BenchmarkCheck is a script of the usual size: what a start pays for this stage.
func BenchmarkCheck(b *testing.B) {
	const src = `uprobe:/bin/x:f /pid != 1/ { @start[tid] = nsecs; printf("%d %s\n", pid, comm); }
uretprobe:/bin/x:f /@start[tid]/ { $d = nsecs - @start[tid]; @hist[comm] = hist($d / 1000); delete(@start, tid); }
end { clear(@start); print(@hist); }`
	var diags diag.List
	file := syntax.Load(&diag.Source{Name: "stdin", Text: src}, syntax.ParseOptions{}, &diags)
	file = syntax.Expand(file, func(name string) bool { return builtin.Lookup(name) != nil }, &diags)
	matches := fakeMatches(file)
	b.ReportAllocs()
	for b.Loop() {
		var diags diag.List
		if Check(file, matches, Input{NCPU: 2}, &diags) == nil {
			b.Fatal(text(&diags))
		}
	}
}
