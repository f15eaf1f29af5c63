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

// declaration is what the debug information tells of a function; nil: nothing.
func (m *matcher) declaration(b *binary, fn *objfile.Func) *Declared {
	info, err := b.debug()
	if err != nil {
		return nil // funcParams says so
	}
	f, err := info.FunctionAt(fn.Addr)
	if err != nil || f.Entry != fn.Addr {
		return nil
	}
	d := &Declared{File: f.File, Line: f.Line}
	if d.Text, err = info.Prototype(f); err != nil {
		return nil
	}
	if f.Inlined {
		if d.Copies, err = info.CopyCount(f); err != nil {
			d.Copies = 0
		}
	}
	return d
}
