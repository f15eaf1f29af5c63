package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// A builder builds each fixture once for each set of flags, when it is first asked for.
type builder struct {
	source, out string
	built       sync.Map // of key to func() error
}

// compilers by suffix of the source; the output and the source are added.
var compilers = map[string][]string{
	".c":  {"gcc", "-O2", "-g", "-fno-omit-frame-pointer", "-fcf-protection=none"},
	".cc": {"g++", "-O2", "-g", "-fno-omit-frame-pointer", "-fcf-protection=none"},
	".rs": {"rustc", "-O", "-g", "-Cforce-frame-pointers=yes"},
	".go": {"go", "build", "-buildvcs=false"},
}

func (b *builder) fixture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: fixture SOURCE [NAME [FLAG…]]")
	}
	source, suffix := args[0], filepath.Ext(args[0])
	name, flags := strings.TrimSuffix(source, suffix), []string(nil)
	if len(args) > 1 {
		name, flags = args[1], args[2:]
	}
	command, ok := compilers[suffix]
	if !ok {
		ts.Fatalf("no compiler for %q", suffix)
	}
	sum := sha256.Sum256([]byte(source + "\x00" + strings.Join(flags, "\x00")))
	out := filepath.Join(b.out, hex.EncodeToString(sum[:8]))
	compile, _ := b.built.LoadOrStore(out, sync.OnceValue(func() error {
		words, env := append([]string{}, command...), []string(nil)
		for _, f := range flags {
			if compiler, ok := strings.CutPrefix(f, "CC="); ok {
				words[0] = compiler
			} else if name, _, ok := strings.Cut(f, "="); ok && name != "" && strings.ToUpper(name) == name && name[0] != '-' {
				env = append(env, f)
			} else {
				words = append(words, f)
			}
		}
		words = append(words, "-o", out, filepath.Join(b.source, source))
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Env = append(os.Environ(), env...)
		if text, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", strings.Join(words, " "), err, text)
		}
		return nil
	}))
	ts.Check(compile.(func() error)())
	// A copy of its own: probes belong to an inode, and cases run at the same time.
	data, err := os.ReadFile(out)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(name), data, 0o755))
}
