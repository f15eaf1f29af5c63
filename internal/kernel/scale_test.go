package kernel

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"trocar/internal/compile/feature"
	"trocar/internal/need"
	"trocar/internal/process/probe"
	"trocar/internal/process/tracefs"
)

// manyFunctions is a program of n functions f0, f1 …; "call N" calls each of them N times.
func manyFunctions(t testing.TB, n int) string {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("written in amd64 assembly")
	}
	var s strings.Builder
	s.WriteString(".text\n")
	for i := range n {
		fmt.Fprintf(&s, ".globl f%d\nf%d: push %%rbp\npop %%rbp\nret\n", i, i)
	}
	s.WriteString(".globl all\nall: sub $8,%rsp\n")
	for i := range n {
		fmt.Fprintf(&s, "call f%d\n", i)
	}
	s.WriteString("add $8,%rsp\nret\n.section .note.GNU-stack\n")
	file := filepath.Join(t.TempDir(), "functions.s")
	if err := os.WriteFile(file, []byte(s.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return build(t, "many", `
#include <stdio.h>
#include <time.h>
void all(void);
int main(void) {
	setvbuf(stdout, 0, _IOLBF, 0);
	printf("ready\n");
	char cmd[32]; long n;
	while (scanf("%31s %ld", cmd, &n) == 2) {
		struct timespec a, b;
		clock_gettime(CLOCK_MONOTONIC, &a);
		for (long i = 0; i < n; i++) all();
		clock_gettime(CLOCK_MONOTONIC, &b);
		printf("%ld\n", (b.tv_sec - a.tv_sec) * 1000000000L + b.tv_nsec - a.tv_nsec);
	}
	return 0;
}`, file)
}

func counter() asm.Instructions {
	return asm.Instructions{
		asm.StoreImm(asm.RFP, -4, 0, asm.Word),
		asm.LoadMapPtr(asm.R1, 0).WithReference("count"),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -4),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "out"),
		asm.Mov.Imm(asm.R1, 1),
		asm.StoreXAdd(asm.R0, asm.R1, asm.DWord),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("out"),
		asm.Return(),
	}
}

func countSpec() *ebpf.MapSpec {
	return &ebpf.MapSpec{Name: "count", Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1}
}

