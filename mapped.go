package trocar

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"trocar/internal/process/target"
)

// Files are the programs and libraries that the program will be attached to.
func (p *Program) Files() (paths []string) {
	for _, pt := range p.code.Points {
		if pt.Path != "" && !slices.Contains(paths, pt.Path) {
			paths = append(paths, pt.Path)
		}
	}
	return paths
}

// Functions is how many functions of programs and libraries the program will be attached to.
func (p *Program) Functions() int {
	type function struct {
		path  string
		start uint64
	}
	found := map[function]bool{}
	for _, pt := range p.code.Points {
		if pt.Path != "" || pt.Kind.OfMethod() {
			found[function{pt.Path, pt.FunctionStart()}] = true
		}
	}
	return len(found)
}

// Mapped tells how many processes have code of a file mapped now.
func Mapped(path string) (processes int, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	var inode uint64
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		inode = st.Ino
	}
	all, err := target.All()
	if err != nil {
		return 0, err
	}
	var maps []target.Mapping
	var buf []byte
	for _, pid := range all {
		if maps, buf, err = pid.AppendMaps(maps[:0], buf); err != nil {
			continue // it has ended, is the kernel's, or not ours to look at
		}
		// Of some file systems the numbers of devices differ between stat and maps: the inode's and the name must do.
		if slices.ContainsFunc(maps, func(m target.Mapping) bool {
			return m.Inode == inode && m.Perm&target.Exec != 0 && filepath.Base(m.Path) == filepath.Base(path)
		}) {
			processes++
		}
	}
	return processes, nil
}
