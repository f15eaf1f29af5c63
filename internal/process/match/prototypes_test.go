package match

import (
	"fmt"
	"strings"
	"testing"

	"trocar/internal/binary/abi"
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

// TestPrototypeParams: functions of the C library that are system calls have their parameters, where C passes them.
func TestPrototypeParams(t *testing.T) {
	shown := func(a *abi.Arch, file, function string) string {
		var list []string
		for _, v := range paramsOf(a, file, function) {
			name, _ := a.ScriptName(v.Place.Reg)
			list = append(list, fmt.Sprintf("%s:%s %s", name, v.Name, v.Type))
		}
		return strings.Join(list, ", ")
	}
	x86, arm := abi.AMD64, abi.ARM64
	for _, c := range []struct {
		arch                 *abi.Arch
		file, function, want string
	}{
		{x86, "/usr/lib/libc.so.6", "open64@@GLIBC_2.2.5", "di:filename char *, si:flags open"},
		{x86, "/lib/ld-musl-x86_64.so.1", "waitpid", "di:upid int32, si:stat_addr void *, dx:options wait"},
		{x86, "/usr/lib/libc.so.6", "splice", "di:fd_in int32, si:off_in void *, dx:fd_out int32, cx:off_out void *, " +
			"r8:len uint64, r9:flags splice"},
		{x86, "/usr/lib/libc.so.6", "nanosleep", "di:rqtp timespec *, si:rmtp void *"},
		{arm, "/usr/lib/libc.so.6", "write", "r0:fd int32, r1:buf void *, r2:count uint64"},
		{x86, "/usr/lib/libc.so.6", "clone", ""},
		{x86, "/usr/lib/libc.so.6", "ope", ""},
		{x86, "/usr/lib/libm.so.6", "read", ""},
		{nil, "/usr/lib/libc.so.6", "read", ""},
	} {
		if got := shown(c.arch, c.file, c.function); got != c.want {
			t.Errorf("%s of %s: %s, want %s", c.function, c.file, got, c.want)
		}
	}
	for word := range strings.FieldsSeq(asCalls) {
		name, _, _ := strings.Cut(word, "=")
		name, _, _ = strings.Cut(name, "/")
		for _, a := range []*abi.Arch{x86, arm} {
			if len(paramsOf(a, "libc.so.6", name)) == 0 {
				t.Errorf("%s has no parameters", name)
			}
		}
	}
}
