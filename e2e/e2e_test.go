package e2e

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"trocar/internal/kernel"
	"trocar/internal/need"
	"trocar/internal/process/target"
	"trocar/internal/process/tracefs"
)

func TestScripts(t *testing.T) { scripts(t, nil) }

// scripts runs some of the scripts, none: all, with the programs of folders before all others.
func scripts(t *testing.T, files []string, first ...string) {
	need.Root(t)
	bin := t.TempDir()
	if err := tracer(filepath.Join(bin, "trocar")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("trocar", filepath.Join(bin, "bpftrace")); err != nil {
		t.Fatal(err)
	}
	fixtures, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	if signal.Ignored(syscall.SIGHUP) { // by nohup(1): the programs would inherit it, and some are to end by it
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	b := &builder{source: fixtures, out: t.TempDir()}
	dir := "script"
	if len(files) > 0 {
		dir = ""
	}
	testscript.Run(t, testscript.Params{
		Dir: dir, Files: files,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", strings.Join(append(first, bin, env.Getenv("PATH")), string(os.PathListSeparator)))
			env.Setenv("BPFTRACE_COLOR", "never")
			r := &running{processes: map[string]*process{}}
			env.Values[runningKey{}] = r
			env.Defer(r.end)
			return nil
		},
		Condition: condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"fixture": b.fixture,
			"status":  status,
			"start":   start,
			"attach":  attach,
			"go":      goOn,
			"await":   await,
			"finish":  finish,
			"tracefs": traceFile,
		},
		RequireUniqueNames: true,
	})
}

// tracer puts the tracer to be tested at a path: TROCAR_E2E_TRACER, or one that is built now. Other tracers show
// whether a case asks for something that is only ours.
func tracer(path string) error {
	if other := os.Getenv("TROCAR_E2E_TRACER"); other != "" {
		return os.Symlink(other, path)
	}
	build := exec.Command("go", "build", "-tags=nethttpomithttp2", "-trimpath", "-buildvcs=false", "-ldflags=-s -w",
		"-o", path, "../cmd/trocar")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building trocar: %w\n%s", err, out)
	}
	return nil
}

// tracerFor is the tracer to be tested, in a folder of the test.
func tracerFor(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trocar")
	if err := tracer(path); err != nil {
		t.Fatal(err)
	}
	return path
}

func traceFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: tracefs FILE")
	}
	files, err := tracefs.Open()
	ts.Check(err)
	defer files.Close()
	text, err := files.ReadFile(args[0])
	ts.Check(err)
	_, err = ts.Stdout().Write(text)
	ts.Check(err)
}

func condition(cond string) (bool, error) {
	if tool, ok := strings.CutPrefix(cond, "tool:"); ok {
		return need.HasTool(tool)
	}
	if path, ok := strings.CutPrefix(cond, "file:"); ok {
		_, err := os.Stat(path)
		return err == nil, nil
	}
	switch cond {
	case "runs:386":
		return runs386()
	case "tells:exit":
		return tellsExit()
	case "reads:floats":
		all := kernel.Inspect(kernel.NewFeatures()).Features
		return slices.ContainsFunc(all, func(f kernel.FeatureState) bool {
			return f.Name == "floating-point registers" && f.OK
		}), nil
	case "fires:breakpoint":
		all := kernel.Inspect(kernel.NewFeatures()).Sources
		return slices.ContainsFunc(all, func(s kernel.Source) bool { return s.Name == "breakpoint" && s.OK }), nil
	}
	return false, fmt.Errorf("unknown condition %q", cond)
}

// tellsExit tries whether the kernel tells how a process ended that is reaped (Linux 6.15).
func tellsExit() (bool, error) {
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		return false, err
	}
	if err := cmd.Start(); err != nil {
		return false, err
	}
	h := target.Hold(target.PID(cmd.Process.Pid))
	defer h.Close()
	in.Close()
	if err := cmd.Wait(); err != nil {
		return false, err
	}
	_, ok := h.Exit()
	return ok, nil
}

// runs386 tries a 32-bit program: exit(0).
func runs386() (bool, error) {
	code := []byte{0x31, 0xdb, 0x8d, 0x43, 0x01, 0xcd, 0x80} // xor ebx, ebx; lea eax, [ebx+1]; int 0x80
	const base, headers = 0x8048000, 52 + 32
	le := binary.LittleEndian
	image := append([]byte("\x7fELF\x01\x01\x01"), make([]byte, 9)...)
	image = le.AppendUint16(image, uint16(elf.ET_EXEC))
	image = le.AppendUint16(image, uint16(elf.EM_386))
	for _, word := range []uint32{1, base + headers, 52, 0, 0} {
		image = le.AppendUint32(image, word)
	}
	for _, half := range []uint16{52, 32, 1, 40, 0, 0} {
		image = le.AppendUint16(image, half)
	}
	size := uint32(headers + len(code))
	for _, word := range []uint32{uint32(elf.PT_LOAD), 0, base, base, size, size, uint32(elf.PF_R | elf.PF_X), 4096} {
		image = le.AppendUint32(image, word)
	}
	dir, err := os.MkdirTemp("", "runs386")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "true")
	if err := os.WriteFile(path, append(image, code...), 0o755); err != nil {
		return false, err
	}
	err = exec.Command(path).Run()
	if errors.Is(err, syscall.ENOEXEC) {
		return false, nil
	}
	return err == nil, err
}
