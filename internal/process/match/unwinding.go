package match

import (
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
	"trocar/internal/process/runtimes/native"
)

// Functions that exceptions of C++ or panics of Rust may pass: such calls end without a return.

// Throws tells whether exceptions or panics may pass the function.
func (k *Known) Throws() bool {
	if k.Func != nil {
		if lang := k.Func.Lang; lang != types.UnknownLanguage {
			return lang.Throws()
		}
	}
	if k.unwinds != nil {
		return k.unwinds()
	}
	return k.File != nil && unwinds(k.File)
}

// unwinds is the same of the file, found out once.
func (b *binary) unwinds() bool {
	if b.throws == nil {
		throws := unwinds(b.obj)
		b.throws = &throws
	}
	return *b.throws
}

// unwinds tells whether a file has code that exceptions or panics pass.
func unwinds(obj *objfile.File) bool {
	_, ok := RuntimeOf(obj) // which unwinds in its own way
	return !ok && native.Unwinds(obj)
}
