package opener

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func write(t *testing.T, name, content string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

// fakeRoot is a folder made like the root of a container.
func fakeRoot(t *testing.T) Root {
	dir := t.TempDir()
	for _, d := range []string{"bin", "usr/bin", "usr/lib", "etc", "tmp/sub", "tmp/.hidden"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, dir+"/usr/bin/tool", "inside", 0o755)
	write(t, dir+"/usr/bin/text", "inside", 0o644)
	write(t, dir+"/tmp/sub/a.so", "a", 0o644)
	write(t, dir+"/tmp/sub/b.so", "b", 0o644)
	write(t, dir+"/tmp/.hidden/c.so", "c", 0o644)
	for link, to := range map[string]string{
		"bin/tool":   "/usr/bin/tool", // absolute, means inside
		"bin/up":     "../../../../../../../usr/bin/tool",
		"bin/shadow": "/etc/shadow", // outside there is one
		"bin/loop":   "/bin/loop",
		"lib":        "usr/lib",
		"bin/proc":   "/proc/1/root/etc/passwd",
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(dir+"/tmp/fifo", 0o666); err != nil {
		t.Fatal(err)
	}
	return Root{dir}
}

func TestRootStaysInside(t *testing.T) {
	r := fakeRoot(t)
	for _, p := range []string{"/bin/tool", "bin/tool", "/bin/up", "/usr/bin/../bin/tool", "/../usr/bin/tool"} {
		f, err := r.Open(p)
		if err != nil {
			t.Errorf("%s: %v", p, err)
			continue
		}
		if b, _ := io.ReadAll(f); string(b) != "inside" {
			t.Errorf("%s: %q", p, b)
		}
		f.Close()
		if got, err := r.Resolve(p); err != nil || got != r.dir+"/usr/bin/tool" {
			t.Errorf("%s: resolved %s, %v", p, got, err)
		}
	}
	for _, c := range []struct {
		path string
		err  error
	}{
		{"/bin/shadow", fs.ErrNotExist},
		{"/bin/proc", fs.ErrNotExist},
		{"/none", fs.ErrNotExist},
		{"/bin/loop", syscall.ELOOP},
		{"/tmp", ErrNotRegular},
		{"/tmp/fifo", ErrNotRegular}, // and no hanging
	} {
		f, err := r.Open(c.path)
		if !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", c.path, err, c.err)
		}
		if err == nil {
			f.Close()
		} else if !strings.Contains(err.Error(), c.path) {
			t.Errorf("%v: doesn't name %s", err, c.path)
		}
	}
}

func TestOwnRoot(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, "file", "x", 0o644)
	os.Symlink("file", "link")
	var own Root
	for _, p := range []string{"link", "./link", dir + "/link"} {
		if got, err := own.Resolve(p); err != nil || got != dir+"/file" {
			t.Errorf("%s: %s, %v", p, got, err)
		}
		f, err := own.Open(p)
		if err != nil {
			t.Errorf("%s: %v", p, err)
			continue
		}
		f.Close()
	}
	// By the detour over our own process's root, too.
	self := "/proc/self/root" + dir + "/link"
	if got, err := own.Resolve(self); err != nil || got != "/proc/self/root"+dir+"/file" {
		t.Errorf("%s: %s, %v", self, got, err)
	}
	if r, p := own.inner("/proc/12/root/a/b"); r.dir != "/proc/12/root" || p != "/a/b" {
		t.Errorf("%v %s", r, p)
	}
	if r, p := (Root{"/proc/12/root"}).inner("/proc/12/root"); r.dir != "/proc/12/root" || p != "/" {
		t.Errorf("%v %s", r, p)
	}
	for _, path := range []string{"/proc/12/rootx", "/proc/x/root/a", "/proc/12/exe", "/a/proc/12/root/b"} {
		if r, p := own.inner(path); r != own || p != path {
			t.Errorf("%s: %v %s", path, r, p)
		}
	}
	if p := (Root{"/proc/12/root"}).Path("/proc/12/root/bin/x"); p != "/bin/x" {
		t.Error(p)
	}
	if p := own.Path("/bin/x"); p != "/bin/x" {
		t.Error(p)
	}
}

func TestGlob(t *testing.T) {
	r := fakeRoot(t)
	for _, c := range []struct {
		pattern string
		want    []string
	}{
		{"/tmp/*/*.so", []string{"/tmp/sub/a.so", "/tmp/sub/b.so"}},
		{"/tmp/.h*/*.so", []string{"/tmp/.hidden/c.so"}},
		{"/tmp/sub/[b-z].so", []string{"/tmp/sub/b.so"}},
		{"/tmp/sub/?.so", []string{"/tmp/sub/a.so", "/tmp/sub/b.so"}},
		{"/usr/bin/tool", []string{"/usr/bin/tool"}},
		{"/bin/too*", []string{"/bin/tool"}},
		{"/bin/sha*", nil}, // a dangling link
		{"/none/*", nil},
		{"/none", nil},
		{"/li*/../bin/te*", []string{"/lib/../bin/text"}},
	} {
		got, err := r.Glob(c.pattern)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, %v, want %q", c.pattern, got, err, c.want)
		}
	}
	if _, err := r.Glob("/tmp/[a"); err == nil {
		t.Error("open bracket accepted")
	}
	t.Chdir(r.dir + "/tmp")
	if got, err := (Root{}).Glob("*/a.so"); err != nil || !slices.Equal(got, []string{"sub/a.so"}) {
		t.Errorf("relative: %q, %v", got, err)
	}
	if got, err := (Root{}).Glob("../usr/bin/to*"); err != nil || !slices.Equal(got, []string{"../usr/bin/tool"}) {
		t.Errorf("relative: %q, %v", got, err)
	}
}

func TestLookPath(t *testing.T) {
	r := fakeRoot(t)
	for _, c := range []struct {
		name, path string
		want       []string
	}{
		{"tool", "/sbin:/usr/bin:/bin:/usr/bin", []string{"/usr/bin/tool", "/bin/tool"}},
		{"tool", "", []string{"/bin/tool", "/usr/bin/tool"}},
		{"text", "/usr/bin", nil}, // not executable
		{"bin", "/usr", nil},      // a folder
		{"/bin/tool", "", []string{"/bin/tool"}},
		{"/bin/none", "", nil},
		{"", "/usr/bin", nil},
	} {
		if got := r.LookPath(c.name, c.path); !slices.Equal(got, c.want) {
			t.Errorf("%q in %q: %q, want %q", c.name, c.path, got, c.want)
		}
	}
	t.Chdir(r.dir + "/usr/bin")
	if got := (Root{}).LookPath("tool", ":/none"); !slices.Equal(got, []string{"./tool"}) {
		t.Errorf("empty element of PATH: %q", got)
	}
}
