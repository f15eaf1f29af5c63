package target

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"trocar/internal/need"
)

const statText = "4242 (a) (b c) S 17 4242 4242 34816 4242 4194304 300 0 0 0 1 2 0 0 20 0 1 0 98765 5824512 400 " +
	"18446744073709551615 94129912487936 94129912500000 140735681040384 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 1 2 3 4 5 6 7 0\n"

func TestParseStat(t *testing.T) {
	s, ok := parseStat([]byte(statText))
	want := Stat{State: 'S', PPID: 17, Start: 98765, StartCode: 94129912487936, StartStack: 140735681040384}
	if !ok || s != want {
		t.Errorf("%+v, want %+v", s, want)
	}
	for _, text := range []string{"", "1 (x", "1 (x) S", strings.Replace(statText, "98765", "many", 1)} {
		if s, ok := parseStat([]byte(text)); ok {
			t.Errorf("%q: %+v", text, s)
		}
	}
}

func TestOwnProcess(t *testing.T) {
	pid := PID(os.Getpid())
	comm, err := pid.Comm()
	if err != nil || !strings.HasPrefix(os.Args[0][strings.LastIndex(os.Args[0], "/")+1:], comm) {
		t.Errorf("comm %q, %v", comm, err)
	}
	if ids, err := pid.NSPIDs(); err != nil || ids[0] != int(pid) {
		t.Errorf("ids %v, %v", ids, err)
	}
	if uid, err := pid.UID(); err != nil || int(uid) != os.Geteuid() {
		t.Errorf("uid %d, %v", uid, err)
	}
	if ids, err := pid.Threads(); err != nil || !slices.Contains(ids, int(pid)) || !slices.IsSorted(ids) {
		t.Errorf("threads %v, %v", ids, err)
	}
	if s, err := pid.Stat(); err != nil || s.PPID != os.Getppid() || s.Start == 0 || s.Dead() {
		t.Errorf("stat %+v, %v", s, err)
	}
	all, err := All()
	if err != nil || !slices.Contains(all, pid) || !slices.IsSorted(all) {
		t.Errorf("%d processes, %v", len(all), err)
	}
	if r, err := pid.Root(); err != nil || !r.Own() || r.String() != "/" {
		t.Errorf("root %v, %v", r, err)
	}
}

func TestEnv(t *testing.T) {
	t.Setenv("TARGET_TEST_ENV", "a=b c")
	c := launch(t, "sleep", "100")
	if v, ok, err := c.PID().Env("TARGET_TEST_ENV"); v != "a=b c" || !ok || err != nil {
		t.Errorf("%q %v %v", v, ok, err)
	}
	if v, ok, err := c.PID().Env("TARGET_TEST"); ok || err != nil {
		t.Errorf("%q %v %v", v, ok, err)
	}
}

func TestPIDNamespace(t *testing.T) {
	ns, err := OwnPIDNamespace()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("stat", "-Lc", "%Hd %Ld %i", "/proc/self/ns/pid").Output()
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(string(out))
	major, _ := strconv.ParseUint(f[0], 10, 64)
	minor, _ := strconv.ParseUint(f[1], 10, 64)
	inode, _ := strconv.ParseUint(f[2], 10, 64)
	if want := (PIDNamespace{major<<20 | minor, inode, inode == 0xEFFFFFFC}); ns != want {
		t.Errorf("%+v, want %+v", ns, want)
	}
}

// A process in a PID namespace of its own.
func TestInnerPIDNamespace(t *testing.T) {
	need.Root(t)
	cmd := exec.Command("sleep", "100")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	pid := PID(cmd.Process.Pid)
	if ids, err := pid.NSPIDs(); err != nil || !slices.Equal(ids, []int{int(pid), 1}) {
		t.Errorf("ids %v, %v", ids, err)
	}
	r, err := pid.Root()
	if want := "/proc/" + strconv.Itoa(int(pid)) + "/root"; err != nil || r.String() != want || r.Own() {
		t.Errorf("root %v, %v, want %s", r, err, want)
	}
}

func TestUsers(t *testing.T) {
	var u Users
	if name, ok := u.Name(0); name != "root" || !ok {
		t.Errorf("%q %v", name, ok)
	}
	if name, ok := u.Name(0xfffffff0); ok {
		t.Error(name)
	}
	names := parsePasswd([]byte("root:x:0:0:root:/root:/bin/bash\n# " +
		"comment\ntoor:x:0:0::/:\nbad:x:many:0:::\n:x:5:5:::\nlast:x:4294967295:1::/:"))
	if len(names) != 2 || names[0] != "root" || names[4294967295] != "last" {
		t.Errorf("%v", names)
	}
}
