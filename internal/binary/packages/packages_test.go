package packages

import (
	"os"
	"path/filepath"
	"testing"

	"trocar/internal/binary/opener"
)

// TestOwner: files of packages are found by what dpkg writes, on systems whose /lib is a link as well.
func TestOwner(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"libc6:amd64.list":   "/.\n/lib\n/lib/x86_64-linux-gnu/libc.so.6\n",
		"postgresql-15.list": "/.\n/usr/lib/postgresql/15/bin/postgres\n",
		"other.list":         "/.\n/usr/lib/postgresql/15/bin/postgres.old\n",
		"other.md5sums":      "/usr/bin/other\n",
	} {
		name = filepath.Join(dir, dpkg, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"/usr/lib/x86_64-linux-gnu/libc.so.6": "libc6", "/lib/x86_64-linux-gnu/libc.so.6": "libc6",
		"/usr/lib/postgresql/15/bin/postgres": "postgresql-15", "/usr/bin/other": "", "/lib": "libc6", "": "",
	} {
		if got := owner(opener.At(dir), path); got != want {
			t.Errorf("%q is of %q, want %q", path, got, want)
		}
	}
}
