package kernel

import (
	"bufio"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"trocar/internal/process/probe"
)

// build compiles a C program (and other files) statically and returns its path. With TROCAR_FIXTURES it keeps the
// programs in that directory, under a name made from their source, and finds them there again: in a virtual machine
// that has no compiler.
func build(t testing.TB, name, source string, files ...string) string {
	t.Helper()
	dir := os.Getenv("TROCAR_FIXTURES")
	hash := fnv.New64()
	io.WriteString(hash, source)
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		hash.Write(text)
	}
	if dir == "" {
		dir = t.TempDir()
	} else {
		name = fmt.Sprintf("%s-%x", name, hash.Sum64())
	}
	out := filepath.Join(dir, name)
	if _, err := os.Stat(out); err == nil {
		return out
	}
	src := filepath.Join(t.TempDir(), "source.c")
	if err := os.WriteFile(src, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-O1", "-g0", "-static", "-pthread", "-fcf-protection=none", "-o", out, src}, files...)
	if text, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, text)
	}
	return out
}

// symbols gives the file offset of each symbol.
func symbols(t testing.TB, path string) map[string]uint64 {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	syms, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]uint64{}
	for _, s := range syms {
		for _, p := range f.Progs {
			if p.Type == elf.PT_LOAD && s.Value >= p.Vaddr && s.Value < p.Vaddr+p.Filesz {
				found[s.Name] = s.Value - p.Vaddr + p.Off
			}
		}
	}
	return found
}

// child is a fixture that runs: it takes commands on stdin and answers each with a line.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	t   testing.TB
}

func start(t testing.TB, path string, args ...string) *child {
	t.Helper()
	c := &child{cmd: exec.Command(path, args...), t: t}
	c.cmd.Stderr = os.Stderr
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.in.Close()
		c.cmd.Process.Kill()
		c.cmd.Wait()
	})
	c.read() // it says when it is there
	return c
}

func (c *child) pid() int { return c.cmd.Process.Pid }

func (c *child) read() string {
	c.t.Helper()
	line, err := c.out.ReadString('\n')
	if err != nil {
		c.t.Fatalf("the fixture ended: %v", err)
	}
	return strings.TrimSpace(line)
}

// ask sends a command and returns the answer.
func (c *child) ask(format string, args ...any) string {
	c.t.Helper()
	if _, err := fmt.Fprintf(c.in, format+"\n", args...); err != nil {
		c.t.Fatal(err)
	}
	return c.read()
}

// targetSource is the fixture for most tests: "call N" calls work N times in the first thread, "thread N" in another
// one; "spin N" keeps another thread busy for N milliseconds; "time N" tells the nanoseconds of a call; "touch N"
// writes to watched; "sem" tells the semaphore.
const targetSource = `
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>
volatile long watched;
volatile long sink;
/* A function that begins with push, which the kernel emulates: 15 times faster here than single-stepping. */
#ifdef __x86_64__
#define PUSH __asm__ volatile("" ::: "rbx")
#else
#define PUSH
#endif
unsigned short semaphore __attribute__((section(".probes"))) = 0;
__attribute__((noinline)) long work(long a, long b) { PUSH; sink += a; return a * 2 + b; }
__attribute__((noinline)) long other(long a) { sink += a; return a + 1; }
static void *run(void *n) { for (long i = 0; i < (long)n; i++) work(i, 1); return 0; }
static void *spin(void *ms) {
	struct timespec a, b;
	clock_gettime(CLOCK_MONOTONIC, &a);
	do clock_gettime(CLOCK_MONOTONIC, &b);
	while ((b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000 < (long)ms);
	return 0;
}
int main(void) {
	setvbuf(stdout, 0, _IOLBF, 0);
	printf("ready\n");
	char cmd[32]; long n;
	while (scanf("%31s %ld", cmd, &n) == 2) {
		if (!strcmp(cmd, "call")) run((void *)n);
		else if (!strcmp(cmd, "other")) for (long i = 0; i < n; i++) other(i);
		else if (!strcmp(cmd, "thread")) { pthread_t t; pthread_create(&t, 0, run, (void *)n); pthread_join(t, 0); }
		else if (!strcmp(cmd, "spin")) { pthread_t t; pthread_create(&t, 0, spin, (void *)n); pthread_join(t, 0); }
		else if (!strcmp(cmd, "touch")) for (long i = 0; i < n; i++) watched = i;
		else if (!strcmp(cmd, "sem")) { printf("%d\n", *(volatile unsigned short *)&semaphore); continue; }
		else if (!strcmp(cmd, "addr")) { printf("%lu %lu\n", (unsigned long)&watched, (unsigned long)&work); continue; }
		else if (!strcmp(cmd, "time")) {
			struct timespec a, b;
			clock_gettime(CLOCK_MONOTONIC, &a); run((void *)n); clock_gettime(CLOCK_MONOTONIC, &b);
			printf("%ld\n", ((b.tv_sec - a.tv_sec) * 1000000000L + b.tv_nsec - a.tv_nsec) / n);
			continue;
		}
		printf("done\n");
	}
	return 0;
}
`

