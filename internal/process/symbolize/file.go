package symbolize

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"trocar/internal/binary/image"
	"trocar/internal/binary/objfile"
	"trocar/internal/process/target"
)

// File is a file that is probed or mapped, opened once for all processes.
type File struct {
	path string        // as given to Probed, or as the first process named it
	id   target.FileID // by stat; zero if it could not be opened
	size uint64
	im   *image.Image
	elf  *objfile.File // of im; nil: err says why
	err  error
	when time.Time // of err

	modified int64 // when it was written to last, as it was opened: nanoseconds since 1970
	stale    bool  // it was written to since, so that nothing is known any more of what it was

	seen   bool  // known by the watch, not opened yet
	real   *File // what was opened for it then
	refs   int   // mappings that point here
	pinned bool
	keys   []fileKey // under which it is found

	buildID string
	names   map[uint64]*symbol // by address in the file; nil: no symbol there
	starts  map[uint64]*symbol // by the symbol's address
	places  map[uint64][]origin
	asked   map[uint64]bool // addresses that will be named: whether with their places in the source, too
}

// symbol is one named range.
type symbol struct {
	name  string
	start uint64
	// A signal handler returns into it, so the next frame out was interrupted: its address is not a return address.
	signal bool
}

// Path is the file's name as given to Probed or as mapped.
func (f *File) Path() string { return f.path }

// Err tells why nothing in the file has a name, or is nil.
func (f *File) Err() error { return f.err }

// maxNames bounds the addresses remembered of a file.
const maxNames = 1 << 15

// lookup names an address of the file (not of a process). The result is remembered, because stacks repeat and
// demangling is dear.
func (f *File) lookup(addr uint64, demangle bool) *symbol {
	if f.elf == nil {
		return nil
	}
	if s, ok := f.names[addr]; ok {
		return s
	}
	if f.overwritten() {
		return nil
	}
	sym, ok := f.elf.Lookup(addr)
	return f.name(addr, sym, ok, demangle)
}

// overwritten tells whether the file was written to since it was opened: what is found in it is not what a process had
// mapped.
func (f *File) overwritten() bool {
	if !f.stale {
		at, ok := f.elf.Modified()
		f.stale = ok && at != f.modified
	}
	return f.stale
}

// name remembers what names an address.
func (f *File) name(addr uint64, sym objfile.Symbol, ok, demangle bool) *symbol {
	if f.names == nil || len(f.names) >= maxNames {
		f.names, f.starts = map[uint64]*symbol{}, map[uint64]*symbol{}
	}
	var s *symbol
	if ok {
		if s = f.starts[sym.Addr]; s == nil || s.start != sym.Addr {
			s = &symbol{name: sym.Name, start: sym.Addr}
			s.signal = sym.Name == "__restore_rt" || sym.Name == "__kernel_rt_sigreturn" || sym.Name == "__restore"
			if demangle {
				s.name = objfile.Demangle(sym.Name)
			}
			f.starts[sym.Addr] = s
		}
	}
	f.names[addr] = s
	return s
}

// same tells whether two files have the same content in all likelihood: one file, or the same image seen through two
// overlay mounts, which the kernel probes as one.
func (f *File) same(g *File) bool {
	switch {
	case f == g:
		return true
	case f.elf == nil || g.elf == nil || f.size != g.size:
		return false
	case f.id == g.id:
		return true
	case f.buildID != "" || g.buildID != "":
		return f.buildID == g.buildID
	}
	return f.id.Inode == g.id.Inode
}

// fileKey is how a mapping names a file. The path is part of it because device and inode alone don't name a file on
// btrfs.
type fileKey struct {
	dev, inode uint64
	buildID    string // instead of dev and inode, in what the watch tells
	path       string
}

// retryAfter is how long a file that could not be opened is left alone.
const retryAfter = time.Second

// files are the opened files.
type files struct {
	images  *image.Set
	byKey   map[fileKey]*File
	byID    map[target.FileID]*File
	byBuild map[string]*File
	limit   int
	budget  int // how many more may be opened for the process that is looked at
}

// maxFiles bounds the files opened at one look at a process. Programs have up to some hundred libraries.
const maxFiles = 2048

var errTooMany = errors.New("too many files are mapped by the traced processes")

// mapped finds or opens the file of a mapping of a living process, and counts one more reference to it.
func (fs *files) mapped(pid target.PID, m *target.Mapping, now time.Time) *File {
	key := fileKey{dev: m.Dev, inode: m.Inode, path: m.Path}
	f := fs.byKey[key]
	if f == nil || f.elf == nil && now.Sub(f.when) > retryAfter {
		f = &File{path: m.Path}
		if fs.budget--; fs.budget < 0 {
			f.err = errTooMany
		} else if o, err := pid.OpenMapped(m); err == nil {
			f = fs.open(o, m.Path, pid.Ours(m.Path))
			o.Close()
		} else {
			f.err = err
		}
		f.when = now
		fs.byKey[key] = f
		f.keys = append(f.keys, key)
	}
	f.refs++
	return f
}

