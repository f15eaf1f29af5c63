package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"trocar/internal/ui/flame"
	"trocar/internal/ui/output"
)

// diffHelp tells what --diff makes of stacks.
const diffHelp = `--diff FILE compares with the stacks of an earlier run, written by -o as .pb.gz or .folded. It prints a table; with -o
it writes a flame graph (.html, .svg) in which red means more than before and blue means less, or lines with two counts
(.folded). Shares are compared, so the runs may differ in length.`

// mostStacks bounds a file of stacks that is read.
const mostStacks = 256 << 20

// compares adds the flag of the commands whose stacks can be compared.
func (r *recipeFlags) compares(cmd *cobra.Command) {
	cmd.Flags().StringVar(&r.diff, "diff", "", "compare with the stacks in this file (.pb.gz or .folded)")
}

// readStacks reads a file of stacks.
func readStacks(path string) (*flame.Profile, error) {
	failed := func(err error) error { return &statusError{exitFailed, fmt.Errorf("%s: %s", path, reason(err))} }
	switch form := flame.Form(path); form {
	case ".html", ".svg", ".speedscope.json":
		return nil, usageErrorf("%s: such a file is for viewers; stacks are read from .pb.gz and .folded", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, failed(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, failed(err)
	} else if info.IsDir() {
		return nil, failed(errors.New("it is a directory"))
	}
	data, err := io.ReadAll(io.LimitReader(f, mostStacks+1))
	switch {
	case err != nil:
		return nil, failed(err)
	case len(data) > mostStacks:
		return nil, failed(fmt.Errorf("it has more than %d MB", mostStacks>>20))
	}
	p, err := flame.Read(path, data)
	if err != nil {
		return nil, failed(err)
	}
	return p, nil
}

// earlier makes what is shown a comparison, if --diff asks for one.
func (r *recipeFlags) earlier(d *drawn) (err error) {
	switch {
	case r.diff == "":
		return nil
	case r.q.Every > 0:
		return usageErrorf("--diff compares a whole run: leave out -i, or use --for for its length")
	case r.machine():
		return usageErrorf("-f %s cannot be used with --diff: use -o FILE.folded for lines with both counts", r.format)
	case d.form != "" && !flame.Differs(d.form):
		return usageErrorf("-o %s: this form cannot show changes; .html, .svg and .folded can", r.output)
	}
	if d.base, err = readStacks(r.diff); err != nil {
		return err
	}
	d.title, d.table = "changes of "+d.title+" since "+r.diff, (*flame.Profile).AppendChanges
	return nil
}

// compareFiles shows how the stacks of a file differ from those of --diff: nothing is traced.
func (a *app) compareFiles(r *recipeFlags, cmd *cobra.Command, path string) error {
	var wrong error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains([]string{"diff", "output", "top", "format", "no-warnings"}, f.Name) {
			wrong = usageErrorf("%s and %s are compared, and nothing is traced: leave out --%s", r.diff, path, f.Name)
		}
	})
	if wrong != nil {
		return wrong
	}
	if err := r.settings.check(); err != nil {
		return err
	}
	if err := r.picture(); err != nil {
		return err
	}
	p, err := readStacks(path)
	if err != nil {
		return err
	}
	p.Title = fmt.Sprintf("changes from %s to %s", r.diff, path)
	p.Compare(r.drawn.base)
	data := r.drawn.table(p, nil, r.drawn.top)
	if r.drawn.form != "" {
		if data, err = p.Encode(r.drawn.form); err != nil {
			return fmt.Errorf("%s: %w", r.output, err)
		}
	}
	if r.output == "" {
		_, err := a.out.Write(data)
		if output.Closed(err) {
			err = nil
		}
		return err
	}
	f, err := output.Create(r.output)
	if err != nil {
		return &statusError{exitFailed, fmt.Errorf("%s: %s", r.output, reason(err))}
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Close()); err != nil && !output.Closed(err) {
		return &statusError{exitFailed, fmt.Errorf("%s: %s", r.output, reason(err))}
	}
	return nil
}

// secondFile tells whether a command compares two files, and which is the second one.
func (r *recipeFlags) secondFile(cmd *cobra.Command, words []string) (path string, ok bool) {
	if r.diff == "" || !r.noFunctions() || len(words) != 1 || cmd.ArgsLenAtDash() == 0 {
		return "", false
	}
	return words[0], true
}
