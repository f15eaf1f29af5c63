package kernel

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"trocar/internal/process/probe"
)

// TestFeatures: what the version says must be there is there. (Never the other way round: distributions backport.)
func TestFeatures(t *testing.T) {
	needRoot(t)
	var major, minor int
	fmt.Sscanf(Release(), "%d.%d", &major, &minor)
	f := NewFeatures()
	for _, x := range AllFeatures() {
		info := x.Info()
		var a, b int
		if _, err := fmt.Sscanf(info.Since, "%d.%d", &a, &b); err != nil {
			t.Errorf("%s: since %q", info.Name, info.Since)
		}
		old := major < a || major == a && minor < b
		has := f.Has(x)
		t.Logf("%-50s %-5s %v", info.Name, info.Since, has)
		switch {
		case has || old:
		case x == ProbeWriteUser, x == KernelBTF: // may be locked down or not built in
		default:
			t.Errorf("%s is from %s, but was not found on %s", info.Name, info.Since, Release())
		}
	}
	f.Disable(Loop)
	if f.Has(Loop) {
		t.Error("a disabled feature is there")
	}
	err := f.Need(Loop, "use fewer loops")
	var lacks *LacksError
	if !errors.As(err, &lacks) || !Unavailable(err) || !strings.Contains(err.Error(), "5.17") || !strings.Contains(err.Error(), "use fewer loops") {
		t.Errorf("%v", err)
	}
	if f.Need(AttachCookie, "") != nil && f.Has(AttachCookie) {
		t.Error("what is there is said to be missing")
	}
}

// TestUnprivileged: as nobody there is one clear error, of the type that means exit status 4.
func TestUnprivileged(t *testing.T) {
	if os.Getenv("TROCAR_TEST_NOBODY") != "" {
		_, err := Load(&Object{Programs: []*Program{{Name: "p", Type: Uprobe, Insns: returnZero()}}}, Options{})
		fmt.Printf("unavailable %v: %v\n", Unavailable(err), err)
		return
	}
	needRoot(t)
	// A copy where nobody can read it.
	dir, err := os.MkdirTemp("/tmp", "trocar")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	data, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(dir, "test")
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(exe, data, 0o755)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^TestUnprivileged$")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "TROCAR_TEST_NOBODY=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "unavailable true: not permitted to load the program of p: missing CAP_BPF, CAP_PERFMON; run it as root") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestBTF(t *testing.T) {
	b, err := openBTF(kernelBTF)
	if err != nil {
		t.Skip(err)
	}
	bpftool, err := exec.LookPath("bpftool")
	if err != nil {
		t.Skip("no bpftool to compare with")
	}
	dump, err := exec.Command(bpftool, "btf", "dump", "file", kernelBTF).Output()
	if err != nil {
		t.Skip(err)
	}
	for _, name := range []string{"vprintk", "bpf_copy_from_user_str", "bpf_session_is_return", "schedule"} {
		id, err := b.FuncID(name)
		before, _, ok := strings.Cut(string(dump), "] FUNC '"+name+"'")
		if !ok {
			if err == nil {
				t.Errorf("%s: %d, but bpftool has none", name, id)
			}
			continue
		}
		if want := before[strings.LastIndexByte(before, '[')+1:]; err != nil || strconv.Itoa(int(id)) != want {
			t.Errorf("%s: %d, %v; want %s", name, id, err, want)
		}
	}
	// Top-level members by bpftool's listing.
	start := strings.Index(string(dump), "STRUCT 'task_struct' size=")
	if start < 0 {
		t.Fatal("bpftool shows no task_struct")
	}
	member := regexp.MustCompile(`^\t'(\w+)' type_id=\d+ bits_offset=(\d+)( bitfield_size=\d+)?`)
	n := 0
	for line := range strings.Lines(string(dump[start:])) {
		if strings.HasPrefix(line, "[") {
			break
		}
		m := member.FindStringSubmatch(line)
		if m == nil || m[1] == "" || m[3] != "" || m[1] == "anon" {
			continue
		}
		if n++; n%10 != 0 {
			continue
		}
		bits, _ := strconv.Atoi(m[2])
		off, err := b.MemberOffset("task_struct", m[1])
		if err != nil || off != bits/8 {
			t.Errorf("task_struct.%s: %d, %v; want %d", m[1], off, err, bits/8)
		}
	}
	if n < 100 {
		t.Errorf("only %d members", n)
	}
	if runtime.GOARCH == "amd64" {
		thread, err1 := b.MemberOffset("task_struct", "thread")
		inner, err2 := b.MemberOffset("thread_struct", "fsbase")
		both, err3 := b.MemberOffset("task_struct", "thread.fsbase")
		if err := errors.Join(err1, err2, err3); err != nil || both != thread+inner {
			t.Errorf("thread.fsbase: %d; want %d + %d (%v)", both, thread, inner, err)
		}
	}
	if off, err := b.MemberOffset("mm_struct", "start_stack"); err != nil || off == 0 {
		t.Errorf("mm_struct.start_stack, which is in an unnamed struct: %d, %v", off, err)
	}
	for _, bad := range [][2]string{{"task_struct", "nonsense"}, {"nonsense_struct", "x"}, {"task_struct", "pid.x"}, {"task_struct", ""}, {"", "x"}, {"task_struct", "in_execve"}} {
		if off, err := b.MemberOffset(bad[0], bad[1]); err == nil && bad[1] != "" {
			t.Errorf("%v: %d", bad, off)
		}
	}
	if !b.HasStruct("task_struct") || b.HasStruct("schedule") {
		t.Error("HasStruct")
	}
}

