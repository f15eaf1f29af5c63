package match

import (
	"context"
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