// TestManyPoints: 30,000 functions of a running program, each hit counted. How long that takes is measured by bench.
func TestManyPoints(t *testing.T) {
	need.Root(t)
	const n = 30_000
	path := manyFunctions(t, n)
	syms := symbols(t, path)
	c := start(t, path)
	c.ask("call 1")
	p := &Program{Name: "p", Type: probe.UprobeProgram, Insns: counter()}
	for i := range n {
		p.Points = append(p.Points, point(path, syms["f"+strconv.Itoa(i)], 0))
		p.Cookies = append(p.Cookies, uint64(i))
	}
	l, err := Load(&Object{Maps: []*ebpf.MapSpec{countSpec()}, Programs: []*Program{p}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	begin := time.Now()
	attachAll(t, l)
	attached := time.Since(begin)
	c.ask("call 2")
	hits, err := l.Map("count").Sum(0, 0)
	begin = time.Now()
	l.Detach()
	detached := time.Since(begin)
	t.Logf("attach %v, detach %v", attached, detached)
	if err != nil || hits != 2*n {
		t.Errorf("%d hits, %v; want %d", hits, err, 2*n)
	}
	c.ask("call 10")
	if more, _ := l.Map("count").Sum(0, 0); more != hits {
		t.Errorf("%d hits after detaching", more-hits)
	}
}

// TestManyLinks: links are closed side by side. One after another, 100 take seconds.
func TestManyLinks(t *testing.T) {
	need.Root(t)
	const n = 100
	path := manyFunctions(t, n)
	syms := symbols(t, path)
	var programs []*Program
	for i := range n {
		programs = append(programs, &Program{
			Name: fmt.Sprintf("p%d", i), Type: probe.UprobeProgram, Insns: counter(),
			Points: []*probe.Point{point(path, syms["f"+strconv.Itoa(i)], 0)},
		})
	}
	l, err := Load(&Object{Maps: []*ebpf.MapSpec{countSpec()}, Programs: programs}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	begin := time.Now()
	attachAll(t, l)
	t.Logf("attach %v", time.Since(begin))
	c := start(t, path)
	c.ask("call 3")
	if hits, err := l.Map("count").Sum(0, 0); err != nil || hits != 3*n {
		t.Errorf("%d hits, %v", hits, err)
	}
	if len(l.links) != n {
		t.Errorf("%d links", len(l.links))
	}
	begin = time.Now()
	l.Detach()
	all := time.Since(begin)
	// What one link takes by itself, on the same machine in the same state.
	const some = 10
	var single time.Duration
	for _, p := range programs[:some] {
		one, err := Load(&Object{Maps: []*ebpf.MapSpec{countSpec()}, Programs: []*Program{p}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		attachAll(t, one)
		begin := time.Now()
		one.Detach()
		single += time.Since(begin) / some
		one.Close()
	}
	t.Logf("detach %v, of one link %v", all, single)
	// Where closing waits for the kernel's grace periods (some milliseconds each), many share one.
	if single > 5*time.Millisecond && all > n*single/2 {
		t.Errorf("detaching %d links took %v, and one takes %v: one after another?", n, all, single)
	}
}

// TestSiftMany: bad points among many are found in a few rounds.
func TestSiftMany(t *testing.T) {
	need.Root(t)
	const n = 1000
	path := manyFunctions(t, n)
	syms := symbols(t, path)
	p := &Program{Name: "p", Type: probe.UprobeProgram, Insns: counter()}
	bad := map[*probe.Point]bool{}
	for i := range n {
		pt := point(path, syms["f"+strconv.Itoa(i)], 0)
		if i == 3 || i == 500 || i == 999 {
			pt.RefCtr = syms["f0"] | 1
			bad[pt] = true
		}
		p.Points = append(p.Points, pt)
	}
	l, err := Load(&Object{Maps: []*ebpf.MapSpec{countSpec()}, Programs: []*Program{p}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	begin := time.Now()
	failed, err := l.Attach(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%v", time.Since(begin))
	for _, f := range failed {
		if !bad[f.Point] {
			t.Errorf("%v", f.Error())
		}
	}
	if len(failed) != len(bad) || len(l.links) != 1 {
		t.Errorf("%d failed, %d links", len(failed), len(l.links))
	}
	c := start(t, path)
	c.ask("call 1")
	if hits, _ := l.Map("count").Sum(0, 0); hits != n-3 {
		t.Errorf("%d hits", hits)
	}
}

// TestKilled: a tracer that is killed leaves nothing: the target runs at full speed again.
func TestKilled(t *testing.T) {
	need.Root(t)
	path := build(t, "target", targetSource)
	c := start(t, path)
	speed := func() int {
		best := 1 << 60
		for range 5 {
			n, err := strconv.Atoi(c.ask("time 100000"))
			if err != nil {
				t.Fatal(err)
			}
			best = min(best, n)
		}
		return best
	}
	before := speed()
	for _, way := range []string{"multi", "perf"} {
		tracer := exec.Command(os.Args[0], "-test.run=^TestTracerToKill$", "-test.v")
		tracer.Env = append(os.Environ(), "TROCAR_TEST_TARGET="+path, "TROCAR_TEST_WAY="+way)
		out, err := tracer.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := tracer.Start(); err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		buf := make([]byte, 256)
		for !strings.Contains(text.String(), "attached") {
			n, err := out.Read(buf)
			text.Write(buf[:n])
			if err != nil {
				t.Fatalf("the tracer ended: %s", text.String())
			}
		}
		during := speed()
		tracer.Process.Kill()
		tracer.Wait()
		after := speed()
		t.Logf("%s: ns per call: %d before, %d traced, %d after kill -9", way, before, during, after)
		// A traced call takes a thousand times as long.
		if during < 50*before {
			t.Errorf("%s: it was not traced (%d ns)", way, during)
		}
		if after > during/20 {
			t.Errorf("%s: %d ns per call after the tracer was killed, %d before", way, after, before)
		}
	}
	files, err := tracefs.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	if events, err := files.ReadFile("uprobe_events"); err != nil || strings.Contains(string(events), path) {
		t.Errorf("named events were left: %s (%v)", events, err)
	}
}

// TestTracerToKill is the child of TestKilled.
func TestTracerToKill(t *testing.T) {
	path := os.Getenv("TROCAR_TEST_TARGET")
	if path == "" {
		t.Skip("only runs inside TestKilled")
	}
	f := NewFeatures()
	if os.Getenv("TROCAR_TEST_WAY") == "perf" {
		f.Disable(feature.UprobeMulti)
	}
	offset := symbols(t, path)["work"]
	l := load(t, Options{Features: f}, &Program{
		Name: "p", Type: probe.UprobeProgram, Insns: sender(1, -1, false),
		Points: []*probe.Point{point(path, offset, 0)},
	})
	attachAll(t, l)
	fmt.Println("attached")
	l.Ring().Run(t.Context(), func([]byte) error { return nil }, nil)
}

func TestVerifierError(t *testing.T) {
	need.Root(t)
	var logged string
	_, err := Load(&Object{Programs: []*Program{{Name: "bad", Type: probe.UprobeProgram, Insns: asm.Instructions{
		asm.LoadMem(asm.R0, asm.R2, 0, asm.DWord), asm.Return(),
	}}}}, Options{Log: func(_, text string) { logged = text }})
	var v *VerifierError
	if !errors.As(err, &v) || !strings.Contains(v.Error(), "R2 !read_ok") || strings.Contains(v.Error(), "\n") ||
		!strings.Contains(logged, "R2 !read_ok") {
		t.Errorf("%v; log %q", err, logged)
	}
}
