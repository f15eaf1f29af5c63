package target

import (
	"context"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestHandle: how a process ended that another one waits for: before its parent asks, and behind that where the kernel
// keeps it.
func TestHandle(t *testing.T) {
	for _, c := range []struct {
		script string
		want   Exit
	}{
		{"read x; exit 0", Exit{}},
		{"read x; exit 7", Exit{Code: 7}},
		{"read x; kill -TRAP $$", Exit{Signal: syscall.SIGTRAP}},
		{"ulimit -c 0; read x; kill -SEGV $$", Exit{Signal: syscall.SIGSEGV}},
	} {
		cmd := exec.Command("sh", "-c", "ulimit -c 0; "+c.script)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		h := Hold(PID(cmd.Process.Pid))
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		h.Wait(ended) // does not wait
		if e, ok := h.Exit(); ok {
			t.Errorf("%s: it has ended before it did: %v", c.script, e)
		}
		in.Close()
		h.Wait(t.Context())
		if e, ok := h.Exit(); !ok || e != c.want {
			t.Errorf("%s: before the parent asks: %v, %v", c.script, e, ok)
		}
		cmd.Wait()
		if e, ok := h.Exit(); ok && e != c.want {
			t.Errorf("%s: after the parent has asked: %v", c.script, e)
		}
		h.Close()
	}
}

func TestFaultOf(t *testing.T) {
	const since = 5 * time.Second
	for _, c := range []struct{ record, want string }{
		{
			"6,100,6000000,-;traps: x[12] trap int3 ip:401136 sp:7ffe error:0 in x[1136,401000+1000]\n SUBSYSTEM=a\n",
			"int3 ip:401136 sp:7ffe error:0 in x[1136,401000+1000]",
		},
		{
			"6,100,6000000,-;a b[12]: segfault at 0 ip 0000000000401136 sp 7f error 4 in x[401000+1000]",
			"segfault at 0 ip 0000000000401136 sp 7f error 4 in x[401000+1000]",
		},
		{"4,100,6000000,-;uprobe: fibers:12 failed to handle uretprobe, sending SIGILL.", "failed to handle uretprobe, " +
			"sending SIGILL."},
		{"6,100,4000000,-;traps: x[12] trap int3 ip:401136", ""}, // before
		{"6,100,6000000,-;traps: x[112] trap int3 ip:401136", ""},
		{"6,100,6000000,-;x[12]: something else", ""},
		{"6,100", ""},
		{"", ""},
	} {
		if got := faultOf(c.record, 12, since); got != c.want {
			t.Errorf("%q: %q, want %q", c.record, got, c.want)
		}
	}
	if got := LastFault(1, time.Now()); strings.Contains(got, "\n") {
		t.Errorf("%q", got)
	}
}

func FuzzFault(f *testing.F) {
	f.Add("6,100,6000000,-;traps: x[12] trap int3 ip:401136")
	f.Fuzz(func(t *testing.T, record string) {
		if strings.Contains(faultOf(record, 12, 0), "\n") {
			t.Error("more than a line")
		}
	})
}
