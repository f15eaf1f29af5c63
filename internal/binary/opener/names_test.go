package opener

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestNames: what a file in a process's root names is found there, or where debug files of ours are, and nowhere else.
func TestNames(t *testing.T) {
	r := fakeRoot(t)
	outside, mine := t.TempDir(), t.TempDir()
	write(t, outside+"/secret", "outside", 0o644)
	write(t, mine+"/x.debug", "mine", 0o644)
	for link, to := range map[string]string{"bin/out": outside + "/secret", "bin/self": "/proc/self/exe"} {
		if err := os.Symlink(to, filepath.Join(r.dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	n := Names{root: r, dirs: []string{mine}}
	for _, c := range []struct {
		path string
		err  error
	}{
		{r.dir + "/bin/tool", nil},
		{r.dir + "/../../../../usr/bin/tool", nil}, // the root's parent is the root
		{mine + "/x.debug", nil},
		{outside + "/secret", ErrOutside},
		{mine + "/../" + filepath.Base(outside) + "/secret", ErrOutside},
		{DebugDir + "/../../../etc/passwd", ErrOutside},
		{"/etc/passwd", ErrOutside},
		{"/dev/ptmx", ErrOutside},
		{"/proc/self/exe", ErrOutside},
		{"/proc/1/root/etc/passwd", ErrOutside},
		{"relative", ErrOutside},
		{r.dir + "/bin/out", fs.ErrNotExist},  // inside there is none
		{r.dir + "/bin/self", fs.ErrNotExist}, // nor a /proc
		{r.dir + "/tmp/fifo", ErrNotRegular},
		{DebugDir + "/none", fs.ErrNotExist},
	} {
		f, err := n.Open(c.path)
		if !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", c.path, err, c.err)
		}
		if err == nil {
			f.Close()
		}
	}
	for _, name := range []string{"/a/b", "a/b", "../../a/b", "/a/../../../a/b"} {
		if got := n.Paths(name)[0]; got != r.dir+"/a/b" {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := n.Paths("/proc/1/root/x")[0]; got != r.dir+"/proc/1/root/x" {
		t.Error(got)
	}
}

// TestLooksFirst: what is no regular file is not opened, by no way.
func TestLooksFirst(t *testing.T) {
	dir := t.TempDir()
	fifo := dir + "/fifo"
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	// A writer that waits for a reader goes on if anybody opens.
	opened := make(chan struct{})
	go func() {
		if f, err := os.OpenFile(fifo, os.O_WRONLY, 0); err == nil {
			f.Close()
		}
		close(opened)
	}()
	link := dir + "/link"
	if err := os.Symlink("/proc/self/fd/0", link); err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]func(string) (*os.File, error){
		"Root": Root{}.Open, "Names": Names{}.Open, "Asked": Asked,
	} {
		for _, path := range []string{fifo, "/dev/null", "/dev/ptmx", dir} {
			if _, err := open(path); !errors.Is(err, ErrNotRegular) {
				t.Errorf("%s of %s: %v", name, path, err)
			}
		}
		made := []string{"/proc/self/status", "/sys/kernel/mm/transparent_hugepage/enabled"}
		for _, path := range made {
			f, err := open(path)
			if name == "Asked" && err == nil {
				f.Close()
				continue
			}
			if !errors.Is(err, ErrSpecial) && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s of %s: %v", name, path, err)
			}
		}
	}
	if _, err := (Names{}).Open(link); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("a link of /proc in what a file names: %v", err)
	}
	select {
	case <-opened:
		t.Error("the FIFO was opened")
	case <-time.After(50 * time.Millisecond):
	}
	r, err := os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0) // lets the writer go
	if err != nil {
		t.Fatal(err)
	}
	<-opened
	r.Close()
}

// TestOf: which root a path of ours leads into.
func TestOf(t *testing.T) {
	for path, want := range map[string]Root{
		"/proc/12/root/a": {"/proc/12/root"}, "/proc/self/root/a": {"/proc/self/root"}, "/proc/self/exe": {},
		"/usr/bin/x": {}, "/proc/x/root/a": {}, "relative": {},
		"/proc/2147483647/exe": {"/proc/2147483647/root"}, // there is none: nothing of ours stands in
	} {
		if got := Of(path); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}
