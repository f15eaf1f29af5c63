package kernel

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"trocar/internal/compile/feature"
	"trocar/internal/need"
	"trocar/internal/process/probe"
)

// TestFeed: lines with a word are handed over before they are written, and others are not; who writes goes on when its
// line is done with, and when nobody looks.
func TestFeed(t *testing.T) {
	need.Root(t)
	if !NewFeatures().Has(feature.Loop) {
		t.Skip("the kernel has no bpf_loop")
	}
	if cpus, err := ourCPUs(); err != nil || len(cpus) < 2 {
		t.Skip("one CPU: the thread that waits has it")
	}
	const lines = 200
	path := build(t, "writer", `
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
	char line[600];
	getchar();
	for (int i = 0; i < 200; i++) {
		memset(line, 'x', sizeof line);
		int n = sprintf(line, i % 2 ? "10 %d int [app] Ns.Type::Made(int)[Tier]\n" : "10 %d Ns.Type::Mad(int)\n", i);
		if (i == 150)
			n = 600;
		write(1, line, n);
	}
	return 0;
}`)
	out := filepath.Join(t.TempDir(), "out")
	file, err := os.Create(out)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	begin := func() *exec.Cmd {
		cmd := exec.Command(path)
		cmd.Stdout = file
		return cmd
	}
	l := load(t, Options{})
	for _, test := range []struct {
		words []string
		want  int
	}{{[]string{"::Other(", "::Made("}, lines / 2}, {nil, lines}, {[]string{"nowhere"}, 0}} {
		if err := file.Truncate(0); err != nil {
			t.Fatal(err)
		}
		cmd := begin()
		in, err := cmd.StdinPipe()
		if err != nil || cmd.Start() != nil {
			t.Fatal(err)
		}
		p := point(path, symbols(t, path)["write"], cmd.Process.Pid)
		p.Kind = probe.Uprobe
		f, err := l.Feed(p, 1, test.words)
		if err != nil {
			t.Fatalf("%q: %v", test.words, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var got []string
		done := make(chan struct{})
		go func() {
			defer close(done)
			f.Run(ctx, FeedTo{Look: func() {}, Line: func(line string) {
				if text, err := os.ReadFile(out); err != nil || len(got) == 10 && strings.Contains(string(text), line) {
					t.Errorf("%q is written already (%v)", line, err)
				}
				got = append(got, line)
			}})
		}()
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
		cancel()
		<-done
		late := f.Late()
		f.Close()
		if len(got) != test.want || late > lines/10 {
			t.Errorf("%q: %d lines, %d late", test.words, len(got), late)
		}
		for i, line := range got {
			if test.want == lines/2 && !strings.Contains(line, " "+strconv.Itoa(2*i+1)+" int") {
				t.Errorf("line %d is %q", i, line)
			}
		}
	}

	// Nobody looks.
	cmd := begin()
	in, err := cmd.StdinPipe()
	if err != nil || cmd.Start() != nil {
		t.Fatal(err)
	}
	p := point(path, symbols(t, path)["write"], cmd.Process.Pid)
	f, err := l.Feed(p, 1, []string{"[app] Ns.Type::M"})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in.Close()
	ended := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer ended.Stop()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if late := f.Late(); late != lines/2 { // also when there is no room for lines
		t.Errorf("%d of %d lines were late", late, lines/2)
	}
}

// TestFeedThreads: of threads that write at the same time none goes on before its own line is done with, or it is
// counted, whether those that are held let others run or not.
func TestFeedThreads(t *testing.T) {
	need.Root(t)
	if !NewFeatures().Has(feature.Loop) {
		t.Skip("the kernel has no bpf_loop")
	}
	if cpus, err := ourCPUs(); err != nil || len(cpus) < 2 {
		t.Skip("one CPU: threads do not write at the same time")
	}
	const lines = 2 * 1000
	// A line says how many of the lines of its thread were written before: the one that is told of last must be the last.
	path := build(t, "writers", `
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static volatile int written[2];
static pthread_barrier_t both;
static void *writes(void *arg) {
	long me = (long)arg;
	char line[100];
	for (int i = 0; i < 1000; i++) {
		memset(line, 0, sizeof line);
		snprintf(line, sizeof line, "%ld %d %p\n", me, i, (void *)&written[me]);
		pthread_barrier_wait(&both);
		write(1, line, sizeof line);
		written[me] = i + 1;
	}
	return 0;
}
int main(void) {
	pthread_t t[2];
	getchar();
	pthread_barrier_init(&both, 0, 2);
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], 0, writes, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return 0;
}`)
	l := load(t, Options{})
	for _, yields := range []bool{true, false} {
		if yields && !l.features.Has(feature.SleepableUprobe) {
			continue
		}
		cmd := exec.Command(path)
		in, err := cmd.StdinPipe()
		if err != nil || cmd.Start() != nil {
			t.Fatal(err)
		}
		pid := cmd.Process.Pid
		f, err := l.newFeed(point(path, symbols(t, path)["write"], pid), 1, nil, yields)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var told, ahead int
		done := make(chan struct{})
		go func() {
			defer close(done)
			f.Run(ctx, FeedTo{Look: func() {}, Line: func(line string) {
				var me, i int
				var at uintptr
				if _, err := fmt.Sscanf(line, "%d %d 0x%x", &me, &i, &at); err != nil {
					t.Errorf("%q: %v", line, err)
					return
				}
				told++
				for end := time.Now().Add(100 * time.Microsecond); time.Now().Before(end); {
				}
				var n [4]byte
				if _, err := unix.ProcessVMReadv(pid, []unix.Iovec{{Base: &n[0], Len: 4}},
					[]unix.RemoteIovec{{Base: at, Len: 4}}, 0); err != nil {
					t.Error(err)
				}
				if int(binary.NativeEndian.Uint32(n[:])) != i {
					ahead++
				}
			}})
		}()
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
		cancel()
		<-done
		late := int(f.Late())
		f.Close()
		t.Logf("yields %v: %d ahead, %d late", yields, ahead, late)
		if told != lines || ahead > late || yields && late > lines/10 {
			t.Errorf("yields %v: of %d lines %d were told, %d threads were ahead, %d counted", yields, lines, told, ahead, late)
		}
	}
}
