package need

import (
	"strings"
	"testing"
)

// recorder is a test that only notes what becomes of it.
type recorder struct {
	testing.TB
	failed, skipped string
}

func (r *recorder) Helper() {}
func (r *recorder) Fatal(args ...any) {
	r.failed = args[0].(string)
	panic(r)
}

func (r *recorder) Skipf(_ string, args ...any) {
	r.skipped = args[0].(string)
	panic(r)
}

func record(t *testing.T, f func(testing.TB)) (r *recorder) {
	r = &recorder{TB: t}
	defer func() {
		if p := recover(); p != nil && p != any(r) {
			panic(p)
		}
	}()
	f(r)
	return r
}

func TestLacking(t *testing.T) {
	const all, docker = "Uid:\t0\nCapEff:\t000001ffffffffff\nCapBnd:\t0\n", "Uid:\t0\nCapEff:\t00000000a80425fb\n"
	for _, c := range []struct {
		user              int
		ids, status, want string
	}{
		{0, "         0          0 4294967295\n", all, ""},
		{1000, "         0          0 4294967295\n", all, "root"},
		{0, "         0       1000          1\n", all, "root of the initial user namespace"},
		{0, allIDs, docker, "CAP_SYS_PTRACE, CAP_SYS_ADMIN, CAP_PERFMON, CAP_BPF"},
		{0, allIDs, "", "CapEff in /proc/self/status"},
	} {
		if got := lacking(c.user, c.ids, c.status); got != c.want {
			t.Errorf("user %d of %q with %q lacks %q, want %q", c.user, c.ids, c.status, got, c.want)
		}
	}
}

// TestRoot: without privileges a skip by itself, a failure where they are required.
func TestRoot(t *testing.T) {
	for _, required := range []string{"", "1"} {
		t.Setenv(requireRoot, required)
		r := record(t, Root)
		ok, lacks := HasRoot()
		switch {
		case lacks == "":
			if r.failed != "" || r.skipped != "" || !ok {
				t.Errorf("%+v with all privileges", r)
			}
		case required == "":
			if r.failed != "" || r.skipped != lacks || ok {
				t.Errorf("%+v without %s: not skipped", r, lacks)
			}
		default:
			if r.failed != lacks+" is missing, and TROCAR_REQUIRE_ROOT is set" || !ok {
				t.Errorf("%+v without %s: not a failure", r, lacks)
			}
		}
	}
}

// TestMissing: a skip by itself, a failure where the thing is required.
func TestMissing(t *testing.T) {
	const tool, file = "no-such-program", "/no/such/file"
	for _, f := range []func(testing.TB){
		func(t testing.TB) { Tool(t, tool) },
		func(t testing.TB) { File(t, file) },
	} {
		t.Setenv(requireTools, "")
		if r := record(t, f); r.failed != "" || r.skipped == "" {
			t.Errorf("%+v: not skipped", r)
		}
		t.Setenv(requireTools, "1")
		if r := record(t, f); !strings.HasSuffix(r.failed, " is missing, and TROCAR_REQUIRE_TOOLS is set") {
			t.Errorf("%+v: not a failure", r)
		}
	}
	if ok, err := HasTool(tool); ok || err == nil {
		t.Error("a required program may be missing")
	}
	if r := record(t, func(t testing.TB) { Tool(t, "sh"); File(t, "/") }); r.failed != "" || r.skipped != "" {
		t.Errorf("%+v: what is there is missing", r)
	}
}
