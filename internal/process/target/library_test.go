package target

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"trocar/internal/binary/opener"

	"trocar/internal/need"
)

// cache makes an ld.so.cache.
func cache(old bool, libs []LibraryEntry) []byte {
	var strs, entries bytes.Buffer
	base := cacheHeaderSize + len(libs)*cacheEntrySize
	for _, l := range libs {
		e := make([]byte, cacheEntrySize)
		binary.NativeEndian.PutUint32(e, l.Flags)
		binary.NativeEndian.PutUint32(e[4:], uint32(base+strs.Len()))
		strs.WriteString(l.Name + "\x00")
		binary.NativeEndian.PutUint32(e[8:], uint32(base+strs.Len()))
		strs.WriteString(l.Path + "\x00")
		binary.NativeEndian.PutUint64(e[16:], l.HWCap)
		entries.Write(e)
	}
	h := make([]byte, cacheHeaderSize)
	copy(h, cacheMagic)
	binary.NativeEndian.PutUint32(h[20:], uint32(len(libs)))
	binary.NativeEndian.PutUint32(h[24:], uint32(strs.Len()))
	b := slices.Concat(h, entries.Bytes(), strs.Bytes())
	if old { // one entry, so the new header needs four bytes of padding
		o := make([]byte, 16+cacheOldEntry)
		copy(o, cacheOldMagic)
		o[12] = 1
		b = slices.Concat(o, make([]byte, 4), b)
	}
	return b
}

func nativeFlag() uint32 {
	if runtime.GOARCH == "arm64" {
		return 0x0a03
	}
	return 0x0303
}

func TestParseLibraryCache(t *testing.T) {
	libs := []LibraryEntry{
		{"libz.so.1", "/lib/libz.so.1", 0x0303, 0},
		{"libm.so.6", "/usr/lib/glibc-hwcaps/x86-64-v3/libm.so.6", 0x0303, 1<<62 | 2},
	}
	for _, old := range []bool{false, true} {
		got, err := ParseLibraryCache(cache(old, libs))
		if err != nil || !slices.Equal(got, libs) {
			t.Errorf("old format in front %v: %+v, %v", old, got, err)
		}
	}
	good := cache(false, libs)
	for name, b := range map[string][]byte{
		"empty":        nil,
		"other":        []byte("hello, world, hello, world, hello, world, hello, world"),
		"header":       good[:30],
		"entries":      good[:60],
		"strings":      good[:len(good)-10],
		"old only":     append([]byte(cacheOldMagic+"\x00"), 0xff, 0xff, 0xff, 0xff),
		"old cut":      []byte(cacheOldMagic),
		"many entries": slices.Concat(good[:20], []byte{0xff, 0xff, 0xff, 0xff}, good[24:]),
	} {
		if got, err := ParseLibraryCache(b); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// The witness is ldconfig's own listing.
func TestLibraryCacheOfThisMachine(t *testing.T) {
	out, err := exec.Command(need.Tool(t, "ldconfig"), "-p").Output()
	if err != nil {
		t.Fatal(err)
	}
	libs, err := Root{}.libraryCache()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range libs {
		got = append(got, l.Name+" "+l.Path)
	}
	var want []string
	for _, line := range strings.Split(string(out), "\n")[1:] {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " (")
		if _, path, ok := strings.Cut(rest, ") => "); ok {
			want = append(want, name+" "+path)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d libraries, ldconfig has %d", len(got), len(want))
	}
}

func TestFindLibrary(t *testing.T) {
	dir := t.TempDir()
	r := Root{opener.At(dir)}
	for _, d := range []string{"etc", "opt", "lib"} {
		os.MkdirAll(filepath.Join(dir, d), 0o755)
	}
	find := func(name string, want ...string) {
		t.Helper()
		got, err := r.FindLibrary(name)
		for i := range got {
			got[i] = r.Path(got[i])
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	find("libc")
	// Without a cache, as with musl.
	write(t, dir+"/lib/ld-musl-x86_64.so.1", "", 0o755)
	os.Symlink("/lib/ld-musl-x86_64.so.1", dir+"/lib/libc.musl-x86_64.so.1")
	find("libc", "/lib/ld-musl-x86_64.so.1")
	write(t, dir+"/lib/libfoo.so.2", "", 0o755)
	os.Symlink("libfoo.so.2", dir+"/lib/libfoo.so")
	find("libfoo", "/lib/libfoo.so.2")
	find("libfoo.so.2", "/lib/libfoo.so.2")
	find("libfo")
	// By the cache; what belongs to another CPU or is not there does not count.
	write(t, dir+"/opt/libfoo.so.3", "", 0o755)
	write(t, dir+"/opt/libfoo-other.so.3", "", 0o755)
	write(t, dir+"/etc/ld.so.cache", string(cache(false, []LibraryEntry{
		{"libfoo.so.9", "/opt/none.so", nativeFlag(), 0},
		{"libfoo.so.3", "/lib/libfoo.so.2", 0x0005, 0},
		{"libfoo-other.so.3", "/opt/libfoo-other.so.3", nativeFlag(), 0},
		{"libfoo.so.3", "/opt/../opt/libfoo.so.3", nativeFlag(), 0},
	})), 0o644)
	find("libfoo", "/opt/libfoo.so.3")
	find("libfoo.so", "/opt/libfoo.so.3")
	find("libfoo.so.3", "/opt/libfoo.so.3")
	if _, err := r.FindLibrary("/lib/libc.so.6"); err == nil {
		t.Error("a path is taken for a name")
	}
	write(t, dir+"/etc/ld.so.cache", "broken", 0o644)
	if got, err := r.FindLibrary("libnone"); err == nil {
		t.Errorf("broken cache: %q", got)
	}
	if got, err := (Root{}).FindLibrary("libc"); err != nil || len(got) == 0 || !strings.Contains(got[0], "libc") {
		t.Errorf("this machine's libc: %q, %v", got, err)
	}
}

func TestIsLibrary(t *testing.T) {
	for _, c := range []struct {
		file, name string
		want       bool
	}{
		{"libc.so.6", "libc", true},
		{"libc.so.6", "libc.so", true},
		{"libc.so.6", "libc.so.6", true},
		{"libc-2.31.so", "libc", true},
		{"libc-client.so.1", "libc", false},
		{"libcrypt.so.1", "libc", false},
		{"libc", "libc", true},
	} {
		if got := IsLibrary(c.file, c.name); got != c.want {
			t.Errorf("IsLibrary(%q, %q) = %v", c.file, c.name, got)
		}
	}
}

func FuzzParseLibraryCache(f *testing.F) {
	libs := []LibraryEntry{{"libz.so.1", "/lib/libz.so.1", 0x0303, 0}}
	f.Add(cache(false, libs))
	f.Add(cache(true, libs))
	f.Fuzz(func(t *testing.T, b []byte) {
		libs, err := ParseLibraryCache(b)
		if err == nil && len(libs)*cacheEntrySize > len(b) {
			t.Errorf("%d libraries in %d bytes", len(libs), len(b))
		}
	})
}
