package match

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"trocar/internal/need"
	"trocar/internal/process/probe"
	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// find matches a script's probes and gives points and messages.
func find(t testing.TB, script string, opts Options) ([]*probe.Point, *Result) {
	t.Helper()
	var diags diag.List
	file := syntax.Parse(&diag.Source{Name: "test", Text: script}, syntax.ParseOptions{}, &diags)
	if diags.Errors() > 0 {
		t.Fatalf("%s: %s", script, diags.All[0].Text)
	}
	opts.Demangle = true
	r := All(t.Context(), file.Probes, opts)
	var points []*probe.Point
	for _, ms := range r.Matches {
		for _, m := range ms {
			points = append(points, m.Points...)
		}
	}
	return points, r
}

// messages is all that was said, with notes and hints.
func messages(r *Result) string {
	var b strings.Builder
	for _, d := range r.Diags.All {
		fmt.Fprintf(&b, "%s: %s\n", d.Severity, d.Text)
		for _, n := range d.Notes {
			fmt.Fprintf(&b, "note: %s\n", n.Text)
		}
		for _, h := range d.Hints {
			fmt.Fprintf(&b, "hint: %s\n", h)
		}
	}
	return b.String()
}

// compile builds a C text and gives the path of the result.
func compile(t testing.TB, dir, name, source string, flags ...string) string {
	t.Helper()
	need.Tool(t, "gcc")
	src := filepath.Join(dir, name+".c")
	if err := os.WriteFile(src, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, name)
	if msg, err := exec.Command("gcc", append([]string{"-o", out, src}, flags...)...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, msg)
	}
	return out
}

