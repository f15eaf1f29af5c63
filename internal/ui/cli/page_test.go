package cli

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"trocar"

	"github.com/spf13/pflag"

	"trocar/internal/need"
)

// TestHelp: each command says what it does, and has an example.
func TestHelp(t *testing.T) {
	a := &app{name: "trocar"}
	for _, c := range commands() {
		cmd := c.make(a)
		if cmd.Name() != c.name {
			t.Errorf("%s is called %s", c.name, cmd.Name())
		}
		if !strings.HasPrefix(cmd.Long, cmd.Short+".\n\n") || !strings.Contains(cmd.Long, "\n    trocar "+c.name) {
			t.Errorf("%s: its help does not begin with what it does, or has no example:\n%s", c.name, cmd.Long)
		}
		if strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: %q", c.name, cmd.Short)
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s: --%s says nothing", c.name, f.Name)
			}
		})
	}
}

func TestManual(t *testing.T) {
	run := func(args ...string) (int, string) {
		var out, errOut bytes.Buffer
		a := &app{name: "trocar", in: strings.NewReader(""), out: &out, err: &errOut}
		return a.main(context.Background(), args), out.String() + errOut.String()
	}
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"man"}, exitDone, ".SH EXAMPLES\n"},
		{[]string{"man", "trace"}, exitDone, ".B \\-\\-args EXPR\n"},
		{[]string{"man", "dist"}, exitDone, "trocar dist libc:malloc arg0 \\-\\- ls\n"},
		{[]string{"man", "nothing"}, exitUsage, `unknown command "nothing"`},
		{[]string{"man", "trace", "--dir", t.TempDir()}, exitUsage, "writes all pages"},
	} {
		if status, text := run(c.args...); status != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%q: status %d: %s", c.args, status, text)
		}
	}
	dir := filepath.Join(t.TempDir(), "man1")
	if status, text := run("man", "--dir", dir); status != exitDone {
		t.Fatalf("status %d: %s", status, text)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != len(commands())+1 {
		t.Fatalf("%d pages, %v", len(files), err)
	}
	groff := need.Tool(t, "groff")
	for _, f := range files {
		out, err := exec.Command(groff, "-man", "-Tutf8", "-ww", "-z", filepath.Join(dir, f.Name())).CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("%s: %v: %s", f.Name(), err, out)
		}
	}
}

func TestRoff(t *testing.T) {
	for line, want := range map[string]string{
		"plain": "plain", ".hidden": `\&.hidden`, "'quoted'": `\&'quoted'`, `a\n`: `a\en`, "--x": `\-\-x`, "": "",
	} {
		if got := roff(line); got != want {
			t.Errorf("%q: %q, not %q", line, got, want)
		}
	}
}

// TestCompletion: functions of a file, bounded, and nothing where nothing is known.
func TestCompletion(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := &recipeFlags{q: trocar.Question{Path: exe}}
	names := r.functionNames(t.Context(), "trocar/internal/ui/cli.TestComplet", time.Minute)
	if len(names) != 1 || names[0] != "trocar/internal/ui/cli.TestCompletion" {
		t.Errorf("%q", names)
	}
	if names := r.functionNames(t.Context(), "", time.Minute); len(names) == 0 || len(names) > mostComplete {
		t.Errorf("%d names", len(names))
	}
	for _, r := range []*recipeFlags{{}, {q: trocar.Question{Path: "/nonexistent"}}} {
		if names := r.functionNames(t.Context(), "x", time.Minute); len(names) > 0 {
			t.Errorf("%q", names)
		}
	}
	if names := r.functionNames(t.Context(), "a*", time.Minute); len(names) > 0 {
		t.Errorf("%q", names)
	}
}

// TestTooSlowToComplete: what takes too long is left out, and there is a most.
func TestTooSlowToComplete(t *testing.T) {
	never := make(chan struct{})
	defer close(never)
	if words := within(time.Millisecond, func(func(string)) { <-never }); len(words) > 0 {
		t.Errorf("%q", words)
	}
	words := within(time.Hour, func(add func(string)) {
		for range 2 * mostComplete {
			add("word")
		}
	})
	if len(words) != mostComplete {
		t.Errorf("%d words", len(words))
	}
}
