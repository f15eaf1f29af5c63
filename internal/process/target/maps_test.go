package target

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const mapsText = `55d0e5a40000-55d0e5a42000 r--p 00000000 fd:01 1234567                    /usr/bin/cat
55d0e5a42000-55d0e5a47000 r-xp 00002000 fd:01 1234567                    /usr/bin/cat
55d0e6f1c000-55d0e6f3d000 rw-p 00000000 00:00 0                          [heap]
7f0b00000000-7f0b00021000 rw-p 00000000 00:00 0 
7f0b8a1c7000-7f0b8a1ed000 r--s 00000000 1f1:fffff 42                     /tmp/a b (deleted)
7f0b8a1ed000-7f0b8a1ee000 ---p 00001000 fd:01 43                         /tmp/new\012line
7ffc3e7d1000-7ffc3e7d3000 r-xp 00000000 00:00 0                          [vdso]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
`

func TestParseMaps(t *testing.T) {
	want := []Mapping{
		{
			Start: 0x55d0e5a40000, End: 0x55d0e5a42000, Perm: Read, Dev: unix.Mkdev(0xfd, 1), Inode: 1234567,
			Path: "/usr/bin/cat",
		},
		{
			Start: 0x55d0e5a42000, End: 0x55d0e5a47000, Perm: Read | Exec, Offset: 0x2000, Dev: unix.Mkdev(0xfd, 1),
			Inode: 1234567, Path: "/usr/bin/cat",
		},
		{Start: 0x55d0e6f1c000, End: 0x55d0e6f3d000, Perm: Read | Write, Path: "[heap]"},
		{Start: 0x7f0b00000000, End: 0x7f0b00021000, Perm: Read | Write},
		{
			Start: 0x7f0b8a1c7000, End: 0x7f0b8a1ed000, Perm: Read | Shared, Dev: unix.Mkdev(0x1f1, 0xfffff), Inode: 42,
			Path: "/tmp/a b", Deleted: true,
		},
		{
			Start: 0x7f0b8a1ed000, End: 0x7f0b8a1ee000, Offset: 0x1000, Dev: unix.Mkdev(0xfd, 1), Inode: 43,
			Path: "/tmp/new\nline",
		},
		{Start: 0x7ffc3e7d1000, End: 0x7ffc3e7d3000, Perm: Read | Exec, Path: "[vdso]"},
		{Start: 0xffffffffff600000, End: 0xffffffffff601000, Perm: Exec, Path: "[vsyscall]"},
	}
	got, err := ParseMaps(nil, []byte(mapsText))
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d mappings, %v", len(got), err)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d: %+v\nwant %+v", i, got[i], want[i])
		}
	}
	if s := got[4].Perm.String() + got[1].Perm.String(); s != "r--sr-xp" {
		t.Error(s)
	}
}

func TestParseMapsErrors(t *testing.T) {
	for _, line := range []string{
		"x", "1-2", "2-1 r--p 0 0:0 0", "1-2 r--q 0 0:0 0", "1-2 w--p 0 0:0 0", "1-2 r--p 0 0 0", "1-2 r--p 0 0:0 x",
		"1-2 r--p 10000000000000000 0:0 0", "1-2 r--p 0 100000000:0 0", "1-2 r-", "-2 r--p 0 0:0 0", "1-2 r--p 0 0:0 ",
	} {
		if m, err := ParseMaps(nil, []byte(line)); err == nil {
			t.Errorf("%q: %+v", line, m)
		}
	}
	if m, err := ParseMaps(nil, []byte("1-2 r--p 0 0:0 0")); err != nil || len(m) != 1 { // no blank at the end
		t.Error(m, err)
	}
}

func TestOwnMaps(t *testing.T) {
	pid := PID(os.Getpid())
	maps, err := pid.Maps()
	if err != nil {
		t.Fatal(err)
	}
	exe, deleted, err := pid.Exe()
	if err != nil || deleted {
		t.Fatal(exe, deleted, err)
	}
	var st unix.Stat_t
	if err := unix.Stat(exe, &st); err != nil {
		t.Fatal(err)
	}
	n := 0
	for i := range maps {
		m := &maps[i]
		if m.Path != exe {
			continue
		}
		n++
		f, err := pid.OpenMapped(m)
		if err != nil {
			t.Fatal(err)
		}
		if id, err := IDOf(f); err != nil || id != (FileID{st.Dev, st.Ino}) || m.Inode != st.Ino {
			t.Errorf("%+v, %v, want %d %d", id, err, st.Dev, st.Ino)
		}
		f.Close()
	}
	if n < 2 {
		t.Errorf("%d mappings of %s", n, exe)
	}
	if _, err := pid.OpenMapped(&Mapping{Path: "[heap]"}); err == nil {
		t.Error("[heap] opened")
	}
}

