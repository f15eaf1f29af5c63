package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"trocar"
)

func newDoctor(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check what this kernel and these privileges allow, and how to fix what is missing",
		Long: `Check what this kernel and these privileges allow, and how to fix what is missing.

Exit status 4 means that something prevents tracing.

    trocar doctor`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			report, err := report(cmd.Context())
			if err != nil {
				return err
			}
			writeReport(a.out, report)
			ways := waysOut(report)
			if len(ways) == 0 {
				fmt.Fprintln(a.out, "\nNothing prevents tracing.")
				return nil
			}
			fmt.Fprintf(a.out, "\nPrevents tracing\n  %s\n", strings.Join(ways, "\n  "))
			return &statusError{status: exitNotPermitted}
		},
	}
}

// report asks this machine what it offers.
func report(ctx context.Context) (*trocar.Report, error) {
	m, err := trocar.Inspect(ctx)
	if err != nil {
		return nil, err
	}
	return m.Report(ctx)
}

// waysOut says what to do about each thing that is in the way.
func waysOut(m *trocar.Report) []string {
	var ways []string
	if m.UserNamespace {
		ways = append(ways, "this user namespace has no privileges in the kernel: run as root of the host")
	}
	if len(m.MissingCaps) > 0 {
		ways = append(ways, "missing "+strings.Join(m.MissingCaps, ", ")+
			": run as root; in a container, use --privileged, or --cap-add for each of these")
	}
	if m.Lockdown == "confidentiality" {
		ways = append(ways, "kernel lockdown prevents BPF programs from reading memory: boot with lockdown=integrity")
	}
	for _, s := range m.Sources {
		if s.Name == "uprobe" && !s.OK {
			ways = append(ways, "uprobes are not available: they require CONFIG_UPROBE_EVENTS and a mounted /sys")
		}
	}
	return ways
}

// info is --info: the same report, with the lines of bpftrace's that tools look for. Kprobes are attached one by
// one, so kprobe_multi and kprobe_session are reported as not available.
func (a *app) info(ctx context.Context, w io.Writer) error {
	report, err := report(ctx)
	if err != nil {
		return err
	}
	writeReport(w, report)
	fmt.Fprintf(w, "\nBuild\n  version: v%s\n  language: bpftrace %s\n", version, language)
	fmt.Fprint(w, "\nProbe types\n  kprobe_multi: no\n  kprobe_session: no\n")
	return nil
}
