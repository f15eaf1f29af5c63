package match

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"trocar/internal/process/probe"
)

// Instructions begin at any address; data is watched where its length allows.
func TestWatchedAlignment(t *testing.T) {
	for script, fine := range map[string]bool{
		"watchpoint:0x10000001:8:x {}": true, "watchpoint:0x10000001:1:x {}": true, "watchpoint:0x10000001:8:w {}": false,
	} {
		points, r := find(t, script, Options{})
		if got := r.Diags.Errors() == 0 && len(points) == 1; got != fine {
			t.Errorf("%s: %t\n%s", script, got, messages(r))
		}
	}
}

// TestWatchedVariables: a variable is found where the process says that it is, or refused with the reason.
func TestWatchedVariables(t *testing.T) {
	const source = `
#include <stdio.h>
struct box { int a; long b; int bit : 3; struct { short in; } inner; } box;
long counter; static char once = 1; char big[64]; __thread int mine;
int main(void) {
	printf("%p %p %p %p %p %p\n", (void *)&counter, (void *)&box.b, (void *)&box.inner.in, (void *)&once, (void *)big,
		(void *)&stderr);
	fflush(stdout);
	mine = getchar();
	return once;
}
`
	for _, options := range []string{"-pie -g", "-no-pie -g", "-pie", "-no-pie"} {
		t.Run(options, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "p")
			if err := os.WriteFile(filepath.Join(dir, "p.c"), []byte(source), 0o600); err != nil {
				t.Fatal(err)
			}
			args := append(strings.Fields(options), "-o", path, filepath.Join(dir, "p.c"))
			if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			cmd := exec.Command(path)
			in, err1 := cmd.StdinPipe()
			out, err2 := cmd.StdoutPipe()
			if err1 != nil || err2 != nil || cmd.Start() != nil {
				t.Fatal(err1, err2)
			}
			defer func() { in.Close(); _ = cmd.Wait() }()
			var at [6]uint64
			line, err := bufio.NewReader(out).ReadString('\n')
			for i, word := range strings.Fields(line) {
				fmt.Sscanf(word, "0x%x", &at[i])
			}
			if err != nil || at[5] == 0 {
				t.Fatalf("%q: %v", line, err)
			}
			typed := strings.HasSuffix(options, "-g")
			for text, want := range map[string]probe.Point{
				path + ":counter:w":      {Addr: at[0], WatchLen: 8, WatchMode: "w"},
				"counter:rw":             {Addr: at[0], WatchLen: 8, WatchMode: "rw"},
				"counter:4:w":            {Addr: at[0], WatchLen: 4, WatchMode: "w"},
				path + ":once:w":         {Addr: at[3], WatchLen: 1, WatchMode: "w"},
				path + ":big:8:w":        {Addr: at[4], WatchLen: 8, WatchMode: "w"},
				"box.b:w":                {Addr: at[1], WatchLen: 8, WatchMode: "w"},
				path + ":box.inner.in:w": {Addr: at[2], WatchLen: 2, WatchMode: "w"},
				"libc:stderr:w":          {Addr: at[5], WatchLen: 8, WatchMode: "w"},
			} {
				points, r := find(t, "watchpoint:"+text+" {}", Options{PID: cmd.Process.Pid})
				if strings.Contains(text, "box.") && !typed {
					if r.Diags.Errors() == 0 {
						t.Errorf("%s is not known without debug information", text)
					}
					continue
				}
				if len(points) != 1 || points[0].Addr != want.Addr || points[0].WatchLen != want.WatchLen ||
					points[0].WatchMode != want.WatchMode || points[0].PID != cmd.Process.Pid {
					t.Errorf("%s: %+v, want %+v\n%s", text, points, want, messages(r))
				}
			}
			for text, want := range map[string]string{
				"big:w":               "big has 64 bytes, and a watchpoint is of 1, 2, 4 or 8\nhint: name a member",
				"mine:w":              "mine cannot be watched: each thread has its own",
				"counter:x":           "counter is watched as data: the modes are w and rw",
				"coun:w":              "has no variable coun that is in no function",
				path + ":*:w":         "wildcards are not allowed",
				path + ":counter:3:w": "watchpoint length must be one of (1,2,4,8)",
				"/bin/sh:counter:w":   "has no variable counter",
				"libm:signgam:w":      "has not loaded",
			} {
				if points, r := find(t, "watchpoint:"+text+" {}", Options{PID: cmd.Process.Pid}); len(points) > 0 ||
					!strings.Contains(messages(r), want) {
					t.Errorf("%s: %v\n%s\nwant: %s", text, points, messages(r), want)
				}
			}
		})
	}
}
