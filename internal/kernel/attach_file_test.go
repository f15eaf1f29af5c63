package kernel

import (
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"trocar/internal/need"
	"trocar/internal/process/probe"
)

// TestFileReplaced: points are attached to the file in which they were found, not to what came in its place since.
func TestFileReplaced(t *testing.T) {
	need.Root(t)
	path := build(t, "target", targetSource)
	offset := symbols(t, path)["work"]
	identity := func() probe.FileID {
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err != nil {
			t.Fatal(err)
		}
		return probe.FileID{Dev: st.Dev, Inode: st.Ino, Size: st.Size, Changed: st.Mtim.Nano()}
	}
	found := identity()
	copied, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			f := NewFeatures()
			f.Disable(way.without...)
			attach := func() string {
				p := point(path, offset, 0)
				p.File = found
				l := load(t, Options{Features: f}, &Program{
					Name: "entry", Type: probe.UprobeProgram, Insns: sender(1, regDI, false), Points: []*probe.Point{p},
				})
				failed, err := l.Attach(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				if len(failed) == 0 {
					return ""
				}
				return failed[0].Error()
			}
			if got := attach(); got != "" {
				t.Errorf("the same file: %s", got)
			}
			// Another file of the same content and size.
			if err := os.Rename(path, path+".old"); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, copied, 0o755); err != nil {
				t.Fatal(err)
			}
			if got := attach(); !strings.Contains(got, "was replaced or written to") {
				t.Errorf("another file: %q", got)
			}
			// The same, written to.
			found = identity()
			if err := os.Chtimes(path, time.Time{}, time.Unix(1e9, 0)); err != nil {
				t.Fatal(err)
			}
			if got := attach(); !strings.Contains(got, "was replaced or written to") {
				t.Errorf("a file that was written to: %q", got)
			}
			found = identity()
		})
	}
}
