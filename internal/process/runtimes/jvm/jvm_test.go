package jvm

import (
	"bufio"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestFlags(t *testing.T) {
	for _, c := range []struct {
		options string
		want    flags
	}{
		{"java -Xmx1g Main", flags{}},
		{"java -XX:+PreserveFramePointer Main", flags{framePointers: true}},
		{"java -XX:+PreserveFramePointer -XX:-PreserveFramePointer Main", flags{}},
		{"java -XX:+DisableAttachMechanism -XX:+DTraceMethodProbes", flags{noAttach: true, methodProbes: true}},
		{"-XX: -XX:+ -XX:PreserveFramePointer", flags{}},
	} {
		if got := parseFlags(strings.Fields(c.options)); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.options, got, c.want)
		}
	}
}

func TestMajor(t *testing.T) {
	for version, want := range map[string]int{"": 0, "1.8.0_302": 8, "17.0.21.1": 17, "21": 21, "x": 0} {
		if got := (&process{version: version}).major(); got != want {
			t.Errorf("%q: %d, want %d", version, got, want)
		}
	}
}

const statusText = "Name:\tjava\nState:\tS (sleeping)\nUid:\t0\t7\t0\t7\nGid:\t0\t8\t0\t8\nSigCgt:\t2000000181005ccf\n"

func TestStatus(t *testing.T) {
	st, err := parseStatus([]byte(statusText))
	if want := (status{uid: 7, gid: 8, catchesQuit: true}); err != nil || st != want {
		t.Errorf("%+v, %v, want %+v", st, err, want)
	}
	st, err = parseStatus([]byte(strings.NewReplacer("5ccf", "5ccb", "S (", "T (").Replace(statusText)))
	if want := (status{uid: 7, gid: 8, stopped: true}); err != nil || st != want {
		t.Errorf("%+v, %v, want %+v", st, err, want)
	}
	for _, bad := range []string{"", "Uid:\t0\t7\t0\t7\n", strings.Replace(statusText, "0\t7", "0\tx", 1)} {
		if _, err := parseStatus([]byte(bad)); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestReply(t *testing.T) {
	for text, want := range map[string]string{
		"0\n":                     "",
		"0\nwritten\n":            "",
		"":                        "no answer",
		"0":                       "no answer",
		"1\nUnknown command\nx\n": "Unknown command",
		"101\n":                   "101",
	} {
		err := parseReply([]byte(text))
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// peer is a stand-in for a virtual machine that already listens.
func peer(t *testing.T, patience time.Duration, serve func(net.Conn)) *attempt {
	t.Helper()
	path := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(path, ".java_pid41"))
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		if c, err := l.Accept(); err == nil {
			serve(c)
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-served })
	dir, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return &attempt{
		process: &process{inner: 41, pid: 1 << 30}, st: status{uid: os.Geteuid()}, handle: -1, dir: dir,
		end: time.Now().Add(patience),
	}
}

// TestCommand: the virtual machine is asked for the perf map, which is removed afterwards.
func TestCommand(t *testing.T) {
	var request string
	a := peer(t, time.Minute, func(c net.Conn) {
		r := bufio.NewReader(c)
		for range 6 { // the version, the command and three arguments
			if s, err := r.ReadString(0); err == nil {
				request += s
			}
			if strings.Count(request, "\x00") == 5 {
				break
			}
		}
		_, _ = c.Write([]byte("0\n"))
	})
	if err := a.run(); err != nil {
		t.Fatal(err)
	}
	if want := "1\x00jcmd\x00Compiler.perfmap\x00\x00\x00"; request != want {
		t.Errorf("the request was %q, want %q", request, want)
	}
	perfMap := filepath.Join(a.dir.Name(), "perf-41.map")
	if _, err := os.Lstat(perfMap); err != nil {
		t.Error(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(perfMap); err == nil {
		t.Error("the perf map is left")
	}
}

// TestStalled: a peer that answers nothing, or never ends, costs the time that it has.
func TestStalled(t *testing.T) {
	for name, answer := range map[string]string{"mute": "", "without end": "0\nand"} {
		done := make(chan struct{})
		a := peer(t, 50*time.Millisecond, func(c net.Conn) {
			_, _ = c.Write([]byte(answer))
			<-done
		})
		err := a.run()
		close(done)
		if err == nil || !strings.Contains(err.Error(), "did not answer") {
			t.Errorf("%s: %v", name, err)
		}
		_ = a.Close()
	}
}

// TestInTheWay: what others have put in the place of the perf map or the socket is neither written to nor asked.
func TestInTheWay(t *testing.T) {
	a := peer(t, time.Minute, func(net.Conn) {})
	path := a.dir.Name()
	link := filepath.Join(path, "perf-41.map")
	if err := os.Symlink("elsewhere", link); err != nil {
		t.Fatal(err)
	}
	if err := a.run(); err == nil || !strings.Contains(err.Error(), "in the way") {
		t.Errorf("a link as perf map: %v", err)
	}
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	// A user's own map stays.
	if err := os.WriteFile(link, []byte("1000 10 own\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a.st.uid++
	if err := a.run(); err == nil || !strings.Contains(err.Error(), "in the way") {
		t.Errorf("a file of another user: %v", err)
	}
	if _, err := a.dial(); err == nil || !strings.Contains(err.Error(), "not a socket of the process's user") {
		t.Errorf("a socket of another user: %v", err)
	}
	a.st.uid--
	if live, err := a.prepareMap(); live || err != nil {
		t.Errorf("an own map: %v, %v", live, err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(link); err != nil {
		t.Error("a map that was there before is gone")
	}
	c, err := a.dial() // lets the peer end
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

func FuzzReply(f *testing.F) {
	for _, s := range []string{"0\n", "101\nx\ny", "\n", "0", "-1\n\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := parseReply(b); (err == nil) != strings.HasPrefix(string(b), "0\n") {
			t.Errorf("%q: %v", b, err)
		} else if err != nil && len(err.Error()) > 2000 {
			t.Errorf("a message of %d bytes", len(err.Error()))
		}
	})
}

func FuzzStatus(f *testing.F) {
	f.Add([]byte(statusText))
	f.Fuzz(func(t *testing.T, b []byte) { _, _ = parseStatus(b) })
}
