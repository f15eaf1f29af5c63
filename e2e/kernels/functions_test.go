// Package kernels has what is tested in virtual machines only, for want of a kernel that allows it: see run.sh.
package kernels

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestKernelFunctions traces functions of the kernel that this process calls with arguments and results that it knows.
func TestKernelFunctions(t *testing.T) {
	tracer := os.Getenv("TROCAR_E2E_TRACER")
	if tracer == "" {
		t.Skip("run by run.sh, which sets TROCAR_E2E_TRACER")
	}
	runtime.LockOSThread()
	script := strings.ReplaceAll(`
fentry:vfs_read /pid == PID && args.count == 37/ {
	printf("%s %d %lx: %d\n", func, args.count, (uint64)args.buf, args.file->f_flags & 04000)
}
fexit:vfs_read /pid == PID && args.count == 37/ { printf("%s of %d = %d\n", func, args.count, retval) }
fexit:ksys_unshare /pid == PID/ { printf("%s of %x = %d\n", func, args.unshare_flags, retval) }
fentry:__set_task_comm /pid == PID/ { printf("%s %s %d\n", func, str(args.buf), args.tsk->pid == tid) }
fexit:__set_task_comm /pid == PID/ { printf("%s is %s\n", probe, args.tsk->comm) }
kprobe:ksys_unshare /pid == PID/ { printf("kprobe %s of %x\n", func, arg0) }
kretprobe:ksys_unshare /pid == PID/ { printf("kretprobe %s = %d\n", func, (int32)retval) }
`, "PID", fmt.Sprint(os.Getpid()))
	trace := exec.Command(tracer, "-e", script)
	var out bytes.Buffer
	trace.Stdout = &out
	told, err := trace.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := trace.Start(); err != nil {
		t.Fatal(err)
	}
	defer trace.Process.Kill()
	// It tells when everything is attached; what it says else is an error.
	lines := bufio.NewScanner(told)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "Attached") {
		t.Error(lines.Text())
	}

	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_NONBLOCK); err != nil {
		t.Fatal(err)
	}
	buf, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON) // stays where it is
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Write(pipe[1], buf[:23]); err != nil {
		t.Fatal(err)
	}
	n, err := unix.Read(pipe[0], buf[:37])
	_, again := unix.Read(pipe[0], buf[:37])
	if n != 23 || err != nil || again != unix.EAGAIN {
		t.Fatalf("the pipe gives %d, %v, then %v", n, err, again)
	}
	if err := unix.Unshare(3); err != unix.EINVAL {
		t.Fatalf("unshare: %v", err)
	}
	name := append([]byte("a name"), 0)
	if err := unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&name[0])), 0, 0, 0); err != nil {
		t.Fatal(err)
	}

	trace.Process.Signal(os.Interrupt)
	for lines.Scan() {
		if s := lines.Text(); s != "" {
			t.Error(s)
		}
	}
	if err := trace.Wait(); err != nil {
		t.Error(err)
	}
	read := fmt.Sprintf("vfs_read 37 %x: 2048", uintptr(unsafe.Pointer(&buf[0])))
	want := []string{
		read, "vfs_read of 37 = 23", read, "vfs_read of 37 = -11",
		"ksys_unshare of 3 = -22", "kprobe ksys_unshare of 3", "kretprobe ksys_unshare = -22",
		"__set_task_comm a name 1", "fexit:vmlinux:__set_task_comm is a name",
	}
	got := strings.Split(strings.TrimSpace(out.String()), "\n")
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("traced:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestKernelPointers: helpers take pointers of which the verifier knows the type, and give such.
func TestKernelPointers(t *testing.T) {
	tracer := os.Getenv("TROCAR_E2E_TRACER")
	if tracer == "" {
		t.Skip("run by run.sh, which sets TROCAR_E2E_TRACER")
	}
	file := t.TempDir() + "/a file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// Debian's 5.10 has no variables of a CPU in its type information, and its bpf_d_path gives no path that is longer
	// than there is room for; later kernels give the end of it.
	var kernel unix.Utsname
	if err := unix.Uname(&kernel); err != nil {
		t.Fatal(err)
	}
	old := strings.HasPrefix(unix.ByteSliceToString(kernel.Release[:]), "5.10.")
	ours := func(script string) string { return strings.ReplaceAll(script, "PID", fmt.Sprint(os.Getpid())) }
	script := ours(`
begin { printf("begun\n"); }
fentry:security_file_open /pid == PID/ {
	printf("open %s %s.\n", path(args.file.f_path), path(args.file->f_path, 6));
}
fentry:security_inode_getattr /pid == PID/ { printf("stat %s\n", path(args.path)); }
`)
	perCPU := ours(`
begin {
	$other = (struct rq *)percpu_kaddr("runqueues", 1);
	printf("cpu %d\n", $other.cpu);
	printf("none %d\n", (uint64)percpu_kaddr("runqueues", 99));
}
fentry:security_file_open /pid == PID/ {
	$own = (struct rq *)percpu_kaddr("runqueues");
	printf("own %d\n", $own.cpu == (int32)cpu);
}
`)
	wanted := []string{"open " + file + "  file.", "stat " + file, "cpu 1", "none 0", "own 1"}
	if old {
		out, err := exec.Command(tracer, "-q", "-e", perCPU).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "runqueues") {
			t.Errorf("%v: %s", err, out)
		}
		wanted = []string{"open " + file + " .", "stat " + file}
	} else {
		script += perCPU
	}
	trace := exec.Command(tracer, "-q", "-e", script)
	trace.Env = append(os.Environ(), "__BPFTRACE_NOTIFY_PROBES_ATTACHED=1")
	said, err := trace.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	trace.Stderr = &errs
	if err := trace.Start(); err != nil {
		t.Fatal(err)
	}
	defer trace.Process.Kill()
	lines := bufio.NewScanner(said)
	var got []string
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "__BPFTRACE_NOTIFY") {
		got = append(got, lines.Text())
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Stat(); err != nil {
		t.Fatal(err)
	}
	trace.Process.Signal(os.Interrupt)
	for lines.Scan() {
		got = append(got, lines.Text())
	}
	if err := trace.Wait(); err != nil {
		t.Error(err)
	}
	for _, want := range wanted {
		if !slices.Contains(got, want) {
			t.Errorf("no %q in\n%s\n%s", want, strings.Join(got, "\n"), errs.String())
		}
	}
}
