package match

import (
	"context"
	"path"
	"strings"

	"trocar/internal/process/target"
)

// run are the files that a process runs, its program first, or, without a process, the programs and libraries at
// paths with what they load. Of the libraries of a process only those that wanted takes by name are opened.
func (fs *files) run(paths []string, wanted func(path string) bool) (out []*binary) {
	add := func(b *binary, err error) {
		if err == nil && !hasFile(out, b) {
			out = append(out, b)
		}
	}
	if fs.pid() != 0 {
		add(fs.exe())
		for _, mp := range fs.mappedFiles() {
			if wanted(mp.Path) {
				add(fs.openMapping(mp))
			}
		}
		return out
	}
	for _, name := range paths {
		found, err := fs.find(name)
		for _, b := range found {
			add(b, err)
		}
	}
	for i := 0; i < len(out) && len(out) < maxRunning; i++ {
		for _, p := range fs.neededBy(out[i]) {
			add(fs.openName(p, p))
		}
	}
	return out
}

// LibraryOf is the library of a name that a program will load, if it is not the one that the name alone means; "": it
// is, or there is none. A program that loads none at all is static.
func LibraryOf(ctx context.Context, opts Options, program, name string) (lib string, loads Loads) {
	fs := newFiles(ctx, opts)
	defer fs.close()
	files := fs.run([]string{program}, func(string) bool { return false })
	for i, b := range files {
		if i > 0 && (target.IsLibrary(path.Base(b.name), name) || name == "libc" && isMusl(path.Base(b.name))) {
			if usual, err := fs.library(name); err == nil && usual != nil && usual.path == b.path {
				return "", LoadsIt
			}
			return fs.root.Path(b.path), LoadsIt
		}
	}
	if len(files) == 1 && files[0].static() {
		return "", LoadsNone
	}
	return "", LoadsOthers
}

// static tells whether a program loads no libraries.
func (b *binary) static() bool { return b.obj.Interpreter() == "" && len(b.obj.Needed()) == 0 }

// Loads tells of a library whether a program loads it when it starts.
type Loads int

// What a program loads.
const (
	LoadsIt     Loads = iota
	LoadsOthers       // it may load this one later
	LoadsNone         // it is static
)

// isMusl tells whether a file's name is that of musl's libc.
func isMusl(file string) bool {
	return strings.HasPrefix(file, "ld-musl-") || strings.HasPrefix(file, "libc.musl-")
}

// Definer is a file with the functions of a list that it has.
type Definer struct {
	Path  string // in the root of the process
	Names []string
}

// Definers finds which of some functions the files have that a process runs or, without a process, that the programs at
// paths will load. Of names for the same place the first is given.
func Definers(ctx context.Context, opts Options, paths, names []string) (out []Definer) {
	fs := newFiles(ctx, opts)
	defer fs.close()
	for _, b := range fs.run(paths, func(string) bool { return true }) {
		d := Definer{Path: fs.root.Path(b.path)}
		at := map[uint64]bool{}
		for _, name := range names {
			if ctx.Err() != nil {
				return nil
			}
			if addr, ok := b.obj.SymbolAddr(name); ok && !at[addr] {
				at[addr] = true
				d.Names = append(d.Names, name)
			}
		}
		if len(d.Names) > 0 {
			out = append(out, d)
		}
	}
	return out
}
