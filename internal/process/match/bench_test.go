package match

import (
	"os"
	"testing"

	"trocar/internal/process/probe"
	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// BenchmarkMatch measures the matching of one attach point; PROBE names another.
func BenchmarkMatch(b *testing.B) {
	text := os.Getenv("PROBE")
	if text == "" {
		text = "uprobe:libc:*"
	}
	var diags diag.List
	file := syntax.Parse(&diag.Source{Name: "bench", Text: text + " {}"}, syntax.ParseOptions{}, &diags)
	for b.Loop() {
		r := All(b.Context(), file.Probes, Options{Demangle: true, Needs: []probe.Needs{{ArgN: true, Name: true}}})
		if r.Diags.Errors() > 0 {
			b.Fatal(r.Diags.All[0].Text)
		}
		b.ReportMetric(float64(r.Count()), "points")
	}
}
