package kernel

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

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
	if cpus, err := onlineCPUs(); err != nil || len(cpus) < 2 {
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
