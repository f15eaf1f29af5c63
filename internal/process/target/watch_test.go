package target

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"trocar/internal/need"
)

func watcher(t *testing.T, extra uint64) *Watcher {
	t.Helper()
	w, err := watch(extra)
	if err != nil {
		need.Root(t)
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

// A process that is long gone when somebody looks.
func TestWatch(t *testing.T) {
	w := watcher(t, perfBitBuildID)
	cmd := exec.Command("/bin/sh", "-c", "/bin/true; exit 0")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	sh, _ := filepath.EvalSymlinks("/bin/sh")
	yes, _ := filepath.EvalSymlinks("/bin/true")
	shell := PID(cmd.Process.Pid)
	var child PID
	var got []string
	last := uint64(0)
	for range 2 { // the last changes may wait for the second reading
		w.Read(func(c *Change) {
			if c.Time < last {
				t.Errorf("out of order: %d after %d", c.Time, last)
			}
			last = c.Time
			if c.Kind == Forked && c.Parent == shell {
				child = c.PID
			}
			who := map[PID]string{shell: "sh", child: "true"}[c.PID]
			if who == "" || c.PID == 0 {
				return
			}
			switch c.Kind {
			case Forked:
				who += " forked"
			case Execed:
				who += " execed"
			case Exited:
				who += " exited"
			case Mapped:
				m := &c.Mapping
				if m.Perm&Exec == 0 || m.End <= m.Start || c.BuildID == "" && m.Inode == 0 && strings.HasPrefix(m.Path, "/") {
					t.Errorf("%+v", c)
				}
				if m.Path != sh && m.Path != yes && !strings.Contains(m.Path, "libc.so") {
					return
				}
				who += " mapped " + filepath.Base(m.Path)
			}
			got = append(got, who)
		})
		time.Sleep(10 * time.Millisecond)
	}
	want := []string{
		"sh forked", "sh execed", "sh mapped " + filepath.Base(sh), "sh mapped libc.so.6",
		"true forked", "true execed", "true mapped true", "true mapped libc.so.6", "true exited", "sh exited",
	}
	// we are a new process's parent by CLONE_VFORK, too
	got = slices.DeleteFunc(got, func(s string) bool { return s == "sh forked" })
	if !slices.Equal(got, want[1:]) {
		t.Errorf("got  %q\nwant %q", got, want[1:])
	}
	if w.Lost() != 0 {
		t.Errorf("%d lost", w.Lost())
	}
}

// The mappings seen are those of /proc.
func TestWatchAgreesWithMaps(t *testing.T) {
	for name, extra := range map[string]uint64{
		"build ids": perfBitBuildID, "as before Linux 5.12": 0,
		"a bit that no kernel has": 1 << 63,
	} {
		t.Run(name, func(t *testing.T) { testWatchAgreesWithMaps(t, extra) })
	}
}

func testWatchAgreesWithMaps(t *testing.T, extra uint64) {
	w := watcher(t, extra)
	mark, pipe := filepath.Join(t.TempDir(), "mark"), filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	c := launch(t, "sh", "-c", "echo >"+mark+"; read line <"+pipe)
	c.Release()
	eventually(t, "the loader is done", func() bool {
		_, err := os.Stat(mark)
		return err == nil
	})
	maps, err := c.PID().Maps()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[uint64]Mapping{}
	w.Read(func(ch *Change) {
		if ch.PID == c.PID() && ch.Kind == Mapped {
			seen[ch.Mapping.Start] = ch.Mapping
			if (ch.BuildID != "") != (extra == perfBitBuildID && strings.HasPrefix(ch.Mapping.Path, "/")) {
				t.Errorf("build id %q of %s", ch.BuildID, ch.Mapping.Path)
			}
		}
	})
	n := 0
	for _, m := range maps {
		if m.Perm&Exec == 0 || !m.IsFile() {
			continue
		}
		n++
		if s := seen[m.Start]; s.End != m.End || s.Offset != m.Offset || s.Path != m.Path ||
			extra != perfBitBuildID && s.Inode != m.Inode {
			t.Errorf("%+v\nseen %+v", m, s)
		}
	}
	if n < 3 {
		t.Errorf("%d executable mappings", n)
	}
}

func TestWatchLoses(t *testing.T) {
	w := watcher(t, perfBitBuildID)
	for range 1500 {
		if err := exec.Command("/bin/true").Run(); err != nil {
			t.Fatal(err)
		}
		if w.Read(func(*Change) {}); w.Lost() > 0 {
			t.Fatal("lost though it was read")
		}
	}
}

func TestParseCPUs(t *testing.T) {
	for list, want := range map[string][]int{"0": {0}, "0-3": {0, 1, 2, 3}, "0,2-3,7": {0, 2, 3, 7}} {
		if got, err := parseCPUs(list); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v", list, got, err)
		}
	}
	for _, list := range []string{"", "x", "3-1", "0-99999999", "-1"} {
		if got, err := parseCPUs(list); err == nil {
			t.Errorf("%q: %v", list, got)
		}
	}
}

func FuzzWatchRecord(f *testing.F) {
	rec := make([]byte, 8+64+16+16)
	binary.NativeEndian.PutUint32(rec, unix.PERF_RECORD_MMAP2)
	copy(rec[8+64:], "/bin/true")
	rec[8+56] = unix.PROT_EXEC
	f.Add(rec)
	for _, typ := range []uint32{
		unix.PERF_RECORD_FORK, unix.PERF_RECORD_EXIT, unix.PERF_RECORD_COMM,
		unix.PERF_RECORD_LOST,
	} {
		rec := make([]byte, 8+40)
		binary.NativeEndian.PutUint32(rec, typ)
		f.Add(rec)
	}
	f.Fuzz(func(t *testing.T, rec []byte) {
		if len(rec) < 8 {
			return
		}
		w := &Watcher{paths: map[string]string{}}
		w.record(rec)
		if len(w.pending) > 1 {
			t.Error(w.pending)
		}
	})
}

func BenchmarkWatch(b *testing.B) {
	for b.Loop() {
		w, err := Watch()
		if err != nil {
			b.Skip(err)
		}
		w.Close()
	}
}

func BenchmarkWatchRead(b *testing.B) {
	w, err := Watch()
	if err != nil {
		b.Skip(err)
	}
	defer w.Close()
	for b.Loop() {
		w.Read(func(*Change) {})
	}
}
