package cli

import (
	"errors"

	"github.com/spf13/cobra"
)

func newDemo(*app) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Trace a small built-in workload for some seconds",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return errors.New("there is no demo in this build") },
	}
}
