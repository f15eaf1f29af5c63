package cli

import (
	"github.com/spf13/cobra"
)

func newInfo(a *app) *cobra.Command { return &cobra.Command{Use: "info"} }
