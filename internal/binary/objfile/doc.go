// Package objfile owns one opened ELF file: its segments and sections, its functions with versions and demangled names,
// its notes, and where its separate debug information lies.
//
// Files come from containers we do not trust, and we run as root: every number read from one is checked against the
// size of what it counts, everything that grows is bounded, and a file that is cut short while it is mapped gives an
// error (see Guard), not a signal. Nothing here looks at processes or at the kernel.
//
// A File is opened by Open, asked, and closed:
//
//	f, err := objfile.Open("/usr/lib/x86_64-linux-gnu/libc.so.6")
//	funcs, err := f.Match(objfile.NewQuery("malloc"))
//	off, ok := f.Offset(funcs[0].Addr)
//
// All lazily made parts are made once; a File may be used by several goroutines at the same time.
//
// It is more than 4,000 lines because symbols, Go's table of functions and sections are views of the same bytes, which
// must not be used behind the end of the file: what reads them shares its guards and bounds.
package objfile
