package target

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"trocar/internal/need"
)

func TestCgroupMounts(t *testing.T) {
	got := cgroupMounts([]byte(`tmpfs /sys/fs/cgroup tmpfs rw 0 0
cgroup /sys/fs/cgroup/pids cgroup rw,pids 0 0
cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw 0 0
cgroup2 /mnt/with\040blank cgroup2 rw 0 0
short
`))
	want := []cgroupMount{
		{"unified", "/mnt/with blank"},
		{"cpu,cpuacct", "/sys/fs/cgroup/cpu,cpuacct"},
		{"pids", "/sys/fs/cgroup/pids"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

func TestCgroups(t *testing.T) {
	text, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	mounts := cgroupMounts(text)
	if len(mounts) == 0 {
		t.Skip("no cgroups mounted")
	}
	var c Cgroups
	for _, m := range mounts {
		id, err := CgroupID(m.dir)
		if err != nil {
			t.Errorf("%s: %v", m.dir, err)
			continue
		}
		if n, _ := inode(m.dir); n != id {
			t.Errorf("%s: id %d, inode %d", m.dir, id, n)
		}
		if got, err := c.Text(id, m.name); err != nil || !strings.Contains(got, m.name+":/") {
			t.Errorf("%s: %q, %v", m.dir, got, err)
		}
	}
	root, _ := need.HasRoot()
	dir := filepath.Join(mounts[0].dir, "trocar-target-test")
	if err := os.Mkdir(dir, 0o755); err != nil {
		need.Root(t)
		t.Fatal(err)
	}
	defer os.Remove(dir)
	id, err := CgroupID(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []CgroupPath{{mounts[0].name, "/trocar-target-test"}}
	for range 2 { // the second time from memory
		if got, err := c.Paths(id, mounts[0].name); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v, %v", got, err)
		}
	}
	if p, ok := cgroupByHandle(mounts[0].dir, id); root && (!ok || p != want[0].Path) {
		t.Errorf("by handle: %q, %v", p, ok)
	}
	if p, ok := cgroupByWalk(mounts[0].dir, id); !ok || p != want[0].Path {
		t.Errorf("by walk: %q, %v", p, ok)
	}
	os.Remove(dir)
	if got, err := c.Paths(id, mounts[0].name); err != nil || len(got) != 0 {
		t.Errorf("removed: %v, %v", got, err)
	}
	if _, err := c.Paths(id, "["); err == nil {
		t.Error("a broken filter is accepted")
	}
	if _, err := CgroupID("/proc/self/status"); err == nil {
		t.Error("not a cgroup, but it has an id")
	}
	if _, err := CgroupID("/none"); err == nil {
		t.Error("nothing there, but it has an id")
	}
}
