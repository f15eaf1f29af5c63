package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"trocar"
	"trocar/internal/ui/output"
	"trocar/result"
)

// offsetsFlags are what is asked of an image.
type offsetsFlags struct {
	pid, mapFile, format string
	verbose              bool
	debugDirs            []string
}

func newOffsets(a *app) *cobra.Command {
	f := &offsetsFlags{}
	cmd := &cobra.Command{
		Use:   "offsets [-p PID] IMAGE [FUNCTION…]",
		Short: "Print the file offset, address and size of functions and of .NET methods",
		Long: `Print the file offset, address and size of functions and of .NET methods.

IMAGE is the path or name of a program, library or .NET assembly. With -p it is one that the process has mapped, and may
contain wildcards. FUNCTION is a name and may contain wildcards.

The columns are the file offset, as perf probe takes it; the address in the process with -p, else the address in the
file, as scripts take it (uprobe:FILE:0xADDRESS); the size; and the name. If nothing matches, the exit status is 3.

    trocar offsets /app/System.Private.CoreLib.dll 'System.IO.File::*'
    trocar offsets -p 812 '*CoreLib.dll' 'System.IO.File::Exists'
    trocar offsets -p 812 libc malloc -v
    trocar offsets app.ni.exe --map app.ni.map '*Fibonacci*'`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.offsets(cmd.Context(), f, args) },
	}
	cmd.SetFlagErrorFunc(a.wrongFlag)
	cmd.Flags().StringVarP(&f.pid, "pid", "p", "", "IMAGE is mapped by this process")
	cmd.Flags().StringVar(&f.mapFile, "map", "",
		"file that has the functions, as crossgen writes it: lines \"ADDRESS SIZE NAME\"")
	cmd.Flags().StringVarP(&f.format, "format", "f", "text", "output format: text, json")
	cmd.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "explain how offsets and addresses are computed")
	cmd.Flags().StringArrayVar(&f.debugDirs, "debuginfo", nil, "directories to search for debug files")
	return cmd
}

func (a *app) offsets(ctx context.Context, f *offsetsFlags, args []string) error {
	if len(args) == 0 || args[0] == "" {
		return usageErrorf("an image is required: a program, a library or an assembly")
	}
	write := writeOffsets
	switch f.format {
	case "text":
	case "json":
		write = writeOffsetsJSON
	default:
		return usageErrorf("-f %s: the formats are text and json", f.format)
	}
	r := trocar.OffsetsRequest{
		Image: args[0], Functions: args[1:], Map: f.mapFile, Files: (&settings{debugInfo: f.debugDirs}).files(),
	}
	if f.pid != "" {
		n, err := strconv.ParseUint(f.pid, 10, 31)
		if err != nil || n == 0 {
			return usageErrorf("-p %s: not a process ID", f.pid)
		}
		r.PID = int(n)
	}
	w := result.NewShownWriter(a.out)
	found, err := promptly(ctx, func() (found int, err error) {
		err = trocar.FindOffsets(ctx, r, func(o *trocar.Offsets) error {
			found += len(o.Places)
			return write(w, o, f.verbose)
		})
		return found, err
	})
	if err != nil {
		return infoError(err)
	}
	if err := w.Flush(); err != nil {
		return &statusError{exitFailed, err}
	}
	if found == 0 {
		return &statusError{exitNoMatch, fmt.Errorf("no function of %s matches, or none has code in the file", args[0])}
	}
	return nil
}

func writeOffsets(w io.Writer, o *trocar.Offsets, verbose bool) error {
	if len(o.Places) == 0 {
		return nil
	}
	address := "ADDRESS"
	fmt.Fprintf(w, "# %s\n", o.Path)
	if verbose {
		explain(w, o)
	}
	if o.Mapped == nil && o.Managed {
		address = "RVA"
	}
	fmt.Fprintf(w, "%-12s %-14s %-8s %s\n", "OFFSET", address, "SIZE", "NAME")
	for _, p := range o.Places {
		at := fmt.Sprintf("%#x", p.Address)
		switch {
		case o.Mapped == nil:
			at = fmt.Sprintf("%#x", p.Addr)
		case p.Address == 0:
			at = "not mapped"
		}
		_, err := fmt.Fprintf(w, "%-12s %-14s %-8s %s\n", fmt.Sprintf("%#x", p.Offset), at, fmt.Sprintf("%#x", p.Size),
			result.ShownLine(p.Name))
		if err != nil {
			return err
		}
	}
	if o.Outside > 0 {
		fmt.Fprintf(w, "# %d more have no code in the file\n", o.Outside)
	}
	return nil
}

