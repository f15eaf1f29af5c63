package e2e

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/code"
	"trocar/internal/need"
)

var (
	everyForm = flag.Bool("every-form", false,
		"TestSteps: all forms of the instructions, which takes four minutes of CPU time")
	formsOut = flag.String("forms-out", "", "TestSteps: write what steps.c says to this file")
)

// TestSteps executes each instruction that the decoder knows with and without a probe on it. What does not do the same,
// or is hit other than once, must be one that no probe is put on (code.Hazard).
func TestSteps(t *testing.T) {
	need.Root(t)
	need.Tool(t, "gcc")
	if host, err := abi.Host(); err != nil || host != abi.AMD64 {
		t.Skip("the forms are those of x86-64")
	}
	program := filepath.Join(t.TempDir(), "steps")
	out, err := exec.Command("gcc", "-O1", "-static", "-no-pie", "-fno-stack-protector", "-fcf-protection=none",
		"-o", program, "testdata/steps.c").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var lines bytes.Buffer
	for _, f := range allForms(*everyForm) {
		lines.WriteString(f.line())
	}
	step := "5"
	if *everyForm {
		step = "1"
	}
	cmd := exec.Command(program, "0", step)
	cmd.Stdin, cmd.Stderr = &lines, os.Stderr
	said, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	if *formsOut != "" {
		if err := os.WriteFile(*formsOut, said, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	count := map[string]int{}
	bad := 0
	for line := range strings.Lines(string(said)) {
		words := strings.Fields(line)
		if len(words) < 3 {
			t.Fatalf("steps says %q", line)
		}
		b, in, ok := parseForm(words[0])
		if !ok {
			t.Fatalf("steps says %q", line)
		}
		count[words[2]]++
		if words[2] == "same" || words[2] == "refused" {
			continue
		}
		if in.Hazard == code.Sound && !code.IsNop5(b) && !varies(b) &&
			!(loadsStack(b) && strings.Contains(line, "ended by signal")) {
			if bad++; bad <= 50 {
				t.Errorf("%s is probed, but differs: %s", code.Describe(abi.AMD64, b), strings.TrimSpace(line))
			}
		}
	}
	t.Logf("%v, of these %d are probed and differ", count, bad)
	if count["same"] < 1000 {
		t.Errorf("only %d forms were tried", count["same"])
	}
}

// loadsStack tells of an instruction that makes the stack pointer something that is no address: the kernel cannot
// return to that from the probe. No program goes on with such a stack.
func loadsStack(b []byte) bool {
	for n := range b {
		if b[n]&0xf8 != 0x48 {
			continue
		}
		rest := b[n+1:]
		if len(rest) > 1 && rest[0] == 0x0f {
			rest = rest[1:]
		}
		return len(rest) > 0 && rest[0] == 0xcc || len(rest) > 1 && rest[1]>>3&7 == 4
	}
	return false
}

// varies tells of an instruction that gives another result each time: of a clock or of chance, or what the hypervisor
// answers.
func varies(b []byte) bool {
	for len(b) > 0 && (b[0] == 0x66 || b[0] == 0x67 || b[0] == 0x64 || b[0]|1 == 0xf3 || b[0]&0xf0 == 0x40) {
		b = b[1:]
	}
	if len(b) > 1 && b[0] == 0xdd && b[1]>>3&7 == 4 {
		return true // frstor, of bytes that are no state of the FPU
	}
	if len(b) < 2 || b[0] != 0x0f {
		return false
	}
	if b[1] == 0x31 { // rdtsc
		return true
	}
	if len(b) < 3 {
		return false
	}
	group := b[2] >> 3 & 7
	return b[1] == 0xc7 && group >= 6 || // rdrand, rdseed, rdpid
		b[1] == 0x01 && (b[2] == 0xf9 || b[2] == 0xfd) // rdtscp, rdpru
}
