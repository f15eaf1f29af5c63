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
