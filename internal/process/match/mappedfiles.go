package match

import (
	"fmt"
	"path/filepath"
	"strings"

	"trocar/internal/process/target"
)

// mappings are those of the process, read once.
func (fs *files) mappings() []target.Mapping {
	if !fs.gotMaps {
		fs.gotMaps = true
		fs.maps, fs.mapsErr = fs.pid().Maps()
	}
	return fs.maps
}

// mappedFiles are the process's executable mappings, one for each file.
func (fs *files) mappedFiles() []*target.Mapping {
	var out []*target.Mapping
	type id struct{ dev, inode uint64 }
	seen := map[id]bool{}
	maps := fs.mappings()
	for i := range maps {
		m := &maps[i]
		if k := (id{m.Dev, m.Inode}); m.IsFile() && m.Perm&target.Exec != 0 && !seen[k] {
			seen[k] = true
			out = append(out, m)
		}
	}
	return out
}

// mapped finds the file under which the process has a path mapped, if that file is gone from the path.
func (fs *files) mapped(name string) (*binary, error) {
	if fs.pid() == 0 || strings.HasPrefix(name, "/proc/") {
		return nil, nil
	}
	if fs.root.Own() {
		// As mappings have it: absolute, without links, the last of which may be gone.
		abs, err := filepath.Abs(name)
		if err != nil {
			return nil, nil
		}
		dir, file := filepath.Split(abs)
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			abs = filepath.Join(real, file)
		}
		if real, err := filepath.EvalSymlinks(abs); err == nil {
			abs = real
		}
		name = abs
	}
	for _, m := range fs.mappedFiles() {
		if m.Deleted && fs.root.Shown(m.Path) == name {
			return fs.openMapping(m)
		}
	}
	return nil, nil
}

// openMapping opens the very file that is mapped.
func (fs *files) openMapping(m *target.Mapping) (*binary, error) {
	name := fs.inside(fs.root.Shown(m.Path))
	if !m.Deleted {
		if b, err := fs.openName(name, name); err == nil {
			return b, nil
		}
	}
	// The kernel follows map_files to the file itself, whatever became of its name.
	link := fmt.Sprintf("/proc/%d/map_files/%x-%x", fs.pid(), m.Start, m.End)
	if b := fs.open[link]; b != nil {
		return b, nil
	}
	f, err := fs.pid().OpenMapped(m)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	im, err := fs.images.OpenFile(f, name)
	if err != nil {
		return nil, err
	}
	b := &binary{name: name, path: link, obj: im.File(), im: im, pid: int(fs.pid())}
	fs.open[link] = b
	return b, nil
}

// exe is the process's program.
func (fs *files) exe() (*binary, error) {
	name, deleted, err := fs.pid().Exe()
	if err != nil {
		return nil, err
	}
	if !deleted {
		full := fs.inside(fs.root.Shown(name))
		if b, err := fs.openName(full, full); err == nil {
			return b, nil
		}
	}
	link := fmt.Sprintf("/proc/%d/exe", fs.pid())
	b, err := fs.openName(link, link)
	if err == nil {
		b.name = name
	}
	return b, err
}

// running gives the files that run: those mapped by the process and, where it was started by us and has not loaded its
// libraries yet, those it will load; without a process, the files mapped by any process.
func (fs *files) running() ([]*binary, error) {
	if fs.pid() == 0 {
		return fs.runningAnywhere()
	}
	var out []*binary
	add := func(b *binary, err error) {
		if err == nil && b.obj.IsExecutable() && !hasFile(out, b) {
			out = append(out, b)
		}
	}
	add(fs.exe())
	for _, m := range fs.mappedFiles() {
		add(fs.openMapping(m))
	}
	if fs.mapsErr != nil && len(out) == 0 {
		return nil, fs.mapsErr
	}
	if fs.opts.ChildPID != 0 {
		for i := 0; i < len(out) && len(out) < maxRunning; i++ {
			for _, p := range fs.neededBy(out[i]) {
				add(fs.openName(p, p))
			}
		}
	}
	return out, nil
}

func (fs *files) runningAnywhere() ([]*binary, error) {
	pids, err := target.All()
	if err != nil {
		return nil, err
	}
	type id struct{ dev, inode uint64 }
	seen := map[id]bool{}
	var out []*binary
	var maps []target.Mapping
	var buf []byte
	for _, pid := range pids {
		if maps, buf, err = pid.AppendMaps(maps[:0], buf); err != nil {
			continue // gone meanwhile, or a kernel thread
		}
		root, err := pid.Root()
		if err != nil {
			continue
		}
		for i := range maps {
			m := &maps[i]
			k := id{m.Dev, m.Inode}
			if !m.IsFile() || m.Perm&target.Exec == 0 || seen[k] || len(out) >= maxRunning {
				continue
			}
			seen[k] = true
			of := &files{
				images: fs.images, opts: Options{PID: int(pid)}, root: root, open: fs.open, cpus: fs.cpus,
			}
			if b, err := of.openMapping(m); err == nil && b.obj.IsExecutable() && !hasFile(out, b) {
				out = append(out, b)
			}
		}
	}
	return out, nil
}
