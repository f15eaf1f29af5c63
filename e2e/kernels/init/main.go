// Init is the first process of the virtual machines that run.sh starts: it mounts what tests need, runs the test
// binaries of /tests one after another, and turns the machine off.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	for _, m := range [][2]string{
		{"proc", "/proc"},
		{"sysfs", "/sys"},
		{"devtmpfs", "/dev"},
		{"tmpfs", "/tmp"},
		{"tracefs", "/sys/kernel/tracing"},
		{"debugfs", "/sys/kernel/debug"},
	} {
		os.MkdirAll(m[1], 0o755)
		if err := syscall.Mount(m[0], m[1], m[0], 0, ""); err != nil {
			fmt.Println(m[1], err)
		}
	}
	tests, _ := filepath.Glob("/tests/*")
	failed := false
	for _, test := range tests {
		if strings.HasSuffix(test, ".args") {
			continue
		}
		args, _ := os.ReadFile(test + ".args")
		// A process of its own: the first one is special to the kernel (signals, namespaces).
		c := exec.Command(test, strings.Fields(string(args))...)
		c.Dir = "/" // where testdata is
		c.Env = []string{
			"PATH=/bin", "HOME=/tmp", "TROCAR_REQUIRE_ROOT=1", "TROCAR_FIXTURES=/fixtures",
			"TROCAR_E2E_TRACER=/bin/trocar",
		}
		c.Stdout, c.Stderr = os.Stdout, os.Stdout
		start := time.Now()
		err := c.Run()
		failed = failed || err != nil
		result := "ok"
		if err != nil {
			result = err.Error()
		}
		fmt.Printf("== %s: %s after %.1f s\n", filepath.Base(test), result, time.Since(start).Seconds())
	}
	if failed || len(tests) == 0 {
		fmt.Println("== FAIL")
	} else {
		fmt.Println("== PASS")
	}
	time.Sleep(300 * time.Millisecond) // the serial line is slow
	syscall.Sync()
	syscall.Reboot(syscall.LINUX_REBOOT_CMD_POWER_OFF)
}
