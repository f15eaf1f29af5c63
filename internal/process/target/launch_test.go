package target

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestSplitCommand(t *testing.T) {
	for _, c := range []struct {
		cmd  string
		want []string
	}{
		{"", []string{}},
		{"/bin/true", []string{"/bin/true"}},
		{"a b c", []string{"a", "b", "c"}},
		{"a  b ", []string{"a", "b"}},
		{" a", []string{"a"}},
		{"a '' \"\"", []string{"a", "", ""}},
		{`sh -c 'exit 3'`, []string{"sh", "-c", "exit 3"}},
		{`sh -c "exit 5"`, []string{"sh", "-c", "exit 5"}},
		{`sqlite3 :memory: "select 'x'"`, []string{"sqlite3", ":memory:", "select 'x'"}},
		{`./a\ b $HOME *.c`, []string{"./a b", "$HOME", "*.c"}},
	} {
		if got, err := SplitCommand(c.cmd); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("SplitCommand(%q) = %q, %v, want %q", c.cmd, got, err, c.want)
		}
	}
	for _, wrong := range []string{`sh -c 'exit`, `sh -c "exit`, `sh \`} {
		if got, err := SplitCommand(wrong); err == nil {
			t.Errorf("SplitCommand(%q) = %q", wrong, got)
		}
	}
}

func launch(t *testing.T, argv ...string) *Child {
	t.Helper()
	c, err := Launch(argv, os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Kill(0) })
	return c
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for late := time.Now().Add(time.Minute); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

func ended(t *testing.T, c *Child) Exit {
	t.Helper()
	select {
	case <-c.Done():
	case <-time.After(time.Minute):
		t.Fatal("the child doesn't end")
	}
	if c.PID().Exists() {
		t.Error("the child is left as a zombie")
	}
	return c.Exit()
}

func TestLaunchHoldsAtExec(t *testing.T) {
	dir := t.TempDir()
	mark := filepath.Join(dir, "mark")
	c := launch(t, "/bin/sh", "-c", "echo ran > "+mark+"; exit 7")
	exe, _, err := c.PID().Exe()
	if want, _ := filepath.EvalSymlinks("/bin/sh"); err != nil || exe != want {
		t.Errorf("held in %q, %v, want %q", exe, err, want)
	}
	maps, err := c.PID().Maps()
	if err != nil {
		t.Fatal(err)
	}
	mapped, libc := false, false
	for i := range maps {
		mapped = mapped || maps[i].Path == exe && maps[i].Perm&Exec != 0
		libc = libc || strings.Contains(maps[i].Path, "libc.so")
	}
	if !mapped || libc {
		t.Errorf("program mapped: %v (want true), libc already loaded: %v (want false)", mapped, libc)
	}
	time.Sleep(50 * time.Millisecond)
	if _, err := os.Stat(mark); !errors.Is(err, fs.ErrNotExist) {
		t.Error("it ran before it was released")
	}
	if err := c.Release(); err != nil {
		t.Fatal(err)
	}
	if e := ended(t, c); e != (Exit{Code: 7}) || e.Status() != 7 {
		t.Errorf("exit = %v, want 7", e)
	}
	if _, err := os.Stat(mark); err != nil {
		t.Error("it did not run")
	}
	if err := c.Release(); err != nil {
		t.Errorf("second Release: %v", err)
	}
	if err := c.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("Signal after the end: %v", err)
	}
}

// The signal mask and dispositions must be those that any program started by us has.
func TestLaunchSignalMask(t *testing.T) {
	masks := func(pid PID) string {
		var s []string
		for _, k := range []string{"SigBlk", "SigIgn", "SigCgt"} {
			v, err := pid.status(k)
			if err != nil {
				t.Fatal(err)
			}
			s = append(s, k+" "+v)
		}
		return strings.Join(s, ", ")
	}
	c := launch(t, "sleep", "20")
	held := masks(c.PID())
	other := exec.Command("sleep", "20")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { other.Process.Kill(); other.Wait() }()
	if want := masks(PID(other.Process.Pid)); held != want {
		t.Errorf("signals of the held process: %s, want %s", held, want)
	}
	if err := c.Release(); err != nil {
		t.Fatal(err)
	}
	if tracer, _ := c.PID().status("TracerPid"); tracer != "0" {
		t.Errorf("still traced by %s", tracer)
	}
	c.Kill(30 * time.Second)
	if e := ended(t, c); e.Signal != syscall.SIGTERM || e.Status() != 143 { // SIGKILL: it was blocked
		t.Errorf("exit = %v, want SIGTERM", e)
	}
}

func TestLaunchKinds(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	write(t, script, "#!/bin/sh -e\nexit $1\n", 0o755)
	t.Chdir(dir)
	write(t, "only-here", "#!/bin/sh\nexit 5\n", 0o755)
	for _, c := range []struct {
		argv []string
		code int
	}{
		{[]string{script, "4"}, 4},
		{[]string{"./script", "4"}, 4},
		{[]string{"only-here"}, 5}, // bpftrace looks in the working directory too
		{[]string{"true"}, 0},
		{[]string{"false"}, 1},
		{[]string{"sh", "-c", "exit 3"}, 3},
	} {
		child := launch(t, c.argv...)
		if err := child.Release(); err != nil {
			t.Errorf("%q: %v", c.argv, err)
		}
		if e := ended(t, child); e.Code != c.code || e.Signal != 0 {
			t.Errorf("%q: exit %v, want %d", c.argv, e, c.code)
		}
	}
}

func write(t *testing.T, name, content string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

func TestLaunchErrors(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, "plain", "hello", 0o644)
	write(t, "text", "hello\n", 0o755)
	write(t, "lost", "#!/nowhere/interpreter\n", 0o755)
	for _, c := range []struct {
		argv   []string
		status int
		text   string
	}{
		{nil, 126, "the command is empty"},
		{[]string{""}, 127, "not found in PATH"},
		{[]string{"no-such-program"}, 127, "not found in PATH"},
		{[]string{"./none"}, 127, "no such file or directory"},
		{[]string{"./plain"}, 126, "permission denied"},
		{[]string{dir}, 126, "permission denied"},
		{[]string{"./text"}, 126, "exec format error"},
		{[]string{"./lost"}, 126, "its interpreter does not exist"},
	} {
		child, err := Launch(c.argv, os.Environ())
		if err == nil {
			child.Kill(0)
			t.Errorf("%q: started", c.argv)
			continue
		}
		var le *LaunchError
		if !errors.As(err, &le) || le.Status() != c.status || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%q: %v (status %d), want %q and %d", c.argv, err, le.Status(), c.text, c.status)
		}
	}
}

func TestKillHeld(t *testing.T) {
	c := launch(t, "sleep", "100")
	c.Kill(time.Hour) // no grace: it has not run
	if e := ended(t, c); e.Signal != syscall.SIGKILL {
		t.Errorf("exit = %v, want SIGKILL", e)
	}
}

func TestKillIgnoringTerm(t *testing.T) {
	c := launch(t, "sh", "-c", "trap '' TERM; while :; do sleep 0.05; done")
	if err := c.Release(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the trap is set", func() bool {
		ignored, err := c.PID().status("SigIgn") // proc_pid_status(5): a mask in hexadecimal
		mask, _ := strconv.ParseUint(ignored, 16, 64)
		return err == nil && mask>>(syscall.SIGTERM-1)&1 == 1
	})
	c.Kill(100 * time.Millisecond)
	if e := ended(t, c); e.Signal != syscall.SIGKILL {
		t.Errorf("exit = %v, want SIGKILL", e)
	}
}

func TestKilledWhileHeld(t *testing.T) {
	c := launch(t, "sleep", "100")
	syscall.Kill(int(c.PID()), syscall.SIGKILL)
	if e := ended(t, c); e.Signal != syscall.SIGKILL {
		t.Errorf("exit = %v, want SIGKILL", e)
	}
	if err := c.Release(); err != nil {
		t.Errorf("Release: %v", err)
	}
}

func TestManyChildren(t *testing.T) {
	before := threads(t)
	for i := range 30 {
		c := launch(t, "sh", "-c", "exit "+strconv.Itoa(i))
		other := exec.Command("true")
		if err := other.Run(); err != nil { // waiting elsewhere doesn't disturb
			t.Fatal(err)
		}
		c.Release()
		if e := ended(t, c); e.Code != i {
			t.Errorf("exit = %v, want %d", e, i)
		}
	}
	if n := threads(t); n > before+12 {
		t.Errorf("%d threads, %d before: they leak", n, before)
	}
}

func threads(t *testing.T) int {
	ids, err := PID(os.Getpid()).Threads()
	if err != nil {
		t.Fatal(err)
	}
	return len(ids)
}

// A tracer killed by SIGKILL takes a held child with it, and sends SIGTERM to a running one.
func TestOurDeath(t *testing.T) {
	if mode := os.Getenv("TARGET_TEST_LAUNCH"); mode != "" {
		c, err := Launch([]string{"sleep", "100"}, os.Environ())
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		if mode == "released" {
			c.Release()
		}
		fmt.Println(int(c.PID()))
		select {}
	}
	for _, mode := range []string{"held", "released"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestOurDeath$")
		cmd.Env = append(os.Environ(), "TARGET_TEST_LAUNCH="+mode)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var n int
		if _, err := fmt.Fscan(out, &n); err != nil {
			t.Fatal(err)
		}
		pid := PID(n)
		if !pid.Exists() {
			t.Errorf("%s: no child", mode)
		}
		cmd.Process.Kill()
		cmd.Wait()
		t.Cleanup(func() {
			if t.Failed() {
				syscall.Kill(n, syscall.SIGKILL)
			}
		})
		eventually(t, mode+": the child has ended with us", func() bool {
			s, err := pid.Stat() // init or a subreaper may be slow to reap it
			return err != nil || s.Dead()
		})
	}
}
