package match

import (
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
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
	if _, ok := RuntimeOf(obj); ok {
		return false // which unwinds in its own way
	}
	for _, name := range []string{
		"__cxa_throw", "__cxa_begin_catch", "__gxx_personality_v0", "_Unwind_Resume", "_Unwind_RaiseException",
	} {
		if obj.Imports(name) {
			return true
		}
		if _, ok := obj.SymbolAddr(name); ok {
			return true
		}
	}
	return false
}
