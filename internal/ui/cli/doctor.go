package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"trocar"
)

func newDoctor(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Tell what works on this kernel and with these rights, and the way out for what does not",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			a.system(a.out)
			fmt.Fprintln(a.out, "\nRights and settings")
			bad := 0
			for _, f := range findings() {
				fmt.Fprintf(a.out, "  %s: %s\n", f.what, f.state)
				if f.way != "" {
					bad++
					fmt.Fprintf(a.out, "      %s\n", f.way)
				}
			}
			a.features(a.out)
			if bad > 0 {
				return &statusError{status: exitNotPermitted}
			}
			return nil
		},
	}
}

// info is --info: what bpftrace's --info tells, as far as it is of interest here.
func (a *app) info(w io.Writer) {
	a.system(w)
	fmt.Fprintf(w, "\nBuild\n  version: v%s\n  language: bpftrace %s\n", version, language)
	a.features(w)
}

func (a *app) system(w io.Writer) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		fmt.Fprintf(w, "System\n  OS: unknown (%v)\n", err)
		return
	}
	text := unix.ByteSliceToString
	fmt.Fprintf(w, "System\n  OS: %s %s %s\n  Arch: %s\n", text(u.Sysname[:]), text(u.Release[:]), text(u.Version[:]), text(u.Machine[:]))
}

func (a *app) features(w io.Writer) {
	fmt.Fprintln(w, "\nKernel features")
	for _, f := range trocar.KernelFeatures() {
		state := "yes"
		if !f.Has {
			state = "no"
			if f.Since != "" {
				state = "no (came with Linux " + f.Since + ")"
			}
		}
		fmt.Fprintf(w, "  %s: %s\n", f.Name, state)
	}
	// What bpftrace's --info names and tools look for. Kernel functions are not traced by trocar.
	fmt.Fprint(w, "\nProbe types\n  kprobe_multi: no\n  kprobe_session: no\n")
}

// finding is the state of one right or setting; way is set if it is in the way, and says what to do.
type finding struct {
	what, state, way string
}

func findings() []finding {
	return []finding{capabilities(), lockdown(), uprobes(), tracefs(), openFiles()}
}

// capabilities: loading needs CAP_BPF, attaching CAP_PERFMON (both from Linux 5.8), reading other processes CAP_SYS_PTRACE;
// CAP_SYS_ADMIN covers the first two.
func capabilities() finding {
	f := finding{what: "capabilities"}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		f.state = "unknown: " + reason(err)
		return f
	}
	var effective uint64
	for line := range strings.Lines(string(status)) {
		if hex, ok := strings.CutPrefix(line, "CapEff:"); ok {
			effective, _ = strconv.ParseUint(strings.TrimSpace(hex), 16, 64)
		}
	}
	has := func(capability int) bool { return effective&(1<<capability) != 0 }
	var missing []string
	for _, c := range []struct {
		number int
		name   string
		admin  bool
	}{{unix.CAP_BPF, "CAP_BPF", true}, {unix.CAP_PERFMON, "CAP_PERFMON", true}, {unix.CAP_SYS_PTRACE, "CAP_SYS_PTRACE", false}} {
		if !has(c.number) && !(c.admin && has(unix.CAP_SYS_ADMIN)) {
			missing = append(missing, c.name)
		}
	}
	if len(missing) > 0 {
		f.state = "missing " + strings.Join(missing, ", ")
		f.way = "run as root; in a container: with --privileged, or --cap-add for each of these"
		return f
	}
	f.state = "all that is needed"
	return f
}

// lockdown: in the mode "confidentiality" BPF programs may not read memory.
func lockdown() finding {
	f := finding{what: "kernel lockdown", state: "none"}
	text, err := os.ReadFile("/sys/kernel/security/lockdown")
	if err != nil {
		return f
	}
	if _, rest, ok := bytes.Cut(text, []byte("[")); ok {
		mode, _, _ := bytes.Cut(rest, []byte("]"))
		f.state = string(mode)
	}
	if f.state == "confidentiality" {
		f.way = "boot with lockdown=integrity, or without secure boot: programs cannot read memory in this mode"
	}
	return f
}

func uprobes() finding {
	f := finding{what: "uprobes", state: "yes"}
	if _, err := os.Stat("/sys/bus/event_source/devices/uprobe"); err != nil {
		f.state = "no: " + reason(err)
		f.way = "a kernel with CONFIG_UPROBE_EVENTS is needed, and /sys mounted"
	}
	return f
}

// tracefs is only needed for tracepoints and their fields.
func tracefs() finding {
	f := finding{what: "tracefs", state: "not mounted (needed for tracepoints only: mount -t tracefs tracefs /sys/kernel/tracing)"}
	for _, dir := range []string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"} {
		if _, err := os.Stat(dir + "/events"); err == nil {
			f.state = dir
			break
		}
	}
	return f
}

// openFiles: without links of many uprobes (before Linux 6.6) each probe takes several descriptors.
func openFiles() finding {
	f := finding{what: "open files"}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		f.state = "unknown: " + reason(err)
		return f
	}
	f.state = fmt.Sprintf("%d, at most %d", limit.Cur, limit.Max)
	return f
}
