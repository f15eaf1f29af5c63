package kernels

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNames: comm(PID) gives the name that /proc has, for each process, in a kernel's own order of things.
func TestNames(t *testing.T) {
	tracer := os.Getenv("TROCAR_E2E_TRACER")
	if tracer == "" {
		t.Skip("run by run.sh, which sets TROCAR_E2E_TRACER")
	}
	want := map[string]string{}
	files, err := filepath.Glob("/proc/[0-9]*/task/*/comm")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name, err := os.ReadFile(file); err == nil { // it may have ended
			want[filepath.Base(filepath.Dir(file))] = strings.TrimSuffix(string(name), "\n")
		}
	}
	script := `begin { printf("4000000 %s\n", comm(4000000)) } iter:task { printf("%d %s\n", ctx.task.pid, comm(ctx.task.pid)) }`
	out, err := exec.Command(tracer, "-q", "-e", script).Output()
	if err != nil {
		t.Fatal(err)
	}
	want["4000000"] = ""
	got := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if id, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " "); ok {
			got[id] = name
		}
	}
	compared := 0
	for id, name := range want {
		g, ok := got[id]
		if !ok && name != "" {
			continue // it has ended
		}
		compared++
		// Kernel threads that work for others have longer names in /proc.
		if !ok || g != name && (len(g) < 5 || !strings.HasPrefix(name, g[:5])) {
			t.Errorf("task %s is %q, not %q", id, g, name)
		}
	}
	if compared < 10 {
		t.Errorf("only %d tasks in\n%s", compared, out)
	}
}
