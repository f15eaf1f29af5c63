package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"trocar/internal/need"
)

const confinedSource = `
#include <unistd.h>
__attribute__((noipa)) int work(int first, int second) { return first + second; }
int main(void) { for (int i = 0; i < 600; i++) { work(i, 2); usleep(50000); } return 0; }
`

// TestConfined: whatever the files of a process in a root of its own name, nothing outside of that root is opened:
// witnessed by strace, and by a writer that waits at a FIFO of ours.
func TestConfined(t *testing.T) {
	need.Root(t)
	need.Tool(t, "strace")
	need.Tool(t, "gcc")
	need.Tool(t, "objcopy")
	trocar := tracerFor(t)
	outside := t.TempDir()
	regular, fifo := filepath.Join(outside, "regular"), filepath.Join(outside, "fifo")
	if err := os.WriteFile(regular, []byte("outside"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	opened := make(chan struct{})
	go func() { // waits until anybody reads
		if f, err := os.OpenFile(fifo, os.O_WRONLY, 0); err == nil {
			f.Close()
		}
		close(opened)
	}()
	for _, to := range []string{"/dev/ptmx", fifo, regular, "/proc/sys/kernel/ostype", "/proc/1/root" + regular} {
		for _, kind := range []string{"altlink", "dwo", "dwp", "build-id", "debuglink", "library"} {
			t.Run(kind+strings.ReplaceAll(to, "/", "."), func(t *testing.T) {
				root := t.TempDir()
				confined(t, root, kind, to)
				pid := startConfined(t, root)
				for _, args := range [][]string{
					{"-l", "-v", "-p", pid, "uprobe:/app:work"},
					{"-q", "-p", pid, "-e", "uprobe:/app:work { @[ustack] = count() } interval:ms:200 { exit() }"},
				} {
					log := filepath.Join(t.TempDir(), "log")
					cmd := exec.Command("strace", append([]string{
						"-f", "-y", "-o", log, "-e", "trace=open,openat,openat2", trocar,
					}, args...)...)
					out, err := cmd.CombinedOutput()
					if err != nil || !bytes.Contains(out, []byte("work")) {
						t.Errorf("%v: %v\n%s", args, err, out)
					}
					for _, line := range opensOf(t, log) {
						if strings.Contains(line, "<"+to+">") || strings.Contains(line, "<"+regular+">") {
							t.Errorf("%v opened %s", args, line)
						}
					}
				}
			})
		}
	}
	select {
	case <-opened:
		t.Error("the FIFO was opened")
	default:
	}
	if f, err := os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0); err == nil {
		<-opened
		f.Close()
	}
}

// opensOf are the calls in a log of strace that opened a file for more than to look at it.
func opensOf(t *testing.T, log string) (lines []string) {
	t.Helper()
	f, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	succeeded := regexp.MustCompile(`= \d+<`)
	for s := bufio.NewScanner(f); s.Scan(); {
		if line := s.Text(); succeeded.MatchString(line) && !strings.Contains(line, "O_PATH") {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		t.Error("strace saw nothing")
	}
	return lines
}

// confined makes a root with a program in it, one of whose files names another outside.
func confined(t *testing.T, root, kind, to string) {
	t.Helper()
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	link := func(name string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "app.c"), []byte(confinedSource), 0o644); err != nil {
		t.Fatal(err)
	}
	flags := []string{"-g", "-O1", "-static", "-Wl,--build-id=0x1234567890abcdef1234567890abcdef12345678"}
	if kind == "dwo" || kind == "dwp" {
		flags = append(flags, "-gsplit-dwarf")
	}
	run(append(append([]string{"gcc"}, flags...), "-o", "app", "app.c")...)
	switch kind {
	case "altlink":
		content := append([]byte(to+"\x00"), bytes.Repeat([]byte{7}, 20)...)
		if err := os.WriteFile(filepath.Join(root, "alt"), content, 0o644); err != nil {
			t.Fatal(err)
		}
		run("objcopy", "--add-section", ".gnu_debugaltlink=alt", "app")
	case "dwo", "dwp":
		dwo, err := filepath.Glob(filepath.Join(root, "*.dwo"))
		if err != nil || len(dwo) != 1 {
			t.Fatalf("%v, %v", dwo, err)
		}
		if err := os.Remove(dwo[0]); err != nil {
			t.Fatal(err)
		}
		if kind == "dwp" {
			link("app.dwp")
		}
		// Found by the absolute name too, which is one of ours: a link there.
		link(filepath.Base(dwo[0]))
		link(dwo[0])
	case "build-id":
		run("objcopy", "--strip-debug", "app")
		link("usr/lib/debug/.build-id/12/34567890abcdef1234567890abcdef12345678.debug")
	case "debuglink":
		run("objcopy", "--only-keep-debug", "app", "app.debug")
		run("objcopy", "--strip-debug", "--add-gnu-debuglink=app.debug", "app")
		for _, name := range []string{"app.debug", ".debug/app.debug", "usr/lib/debug/app.debug"} {
			_ = os.Remove(filepath.Join(root, name))
			link(name)
		}
	case "library":
		link("etc/ld.so.cache")
		link("lib/libc.so.6")
		link("lib64/libc.so.6")
		link("tmp/perf-1.map")
	default:
		t.Fatalf("unknown kind %q", kind)
	}
}

// startConfined runs the program with its folder as root, in a mount namespace of its own, and gives its id.
func startConfined(t *testing.T, root string) string {
	t.Helper()
	cmd := exec.Command("/app")
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Cloneflags: syscall.CLONE_NEWNS}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	pid := strconv.Itoa(cmd.Process.Pid)
	for range 100 {
		if exe, err := os.Readlink(fmt.Sprintf("/proc/%s/exe", pid)); err == nil && filepath.Base(exe) == "app" {
			return pid
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the program did not start")
	return ""
}
