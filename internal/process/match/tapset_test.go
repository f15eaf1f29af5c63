package match

import (
	"strings"
	"testing"

	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
)

func TestNameArguments(t *testing.T) {
	for _, c := range []struct {
		provider, name string
		sizes          string
		want           string
	}{
		{"python", "function__return", "884", "char *file, char *function, int32 line"},
		{"python", "function__return", "88", "uint64 arg0, uint64 arg1"},
		{"python", "function", "884", "uint64 arg0, uint64 arg1, int32 arg2"},
		{"other", "function__return", "84", "uint64 arg0, int32 arg1"},
		{"hotspot", "gc__begin", "4", "int32 full"},
		{"postgresql", "lwlock__acquire", "84", "char *lock, int32 mode"},
		{"postgresql", "lwlock__release", "8", "char *lock"},
		{"postgresql", "lwlock__release", "84", "uint64 arg0, int32 arg1"}, // of old versions, where the second is no mode
		{"postgresql", "query__start", "8", "char *text"},
		{"postgresql", "query__start", "4", "int32 text"}, // an address would have 8 bytes
	} {
		sc := &probe.Scope{}
		for _, size := range c.sizes {
			typ := types.TInt32
			if size == '8' {
				typ = types.TUint64
			}
			sc.ArgN, sc.ArgNTypes = append(sc.ArgN, types.Place{}), append(sc.ArgNTypes, typ)
		}
		nameArguments(sc, c.provider, c.name)
		var got []string
		for _, v := range sc.Args {
			got = append(got, types.Declare(v.Type, v.Name))
		}
		if got := strings.Join(got, ", "); got != c.want {
			t.Errorf("%s:%s: %s", c.provider, c.name, got)
		}
	}
}

// Each line of the table is as it is read.
func TestTapsets(t *testing.T) {
	for line := range strings.Lines(strings.TrimSpace(tapsets)) {
		words := strings.Fields(line)
		provider, names, ok := strings.Cut(words[0], ":")
		if !ok || provider == "" || names == "" || strings.Contains(names, ",,") || len(words) < 2 {
			t.Errorf("%q", line)
		}
	}
}
