package image

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"sync"

	"trocar/internal/binary/cfi"
	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/objfile"
)

// Image is one opened program or library. It may be used by several goroutines, each of which holds it open (Retain).
//
// What it gives is good for as long as it is open. Types are an exception: they may outlive it, and what is behind
// their pointers is then incomplete if nobody looked before.
type Image struct {
	set   *Set
	id    ID
	obj   *objfile.File
	users int // guarded by set.mu

	mu      sync.Mutex
	closed  bool
	info    *debuginfo.Info
	err     error // why there is no info
	looked  bool  // for info
	fetches bool  // see FetchDebug
	frames  *cfi.Table
	told    map[reflect.Type]any // see Tell
}

// Retain adds a user, who has to close the image as well. The caller must be a user.
func (im *Image) Retain() *Image {
	im.set.mu.Lock()
	defer im.set.mu.Unlock()
	im.users++
	return im
}

// Close takes a user away; the last one closes the file. ErrClosed (wrapped): there was none.
func (im *Image) Close() error { return im.set.release(im) }

// ID is what the file is.
func (im *Image) ID() ID { return im.id }

// File is the ELF file: symbols, sections, notes. It is closed with the image.
func (im *Image) File() *objfile.File { return im.obj }

// FetchDebug has the debug file fetched if it is nowhere here, when names or debug information are first asked for; it
// must be called before that. Without it none is fetched: what only appears in stacks is not worth the wait.
func (im *Image) FetchDebug() {
	im.mu.Lock()
	defer im.mu.Unlock()
	if !im.fetches {
		im.fetches = true
		im.obj.FetchDebug(im.set.ctx, im.set.opts.Fetch)
	}
}

// Info is the debug information, which is looked for on the first call. An error is debuginfo.ErrNone or another of
// debuginfo.Open, wrapped, the same at each call, or ErrClosed. The first call may wait for a debug file to be fetched;
// the context of the set ends that.
func (im *Image) Info() (*debuginfo.Info, error) {
	im.mu.Lock()
	defer im.mu.Unlock()
	if im.closed {
		return nil, fmt.Errorf("%s: %w", im.obj.Path(), ErrClosed)
	}
	if !im.looked {
		im.looked = true
		im.info, im.err = debuginfo.Open(im.obj)
	}
	return im.info, im.err
}

// HasInfo tells whether debug information was asked for, and found.
func (im *Image) HasInfo() bool {
	im.mu.Lock()
	defer im.mu.Unlock()
	return im.info != nil
}

// Frames are the rules of how callers' frames are found, which files without debug information have as well.
func (im *Image) Frames() *cfi.Table {
	im.mu.Lock()
	defer im.mu.Unlock()
	if im.frames == nil {
		im.frames = cfi.Open(im.obj)
	}
	return im.frames
}

// Tell is what a package of its own knows of an image, such as that of a language's runtime: open is called once for
// each image and type T, and not at all for a closed image. What it makes is closed with the image if it can be
// (io.Closer). It may ask the image's File and debug information, but not for what Tell gives.
func Tell[T any](im *Image, open func(*objfile.File) T) (T, error) {
	key := reflect.TypeFor[T]()
	im.mu.Lock()
	defer im.mu.Unlock()
	if told, ok := im.told[key]; ok {
		t, _ := told.(T) // of an interface, nothing may be what was told
		return t, nil
	}
	if im.closed {
		var none T
		return none, fmt.Errorf("%s: %w", im.obj.Path(), ErrClosed)
	}
	told := open(im.obj)
	if im.told == nil {
		im.told = map[reflect.Type]any{}
	}
	im.told[key] = told
	return told, nil
}

// Evict gives the memory back that reading the file, and its debug information, took. What they gave stays valid.
func (im *Image) Evict() {
	im.mu.Lock()
	defer im.mu.Unlock()
	if !im.closed {
		im.obj.Evict()
		if im.info != nil {
			im.info.Evict()
		}
	}
}

// Forget gives back what was made of the file to find names and lines in it, if nobody else uses the image: it is made
// again when it is asked for.
func (im *Image) Forget() {
	im.set.mu.Lock()
	alone := im.users == 1
	im.set.mu.Unlock()
	if !alone {
		return
	}
	im.mu.Lock()
	defer im.mu.Unlock()
	if im.closed {
		return
	}
	if im.info != nil {
		_ = im.info.Close() // it was only read
		im.info, im.looked = nil, false
	}
	im.obj.ForgetNames()
	im.obj.Evict()
}

// shut closes the file.
func (im *Image) shut() error {
	im.mu.Lock()
	defer im.mu.Unlock()
	im.closed = true
	var errs []error
	for _, told := range im.told {
		if c, ok := told.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	im.told = nil
	if im.info != nil {
		errs = append(errs, im.info.Close())
		im.info = nil
	}
	return errors.Join(append(errs, im.obj.Close())...)
}
