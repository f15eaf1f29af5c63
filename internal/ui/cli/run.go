package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// newRun is the default command: run a script, or list what one would attach to.
func newRun(a *app) *cobra.Command {
	s := &settings{}
	cmd := &cobra.Command{
		Use:                   a.name,
		Short:                 "Trace user-space programs",
		SilenceErrors:         true,
		SilenceUsage:          true,
		DisableFlagsInUseLine: true,
		Args:                  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.run(cmd, s, args)
		},
	}
	s.register(cmd.Flags())
	cmd.Flags().SortFlags = false
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		fmt.Fprintf(a.err, "ERROR: %v\n\n", err)
		a.usage(a.err)
		return &statusError{status: exitUsage}
	})
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		if cmd.HasParent() {
			fmt.Fprintf(a.out, "%s\n\n%s", cmd.Short, cmd.UsageString())
			return
		}
		a.usage(a.out)
	})
	return cmd
}

// script is a program and its parameters.
type script struct {
	name, text string
	positional []string
	named      []string // without the leading dashes
}

func (a *app) run(cmd *cobra.Command, s *settings, args []string) error {
	switch {
	case s.help:
		a.usage(a.out)
		return nil
	case s.version:
		a.version(a.out)
		return nil
	case s.info:
		a.info(a.out)
		return nil
	case cmd.Flags().NFlag() == 0 && len(args) == 0:
		a.usage(a.err)
		return &statusError{status: exitUsage}
	}
	if err := s.check(); err != nil {
		return err
	}
	if s.pid != "" {
		if _, err := parsePID(s.pid); err != nil {
			return err
		}
	}
	_, err := a.script(s, cmd.Flags().Changed("execute"), args)
	return err
}

// script finds the program's text, and parts the other words into its positional and named parameters.
func (a *app) script(s *settings, given bool, args []string) (*script, error) {
	p := &script{name: "stdin", text: s.program}
	if !given {
		if len(args) == 0 {
			return nil, usageErrorf("USAGE: filename or -e 'program' required.")
		}
		if err := a.read(p, args[0]); err != nil {
			return nil, err
		}
		args = args[1:]
	}
	for _, arg := range args {
		if name, ok := strings.CutPrefix(arg, "--"); ok {
			p.named = append(p.named, name)
		} else {
			p.positional = append(p.positional, arg)
		}
	}
	return p, nil
}

// maxScript bounds what is read as a script; the longest of bpftrace's own tools has 20 KB.
const maxScript = 16 << 20

func (a *app) read(p *script, path string) error {
	from := a.in
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return &statusError{exitUsage, fmt.Errorf("failed to open file '%s': %s", path, reason(err))}
		}
		defer f.Close()
		from, p.name = f, path
	}
	text, err := io.ReadAll(io.LimitReader(from, maxScript+1))
	if err != nil {
		return &statusError{exitUsage, fmt.Errorf("failed to read '%s': %s", path, reason(err))}
	}
	if len(text) > maxScript {
		return &statusError{exitUsage, fmt.Errorf("'%s' is longer than a script may be (%d MB)", path, maxScript>>20)}
	}
	p.text = string(text)
	return nil
}
