package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"trocar"
	"trocar/result"
)

// newList is -l for those who think in commands.
func newList(a *app) *cobra.Command {
	s := &settings{}
	var path string // -x
	cmd := &cobra.Command{
		Use:   "list [PATTERN|FILE…]",
		Short: "List probe points; -v: with declarations and source locations",
		Long: `List probe points; -v: with declarations and source locations.

PATTERN is an attach point as in scripts, or "lib:func" or "syscall:NAME"; it may contain wildcards. With -x it may
also be the name of a function.
FILE is a program or library: its functions and USDT probes are listed. If nothing matches, the exit status is 3.

    trocar list ./server
    trocar list 'libc:*alloc*'
    trocar list 'uprobe:./server:*handle*'
    trocar list -v -p 812 'uprobe:*:Shop::*'
    trocar list 'usdt:/usr/bin/node:*'`,
		RunE: func(cmd *cobra.Command, patterns []string) error {
			if err := s.check(); err != nil {
				return err
			}
			if len(s.others) > 0 {
				return usageErrorf("-p takes one process here")
			}
			s.declarations = true
			return a.patterns(cmd.Context(), s, listPatterns(patterns, path)...)
		},
	}
	cmd.SetFlagErrorFunc(a.wrongFlag)
	cmd.Flags().BoolVarP(&s.verbose, "verbose", "v", false,
		"print declarations, source locations and the number of inlined instances")
	cmd.Flags().StringArrayVar(&s.debugInfo, "debuginfo", nil, "directories to search for debug files")
	cmd.Flags().StringVarP(&s.pid, "pid", "p", "", "list points of this process")
	cmd.Flags().StringVarP(&path, "exe", "x", "", "list points of this program or library")
	return cmd
}

// listPatterns are the attach points that words mean: some name a file, or with -x a function in it.
func listPatterns(words []string, path string) (patterns []string) {
	whole := func(file string) []string { return []string{"uprobe:" + file + ":*", "usdt:" + file + ":*"} }
	if path != "" && len(words) == 0 {
		return whole(path)
	}
	for _, w := range words {
		kind, rest, _ := strings.Cut(w, ":")
		switch info, err := os.Stat(w); {
		case path != "" && (kind == "uprobe" || kind == "uretprobe" || kind == "usdt") && !strings.HasPrefix(rest, ":"):
			patterns = append(patterns, kind+":"+path+":"+rest)
		case path != "" && ofLibrary(w):
			patterns = append(patterns, w)
		case path != "":
			patterns = append(patterns, "uprobe:"+path+":"+quotedName(w))
		case err == nil && info.Mode().IsRegular():
			patterns = append(patterns, whole(w)...)
		default:
			patterns = append(patterns, w)
		}
	}
	return patterns
}

// ofLibrary tells "lib:func" from the name of a function, which may have colons in pairs, or anywhere behind a bracket.
func ofLibrary(word string) bool {
	file, name, ok := strings.Cut(word, ":")
	return ok && file != "" && !strings.HasPrefix(name, ":") && !strings.ContainsAny(file, "(<[ *")
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

// splitPatterns splits patterns at commas, but not at those between the parameters of a function or the arguments of a
// template.
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
	found := 0
	for _, pattern := range patterns {
		n, err := a.points(ctx, s, trocar.ListRequest{Pattern: strings.TrimSpace(pattern)})
		if err != nil {
			return err
		}
		found += n
	}
	if found == 0 && a.name != "bpftrace" {
		return &statusError{exitNoMatch, fmt.Errorf("nothing matches %s", strings.Join(patterns, ", "))}
	}
	return nil
}

func (a *app) listScript(ctx context.Context, s *settings, p *script) error {
	n, err := a.points(ctx, s, trocar.ListRequest{Script: p.text, Name: p.name, Params: p.positional})
	if err == nil && n == 0 && a.name != "bpftrace" {
		err = &statusError{exitNoMatch, errors.New("nothing matches the script's probes")}
	}
	return err
}

// points writes what there is to trace, one point a line, its arguments below it, and tells how many points there are.
func (a *app) points(ctx context.Context, s *settings, r trocar.ListRequest) (found int, err error) {
	r.PID, r.Verbose, r.Unsafe, r.Declarations = s.process, s.verbose, s.unsafe, s.declarations
	r.Files = s.files()
	m, err := trocar.Inspect(ctx)
	if err != nil {
		return 0, err
	}
	w := result.NewShownWriter(a.out)
	warnings, err := trocar.List(ctx, r, m, func(point trocar.Listed) {
		found++
		if point.Definition != "" {
			fmt.Fprintf(w, "%s\n\n", point.Definition)
			return
		}
		fmt.Fprintln(w, result.ShownLine(point.Name))
		if point.Declaration != "" {
			place := "generated by the compiler"
			switch {
			case point.Prototype:
				place = "known prototype, no debug information"
			case point.File != "":
				place = fmt.Sprintf("%s:%d", point.File, point.Line)
			}
			fmt.Fprintf(w, "    %s\n    %s", result.ShownLine(point.Declaration), result.ShownLine(place))
			switch point.Inlined {
			case 0:
			case 1:
				fmt.Fprint(w, ", 1 inlined instance")
			default:
				fmt.Fprintf(w, ", %d inlined instances", point.Inlined)
			}
			fmt.Fprintln(w)
		}
		for _, param := range point.Params {
			fmt.Fprintf(w, "    %s\n", result.ShownLine(param))
		}
	})
	if err := w.Flush(); err != nil {
		return found, &statusError{exitFailed, err}
	}
	sink := a.plain(s)
	if err != nil {
		return found, sink.failure(err)
	}
	for _, d := range warnings {
		sink.diagnostic(d)
	}
	return found, nil
}
