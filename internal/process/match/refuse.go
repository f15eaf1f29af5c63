package match

import (
	"bytes"
	"strings"

	"trocar/internal/binary/objfile"
	"trocar/internal/binary/opener"
	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
)

// What must not be probed at its return: the kernel would replace the return address, which breaks code that looks
// at it, or that finds something else there.

// entryInstead is the way out where returns cannot be probed.
const entryInstead = "probe the entry with uprobe"

// noReturnAddress tells what is in place of a return address, or who looks at it; "": it is as it should be.
func noReturnAddress(obj *objfile.File, fn *objfile.Func) string {
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

// pieced tells whether code is put together from pieces of several object files, like _init and _fini: where such a
// function ends is known to nobody if its symbol doesn't say.
func pieced(obj *objfile.File, addr uint64) bool {
	for _, name := range []string{".init", ".fini"} {
		if s, ok := obj.Section(name); ok && addr >= s.Addr && addr-s.Addr < s.Size {
			return true
		}
	}
	return false
}

// cdeclScope is the scope of code of 32 bits whose arguments are all on the stack; nil for other code.
func cdeclScope(obj *objfile.File) *probe.Scope {
	arch := obj.Arch()
	if arch == nil || len(arch.C.Args) > 0 {
		return nil
	}
	s := &probe.Scope{}
	for i := range 10 {
		s.ArgN = append(s.ArgN, arch.StackArg(i))
		s.ArgNTypes = append(s.ArgNTypes, types.TUint32)
	}
	return s
}

// scriptOf tells the interpreter of a script.
func (fs *files) scriptOf(name string) (interpreter string, ok bool) {
	paths := []string{name}
	if !strings.Contains(name, "/") {
		paths = fs.root.LookPath(name, fs.pathVar())
	}
	if len(paths) == 0 {
		return "", false
	}
	f, err := opener.Root{}.Open(fs.inRoot(paths[0]))
	if err != nil {
		return "", false
	}
	defer f.Close()
	var head [128]byte
	n, _ := f.Read(head[:])
	line, _, _ := bytes.Cut(head[:n], []byte("\n"))
	words := strings.Fields(strings.TrimPrefix(string(line), "#!"))
	if !bytes.HasPrefix(line, []byte("#!")) || len(words) == 0 {
		return "", false
	}
	return strings.Join(words, " "), true
}
