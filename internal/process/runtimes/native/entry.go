package native

import (
	"strings"

	"trocar/internal/binary/objfile"
)

// What must not be probed at its return: the kernel would replace the return address, which breaks code that looks
// at it, or that finds something else there.

// NoReturnAddress tells what is in place of a return address, or who looks at it; "": it is as it should be.
func NoReturnAddress(obj *objfile.File, fn *objfile.Func) string {
	name := strings.TrimLeft(fn.Name, "_")
	switch {
	case strings.Contains(fn.Name, ".cold"):
		return "it is the rarely used part of a function, entered by a jump: no return address is on top of the stack"
	case fn.Addr == obj.Entry() && obj.Entry() != 0, name == "start", fn.Name == "_dl_start_user":
		return "it is where the program starts: no return address is on the stack"
	case name == "restore_rt", name == "restore", name == "kernel_rt_sigreturn", name == "kernel_sigreturn":
		return "it is returned to after a signal: no return address is on top of the stack"
	case strings.HasPrefix(name, "dl_runtime_resolve"), strings.HasPrefix(name, "dl_runtime_profile"),
		strings.HasPrefix(name, "dl_tlsdesc"), strings.HasPrefix(name, "tls_get_addr_slow"):
		return "it is entered without a return address on top of the stack"
	}
	switch name {
	case "setjmp", "sigsetjmp", "getcontext", "swapcontext", "makecontext", "start_context", "vfork", "Unwind_Backtrace",
		"longjmp", "siglongjmp", "longjmp_chk", "setcontext", "Unwind_RaiseException", "Unwind_Resume", "Unwind_ForcedUnwind",
		"cxa_throw", "cxa_rethrow", "morestack":
		return "it saves, replaces or walks return addresses"
	}
	return ""
}

// Pieced tells whether code is put together from pieces of several object files, like _init and _fini: where such a
// function ends is known to nobody if its symbol doesn't say.
func Pieced(obj *objfile.File, addr uint64) bool {
	for _, name := range []string{".init", ".fini"} {
		if s, ok := obj.Section(name); ok && addr >= s.Addr && addr-s.Addr < s.Size {
			return true
		}
	}
	return false
}
