package cli

import (
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"
)

const (
	// Version is trocar's own.
	version = "0.1.0"
	// language is the release of bpftrace whose language we speak. Scripts and tools ask for it by a link named bpftrace.
	language = "0.27.1"
)

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `Print the version.

    trocar version`,
		Args: cobra.NoArgs,
		Run:  func(*cobra.Command, []string) { a.version(a.out) },
	}
}

func (a *app) version(w io.Writer) {
	if a.name == "bpftrace" {
		fmt.Fprintf(w, "bpftrace v%s (trocar v%s)\n", language, version)
		return
	}
	fmt.Fprintf(w, "trocar v%s (language of bpftrace %s, %s/%s)\n", version, language, runtime.GOOS, runtime.GOARCH)
}
