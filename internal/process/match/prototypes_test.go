package match

import (
	"strings"
	"testing"

	"trocar/internal/binary/types"
)

func TestPrototypes(t *testing.T) {
	for _, c := range []struct {
		file, name string
		want       *types.Type
	}{
		{"/usr/lib/libc.so.6", "read", types.TInt64},
		{"/usr/lib/libc.so.6", "open64", types.TInt32},
		{"/usr/lib/libc.so.6", "fopen@@GLIBC_2.1", cPlace},
		{"/lib/ld-musl-x86_64.so.1", "getenv", cText},
		{"/usr/lib/libssl.so.3", "SSL_read", types.TInt32},
		{"/usr/lib/libssl.so.3", "read", nil},
		{"/usr/bin/libc.so", "exit", nil},
		{"./read", "read", nil},
	} {
		if got := resultOf(c.file, c.name); got != c.want {
			t.Errorf("%s:%s returns %v, want %v", c.file, c.name, got, c.want)
		}
	}
	// A function is in one list only.
	for _, lib := range knownResults {
		seen := map[string]bool{}
		for _, p := range lib.results {
			for name := range strings.FieldsSeq(p.names) {
				if seen[name] {
					t.Errorf("%s is listed twice", name)
				}
				seen[name] = true
			}
		}
	}
}
