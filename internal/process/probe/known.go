package probe

import (
	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/objfile"
)

// Known is what the debug information tells of the function that a point lies in.
type Known struct {
	File *objfile.File
	Info *debuginfo.Info     // nil: there is none
	Func *debuginfo.Function // nil: not in it
}

// Known looks up the function of a point. It is good until the result is closed.
func (r *Result) Known(p *Point) (k Known) {
	if r.files == nil || p.Path == "" {
		return k
	}
	b := r.files.byPath(p.Path)
	if b == nil {
		return k
	}
	k.File = b.obj
	info, err := b.debug()
	if err != nil {
		return k
	}
	k.Info = info
	if fn, err := info.FunctionAt(p.Addr); err == nil {
		k.Func = fn
	}
	return k
}