// start runs a program that says "ready" and then waits for its input to end.
func start(t testing.TB, cmd *exec.Cmd) int {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatalf("cannot start: %v", err)
	}
	t.Cleanup(func() {
		in.Close()
		done := make(chan struct{})
		go func() { cmd.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(5 * time.Second):
			cmd.Process.Kill()
			<-done
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil && err != io.EOF || !strings.Contains(line, "ready") {
		t.Fatalf("the program said %q, %v", line, err)
	}
	return cmd.Process.Pid
}

const waiter = `
#include <stdio.h>
#include <unistd.h>
int tally(int n);
__attribute__((noipa)) int stride(int n) { return tally(n) + 1; }
int main(void) { char c; printf("ready %d\n", stride(1)); fflush(stdout); while (read(0, &c, 1) > 0) ; return 0; }`

const library = `__attribute__((noipa)) int tally(int n) { return n * 3; }
__attribute__((noipa)) int tally_all(int n) { return n * 4; }`

// world is a program with a library, running.
func world(t testing.TB) (dir, prog, lib string, pid int) {
	dir = t.TempDir()
	lib = compile(t, dir, "libtally.so.3", library, "-shared", "-fPIC", "-O1", "-Wl,-soname,libtally.so.3")
	prog = compile(t, dir, "waiter", waiter, "-O1", lib, "-Wl,-rpath,"+dir)
	return dir, prog, lib, start(t, exec.Command(prog))
}

func TestProcess(t *testing.T) {
	_, prog, lib, pid := world(t)
	opts := Options{PID: pid}
	for _, c := range []struct {
		script string
		names  []string
	}{
		{"u:stride {}", []string{"uprobe:" + prog + ":stride"}},
		{"u:st*ide {}", []string{"uprobe:" + prog + ":stride"}},
		{"u:" + prog + ":stride {}", []string{"uprobe:" + prog + ":stride"}},
		{"u:libtally:tally {}", []string{"uprobe:" + lib + ":tally"}},
		{"u:libtally.so.3:tally {}", []string{"uprobe:" + lib + ":tally"}},
		{"u:*:tally* {}", []string{"uprobe:" + lib + ":tally", "uprobe:" + lib + ":tally_all"}},
		{"u:" + filepath.Dir(prog) + "/*:tally {}", []string{"uprobe:" + lib + ":tally"}},
		{fmt.Sprintf("u:/proc/%d/exe:stride {}", pid), []string{fmt.Sprintf("uprobe:/proc/%d/exe:stride", pid)}},
		{
			fmt.Sprintf("u:/proc/%d/root%s:tally {}", pid, lib),
			[]string{fmt.Sprintf("uprobe:/proc/%d/root%s:tally", pid, lib)},
		},
	} {
		points, r := find(t, c.script, opts)
		var names []string
		for _, p := range points {
			names = append(names, p.Name)
			if p.PID != pid {
				t.Errorf("%s: for process %d", c.script, p.PID)
			}
			if f, err := os.Open(p.Path); err != nil {
				t.Errorf("%s: %v", c.script, err)
			} else {
				f.Close()
			}
		}
		if strings.Join(names, "\n") != strings.Join(c.names, "\n") {
			t.Errorf("%s: %v, want %v\n%s", c.script, names, c.names, messages(r))
		}
	}
	if _, r := find(t, "u:libnothere:f {}", opts); r.Diags.Errors() != 1 {
		t.Errorf("a library that is not there: %s", messages(r))
	}
	if entries, _ := listAll("", false, opts); !hasEntry(entries, "uprobe:"+lib+":tally") {
		t.Error("the list of a process lacks its library's functions")
	}
	if entries, _ := listAll("uprobe:*", false, opts); !hasEntry(entries, "uprobe:"+prog+":stride") {
		t.Error("the list of a process lacks its program's functions")
	}
}

func hasEntry(entries []Entry, name string) bool {
	for _, e := range entries {
		if e.Name == name {
			return true
		}
	}
	return false
}

// TestReplacedFile probes the file that runs, not the one that has taken its name meanwhile.
func TestReplacedFile(t *testing.T) {
	dir, prog, lib, pid := world(t)
	old, _ := find(t, "u:"+lib+":tally {}", Options{})
	if len(old) != 1 {
		t.Fatal("no point in the library")
	}
	// A longer function in front moves the others.
	fresh := compile(t, t.TempDir(), "fresh",
		`__attribute__((noipa)) int pad(int n) { return n * n * n + n / 7 + (n ^ 5); }`+library, "-shared", "-fPIC", "-O1")
	if err := os.Rename(fresh, lib); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(prog); err != nil {
		t.Fatal(err)
	}
	now, _ := find(t, "u:"+lib+":tally {}", Options{})
	if len(now) != 1 || now[0].Offset == old[0].Offset {
		t.Fatal("the new library has the function at the same place")
	}
	t.Run("library", func(t *testing.T) {
		need.Root(t) // a file that is mapped and has no name any more is opened by its mapping
		for _, script := range []string{"u:" + lib + ":tally {}", "u:libtally:tally {}", "u:*:tally {}"} {
			points, r := find(t, script, Options{PID: pid})
			if len(points) != 1 || points[0].Offset != old[0].Offset || !strings.Contains(points[0].Path, "map_files") {
				t.Errorf("%s: %+v\n%s", script, points, messages(r))
			}
		}
	})
	for _, script := range []string{
		"u:stride {}", "u:" + prog + ":stride {}",
		fmt.Sprintf("u:/proc/%d/exe:stride {}", pid), "u:*:stride {}",
	} {
		points, r := find(t, script, Options{PID: pid})
		if len(points) != 1 {
			t.Errorf("%s after %s is gone: %d points\n%s", script, prog, len(points), messages(r))
		}
	}
	_ = dir
}

// TestOtherRoot finds files by the paths that a process in another root knows them by.
func TestOtherRoot(t *testing.T) {
	need.Root(t)
	need.Tool(t, "unshare")
	dir := t.TempDir()
	rootfs := filepath.Join(dir, "rootfs")
	for _, d := range []string{"bin", "lib", "lib64", "etc", "opt/inner"} {
		if err := os.MkdirAll(filepath.Join(rootfs, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	lib := compile(t, dir, "libinner.so.1", library, "-shared", "-fPIC", "-O1", "-Wl,-soname,libinner.so.1")
	prog := compile(t, dir, "cell", strings.ReplaceAll(waiter, "stride", "cell_step"), "-O1", lib, "-Wl,-rpath,/opt/inner",
		"-Wl,--dynamic-linker=/lib64/ld.so")
	for from, to := range map[string]string{
		lib: "opt/inner/libinner.so.1", prog: "bin/cell", "/lib64/ld-linux-x86-64.so.2": "lib64/ld.so",
		"/lib/x86_64-linux-gnu/libc.so.6": "lib/libc.so.6",
	} {
		need.File(t, from)
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(rootfs, to), data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// A link that leads out of the container if it is followed from our root.
	if err := os.Symlink("/bin/cell", filepath.Join(rootfs, "opt/link")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("unshare", "--mount", "chroot", rootfs, "/bin/cell")
	cmd.Env = []string{"PATH=/bin:/usr/bin:/sbin:/usr/sbin", "LD_LIBRARY_PATH=/lib"}
	pid := start(t, cmd)
	root := fmt.Sprintf("/proc/%d/root", pid)
	for script, path := range map[string]string{
		"u:/bin/cell:cell_step {}":             "/bin/cell",
		"u:/opt/link:cell_step {}":             "/bin/cell",
		"u:cell_step {}":                       "/bin/cell",
		"u:cell:cell_step {}":                  "/bin/cell",
		"u:/opt/inner/libinner.so.1:tally {}":  "/opt/inner/libinner.so.1",
		"u:libinner:tally {}":                  "/opt/inner/libinner.so.1",
		"u:/opt/*/libinner*:tally {}":          "/opt/inner/libinner.so.1",
		"u:*:tally {}":                         "/opt/inner/libinner.so.1",
		"u:" + root + "/bin/cell:cell_step {}": "/bin/cell",
		"u:" + root + "/opt/link:cell_step {}": "/bin/cell",
	} {
		points, r := find(t, script, Options{PID: pid})
		if len(points) != 1 || !sameFile(t, points[0].Path, filepath.Join(rootfs, path)) {
			t.Errorf("%s: %+v\n%s", script, points, messages(r))
			continue
		}
		if name, _, _ := strings.Cut(strings.TrimPrefix(points[0].Name, "uprobe:"), ":"); !strings.Contains(script, "link") &&
			!sameFile(t, name, filepath.Join(rootfs, path)) {
			t.Errorf("%s: name %s", script, points[0].Name)
		}
	}
	if points, _ := find(t, "u:/bin/bash:readline {}", Options{PID: pid}); len(points) != 0 {
		t.Error("a path of ours was taken for one of the process")
	}
}

func sameFile(t *testing.T, a, b string) bool {
	t.Helper()
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

func TestGoneProcess(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	_, r := find(t, "u:f {}", Options{PID: cmd.Process.Pid})
	if r.Diags.Errors() == 0 || !strings.Contains(messages(r), fmt.Sprint(cmd.Process.Pid)) {
		t.Errorf("%s", messages(r))
	}
}

// TestChild finds the libraries that a process will load that was stopped before it did.
func TestChild(t *testing.T) {
	_, prog, lib, pid := world(t)
	points, r := find(t, "u:*:tally {}", Options{ChildPID: pid})
	if len(points) != 1 {
		t.Fatalf("%d points\n%s", len(points), messages(r))
	}
	fs := newFiles(t.Context(), Options{ChildPID: pid})
	defer fs.close()
	b, err := fs.openPath(prog, prog)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, p := range fs.neededBy(b) {
		found = found || sameFile(t, p, lib)
	}
	if !found {
		t.Errorf("needed: %v, want %s", fs.neededBy(b), lib)
	}
}
