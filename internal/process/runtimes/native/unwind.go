package native

import (
	"strings"

	"trocar/internal/binary/image"
	"trocar/internal/binary/objfile"
)

// Unwinds tells whether a file has code that exceptions or panics pass.
func Unwinds(obj *objfile.File) bool {
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

// TraitObject names the type of a Rust program that has a virtual table at an address.
func TraitObject(im *image.Image, addr uint64) (string, bool) {
	info, err := im.Info()
	if err != nil {
		return "", false
	}
	all, err := info.VTable(addr)
	if err != nil {
		return "", false
	}
	return strings.Join(all, " or "), true
}
