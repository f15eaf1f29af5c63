package objfile

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"trocar/internal/need"
)

// TestLinkedApart: of linkers that may fold functions it is not said that they don't.
func TestLinkedApart(t *testing.T) {
	source := filepath.Join(t.TempDir(), "p.c")
	text := "#include <stdio.h>\nint main(void) { return puts(\"x\"); }\n"
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for linker, want := range map[string]bool{"bfd": true, "gold": false, "lld": false} {
		for _, how := range []string{"-pie", "-no-pie", "-shared", "-static"} {
			if ok, err := need.HasTool("ld." + linker); err != nil || !ok {
				t.Logf("no %s: %v", linker, err)
				continue
			}
			out := source + linker + how
			args := []string{"-fPIC", "-fuse-ld=" + linker, how, "-o", out, source}
			if text, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
				t.Logf("%s %s: %v\n%s", linker, how, err, text)
				continue
			}
			f, err := Open(out)
			if err != nil {
				t.Fatal(err)
			}
			if got := f.LinkedApart(); got != (want && how != "-static") { // which has no symbols to look up
				t.Errorf("%s %s: %v", linker, how, got)
			}
			f.Close()
		}
	}
}