// event is what the test programs send: cookie, tid and tgid, argument and a number of the program.
type event struct {
	cookie uint64
	tgid   uint32
	tid    uint32
	arg    uint64
	mark   uint64
}

const eventSize = 32

func decode(rec []byte) (event, error) {
	if len(rec) != eventSize {
		return event{}, fmt.Errorf("record of %d bytes", len(rec))
	}
	n := binary.NativeEndian
	ids := n.Uint64(rec[8:])
	return event{n.Uint64(rec), uint32(ids >> 32), uint32(ids), n.Uint64(rec[16:]), n.Uint64(rec[24:])}, nil
}

// sender makes a program that sends an event. Where in the context arg is read is argOffset, -1: nowhere.
func sender(mark int32, argOffset int16, cookie bool) asm.Instructions {
	insns := asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.Mov.Imm(asm.R7, 0),
	}
	if argOffset >= 0 {
		insns = append(insns, asm.LoadMem(asm.R7, asm.R6, argOffset, asm.DWord))
	}
	insns = append(insns, asm.Mov.Imm(asm.R0, 0))
	if cookie {
		insns = append(insns, asm.Mov.Reg(asm.R1, asm.R6), asm.FnGetAttachCookie.Call())
	}
	return append(insns,
		asm.StoreMem(asm.RFP, -32, asm.R0, asm.DWord),
		asm.FnGetCurrentPidTgid.Call(),
		asm.StoreMem(asm.RFP, -24, asm.R0, asm.DWord),
		asm.StoreMem(asm.RFP, -16, asm.R7, asm.DWord),
		asm.Mov.Imm(asm.R1, mark),
		asm.StoreMem(asm.RFP, -8, asm.R1, asm.DWord),
		asm.LoadMapPtr(asm.R1, 0).WithReference("ring"),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -32),
		asm.Mov.Imm(asm.R3, eventSize),
		asm.Mov.Imm(asm.R4, 1), // BPF_RB_NO_WAKEUP
		asm.FnRingbufOutput.Call(),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
	)
}

func ringSpec() *ebpf.MapSpec {
	return &ebpf.MapSpec{Name: "ring", Type: ebpf.RingBuf, MaxEntries: 1 << 20}
}

// ptRegs offsets of the first argument and the result.
const (
	regDI = 112
	regAX = 80
)

func load(t testing.TB, opts Options, programs ...*Program) *Loaded {
	t.Helper()
	l, err := Load(&Object{Maps: []*ebpf.MapSpec{ringSpec()}, Programs: programs}, opts)
	if err != nil {
		var v *VerifierError
		if errors.As(err, &v) {
			t.Log(v.Log)
		}
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

func attachAll(t testing.TB, l *Loaded) {
	t.Helper()
	failed, err := l.Attach(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range failed {
		t.Error(f.Error())
	}
}

func drain(t testing.TB, l *Loaded) []event {
	t.Helper()
	var events []event
	if _, err := l.Ring().Read(func(rec []byte) error {
		e, err := decode(rec)
		events = append(events, e)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return events
}

func point(path string, offset uint64, pid int) *probe.Point {
	return &probe.Point{
		Kind: probe.Uprobe, Name: fmt.Sprintf("uprobe:%s:%#x", path, offset), Path: path, Offset: offset,
		PID: pid,
	}
}

// within waits until ok, for what the kernel does in its own time.
func within(d time.Duration, ok func() bool) bool {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if ok() {
			return true
		}
	}
	return ok()
}
