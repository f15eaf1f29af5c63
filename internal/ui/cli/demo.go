package cli

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"trocar/internal/demo"
)

func newDemo(a *app) *cobra.Command {
	var workload bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Trace a small built-in workload for some seconds",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if workload {
				work(cmd.Context(), a.in)
				return nil
			}
			return a.demo(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&workload, "workload", false, "be the workload, until stdin is closed")
	return cmd
}

// work is the child's part. It ends with its parent, which holds the other end of stdin.
func work(ctx context.Context, in io.Reader) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, in)
		cancel()
	}()
	demo.Workload(ctx, 20*time.Millisecond)
}

func (a *app) demo(context.Context) error {
	return &statusError{exitFailed, errors.New("there is no demo in this build")}
}
