package syntax

import (
	"os"
	"testing"

	"trocar/internal/script/diag"
)

func benchmarkLoad(b *testing.B, text string) {
	b.ReportAllocs()
	for b.Loop() {
		var diags diag.List
		f := Load(&diag.Source{Name: "stdin", Text: text}, ParseOptions{}, &diags)
		Expand(f, isTestBuiltin, &diags)
		if diags.Errors() > 0 {
			b.Fatal(format(&diags))
		}
	}
}

func BenchmarkOneLiner(b *testing.B) {
	benchmarkLoad(b, "uprobe:libc:malloc { @[comm] = count(); }")
}

func BenchmarkScript(b *testing.B) {
	text, err := os.ReadFile("testdata/latency.bt")
	if err != nil {
		b.Fatal(err)
	}
	benchmarkLoad(b, string(text))
}

// BenchmarkHeader reads a large header of this machine.
func BenchmarkHeader(b *testing.B) {
	if _, err := os.Stat("/usr/include/netinet/in.h"); err != nil {
		b.Skip("no C library headers here")
	}
	benchmarkLoad(b, "#include <netinet/in.h>\n#include <sys/stat.h>\n#include <signal.h>\nbegin { $s = (struct "+
		"sockaddr_in *)arg0; }")
}
