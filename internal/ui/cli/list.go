package cli

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"trocar"
)

// newList is -l for those who think in commands.
func newList(a *app) *cobra.Command {
	s := &settings{}
	cmd := &cobra.Command{
		Use:   "list [PATTERN…]",
		Short: "List probe points; -v: with declarations of functions and where they are in the source",
		Long: `List probe points; -v: with declarations of functions and where they are in the source.

PATTERN is an attach point with wildcards, as scripts have them.

    trocar list 'uprobe:./server:*handle*'
    trocar list -v -p 812 'uprobe:*:Shop::*'
    trocar list 'usdt:/usr/bin/node:*'`,
		RunE: func(cmd *cobra.Command, patterns []string) error {
			if err := s.check(); err != nil {
				return err
			}
			s.declarations = true
			return a.patterns(cmd.Context(), s, patterns...)
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &statusError{exitUsage, err} })
	cmd.Flags().BoolVarP(&s.verbose, "verbose", "v", false, "with declarations, places in the source and the number of inlined copies")
	cmd.Flags().StringArrayVar(&s.debugInfo, "debuginfo", nil, "directories of debug files")
	cmd.Flags().StringVarP(&s.pid, "pid", "p", "", "of this process")
	return cmd
}

// list is -l without a program: the points that match a pattern, or those that a script file would attach to.
func (a *app) list(ctx context.Context, s *settings, args []string) error {
	if len(args) > 1 {
		a.usage(a.err)
		return &statusError{status: exitUsage}
	}
	if len(args) == 0 || args[0] == "*" {
		return a.patterns(ctx, s)
	}
	pattern := args[0]
	if info, err := os.Stat(pattern); err == nil && info.Mode().IsRegular() {
		p, err := a.script(s, false, args)
		if err != nil {
			return err
		}
		return a.listScript(ctx, s, p)
	}
	if strings.Contains(pattern, ".") && !strings.ContainsAny(pattern, ":*") {
		fmt.Fprintf(a.err, "WARNING: It appears that '%s' is a filename but the file does not exist. "+
			"Treating '%[1]s' as a search pattern.\n", pattern)
		pattern = "*:" + pattern
	}
	return a.patterns(ctx, s, splitPatterns(pattern)...)
}

// splitPatterns parts patterns at commas, but not those between the parameters of a function or the arguments of a template.
func splitPatterns(text string) (patterns []string) {
	quoted, depth, from := false, 0, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(' || c == '<':
			depth++
		case c == ')' || c == '>':
			depth--
		case c == ',' && depth <= 0:
			patterns, from = append(patterns, text[from:i]), i+1
		}
	}
	return append(patterns, text[from:])
}

// patterns lists what fits each of the patterns; without one, all there is.
func (a *app) patterns(ctx context.Context, s *settings, patterns ...string) error {
	if len(patterns) == 0 {
		patterns = []string{""}
	}
	for _, pattern := range patterns {
		if err := a.points(ctx, s, trocar.ListRequest{Pattern: strings.TrimSpace(pattern)}); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) listScript(ctx context.Context, s *settings, p *script) error {
	return a.points(ctx, s, trocar.ListRequest{Script: p.text, Name: p.name, Params: p.positional})
}

// points writes what there is to trace, one point a line, its arguments below it.
func (a *app) points(ctx context.Context, s *settings, r trocar.ListRequest) error {
	r.PID, r.Verbose, r.Unsafe, r.Declarations = s.process, s.verbose, s.unsafe, s.declarations
	r.Files = s.files()
	m, err := trocar.Inspect(ctx)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(a.out)
	warnings, err := trocar.List(ctx, r, m, func(point trocar.Listed) {
		if point.Definition != "" {
			fmt.Fprintf(w, "%s\n\n", point.Definition)
			return
		}
		fmt.Fprintln(w, point.Name)
		if point.Declaration != "" {
			place := "made by the compiler"
			if point.File != "" {
				place = fmt.Sprintf("%s:%d", point.File, point.Line)
			}
			fmt.Fprintf(w, "    %s\n    %s", point.Declaration, place)
			switch point.Inlined {
			case 0:
			case 1:
				fmt.Fprint(w, ", 1 inlined copy")
			default:
				fmt.Fprintf(w, ", %d inlined copies", point.Inlined)
			}
			fmt.Fprintln(w)
		}
		for _, param := range point.Params {
			fmt.Fprintf(w, "    %s\n", param)
		}
	})
	if err := w.Flush(); err != nil {
		return &statusError{exitFailed, err}
	}
	sink := a.plain(s)
	if err != nil {
		return sink.failure(err)
	}
	for _, d := range warnings {
		sink.diagnostic(d)
	}
	return nil
}