func TestOpenMappedDeleted(t *testing.T) {
	exe := filepath.Join(t.TempDir(), "sleeper")
	b, err := os.ReadFile("/bin/sleep")
	if err != nil {
		t.Fatal(err)
	}
	write(t, exe, string(b), 0o755)
	c := launch(t, exe, "100")
	var before unix.Stat_t
	unix.Stat(exe, &before)
	os.Remove(exe)
	write(t, exe, "another", 0o755)
	maps, err := c.PID().Maps()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for i := range maps {
		if maps[i].Path != exe || !maps[i].Deleted {
			continue
		}
		found = true
		f, err := c.PID().OpenMapped(&maps[i])
		if err != nil {
			t.Fatal(err)
		}
		if id, _ := IDOf(f); id.Inode != before.Ino {
			t.Errorf("inode %d, want %d", id.Inode, before.Ino)
		}
		f.Close()
	}
	if !found {
		t.Error("not seen as deleted")
	}
	if p, deleted, err := c.PID().Exe(); p != exe || !deleted || err != nil {
		t.Errorf("%s %v %v", p, deleted, err)
	}
}

func TestGone(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	zombie := PID(cmd.Process.Pid)
	for s, _ := zombie.Stat(); !s.Dead(); s, _ = zombie.Stat() {
	}
	if _, err := zombie.Maps(); !errors.Is(err, ErrNoMemory) {
		t.Errorf("zombie's maps: %v", err)
	}
	if _, _, err := zombie.Exe(); !errors.Is(err, ErrNoMemory) {
		t.Errorf("zombie's exe: %v", err)
	}
	cmd.Wait()
	if zombie.Exists() {
		t.Skip("its id is in use again")
	}
	check := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, ErrGone) || !strings.Contains(err.Error(), "no such process") {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := zombie.Maps()
	check("maps", err)
	_, _, err = zombie.Exe()
	check("exe", err)
	_, err = zombie.Comm()
	check("comm", err)
	_, err = zombie.Threads()
	check("threads", err)
	_, err = zombie.NSPIDs()
	check("namespaces", err)
	_, err = zombie.Root()
	check("root", err)
	_, err = zombie.Stat()
	check("stat", err)
	if PID(0).Exists() || PID(-1).Exists() {
		t.Error("process 0 or -1 exists")
	}
}

// TestAppendGone: of a process, the mappings of files whose names are gone.
func TestAppendGone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gone")
	if err := os.WriteFile(path, make([]byte, 4096), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(b)
	other := []Mapping{{Path: "kept"}}
	find := func() (n int) {
		maps, _, err := PID(os.Getpid()).AppendGone(other, nil)
		if err != nil || len(maps) == 0 || maps[0].Path != "kept" {
			t.Fatalf("%+v, %v", maps, err)
		}
		for _, m := range maps[1:] {
			if !m.Deleted {
				t.Errorf("%+v is there", m)
			}
			if m.Path == path {
				n++
			}
		}
		return n
	}
	if n := find(); n != 0 {
		t.Errorf("%d mappings before its name is gone", n)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if n := find(); n != 1 {
		t.Errorf("%d mappings, want 1", n)
	}
}

func FuzzParseMaps(f *testing.F) {
	f.Add([]byte(mapsText))
	f.Add([]byte("0-0 ---p 0 0:0 0\n\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		maps, err := ParseMaps(nil, text)
		if len(maps) > strings.Count(string(text), "\n")+1 {
			t.Errorf("%d mappings of %q", len(maps), text)
		}
		for i := range maps {
			if maps[i].End < maps[i].Start || len(maps[i].Path) > len(text) {
				t.Errorf("%+v, %v", maps[i], err)
			}
		}
	})
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte(statText))
	f.Fuzz(func(t *testing.T, text []byte) { parseStat(text) })
}

func BenchmarkMaps(b *testing.B) {
	var maps []Mapping
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if maps, buf, err = PID(os.Getpid()).AppendMaps(maps[:0], buf); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseMaps(b *testing.B) {
	text := []byte(strings.Repeat(mapsText, 100))
	var maps []Mapping
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		maps, _ = ParseMaps(maps[:0], text)
	}
}
