package match

import (
	"slices"

	"trocar/internal/binary/cfi"
	"trocar/internal/binary/code"
	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
)

// maxFrameRows bounds the rows of call frame information of one function that are looked at.
const maxFrameRows = 64

// foreign tells why a function is called by another convention than its language's, like those for Windows that
// emulators and firmware have; "" if nothing says so. clang and rustc say it, GCC does not: but a function that saves
// registers for its caller which its own convention lets it overwrite follows another one.
func (b *binary) foreign(fn *debuginfo.Function) string {
	if fn.Foreign {
		return "it has a calling convention of its own"
	}
	if !fn.Optimized && b.storesAbove(fn) {
		return "it stores arguments above its frame, so it has a calling convention of its own"
	}
	arch := b.obj.Arch()
	if arch == nil || len(arch.C.Args) == 0 {
		return ""
	}
	frames := b.im.Frames()
	for _, r := range fn.Ranges {
		pc := r.Low
		for range maxFrameRows {
			row, err := frames.At(pc)
			if err != nil {
				break
			}
			if slices.ContainsFunc(row.Saved, func(s cfi.RegRule) bool {
				return s.Kind == cfi.AtOffset && slices.Contains(arch.C.Args, s.Reg)
			}) {
				return "it saves registers that functions of its language need not, so it has a calling convention of its own"
			}
			if pc = row.High; !r.Contains(pc) {
				break
			}
		}
	}
	return ""
}

// storesAbove tells whether code without optimization stores something above its frame before its statements begin:
// there it has room for arguments in the convention of Windows only.
func (b *binary) storesAbove(fn *debuginfo.Function) (yes bool) {
	var err error
	defer objfile.Guard(&err)()
	if fn.Lang != types.C && fn.Lang != types.CPlusPlus {
		return false
	}
	info, err := b.debug()
	if err != nil {
		return false
	}
	body, ok := info.Body(fn)
	if !ok || body <= fn.Entry {
		return false
	}
	prologue, ok := code.ReadPrologue(b.obj.Arch(), b.obj.Bytes(fn.Entry, int(min(body-fn.Entry, code.MaxFunction))),
		false)
	return ok && prologue.StoresAbove()
}
