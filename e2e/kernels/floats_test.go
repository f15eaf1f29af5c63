package kernels

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

//go:noinline
func halved(x float64, y float32, n int) float64 {
	if n < 0 {
		return float64(y)
	}
	return x / 2
}

// TestFloats compares what is shown of floating-point registers with what was passed and returned.
func TestFloats(t *testing.T) {
	tracer := os.Getenv("TROCAR_E2E_TRACER")
	if tracer == "" {
		t.Skip("run by run.sh, which sets TROCAR_E2E_TRACER")
	}
	doctor, err := exec.Command(tracer, "doctor").CombinedOutput()
	if !strings.Contains(string(doctor), "floating-point registers: yes") {
		t.Skipf("the kernel does not tell what they have: %v", err)
	}
	self, err := filepath.EvalSymlinks("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	const calls = 50
	script := fmt.Sprintf(`uprobe:%s:"trocar/e2e/kernels.halved" { print((args.n, args.x, args.y)) }`, self)
	trace := exec.Command(tracer, "-p", fmt.Sprint(os.Getpid()), "-e", script)
	out := tracing(t, trace)
	for n := range calls {
		if got := halved(float64(n)+0.25, float32(n)-0.5, n); got != (float64(n)+0.25)/2 {
			t.Errorf("half of %v is %v", float64(n)+0.25, got)
		}
	}
	trace.Process.Signal(os.Interrupt)
	if err := trace.Wait(); err != nil {
		t.Fatal(err, out.String())
	}
	for n := range calls {
		if want := fmt.Sprintf("(%d, %v, %v)", n, float64(n)+0.25, float32(n)-0.5); !strings.Contains(out.String(), want) {
			t.Fatalf("no %s in:\n%s", want, out.String())
		}
	}
}
