package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

func newMan(a *app) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "man [COMMAND]",
		Short: "Print the manual page of a command, or write all pages to a directory",
		Long: `Print the manual page of a command, or write all pages to a directory.

    trocar man trace | man -l -
    trocar man --dir /usr/local/share/man/man1`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.man(dir, args) },
	}
	cmd.Flags().StringVar(&dir, "dir", "", "write all pages to this directory, which is created if it does not exist")
	return cmd
}

func (a *app) man(dir string, args []string) error {
	pages := a.pages()
	if dir == "" {
		name := a.name
		if len(args) > 0 {
			name += " " + args[0]
		}
		for i := range pages {
			if pages[i].name == name {
				_, err := io.WriteString(a.out, pages[i].manual())
				return err
			}
		}
		return usageErrorf("unknown command %q (see %s --help)", strings.Join(args, " "), a.name)
	}
	if len(args) > 0 {
		return usageErrorf("--dir writes all pages and takes no command")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return &statusError{exitFailed, errors.New("failed to create the directory: " + reason(err))}
	}
	for i := range pages {
		path := filepath.Join(dir, strings.ReplaceAll(pages[i].name, " ", "-")+".1")
		if err := replace(path, pages[i].manual(), 0o644); err != nil {
			return &statusError{exitFailed, err}
		}
		fmt.Fprintln(a.out, path)
	}
	return nil
}
