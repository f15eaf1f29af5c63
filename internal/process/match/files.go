package match

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/image"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/opener"
	"trocar/internal/process/probe"
	"trocar/internal/process/runtimes"
	"trocar/internal/process/runtimes/dotnet"
	"trocar/internal/process/target"
)

// binary is a file that probes can be put into.
type binary struct {
	throws *bool  // see unwinds; nil: not found out yet
	name   string // as the user sees it, in names of points
	path   string // as we and the kernel can open it
	obj    *objfile.File
	im     *image.Image // which obj is of
	pid    int          // the process that it is looked at for, 0: none

	noDebug bool // that there is no debug information has been said

	codes []runtimes.Code // of runtimes, once asked
	asked bool

	texts      map[uint64]debuginfo.Passed // see textsAt, once asked
	askedTexts bool

	shown   map[string]string // how functions of a pattern are shown, see shownNames
	shownOf string

	near   []string // names that resemble
	nearOf string
}

// shownNames is how functions of a pattern are shown. A script has it for entries and for returns, and reading the
// names of C++ is most of the work.
func (b *binary) shownNames(pattern string, display func() func(string) string) func(string) string {
	if b.shown == nil || b.shownOf != pattern {
		b.shown, b.shownOf = map[string]string{}, pattern
	}
	var show func(string) string
	return func(name string) string {
		shown, ok := b.shown[name]
		if !ok {
			if show == nil {
				show = display()
			}
			shown = show(name)
			b.shown[name] = shown
		}
		return shown
	}
}

// fileID is what the file is.
func (b *binary) fileID() probe.FileID {
	id := b.im.ID()
	if id.Base != 0 {
		return probe.FileID{} // in an archive, which has another size
	}
	size, changed := id.Content()
	return probe.FileID{Dev: id.Dev, Inode: id.Inode, Size: size, Changed: changed}
}

// files finds and opens the files that attach points mean.
type files struct {
	found   map[string][]*binary // what targets were found to mean
	images  *image.Set
	opts    Options
	root    target.Root
	rootErr error
	open    map[string]*binary // by path
	cpus    map[string]fileCPU // of all that were opened, by the path of their points
	maps    []target.Mapping
	gotMaps bool
	mapsErr error
	living  target.PID // of the process, once asked

	python  *pythonProcess // once asked
	methods *methods       // the same
	usdts   []*spec        // that mean whatever files the process has loaded
}

func newFiles(ctx context.Context, opts Options) *files {
	if opts.Images == nil {
		opts.Images = image.NewSet(ctx, image.Options{Tables: Tables()})
	}
	fs := &files{images: opts.Images, opts: opts, open: map[string]*binary{}, cpus: map[string]fileCPU{}}
	if pid := fs.pid(); pid != 0 {
		fs.root, fs.rootErr = pid.Root()
	}
	return fs
}

// pid is the process by a thread that lives: only that has files in /proc. 0: there is no process.
func (fs *files) pid() target.PID {
	if fs.living == 0 {
		fs.living = target.PID(max(fs.opts.ChildPID, 0))
		if fs.living == 0 && fs.opts.PID != 0 {
			fs.living = target.PID(fs.opts.PID).Living()
		}
	}
	return fs.living
}

func (fs *files) close() {
	for _, b := range fs.open {
		for _, c := range b.codes {
			if c, ok := c.(io.Closer); ok {
				_ = c.Close()
			}
		}
		_ = b.im.Close() // it was only read
	}
	clear(fs.open)
	clear(fs.found)
	if fs.python != nil && fs.python.err == nil {
		fs.python.Close()
	}
	fs.python = nil
	fs.methods.close()
	fs.methods = nil
}

// closeUnused closes the files of which no types were asked for.
func (fs *files) closeUnused() {
	clear(fs.found)
	for key, b := range fs.open {
		if !b.im.HasInfo() && len(b.codes) == 0 {
			_ = b.im.Close()
			delete(fs.open, key)
		}
	}
}