// open makes a File of an open file, or finds the one that is it already. Ours is its path for us.
func (fs *files) open(o *os.File, path, ours string) *File {
	id, err := target.IDOf(o)
	if err != nil {
		return &File{path: path, err: err}
	}
	info, err := o.Stat()
	if err != nil {
		return &File{path: path, err: err}
	}
	modified := info.ModTime().UnixNano()
	if f := fs.byID[id]; f != nil && f.modified == modified {
		return f
	}
	f := &File{path: path, id: id, modified: modified}
	if len(fs.byID) >= 2*fs.limit { // each is a mapping of ours
		f.err = errTooMany
		return f
	}
	im, err := fs.images.OpenFile(o, ours)
	if err != nil {
		f.err = err
		return f // not kept by id: nothing holds the inode, its number may become another file's
	}
	f.set(im)
	fs.byID[id] = f
	if f.buildID != "" {
		fs.byBuild[f.buildID] = f
	}
	return f
}

// seen is the file of a mapping that the watch told of, opened or not, with one more reference to it.
func (fs *files) seen(m *target.Mapping, buildID string, at uint64) *File {
	key := fileKey{m.Dev, m.Inode, buildID, m.Path}
	f := fs.byKey[key]
	if f == nil {
		f = &File{path: m.Path, seen: true, keys: []fileKey{key}}
		f.modified = time.Now().UnixNano() - int64(monotonic()-at)
		fs.byKey[key] = f
	}
	f.refs++
	return f
}

// settle opens the file of a mapping that the watch told of, now that it is asked for. A file counts only if it is
// certain to be the one: by its build id, or by device and inode.
func (fs *files) settle(m *mapping, pid target.PID) {
	f := m.file
	if f.seen {
		fs.find(f, pid)
	}
	if f.real != nil {
		m.file = f.real
		m.file.refs++
		fs.release(f)
	}
}

// find opens the file, or finds the one that is it. A copy of it under the same name serves as well; files of other
// names may have the same build id, which does not cover symbols.
func (fs *files) find(f *File, pid target.PID) {
	f.seen = false
	key := f.keys[0]
	same := fs.byBuild[key.buildID]
	if same != nil && f.named(same) {
		fs.found(f, same)
		return
	}
	// Of one that has ended nobody knows the root: ours is as good a guess as any.
	roots := []target.Root{{}}
	if r, err := pid.Root(); err == nil && r != roots[0] {
		roots = []target.Root{r, {}}
	}
	for _, r := range roots {
		inner := r.Shown(f.path)
		o, err := r.Open(inner)
		if err != nil {
			f.err = err
			continue
		}
		g := fs.open(o, f.path, r.Ours(inner))
		o.Close()
		if g.elf != nil && f.is(g) {
			fs.found(f, g)
			return
		}
		if f.err = g.err; f.err == nil {
			f.err = target.ErrChanged
		}
		if g.refs == 0 && !g.pinned {
			g.refs = 1
			fs.release(g)
		}
	}
	if same != nil {
		fs.found(f, same)
	}
}

// is tells whether a file is the one that the watch told of.
func (f *File) is(g *File) bool {
	key := f.keys[0]
	if key.buildID != "" {
		return g.buildID == key.buildID && f.named(g)
	}
	return g.id == target.FileID{Dev: key.dev, Inode: key.inode} && g.modified <= f.modified // else it came later
}

// named tells whether two files have the same name, in whichever folders.
func (f *File) named(g *File) bool { return filepath.Base(f.path) == filepath.Base(g.path) }

// found notes what was opened for a file that the watch told of. Whoever sees it from now on gets that at once.
func (fs *files) found(f, g *File) {
	if len(f.keys) == 0 || f == g || f.elf != nil || f.real != nil {
		return
	}
	f.seen = false
	fs.byKey[f.keys[0]] = g
	g.keys = append(g.keys, f.keys[0])
	g.refs++
	f.real = g
}

// release gives back a reference. A file that nobody needs is closed.
func (fs *files) release(f *File) {
	if f.refs--; f.refs > 0 || f.pinned {
		return
	}
	for _, k := range f.keys {
		if fs.byKey[k] == f {
			delete(fs.byKey, k)
		}
	}
	f.keys = nil
	if f.real != nil {
		fs.release(f.real)
		f.real = nil
	}
	if f.elf == nil {
		return
	}
	if fs.byID[f.id] == f {
		delete(fs.byID, f.id)
	}
	if fs.byBuild[f.buildID] == f {
		delete(fs.byBuild, f.buildID)
	}
	f.close()
}

// evict gives the memory back that reading the files took.
func (fs *files) evict() {
	for _, f := range fs.byID {
		f.im.Evict()
	}
}

// set gives the file what was opened for it.
func (f *File) set(im *image.Image) {
	f.im, f.elf = im, im.File()
	f.size, f.buildID = f.elf.Size(), f.elf.BuildID()
}

func (f *File) close() {
	_ = f.im.Close() // it was only read
	f.im, f.elf, f.err, f.names, f.starts, f.places = nil, nil, errClosed, nil, nil, nil
}

var errClosed = errors.New("closed")

// close closes all files, also those that only Probed has.
func (fs *files) close() {
	for _, f := range fs.byKey {
		if f.elf != nil {
			f.close()
		}
	}
	clear(fs.byID)
	clear(fs.byBuild)
	clear(fs.byKey)
}
