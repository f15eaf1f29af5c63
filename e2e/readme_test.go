package e2e

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"trocar/internal/need"
)

// example is a command of a page with the output that is shown of it.
type example struct {
	command string
	output  []string
}

// examples finds the indented blocks in which a line begins with "# trocar".
func examples(text string) (found []example) {
	var last *example
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		code, ok := strings.CutPrefix(line, "    ")
		switch {
		case ok && strings.HasPrefix(code, "# trocar"):
			found = append(found, example{command: strings.TrimPrefix(code, "# ")})
			last = &found[len(found)-1]
		case ok && last != nil:
			last.output = append(last.output, code)
		case line != "":
			last = nil
		}
	}
	return found
}

var (
	blanks  = regexp.MustCompile(` +`)
	bar     = regexp.MustCompile(`\\\|[@ ]*\\\|`)
	address = regexp.MustCompile(`0x[0-9a-f]+`)
	number  = regexp.MustCompile(`[0-9]+(\\\.[0-9]+)?`)
)

// pattern is what a shown line looks like: numbers, bars and blanks may be others.
func pattern(line string) *regexp.Regexp {
	text := regexp.QuoteMeta(strings.TrimSpace(line))
	text = bar.ReplaceAllString(text, `\|[@ ]*\|`)
	text = blanks.ReplaceAllString(text, ` +`)
	text = address.ReplaceAllString(text, "\x00")
	text = number.ReplaceAllString(text, `[0-9]+(\.[0-9]+)?`)
	text = strings.ReplaceAll(text, "\x00", `0x[0-9a-f]+`)
	return regexp.MustCompile(`(?m)^\s*` + text + `\s*$`)
}

// TestReadme runs the examples of README.md: each line that is shown is found in the output.
func TestReadme(t *testing.T) { page(t, "../README.md", 10) }

// TestJSON does it for the page about records.
func TestJSON(t *testing.T) { page(t, "../docs/json.md", 4) }

// page runs the examples of a page, of which there are some.
func page(t *testing.T, name string, least int) {
	need.Root(t)
	need.Tool(t, "gcc")
	need.Tool(t, "g++")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	found := examples(string(text))
	if len(found) < least {
		t.Fatalf("%d examples", len(found))
	}
	dir := t.TempDir()
	if err := tracer(filepath.Join(dir, "trocar")); err != nil {
		t.Fatal(err)
	}
	source, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	moved := "-fdebug-prefix-map=" + source + "=/src" // the examples are the same wherever they are compiled
	for name, words := range map[string][]string{
		"climbers": append(append([]string{}, compilers[".c"]...), filepath.Join(source, "climbers.c"), "-pthread", moved),
		"till":     append(append([]string{}, compilers[".cc"]...), filepath.Join(source, "methods.cc"), moved),
	} {
		if out, err := exec.Command(words[0], append(words[1:], "-o", filepath.Join(dir, name))...).CombinedOutput(); err !=
			nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
	}
	shown(t, found, dir)
}

// TestSeeds does it for the page about what it took before, on a program that .NET runs.
func TestSeeds(t *testing.T) {
	app := dotnetApp(t, "seeds.cs")
	text, err := os.ReadFile("../docs/seeds.md")
	if err != nil {
		t.Fatal(err)
	}
	found := examples(string(text))
	if len(found) < 10 {
		t.Fatalf("%d examples", len(found))
	}
	dir := t.TempDir()
	if err := tracer(filepath.Join(dir, "trocar")); err != nil {
		t.Fatal(err)
	}
	if !fires(t) {
		found = slices.DeleteFunc(found, func(e example) bool {
			return strings.Contains(e.command, "trace") && strings.Contains(e.command, "SampleApp")
		})
	}
	program := startManaged(t, app, aheadOnly)
	shown(t, found, dir, "PID="+strconv.Itoa(program.Process.Pid))
	program.goOn()
	program.ends()
}

// shown runs examples where the tracer is in a folder: each line that is shown is found in the output.
func shown(t *testing.T, found []example, dir string, env ...string) {
	for _, e := range found {
		t.Run(e.command, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, "sh", "-c", e.command)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "BPFTRACE_COLOR=never", "LC_ALL=C")
			cmd.Env = append(cmd.Env, env...)
			// Apart: a program may write part of a line to its standard error, and a line of ours would follow it.
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			err := cmd.Run()
			if ctx.Err() != nil {
				t.Fatalf("it does not end: %v\n%s%s", err, &out, &errs)
			}
			for _, line := range e.output {
				if line == "…" || strings.TrimSpace(line) == "" {
					continue
				}
				if p := pattern(line); !p.Match(out.Bytes()) && !p.Match(errs.Bytes()) {
					t.Errorf("nothing like %q in\n%s%s", line, &out, &errs)
				}
			}
		})
	}
}