// explain says how the numbers come about, with those of the first function.
func explain(w io.Writer, o *trocar.Offsets) {
	own, p := "address in the file", &o.Places[0]
	if o.Managed {
		own = "RVA"
	}
	fmt.Fprintf(w, "# offset = %s - begin of its part + offset of its part in the file\n", own)
	for _, s := range o.Parts {
		fmt.Fprintf(w, "#   part %#x-%#x at offset %#x of the file\n", s.Addr, s.Addr+s.Size, s.Offset)
		if p.Addr >= s.Addr && p.Addr-s.Addr < s.Size {
			fmt.Fprintf(w, "#     %#x = %#x - %#x + %#x  %s\n", p.Offset, p.Addr, s.Addr, s.Offset, result.ShownLine(p.Name))
		}
	}
	if o.Mapped == nil {
		return
	}
	fmt.Fprintln(w, "# address = offset - offset of its mapping in the file + begin of the mapping")
	for _, m := range o.Mapped {
		fmt.Fprintf(w, "#   mapping %#x-%#x of offset %#x\n", m.Start, m.End, m.Offset)
		if p.Address >= m.Start && p.Address < m.End {
			fmt.Fprintf(w, "#     %#x = %#x - %#x + %#x  %s\n", p.Address, p.Offset, m.Offset, m.Start,
				result.ShownLine(p.Name))
		}
	}
}

// offsetJSON is a function of the format json.
type offsetJSON struct {
	Type    string  `json:"type"`
	File    string  `json:"file"`
	Name    string  `json:"name"`
	Offset  uint64  `json:"offset"`
	Addr    uint64  `json:"file_address"`
	Address *uint64 `json:"address,omitempty"`
	Size    uint64  `json:"size"`
}

func writeOffsetsJSON(w io.Writer, o *trocar.Offsets, _ bool) error {
	to := json.NewEncoder(w)
	to.SetEscapeHTML(false)
	for i := range o.Places {
		p := &o.Places[i]
		line := offsetJSON{Type: "offset", File: o.Path, Name: p.Name, Offset: p.Offset, Addr: p.Addr, Size: p.Size}
		if p.Address != 0 {
			line.Address = &p.Address
		}
		if err := to.Encode(&line); err != nil {
			return err
		}
	}
	return nil
}

func newPerfMap(a *app) *cobra.Command {
	var pid, file string
	cmd := &cobra.Command{
		Use:   "perf-map -p PID [-o FILE]",
		Short: "Write a perf map of the methods that a runtime has compiled in a process",
		Long: `Write a perf map of the methods that a runtime has compiled in a process.

The map lists methods that were compiled ahead of time (.NET) and at run time (.NET, Java, Node.js), in lines
"ADDRESS SIZE NAME" with hexadecimal numbers, as perf reads them from /tmp/perf-PID.map. The names of .NET methods are
followed by how they were compiled: [PreJIT] ahead of time, [QuickJitted] on their first call, [OptimizedTier1] after
many calls. Methods that are not listed have not been called yet, or only as inlined code. Functions of libraries are not
listed: perf finds them by itself.

    trocar perf-map -p 812 -o app.map`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.perfMap(cmd.Context(), pid, file) },
	}
	cmd.SetFlagErrorFunc(a.wrongFlag)
	cmd.Flags().StringVarP(&pid, "pid", "p", "", "the process")
	cmd.Flags().StringVarP(&file, "output", "o", "", "write to this file")
	return cmd
}

func (a *app) perfMap(ctx context.Context, pid, file string) error {
	n, err := strconv.ParseUint(pid, 10, 31)
	if err != nil || n == 0 {
		return usageErrorf("-p PID is required, one process ID")
	}
	type outcome struct {
		list    []trocar.Compiled
		missing []string
	}
	found, err := promptly(ctx, func() (o outcome, err error) {
		o.list, o.missing, err = trocar.CompiledIn(ctx, int(n), (&settings{}).files())
		return o, err
	})
	if err != nil {
		return infoError(err)
	}
	for _, text := range found.missing {
		fmt.Fprintf(a.err, "WARNING: missing: %s\n", result.ShownLine(text))
	}
	to := a.out
	if file != "" {
		f, err := output.Create(file)
		if err != nil {
			return &statusError{exitFailed, err}
		}
		defer f.Close()
		to = f
	}
	w := result.NewShownWriter(to)
	for _, c := range found.list {
		fmt.Fprintf(w, "%x %x %s\n", c.Start, c.Size, result.ShownLine(c.Name))
	}
	if err := w.Flush(); err != nil {
		return &statusError{exitFailed, err}
	}
	return nil
}
