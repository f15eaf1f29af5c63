// Package need says what a test cannot run without. Where it is missing the test is skipped with the reason; where
// TROCAR_REQUIRE_ROOT or TROCAR_REQUIRE_TOOLS is set, as in the check of a change, that is a failure.
//
// It is imported by tests only. What is there and fails is never a reason to skip.
package need

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// The variables that turn a skip into a failure; any value but "" counts.
const (
	requireRoot  = "TROCAR_REQUIRE_ROOT"
	requireTools = "TROCAR_REQUIRE_TOOLS"
)

// Root is for tests that load programs, change the kernel's state, mount or look into processes of others.
func Root(t testing.TB) {
	t.Helper()
	if lacks := privileges(); lacks != "" {
		missing(t, lacks, requireRoot)
	}
}

// capabilities are those of the kernel's that tests for root use, by number (include/uapi/linux/capability.h).
var capabilities = []struct {
	name string
	bit  int
}{
	{"CAP_CHOWN", 0},
	{"CAP_DAC_OVERRIDE", 1},
	{"CAP_SETUID", 7},
	{"CAP_SYS_CHROOT", 18},
	{"CAP_SYS_PTRACE", 19},
	{"CAP_SYS_ADMIN", 21},
	{"CAP_PERFMON", 38},
	{"CAP_BPF", 39},
}

// HasRoot is for what is no test: false, and what is missing, where a test that needs Root would be skipped.
func HasRoot() (ok bool, lacks string) {
	lacks = privileges()
	return lacks == "" || os.Getenv(requireRoot) != "", lacks
}

func privileges() string {
	ids, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		ids = []byte(allIDs) // a kernel without user namespaces
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "/proc"
	}
	return lacking(os.Geteuid(), string(ids), string(status))
}

// allIDs is the uid_map of the initial user namespace.
const allIDs = "0 0 4294967295"

// lacking says what Root needs and a process lacks, by its user and the files uid_map and status that /proc has of it;
// "": nothing. User 0 may lack capabilities, and those that it has in another user namespace have no power over the
// kernel.
func lacking(user int, ids, status string) string {
	if user != 0 {
		return "root"
	}
	if strings.Join(strings.Fields(ids), " ") != allIDs {
		return "root of the initial user namespace"
	}
	_, set, _ := strings.Cut(status, "\nCapEff:\t")
	set, _, _ = strings.Cut(set, "\n")
	bits, err := strconv.ParseUint(set, 16, 64)
	if err != nil {
		return "CapEff in /proc/self/status"
	}
	var lacks []string
	for _, c := range capabilities {
		if bits>>c.bit&1 == 0 {
			lacks = append(lacks, c.name)
		}
	}
	return strings.Join(lacks, ", ")
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