// byPath gives the file of a point, opened again if need be.
func (fs *files) byPath(name string) *binary {
	for _, b := range fs.open {
		if b.path == name {
			return b
		}
	}
	b, err := fs.openName(name, name)
	if err != nil {
		return nil
	}
	return b
}

// errNoFile says that there is no such file; the matcher has words for it.
var errNoFile = errors.New("no such file")

// find gives the files that a target of an attach point means: a path, a name in PATH, the name of a library, or a
// pattern for one of the first two. The zero number of files comes with an error.
func (fs *files) find(name string) ([]*binary, error) {
	if fs.rootErr != nil {
		return nil, fs.rootErr
	}
	if found := fs.found[name]; found != nil {
		return found, nil
	}
	found, err := fs.lookFor(name)
	if err == nil {
		if fs.found == nil {
			fs.found = map[string][]*binary{}
		}
		fs.found[name] = found
	}
	return found, err
}

// lookFor is find for a name that was not found before.
func (fs *files) lookFor(name string) ([]*binary, error) {
	switch {
	case hasWildcard(name):
		return fs.glob(name)
	case strings.Contains(name, "!/"):
		b, err := fs.openName(name, name)
		return list(b, err)
	case strings.Contains(name, "/"):
		b, err := fs.openPath(name, fs.inRoot(name))
		return list(b, err)
	}
	return fs.byName(name)
}

func list(b *binary, err error) ([]*binary, error) {
	if err != nil {
		return nil, err
	}
	return []*binary{b}, nil
}

// openPath opens the file of a path in the target's root; if the process has the path's former file mapped (it was
// replaced or deleted), that one, because it is what runs.
func (fs *files) openPath(name, full string) (*binary, error) {
	if b, err := fs.mapped(name); b != nil || err != nil {
		return b, err
	}
	return fs.openName(full, full)
}

// inRoot is the path by which we open a path that the user names. One of /proc is ours.
func (fs *files) inRoot(name string) string {
	if strings.HasPrefix(name, "/proc/") {
		return name
	}
	return fs.inside(name)
}

// inside is the path by which we open a path that the target or one of its files names: in its root.
func (fs *files) inside(name string) string { return fs.root.Ours(name) }

// openName opens a file by a path from our own root. Links in a container's files are followed inside of it.
func (fs *files) openName(file, name string) (*binary, error) {
	if b := fs.open[file]; b != nil {
		return b, nil
	}
	var im *image.Image
	archive, _, member := strings.Cut(file, "!/")
	if member {
		var err error
		if im, err = fs.images.Open(file); err != nil {
			return nil, fileError(err)
		}
	} else {
		f, err := opener.Root{}.Open(file)
		if err != nil {
			return nil, fileError(err)
		}
		defer f.Close()
		if im, err = fs.images.OpenFile(f, file); err != nil {
			return nil, err
		}
	}
	im.FetchDebug()
	obj := im.File()
	b := &binary{name: name, path: archive, obj: obj, im: im, pid: int(fs.pid())}
	// The kernel follows links of a container from our root: give it the file itself.
	if strings.HasPrefix(file, "/proc/") && strings.Contains(file, "/root/") && !strings.Contains(file, "!/") {
		if p, err := (opener.Root{}).Resolve(file); err == nil {
			b.path = p
		}
	}
	fs.open[file], fs.cpus[b.path] = b, fileCPU{obj.Arch(), obj.CPU()}
	return b, nil
}

// fileError keeps the cause of a file that cannot be opened.
func fileError(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w: %w", errNoFile, err)
	}
	return err
}

