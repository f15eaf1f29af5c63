package cli

import (
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"trocar"
	"trocar/result"
)

// infoFlags are what is asked of a target.
type infoFlags struct {
	types, vars, lines []string
	debugDirs          []string
	pid, path          string // the target by flag, as other commands take it
}

func newInfo(a *app) *cobra.Command {
	f := &infoFlags{}
	cmd := &cobra.Command{
		Use:   "info TARGET|-p PID|-x FILE",
		Short: "Show information about a program or library: debug information, types, variables, lines",
		Long: `Show information about a program or library: debug information, types, variables, lines.

TARGET is a process ID, a path, or the name of a program or library.

    trocar info ./server --type 'struct request'
    trocar info 812 --vars handle_request
    trocar info ./server --lines server.c:40-60`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.target(cmd.Context(), f, args) },
	}
	cmd.Flags().StringArrayVar(&f.types, "type", nil, "print the layout of this type")
	cmd.Flags().StringArrayVar(&f.vars, "vars", nil,
		"print the parameters and variables of this function, and their locations")
	cmd.Flags().StringVarP(&f.pid, "pid", "p", "", "the target is this process")
	cmd.Flags().StringVarP(&f.path, "exe", "x", "", "the target is this program or library")
	cmd.SetFlagErrorFunc(a.wrongFlag)
	cmd.Flags().StringArrayVar(&f.lines, "lines", nil, "print the addresses of these source lines, FILE:N-M")
	cmd.Flags().StringArrayVar(&f.debugDirs, "debuginfo", nil, "directories to search for debug files")
	return cmd
}

// target is the command info.
func (a *app) target(ctx context.Context, f *infoFlags, args []string) error {
	if f.pid != "" {
		if n, err := strconv.ParseUint(f.pid, 10, 31); err != nil || n == 0 {
			return usageErrorf("-p %s: not a process ID", f.pid)
		}
		args = append(args, f.pid)
	}
	if f.path != "" {
		args = append(args, f.path)
	}
	if len(args) != 1 || args[0] == "" {
		return usageErrorf("a target is required, and only one: a process ID, a path or a name")
	}
	b, err := promptly(ctx, func() (*trocar.Binary, error) {
		return trocar.OpenBinary(ctx, args[0], (&settings{debugInfo: f.debugDirs}).files())
	})
	if err != nil {
		return infoError(err)
	}
	defer b.Close()
	w := result.NewShownWriter(a.out)
	for _, name := range f.types {
		if err := writeTypes(w, b, name); err != nil {
			return infoError(err)
		}
	}
	for _, name := range f.vars {
		if err := writeVars(w, b, name); err != nil {
			return infoError(err)
		}
	}
	for _, lines := range f.lines {
		if err := writeLines(w, b, lines); err != nil {
			return infoError(err)
		}
	}
	if len(f.types)+len(f.vars)+len(f.lines) == 0 {
		columns := 0 // not to be kept to
		if isTerminal(a.out) {
			columns = width(a.out)
		}
		if err := writeSummary(w, b, columns); err != nil {
			return infoError(err)
		}
	}
	if err := w.Flush(); err != nil {
		return &statusError{exitFailed, err}
	}
	return nil
}

func infoError(err error) error {
	status := exitFailed
	switch {
	case trocar.IsMissing(err):
		status = exitNoMatch
	case trocar.Unavailable(err):
		status = exitNotPermitted
	}
	if s, ok := err.(*statusError); ok {
		return s
	}
	return &statusError{status, err}
}

