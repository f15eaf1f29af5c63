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
		Short: "Tell what works on this kernel and with these rights, and the way out for what does not",
		Long: `Tell what works on this kernel and with these rights, and the way out for what does not.

Exit status 4 means that something is in the way of tracing.

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
				fmt.Fprintln(a.out, "\nNothing is in the way of tracing.")
				return nil
			}
			fmt.Fprintf(a.out, "\nIn the way of tracing\n  %s\n", strings.Join(ways, "\n  "))
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
		ways = append(ways, "this user namespace has no rights in the kernel: run as root of the host")
	}
	if len(m.MissingCaps) > 0 {
		ways = append(ways, "missing "+strings.Join(m.MissingCaps, ", ")+
			": run as root; in a container: with --privileged, or --cap-add for each of these")
	}
	if m.Lockdown == "confidentiality" {
		ways = append(ways, "the kernel is locked down so that programs cannot read memory: boot with lockdown=integrity")
	}
	for _, s := range m.Sources {
		if s.Name == "uprobe" && !s.OK {
			ways = append(ways, "there are no uprobes: a kernel with CONFIG_UPROBE_EVENTS is needed, and /sys mounted")
		}
	}
	return ways
}

// info is --info: the same report, with the lines of bpftrace's that tools look for. Kprobes are attached one by one, so
// what is said of the other ways is no.
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
