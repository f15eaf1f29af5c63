package kernel

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"trocar/internal/compile/feature"
	"trocar/internal/need"
	"trocar/internal/process/probe"
)

// TestFeatures: what the version says must be there is there. (Never the other way round: distributions backport.)
func TestFeatures(t *testing.T) {
	need.Root(t)
	var major, minor int
	fmt.Sscanf(Release(), "%d.%d", &major, &minor)
	f := NewFeatures()
	for _, x := range feature.List() {
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
		case x == feature.ProbeWriteUser, x == feature.KernelBTF: // may be locked down or not built in
		default:
			t.Errorf("%s is from %s, but was not found on %s", info.Name, info.Since, Release())
		}
	}
	f.Disable(feature.Loop)
	if f.Has(feature.Loop) {
		t.Error("a disabled feature is there")
	}
	err := f.Need(feature.Loop, "use fewer loops")
	var lacks *LacksError
	if !errors.As(err, &lacks) || !Unavailable(err) || !strings.Contains(err.Error(), "5.17") ||
		!strings.Contains(err.Error(), "use fewer loops") {
		t.Errorf("%v", err)
	}
	if f.Need(feature.AttachCookie, "") != nil && f.Has(feature.AttachCookie) {
		t.Error("what is there is said to be missing")
	}
}

// TestUnprivileged: as nobody there is one clear error, of the type that means exit status 4.
func TestUnprivileged(t *testing.T) {
	if os.Getenv("TROCAR_TEST_NOBODY") != "" {
		_, err := Load(&Object{Programs: []*Program{{Name: "p", Type: probe.UprobeProgram, Insns: returnZero()}}}, Options{})
		fmt.Printf("unavailable %v: %v\n", Unavailable(err), err)
		return
	}
	need.Root(t)
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
	if err != nil || !strings.Contains(string(out), "unavailable true: not permitted to load the program of p: missing "+
		"CAP_BPF, CAP_PERFMON; run it as root") {
		t.Errorf("%v\n%s", err, out)
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
	log := "0: R1=ctx()\n1: (79) r0 = *(u64 *)(r2 +0)\nR2 !read_ok\nprocessed 1 insns (limit 1000000)\n\x00"
	if got := lastWords(log); got != "R2 !read_ok" {
		t.Errorf("%q", got)
	}
	if got := lastWords("processed 1 insns"); got != "no reason given" {
		t.Errorf("%q", got)
	}
	err := explain("load a program", fmt.Errorf("load: %w", unix.EPERM))
	var perm *PermissionError
	if !errors.As(err, &perm) || !Unavailable(err) || !errors.Is(err, unix.EPERM) ||
		!strings.HasPrefix(err.Error(), "not permitted to load a program") {
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
	need.Root(t)
	r := Inspect(NewFeatures())
	if r.Release != Release() || r.OnlineCPUs < 1 || r.PossibleCPUs < r.OnlineCPUs || r.RingSize == 0 ||
		len(r.Sources) == 0 {
		t.Errorf("%+v", r)
	}
	if len(r.Features) != len(feature.List()) || r.Features[feature.UprobeMulti].Name != "multi-uprobe links" {
		t.Errorf("%+v", r.Features)
	}
}
