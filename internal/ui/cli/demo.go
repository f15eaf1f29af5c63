package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"trocar"
	"trocar/internal/demo"
)

// demoScript shows arguments, a histogram and a stack. The first %s is the traced file, the others are the registers of
// arguments: in assembly of a Go program arg0 is not known.
const demoScript = `
// Each call with its arguments: the number of a table, a string, a price in cents.
uprobe:"%[1]s":kitchen_order
{
  @orders = count();
  @begin[tid] = nsecs;
  if (@shown < 10) {
    @shown++;
    printf("table %%2d orders %%-8s %%2d.%%02d\n", %[2]s, str(%[3]s), %[4]s / 100, %[4]s %% 100);
  }
}

// How long it takes from the order until it is served.
uprobe:"%[1]s":kitchen_serve /@begin[tid]/
{
  @microseconds = hist((nsecs - @begin[tid]) / 1000);
  delete(@begin, tid);
}

// From where a function is called.
uprobe:"%[1]s":kitchen_stir { @stirred[ustack(4)] = count(); }

interval:s:3 { exit(); }
end { clear(@shown); clear(@begin); }
`

func newDemo(a *app) *cobra.Command {
	var workload bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Trace a small built-in workload for three seconds",
		Long: `Trace a small built-in workload for three seconds.

It requires root, prints the script that it runs, and exits by itself.

    trocar demo`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if workload {
				demo.Workload(cmd.Context(), 20*time.Millisecond)
				return nil
			}
			return a.demo(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&workload, "workload", false, "run as the workload, until a signal")
	return cmd
}

// demo starts this binary once more as the workload, held until it is traced, and traces it.
func (a *app) demo(ctx context.Context) error {
	path, err := os.Executable()
	if err != nil {
		return &statusError{exitFailed, err}
	}
	var args [3]string
	for i, register := range demo.Registers() {
		args[i] = fmt.Sprintf("reg(%q)", register)
	}
	text := strings.TrimPrefix(fmt.Sprintf(demoScript, path, args[0], args[1], args[2]), "\n")
	fmt.Fprintf(a.out, "Tracing a small workload (%s demo --workload) for three seconds with this script:\n\n", path)
	fmt.Fprintf(a.out, "    %s\n\n", strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n    "))
	s := &settings{noWarnings: true}
	err = a.traceWith(ctx, s, trocar.Request{
		Script: text, Name: "demo", Files: s.files(),
		Target: trocar.Target{Command: []string{path, "demo", "--workload"}},
	})
	if err == nil {
		fmt.Fprintf(a.out, "\n\nDone. To list what can be traced in another program: %s -l 'uprobe:/path/to/it:*'\n", a.name)
	}
	return err
}
