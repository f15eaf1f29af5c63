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
	if b.readsOthers(fn) {
		return "it reads registers in which its language's convention passes nothing, so it has one of its own"
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

// inCallersMemory tells a result that GCC's functions return in memory of their callers by the convention of Windows,
// too, and with its address in the same register.
func (b *binary) inCallersMemory(fn *debuginfo.Function, t *types.Type) bool {
	return gnu(fn) && t.Size > 16 && b.obj.Arch().Result(t, fn.Lang).Kind == types.InMemory
}

// readsOthers tells whether the first instructions of optimized code of GCC read a register of arguments in which the
// convention of C passes nothing for the parameters that the function has.
func (b *binary) readsOthers(fn *debuginfo.Function) (yes bool) {
	var err error
	defer objfile.Guard(&err)()
	sym, ok := b.obj.Lookup(fn.Entry)
	if !ok || !fn.Optimized || !gnu(fn) || fn.Lang != types.C && fn.Lang != types.CPlusPlus || variant(sym.Name) {
		return false
	}
	read := code.EntryReads(b.obj.Arch(), b.obj.Bytes(fn.Entry, int(min(b.obj.CodeSize(fn.Entry), maxEntryCode))))
	if len(read) == 0 {
		return false
	}
	info, err := b.debug()
	if err != nil {
		return false
	}
	vars, err := info.Params(fn.Own(), fn.Entry)
	sig, err2 := info.Signature(fn)
	if err != nil || err2 != nil || sig.Vararg {
		return false
	}
	places := b.inOrder(info, fn, vars)
	if places == nil && len(vars) > 0 {
		return false
	}
	passed := make([]int, 0, 8)
	if len(sig.Results) > 0 && !sig.Results[0].Type.IsScalar() {
		passed = append(passed, b.obj.Arch().IntegerArgs()[0]) // it may be in memory
	}
	for i, p := range places {
		if p == nil {
			if a := &vars[i]; a.Artificial && a.Name == "__in_chrg" {
				continue
			}
			return false
		}
		passed = append(passed, registersOf(p)...)
	}
	return slices.ContainsFunc(read, func(reg int) bool { return !slices.Contains(passed, reg) })
}

// maxEntryCode bounds the first instructions of a function.
const maxEntryCode = 256

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
