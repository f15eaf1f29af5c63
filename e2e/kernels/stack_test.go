package kernels

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

//go:noinline
func innermost(pcs []uintptr) int { return runtime.Callers(2, pcs) }

//go:noinline
func deeper(depth int, pcs []uintptr) int {
	if depth == 0 {
		return innermost(pcs)
	}
	return deeper(depth-1, pcs) + 0*depth
}

// TestUserStack compares a stack as a map's key with what the runtime says of it.
func TestUserStack(t *testing.T) {
	tracer := os.Getenv("TROCAR_E2E_TRACER")
	if tracer == "" {
		t.Skip("run by run.sh, which sets TROCAR_E2E_TRACER")
	}
	self, err := filepath.EvalSymlinks("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf(`uprobe:%s:"trocar/e2e/kernels.innermost" { @[ustack] = count(); @n = count(); }`, self)
	trace := exec.Command(tracer, "-p", fmt.Sprint(os.Getpid()), "-e", script)
	out := tracing(t, trace)
	pcs := make([]uintptr, 64)
	var n int
	for range 7 {
		n = deeper(10, pcs)
	}
	trace.Process.Signal(os.Interrupt)
	if err := trace.Wait(); err != nil {
		t.Fatal(err)
	}
	var want []string
	frames := runtime.CallersFrames(pcs[:n])
	for {
		f, more := frames.Next()
		want = append(want, f.Function)
		if !more {
			break
		}
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		if line = strings.TrimSpace(line); strings.Contains(line, "+") && !strings.Contains(line, ".innermost+") {
			name, _, _ := strings.Cut(line, "@")
			name = strings.TrimSuffix(name[:strings.LastIndex(name, "+")], ".abi0")
			if !strings.Contains(name, ".gowrap") { // which the runtime does not tell of
				got = append(got, name)
			}
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") || !strings.Contains(out.String(), "]: 7\n") {
		t.Errorf("the stack is\n%s\nwant\n%s", out, strings.Join(want, "\n"))
	}
}

// tracing starts a tracer and waits until its probes are attached.
func tracing(t *testing.T, trace *exec.Cmd) *bytes.Buffer {
	t.Helper()
	var out bytes.Buffer
	trace.Stdout = &out
	attached := newAttached()
	trace.Stderr = attached
	if err := trace.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = trace.Process.Kill()
		t.Logf("%s", attached.text())
	})
	select {
	case <-attached.seen:
	case <-t.Context().Done():
		t.Fatal("not attached")
	}
	return &out
}

// attached is what a tracer says; seen is closed when it has attached its probes.
type attached struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	seen chan struct{}
}

func newAttached() *attached { return &attached{seen: make(chan struct{})} }

func (a *attached) Write(b []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := bytes.Contains(a.buf.Bytes(), []byte("Attached"))
	a.buf.Write(b)
	if !before && bytes.Contains(a.buf.Bytes(), []byte("Attached")) {
		close(a.seen)
	}
	return len(b), nil
}

func (a *attached) text() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.buf.String()
}
