package tracefs

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"trocar/internal/need"
)

func TestMountPoints(t *testing.T) {
	const info = `22 28 0:20 / /sys rw - sysfs sysfs rw
40 22 0:12 / /sys/kernel/tracing rw,nosuid shared:3 - tracefs tracefs rw
41 22 0:12 /events /mnt rw - tracefs tracefs rw
42 22 0:12 / /mnt/a\040b\134c rw master:1 - tracefs nodev rw
short
`
	if got, want := mountPoints(info), []string{"/sys/kernel/tracing", `/mnt/a b\c`}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestDetached reads through a mount of our own, which nobody else sees.
func TestDetached(t *testing.T) {
	need.Root(t)
	before, _ := os.ReadFile("/proc/self/mountinfo")
	f, err := openDetached()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if after, _ := os.ReadFile("/proc/self/mountinfo"); string(before) != string(after) {
		t.Error("the mount can be seen")
	}
	if f.MountPoint() != "" {
		t.Errorf("mounted at %q", f.MountPoint())
	}
	text, err := f.ReadFile("events/sched/sched_process_fork/id")
	if err != nil {
		t.Fatal(err)
	}
	if id, err := strconv.Atoi(strings.TrimSpace(string(text))); err != nil || id == 0 {
		t.Errorf("id %d, %v", id, err)
	}
	if info, err := f.Stat("events/sched/sched_process_fork/format"); err != nil || !info.Mode().IsRegular() {
		t.Errorf("format: %v, %v", info, err)
	}
	found := false
	err = f.Lines("available_events", func(line string) bool {
		found = line == "sched:sched_process_fork"
		return !found
	})
	if err != nil || !found {
		t.Errorf("available_events has no sched_process_fork (%v)", err)
	}
	if _, err := f.Open("events/none/such"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	for _, name := range []string{"../etc/passwd", "/etc/passwd", "events/../../x"} {
		if _, err := f.Open(name); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOpen: whatever this machine has mounted, there are events.
func TestOpen(t *testing.T) {
	f, err := Open()
	if errors.Is(err, fs.ErrPermission) {
		need.Root(t)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, err = f.Stat("events/sched")
	if errors.Is(err, fs.ErrPermission) {
		need.Root(t)
	}
	if err != nil {
		t.Error(err)
	}
}
