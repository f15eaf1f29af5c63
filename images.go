package trocar

import (
	"context"
	"slices"
	"sync"

	"trocar/internal/binary/image"
	"trocar/internal/binary/objfile"
	"trocar/internal/process/match"
)

// maxIdle is how many files without users are kept open for the next question.
const maxIdle = 16

// openFiles are the files that calls with one context share.
type openFiles struct {
	ctx   context.Context
	mu    sync.Mutex
	files Files // that set is for
	set   *image.Set
}

type openFilesKey struct{}

// WithFiles gives a context for calls that are about the same files: those that one call opens stay open for the next,
// with what was read of them. They are closed by the function, once what was made by the calls is closed.
func WithFiles(ctx context.Context) (context.Context, func()) {
	o := &openFiles{ctx: ctx}
	return context.WithValue(ctx, openFilesKey{}, o), o.close
}

func (o *openFiles) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.set != nil {
		o.set.Close()
	}
}

// images is what a call opens files with: a set of its own, or that of the context.
type images struct {
	*image.Set
	shared bool
}

// interrupt ends waits for debug files. Calls that share a set end them with their context only.
func (i images) interrupt() {
	if !i.shared {
		i.Interrupt()
	}
}

// done closes what has no users.
func (i images) done() {
	if !i.shared && i.Set != nil {
		_ = i.Close() // it was only read
	}
}

// images gives what to open files with; it is to be given back with done. A wait for a debug file ends with ctx.
func (f *Files) images(ctx context.Context) images {
	if o, ok := ctx.Value(openFilesKey{}).(*openFiles); ok {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.set == nil {
			o.files, o.set = *f, f.newSet(o.ctx)
		}
		if slices.Equal(o.files.Debug, f.Debug) && o.files.Debuginfod == f.Debuginfod {
			return images{o.set, true}
		}
	}
	return images{f.newSet(ctx), false}
}

func (f *Files) newSet(ctx context.Context) *image.Set {
	var fetch objfile.Fetcher
	if servers := f.servers(); servers != nil {
		fetch = servers.DebugFile
	}
	return image.NewSet(ctx, image.Options{DebugDirs: f.Debug, Tables: match.Tables(), Fetch: fetch, Idle: maxIdle})
}
