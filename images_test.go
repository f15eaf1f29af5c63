package trocar

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"trocar/internal/need"
)

const treeSource = `struct leaf { int n; };
__attribute__((noinline)) int look(struct leaf *l) { return l->n; }
int main(void) { struct leaf l = {0}; return look(&l); }
`

// tree builds a small C program with debug information.
func tree(t *testing.T) string {
	t.Helper()
	gcc := need.Tool(t, "gcc")
	dir := t.TempDir()
	source, path := filepath.Join(dir, "tree.c"), filepath.Join(dir, "tree")
	if err := os.WriteFile(source, []byte(treeSource), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(gcc, "-g", "-O1", "-o", path, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// isMapped tells whether this process has a file open.
func isMapped(t *testing.T, path string) bool {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(maps), path)
}

// TestFilesOpenedOnce: a question, its script and what the run would ask of the probed file open that once.
func TestFilesOpenedOnce(t *testing.T) {
	path := tree(t)
	m, err := NewMachine("amd64", "7.0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, done := WithFiles(t.Context())
	script, err := Ask(ctx, Request{Question: &Question{Kind: QuestionTrace, Functions: []string{"look"}, Path: path}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Compile(ctx, Request{Script: script.Text}, m)
	if err != nil {
		t.Fatal(err)
	}
	im, err := p.images.Open(p.code.Points[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	if n := p.images.Opened(); n != 1 {
		t.Errorf("opened %d files", n)
	}
	if err := im.Close(); err != nil {
		t.Error(err)
	}
	p.Close()
	done()
	if isMapped(t, path) {
		t.Error("it is still open")
	}
}

// TestFilesClosed: without WithFiles each call closes what it opened.
func TestFilesClosed(t *testing.T) {
	path := tree(t)
	m, err := NewMachine("amd64", "7.0")
	if err != nil {
		t.Fatal(err)
	}
	q := Request{Question: &Question{Kind: QuestionTrace, Functions: []string{"look"}, Path: path}}
	if _, err := Ask(t.Context(), q); err != nil || isMapped(t, path) {
		t.Errorf("Ask: %v, or it is still open", err)
	}
	// The files outlive the context of Compile, not the program.
	ctx, cancel := context.WithCancel(t.Context())
	p, err := Compile(ctx, q, m)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if n := p.images.Opened(); n != 1 || !isMapped(t, path) {
		t.Errorf("opened %d files", n)
	}
	p.Close()
	p.Close()
	if isMapped(t, path) {
		t.Error("Compile: it is still open")
	}
	if _, err := Compile(t.Context(), Request{Script: "uprobe:" + path + ":nothing { }"}, m); err == nil ||
		isMapped(t, path) {
		t.Errorf("Compile fails: %v, or it is still open", err)
	}
	b, err := OpenBinary(t.Context(), path, Files{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Types("struct leaf"); err != nil {
		t.Error(err)
	}
	if err := b.Close(); err != nil || isMapped(t, path) {
		t.Errorf("OpenBinary: %v, or it is still open", err)
	}
}
