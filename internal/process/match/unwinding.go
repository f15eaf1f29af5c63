package match

import (
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
)

// Returns that exceptions may pass. A return probe puts an address of the kernel's on the stack in place of the
// return address. An exception of C++ or a panic of Rust that passes it finds nothing there that tells how to go on,
// and ends the program. So there the instructions that return are probed instead, which leaves the stack alone.

// Throws tells whether exceptions or panics may pass the function.
func (k *Known) Throws() bool {
	if k.Func != nil {
		switch k.Func.Lang {
		case types.C, types.Go:
			return false
		case types.UnknownLanguage:
		default:
			return true
		}
	}
	return k.File != nil && unwinds(k.File)
}

// unwinds tells whether a file has code that exceptions or panics pass.
func unwinds(obj *objfile.File) bool {
	if obj.IsGo() {
		return false
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