// byName finds a program in PATH or a library by name.
func (fs *files) byName(name string) ([]*binary, error) {
	if strings.HasPrefix(name, "lib") {
		if b, err := fs.library(name); b != nil || err != nil {
			return list(b, err)
		}
	}
	if strings.HasSuffix(name, assembly) {
		for _, mp := range fs.mappedFiles() {
			if path.Base(mp.Path) == name {
				return list(fs.openMapping(mp))
			}
		}
	}
	// A file of that name here comes before those in PATH.
	if fs.root.Own() {
		if b, err := fs.openName(name, name); err == nil {
			return []*binary{b}, nil
		}
	}
	for _, p := range fs.root.LookPath(name, fs.pathVar()) {
		if b, err := fs.openPath(p, fs.inside(p)); err == nil {
			return []*binary{b}, nil
		}
	}
	if fs.pid() != 0 && !strings.Contains(name, "/") { // a plugin that the process has loaded
		for _, mp := range fs.mappedFiles() {
			if file := path.Base(mp.Path); file == name || file == name+".so" {
				return list(fs.openMapping(mp))
			}
		}
	}
	return nil, errNoFile
}

// assembly is how names of .NET's files with code end.
const assembly = ".dll"

// assemblies are .NET's files that the process has loaded.
func (fs *files) assemblies() (out []*binary) {
	if fs.pid() == 0 {
		return nil
	}
	// Those that have no code are mapped as data.
	type id struct{ dev, inode uint64 }
	seen := map[id]bool{}
	maps := fs.mappings()
	for i := range maps {
		mp := &maps[i]
		if k := (id{mp.Dev, mp.Inode}); !mp.IsFile() || !strings.HasSuffix(mp.Path, assembly) || seen[k] {
			continue
		} else {
			seen[k] = true
		}
		if b, err := fs.openMapping(mp); err == nil && b.obj.Managed() != nil && !hasFile(out, b) {
			out = append(out, b)
		}
	}
	return append(out, fs.bundled(true)...)
}

// bundled are the files of .NET in the program itself, those that it has loaded or the others.
func (fs *files) bundled(loaded bool) (out []*binary) {
	exe, err := fs.exe()
	if err != nil {
		return nil
	}
	maps := fs.mappings()
	for _, member := range exe.obj.Bundle() {
		is := slices.ContainsFunc(maps, func(m target.Mapping) bool {
			return m.Inode == exe.fileID().Inode && m.Offset <= member.Offset && member.Offset < m.Offset+(m.End-m.Start)
		})
		if !member.Assembly || member.Packed || is != loaded {
			continue
		}
		name := exe.path + "!/" + member.Name
		if b, err := fs.openName(name, name); err == nil && b.obj.Managed() != nil {
			out = append(out, b)
		}
	}
	return out
}

// unloaded are .NET's files that the process may load yet: those beside what it has loaded.
func (fs *files) unloaded() (out []*binary) {
	loaded := fs.assemblies()
	out = fs.bundled(false)
	var folders []string
	for _, b := range loaded {
		folder := path.Dir(fs.root.Shown(b.name))
		if slices.Contains(folders, folder) {
			continue
		}
		folders = append(folders, folder)
		found, _ := fs.glob(folder + "/*" + assembly)
		for _, b := range found {
			if b.obj.Managed() != nil && !hasFile(loaded, b) && !hasFile(out, b) {
				out = append(out, b)
			}
		}
	}
	return out
}

// runsDotNet tells whether the process has .NET's runtime loaded.
func (fs *files) runsDotNet() bool {
	return fs.pid() != 0 && slices.ContainsFunc(fs.mappings(), func(m target.Mapping) bool {
		return m.Path == dotnet.CodeMemory || path.Base(m.Path) == dotnet.Library
	})
}

// pathVar is the PATH in which programs are looked for: that of a process that lives in another root is its own.
func (fs *files) pathVar() string {
	if !fs.root.Own() {
		if v, ok, err := fs.pid().Env("PATH"); err == nil && ok {
			return v
		}
		return ""
	}
	return fs.opts.SearchPath
}

// library finds the library of a name: the one that the process has mapped, else the one the loader would take.
func (fs *files) library(name string) (*binary, error) {
	if fs.pid() != 0 {
		for _, mp := range fs.mappedFiles() {
			if target.IsLibrary(path.Base(mp.Path), name) {
				return fs.openMapping(mp)
			}
		}
	}
	paths, err := fs.root.FindLibrary(name)
	if err != nil || len(paths) == 0 {
		return nil, nil
	}
	return fs.openName(paths[0], paths[0])
}

