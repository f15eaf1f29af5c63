package cli

import (
	"fmt"
	"io"
	"strings"

	"trocar"
)

// writeReport writes what a machine offers.
func writeReport(w io.Writer, r *trocar.Report) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "  %s: %s\n", name, fmt.Sprintf(format, args...))
	}
	fmt.Fprintln(w, "System")
	line("kernel", "%s", r.Release)
	line("build", "%s", r.Version)
	line("architecture", "%s", r.CPU)
	line("CPUs", "%d online, %d possible", r.OnlineCPUs, r.PossibleCPUs)
	for _, s := range r.Sysctls {
		line(s.Name, "%s", s.Value)
	}
	fmt.Fprintln(w, "\nRights")
	missing := strings.Join(r.MissingCaps, ", ")
	granted := "all required"
	for _, f := range r.Features {
		if strings.HasPrefix(f.Needs, "CAP_") {
			granted = "all but " + f.Needs + " (" + f.Name + ")"
		}
	}
	line("capabilities", "%s", either(missing == "", granted, "missing "+missing))
	line("user namespace", "%s", either(r.UserNamespace, "yes: no privileges in the kernel", "no"))
	line("seccomp", "%s", either(r.Seccomp, "filtered", "off"))
	line("lockdown", "%s", either(r.Lockdown == "", "not built in", r.Lockdown))
	fmt.Fprintln(w, "\nKernel features")
	untried := "not known without " + missing
	for _, f := range r.Features {
		line(f.Name, "%s", either(f.OK, "yes", either(missing == "", "no ("+either(f.Needs == "",
			"Linux "+f.Since, "needs "+f.Needs)+")", untried)))
	}
	corrupts := "no: this kernel would corrupt the program"
	line("probes on nops inside functions", "%s", either(r.Nop5Corrupts, corrupts, "yes"))
	line("probes on vector instructions", "%s", either(r.VectorsStepped, "yes", either(missing == "",
		"only on some: this kernel takes others for jumps, calls and nops", untried)))
	fmt.Fprintln(w, "\nEvent sources")
	for _, s := range r.Sources {
		line(s.Name, "%s", either(s.OK, "yes", "no (for "+s.Use+")"))
	}
	line("tracefs", "%s", either(r.Tracefs != "", r.Tracefs,
		either(r.TracefsOK, "not mounted; a detached mount is used", "no")))
	line("ring buffer", "%d KB", r.RingSize>>10)
}

func either(yes bool, a, b string) string {
	if yes {
		return a
	}
	return b
}