func FuzzBTF(f *testing.F) {
	// A header, two types (a struct of one member and an integer) and their names.
	f.Add([]byte("\x9f\xeb\x01\x00\x18\x00\x00\x00\x00\x00\x00\x00\x28\x00\x00\x00\x28\x00\x00\x00\x05\x00\x00\x00" +
		"\x01\x00\x00\x00\x01\x00\x00\x04\x04\x00\x00\x00\x03\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00" +
		"\x00\x00\x00\x00\x00\x00\x00\x01\x04\x00\x00\x00\x20\x00\x00\x01" + "\x00s\x00m\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := parseBTF(data)
		if err != nil {
			return
		}
		b.FuncID("s")
		b.MemberOffset("s", "m")
		b.MemberOffset("s", "m.m.m")
		b.HasStruct("m")
	})
}

func TestTracefs(t *testing.T) {
	const info = `22 28 0:20 / /sys rw - sysfs sysfs rw
40 22 0:12 / /sys/kernel/tracing rw,nosuid shared:3 - tracefs tracefs rw
41 22 0:12 /events /mnt rw - tracefs tracefs rw
42 22 0:12 / /mnt/a\040b\134c rw master:1 - tracefs nodev rw
short
`
	if got, want := tracefsMounts(info), []string{"/sys/kernel/tracing", `/mnt/a b\c`}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	needRoot(t)
	before, _ := os.ReadFile("/proc/self/mountinfo")
	fd, err := mountTracefs()
	if err != nil {
		t.Fatal(err)
	}
	after, _ := os.ReadFile("/proc/self/mountinfo")
	if string(before) != string(after) {
		t.Error("the mount can be seen")
	}
	a := &attacher{tracefs: &tracefs{"/proc/self/fd/" + strconv.Itoa(fd), fd}}
	defer a.close()
	if id, err := a.eventID(&probe.Point{Category: "sched", Event: "sched_process_fork"}); err != nil || id == 0 {
		t.Errorf("%d, %v", id, err)
	}
}

func TestCPUs(t *testing.T) {
	for text, want := range map[string][]int{"0\n": {0}, "0-3\n": {0, 1, 2, 3}, "0,2-3,7": {0, 2, 3, 7}, "": nil} {
		if got, err := parseCPUs(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, bad := range []string{"a", "1-", "-1", "0-99999999"} {
		if got, err := parseCPUs(bad); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

func TestErrors(t *testing.T) {
	if got := lastWords("0: R1=ctx()\n1: (79) r0 = *(u64 *)(r2 +0)\nR2 !read_ok\nprocessed 1 insns (limit 1000000)\n\x00"); got != "R2 !read_ok" {
		t.Errorf("%q", got)
	}
	if got := lastWords("processed 1 insns"); got != "no reason given" {
		t.Errorf("%q", got)
	}
	err := explain("load a program", fmt.Errorf("load: %w", unix.EPERM))
	var perm *PermissionError
	if !errors.As(err, &perm) || !Unavailable(err) || !errors.Is(err, unix.EPERM) || !strings.HasPrefix(err.Error(), "not permitted to load a program") {
		t.Errorf("%v", err)
	}
	if explain("x", err) != err {
		t.Error("explained twice")
	}
	if err := explain("x", unix.ENOMEM); Unavailable(err) {
		t.Errorf("%v", err)
	}
	if text := explain("x", unix.EMFILE).Error(); !strings.Contains(text, "ulimit -n") {
		t.Errorf("%v", text)
	}
}

func TestReport(t *testing.T) {
	needRoot(t)
	text := Inspect(NewFeatures()).Text()
	for _, want := range []string{Release(), "links of many uprobes", "tracefs", "capabilities"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	t.Log("\n" + text)
}
