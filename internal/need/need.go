// Package need says what a test cannot run without. Where it is missing the test is skipped with the reason; where
// TROCAR_REQUIRE_ROOT or TROCAR_REQUIRE_TOOLS is set, as in the check of a change, that is a failure.
//
// It is imported by tests only. What is there and fails is never a reason to skip.
package need

import (
	"os"
	"os/exec"
	"testing"
)

// The variables that turn a skip into a failure; any value but "" counts.
const (
	requireRoot  = "TROCAR_REQUIRE_ROOT"
	requireTools = "TROCAR_REQUIRE_TOOLS"
)

// Root is for tests that change the kernel's state, mount or look into processes of others.
func Root(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		missing(t, "root", requireRoot)
	}
}

// Tool gives the path of a program, looked for in PATH and in /sbin, which is often not in PATH of those who are not
// root.
func Tool(t testing.TB, name string) string {
	t.Helper()
	for _, name := range []string{name, "/usr/sbin/" + name, "/sbin/" + name} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	missing(t, name, requireTools)
	return ""
}

// File is for tests that read a file which a package of e2e/deps.sh, or every Debian system, has.
func File(t testing.TB, path string) {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		missing(t, path, requireTools)
	}
}

// Missing is for what a test has found missing itself, of what a package of e2e/deps.sh brings.
func Missing(t testing.TB, what string) {
	t.Helper()
	missing(t, what, requireTools)
}

// HasTool is for seeds and conditions: false without a program, and an error if it must be there.
func HasTool(name string) (bool, error) {
	if _, err := exec.LookPath(name); err == nil {
		return true, nil
	} else if os.Getenv(requireTools) != "" {
		return false, &Error{name, requireTools}
	}
	return false, nil
}

// Error is something that is missing and must not be.
type Error struct{ What, Variable string }

func (e *Error) Error() string { return e.What + " is missing, and " + e.Variable + " is set" }

func missing(t testing.TB, what, variable string) {
	t.Helper()
	if os.Getenv(variable) != "" {
		t.Fatal((&Error{what, variable}).Error())
	}
	t.Skipf("needs %s", what)
}
