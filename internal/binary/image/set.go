package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"

	"trocar/internal/binary/objfile"
	"trocar/internal/binary/opener"
)

// ErrClosed is returned for a question to an image without users, or to a closed set.
var ErrClosed = errors.New("the file is closed")

// Options say how a set's files are looked at.
type Options struct {
	// DebugDirs are directories in which debug files are looked for first.
	DebugDirs []string
	// Tables read the tables of functions that files of some languages have without a symbol table.
	Tables []objfile.TableReader
	// Fetch gets debug files that are nowhere here (see Image.FetchDebug). Nil: nothing does.
	Fetch objfile.Fetcher
	// Idle is how many images without users are kept open for the next one who asks, until Trim or Close.
	Idle int
}

// ID is what a file is: it does not depend on its path.
type ID struct {
	Dev, Inode uint64
	Base       uint64 // offset of a member of an archive, else 0
	// A file that was written to since is another one to those who open it then.
	size, changed int64
}

// Content is the size of the file, and when it was written to last, in nanoseconds since 1970.
func (id ID) Content() (size, changed int64) { return id.size, id.changed }

// Set opens files. Its methods may be called from several goroutines.
type Set struct {
	ctx    context.Context
	cancel context.CancelFunc
	opts   Options
	room   objfile.Room // of all files together

	mu     sync.Mutex
	closed bool
	images map[ID]*Image
	idle   []*Image // without users, oldest first
	opened int
}

// NewSet makes an empty set. A wait for a debug file that is fetched ends with ctx, or when the set is closed.
func NewSet(ctx context.Context, opts Options) *Set {
	s := &Set{opts: opts, images: map[ID]*Image{}}
	s.ctx, s.cancel = context.WithCancel(ctx)
	return s
}

// Open opens the file at a path, or the member of an archive ("archive.zip!/member"). The image is to be closed. Errors
// are those of package objfile, or ErrClosed.
func (s *Set) Open(path string) (*Image, error) {
	if strings.Contains(path, "!/") {
		return s.openMember(path)
	}
	f, err := opener.Root{}.Open(path)
	if errors.Is(err, opener.ErrNotRegular) {
		return nil, fmt.Errorf("%s: %w (not a regular file)", path, objfile.ErrNotELF)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return s.OpenFile(f, path)
}

// OpenFile is Open for a file that is open already, such as one that is mapped in a process but deleted. Debug files
// are looked for beside path. F may be closed afterwards.
func (s *Set) OpenFile(f *os.File, path string) (*Image, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	id := idOf(info, 0)
	s.mu.Lock()
	defer s.mu.Unlock()
	if im, err := s.known(id); im != nil || err != nil {
		return im, err
	}
	obj, err := objfile.OpenFile(f, path)
	if err != nil {
		return nil, err
	}
	return s.add(id, obj), nil
}

func (s *Set) openMember(path string) (*Image, error) {
	obj, err := objfile.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(obj.AttachPath())
	if err != nil {
		obj.Close()
		return nil, err
	}
	id := idOf(info, obj.Base())
	s.mu.Lock()
	defer s.mu.Unlock()
	if im, err := s.known(id); im != nil || err != nil {
		obj.Close()
		return im, err
	}
	return s.add(id, obj), nil
}

func idOf(info os.FileInfo, base uint64) ID {
	id := ID{Base: base, size: info.Size(), changed: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		id.Dev, id.Inode = uint64(st.Dev), st.Ino
	}
	return id
}

// known gives an image that is open, with one more user; nil: it is not. s.mu is held.
func (s *Set) known(id ID) (*Image, error) {
	if s.closed {
		return nil, ErrClosed
	}
	im := s.images[id]
	if im == nil {
		return nil, nil
	}
	if im.users == 0 {
		s.wake(im)
	}
	im.users++
	return im, nil
}

// add makes an image with one user. s.mu is held.
func (s *Set) add(id ID, obj *objfile.File) *Image {
	obj.SearchDebug(s.opts.DebugDirs...)
	obj.Share(&s.room)
	obj.ReadTables(s.opts.Tables...)
	im := &Image{set: s, id: id, obj: obj, users: 1}
	s.images[id] = im
	s.opened++
	return im
}

// Opened is how many files have been opened so far: a file counts again only if it was closed in between.
func (s *Set) Opened() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened
}

// release takes a user away.
func (s *Set) release(im *Image) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if im.users == 0 {
		return fmt.Errorf("%s: %w", im.obj.Path(), ErrClosed)
	}
	if im.users--; im.users > 0 {
		return nil
	}
	if s.closed || s.opts.Idle <= 0 {
		return s.drop(im)
	}
	s.idle = append(s.idle, im)
	if len(s.idle) > s.opts.Idle {
		old := s.idle[0]
		s.wake(old)
		return s.drop(old)
	}
	return nil
}

// wake takes an image out of the idle ones.
func (s *Set) wake(im *Image) {
	for i, other := range s.idle {
		if other == im {
			s.idle = append(s.idle[:i], s.idle[i+1:]...)
			return
		}
	}
}

// drop closes an image that has no users.
func (s *Set) drop(im *Image) error {
	if s.images[im.id] == im {
		delete(s.images, im.id)
	}
	return im.shut()
}

// Trim closes the images without users that were kept.
func (s *Set) Trim() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, im := range s.idle {
		errs = append(errs, s.drop(im))
	}
	s.idle = nil
	return errors.Join(errs...)
}

// Interrupt ends waits, now and later: what is not here is not fetched any more.
func (s *Set) Interrupt() { s.cancel() }

// Close ends waits and opens nothing from now on. Images that have users stay open for them.
func (s *Set) Close() error {
	s.cancel()
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	return s.Trim()
}
