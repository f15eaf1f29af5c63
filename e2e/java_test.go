package e2e

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestJavaVersions runs what is about Java with all versions that are installed, beside that which is on the path.
func TestJavaVersions(t *testing.T) {
	files, err := filepath.Glob("script/java*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	programs, err := filepath.Glob("/usr/lib/jvm/*/bin/javac")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	resolved := func(path string) string {
		if found, err := filepath.EvalSymlinks(path); err == nil {
			return found
		}
		return path
	}
	if path, err := exec.LookPath("javac"); err == nil {
		seen[resolved(path)] = true
	}
	others := 0
	for _, path := range programs {
		if path = resolved(path); !seen[path] {
			seen[path] = true
			others++
			dir := filepath.Dir(path)
			t.Run(filepath.Base(filepath.Dir(dir)), func(t *testing.T) { scripts(t, files, dir) })
		}
	}
	if others == 0 {
		t.Skip("no other version of Java is installed")
	}
}
