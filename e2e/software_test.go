package e2e

import (
	"errors"
	"flag"
	"os/exec"
	"strings"
	"testing"

	"trocar/internal/need"
)

var allSoftware = flag.Bool("all-software", false, "TestSoftware: the largest programs, too, which takes some minutes")

// software is what real machines have: each pattern stands for all functions of a program or library, and the command
// uses it. What is not installed is left out.
var software = []struct {
	pattern string
	command []string
	large   bool
}{
	{"*", []string{"redis-server", "--version"}, false},
	{"*", []string{"nginx", "-v"}, false},
	{"*", []string{"bash", "-c", "true"}, false},
	{"*", []string{"/usr/bin/python3", "-c", "pass"}, false},
	{"*", []string{"busybox", "true"}, false},
	{"*", []string{"rg", "--version"}, false},
	{"libcrypto:*", []string{"openssl", "version"}, false},
	{"libc:*", []string{"true"}, true},
	{"libstdc++:*", []string{"clang", "--version"}, true},
	{"libclang-cpp:*", []string{"clang", "--version"}, true},
	{"*", []string{"/usr/lib/postgresql/15/bin/postgres", "--version"}, true},
	{"*", []string{"node", "--version"}, true},
	{"*", []string{"docker", "--version"}, true},
	{"*", []string{"terraform", "--version"}, true},
	{"*", []string{"caddy", "version"}, true},
}

// TestSoftware: whatever is asked about all functions of a program, it is answered, or nothing of what is asked is
// there and the reason is told.
func TestSoftware(t *testing.T) {
	need.Root(t)
	path := tracerFor(t)
	for _, sw := range software {
		if _, err := exec.LookPath(sw.command[0]); err != nil || sw.large && !*allSoftware {
			continue
		}
		file, _, of := strings.Cut(sw.pattern, ":")
		if !of {
			file = sw.command[0]
		}
		questions := [][]string{{"list", "-x", file}, {"info", file}, append([]string{"syscalls", "--"}, sw.command...)}
		for _, kind := range []string{"count", "latency", "stack", "trace"} {
			questions = append(questions, append([]string{kind, sw.pattern, "--"}, sw.command...))
		}
		questions = append(questions, append([]string{"dist", sw.pattern, "duration", "--"}, sw.command...))
		for _, args := range questions {
			out, err := exec.Command(path, args...).CombinedOutput()
			var ended *exec.ExitError
			switch {
			case err == nil:
			case errors.As(err, &ended) && ended.ExitCode() == 3 && strings.Contains(string(out), "ERROR: no"):
			default:
				t.Errorf("trocar %s: %v\n%.2000s", strings.Join(args, " "), err, out)
			}
		}
	}
}