func writeSummary(w io.Writer, b *trocar.Binary, columns int) error {
	s, err := b.Summary()
	if err != nil {
		return err
	}
	line := func(name, format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		if columns > 0 {
			text = strings.ReplaceAll(string(result.Fold(nil, text, max(columns-12, 12))), "\n", "\n            ")
		}
		fmt.Fprintf(w, "%-11s %s\n", name, text)
	}
	line("file", "%s", s.Path)
	if b.PID != 0 {
		line("process", "%d", b.PID)
	}
	line("kind", "%s", s.Kind)
	line("abi", "%s", s.ABI)
	if s.BuildID != "" {
		line("build id", "%s", s.BuildID)
	} else {
		line("build id", "none")
	}
	for i, l := range s.Languages {
		name := ""
		if i == 0 {
			name = "languages"
		}
		text := l.Language
		if l.Producer != "" {
			text += ", by " + l.Producer
		}
		if l.DWARF != 0 {
			text += fmt.Sprintf(" (DWARF %d)", l.DWARF)
		}
		line(name, "%s", text)
	}
	switch {
	case s.DebugInfo == "":
		line("debug info", "none: %s", s.NoDebug)
	case s.DebugInfo == s.Path:
		line("debug info", "in the file itself")
	default:
		line("debug info", "%s", s.DebugInfo)
	}
	if s.Damage != "" {
		line("", "not all of it can be read: %s", s.Damage)
	}
	line("functions", "%d", s.Functions)
	if len(s.Libraries) > 0 {
		line("libraries", "%s", strings.Join(s.Libraries, " "))
	}
	for _, r := range s.Runtimes {
		line("runtime", "%s", strings.TrimSuffix(r.Name+" "+r.Version, " "))
		for _, text := range r.Has {
			line("", "has %s", text)
		}
		for _, text := range r.Lacks {
			line("", "lacks %s", text)
		}
	}
	return nil
}

// writeTypes writes definitions behind columns of offsets and sizes.
func writeTypes(w io.Writer, b *trocar.Binary, name string) error {
	layouts, err := b.Types(name)
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "offset   size")
	for i, l := range layouts {
		if i > 0 {
			fmt.Fprintln(w)
		}
		for j, n := range l.Lines {
			if n.GapBits > 0 {
				fmt.Fprintf(w, "        %4db      (unused)\n", n.GapBits)
			}
			if n.Gap > 0 {
				fmt.Fprintf(w, "        %5d      (unused)\n", n.Gap)
			}
			switch {
			case n.Text == "":
			case j == 0:
				fmt.Fprintf(w, "        %5d  %s\n", l.Size, n.Text)
			case n.Offset < 0:
				fmt.Fprintf(w, "%15s%s\n", "", n.Text)
			case n.Bits:
				fmt.Fprintf(w, "%6s %4db  %s\n", fmt.Sprintf("%d:%d", n.Offset, n.Bit), n.Size, n.Text)
			default:
				fmt.Fprintf(w, "%6d  %5d  %s\n", n.Offset, n.Size, n.Text)
			}
		}
	}
	return nil
}

func writeVars(w io.Writer, b *trocar.Binary, name string) error {
	list, err := b.Vars(name)
	if err != nil {
		return err
	}
	for i, fn := range list {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, fn.Declaration)
		fmt.Fprintf(w, "    at %#x, %s:%d", fn.Entry, fn.File, fn.Line)
		if fn.Inlined > 0 {
			fmt.Fprintf(w, ", and %d inlined instances", fn.Inlined)
		}
		fmt.Fprintln(w)
		for _, v := range fn.Vars {
			at := fmt.Sprintf("+%d", v.At-fn.Entry)
			if v.At < fn.Entry {
				at = fmt.Sprintf("%#x", v.At)
			}
			fmt.Fprintf(w, "    %-6s %-32s %6s  %s\n", v.Kind, v.Declaration, at, v.Location)
		}
	}
	return nil
}

func writeLines(w io.Writer, b *trocar.Binary, text string) error {
	file, from, to, err := parseLines(text)
	if err != nil {
		return err
	}
	lines, err := b.Lines(file, from, to)
	if err != nil {
		return err
	}
	for _, l := range lines {
		fmt.Fprintf(w, "%s:%d  %#x  %s\n", l.File, l.Line, l.Addr, strings.Join(l.Functions, ", inlined in "))
	}
	return nil
}

// parseLines takes "FILE", "FILE:N" or "FILE:N-M" apart.
func parseLines(text string) (file string, from, to int, err error) {
	i := strings.LastIndexByte(text, ':')
	if i < 0 {
		return text, 1, math.MaxInt32, nil
	}
	first, last, ranged := strings.Cut(text[i+1:], "-")
	n, err := strconv.ParseUint(first, 10, 31)
	m := n
	if err == nil && ranged {
		m, err = strconv.ParseUint(last, 10, 31)
	}
	if err != nil || n == 0 || m < n {
		return "", 0, 0, usageErrorf("invalid lines %q: use FILE:N or FILE:N-M, counted from 1", text)
	}
	return text[:i], int(n), int(m), nil
}