// glob opens all files that a pattern fits. What is no program or library is left out.
func (fs *files) glob(pattern string) ([]*binary, error) {
	if pattern == "*" {
		return fs.running()
	}
	patterns := []string{pattern}
	if !strings.Contains(pattern, "/") {
		for _, dir := range strings.Split(fs.pathVar(), ":") {
			if dir != "" {
				patterns = append(patterns, path.Join(dir, pattern))
			}
		}
	}
	var out []*binary
	seen := map[*image.Image]bool{}
	for _, p := range patterns {
		paths, err := fs.root.Glob(p)
		if err != nil {
			return nil, err
		}
		for _, p := range paths {
			full := fs.inside(p)
			if strings.HasPrefix(pattern, "/proc/") {
				full = fs.inRoot(p)
			}
			b, err := fs.openName(full, full)
			if err != nil || !b.obj.IsExecutable() || seen[b.im] {
				continue
			}
			seen[b.im] = true
			out = append(out, b)
		}
	}
	if len(out) == 0 {
		return nil, errNoFile
	}
	return out, nil
}

// maxRunning bounds the files of all processes.
const maxRunning = 4096

// neededBy are the paths of the libraries that the loader will take for a file: by its run path, LD_LIBRARY_PATH and
// the loader's own folders.
func (fs *files) neededBy(b *binary) (paths []string) {
	dirs := b.obj.Runpath()
	if v, ok, err := fs.pid().Env("LD_LIBRARY_PATH"); err == nil && ok {
		dirs = append(dirs, strings.Split(v, ":")...)
	}
	origin := fs.root.Path(path.Dir(b.path))
	loader := b.obj.Interpreter()
needed:
	for _, lib := range b.obj.Needed() {
		// musl's libc is the loader itself, whatever file has its name.
		if isMusl(path.Base(loader)) && target.IsLibrary(lib, "libc") || isMusl(lib) {
			paths = append(paths, fs.inside(loader))
			continue
		}
		if strings.Contains(lib, "/") {
			paths = append(paths, fs.inside(lib))
			continue
		}
		for _, dir := range dirs {
			full := ""
			switch {
			case dir == "":
				continue
			case strings.HasPrefix(dir, "$ORIGIN"), strings.HasPrefix(dir, "${ORIGIN}"):
				rest := strings.TrimPrefix(strings.TrimPrefix(dir, "$ORIGIN"), "${ORIGIN}")
				full = fs.inside(path.Join(origin, rest, lib))
			default:
				full = fs.inside(path.Join(dir, lib))
			}
			if _, ok := (opener.Root{}).Regular(full); ok {
				paths = append(paths, full)
				continue needed
			}
		}
		if found, err := fs.root.FindLibrary(lib); err == nil && len(found) > 0 {
			paths = append(paths, found[0])
		}
	}
	return paths
}

// defining finds, among the libraries that a file asks for, the one that defines a function; of a pattern, one that the
// file imports.
func (fs *files) defining(b *binary, fn string, pattern bool) *binary {
	if pattern && strings.Trim(fn, "*") == "" {
		return nil
	}
	for _, p := range fs.neededBy(b) {
		lib, err := fs.openName(p, p)
		if err != nil {
			continue
		}
		funcs, err := lib.obj.Match(objfile.NewQuery(fn, ""))
		if err == nil && slices.ContainsFunc(funcs, func(f objfile.Func) bool { return !pattern || b.obj.Imports(f.Name) }) {
			return lib
		}
	}
	return nil
}

// hasFile tells whether a file is in a list, be it by another path.
func hasFile(list []*binary, b *binary) bool {
	return slices.ContainsFunc(list, func(o *binary) bool { return o.im == b.im })
}

func matchGlob(pattern, s string) bool { return objfile.MatchGlob(pattern, s) }
