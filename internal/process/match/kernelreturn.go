package match

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/code"
	"trocar/internal/binary/objfile"
	"trocar/internal/process/target"
)

// Where the kernel may put its own address in place of a return address. It keeps the true ones of a thread in a list,
// and takes those away that lie below the stack pointer when a probed function returns: right for a thread that has one
// stack and leaves its frames in order. It ends programs (SIGILL, SIGSEGV, an abort) that
//
//   - have several stacks on one thread: fibers, coroutines, handlers of signals on a stack of their own;
//   - walk their own stack: exceptions, panics, cancelled threads, garbage collectors, or move it;
//   - forbid its system call (uretprobe(2), Linux 6.11 to 6.13) by a seccomp filter.
//
// So it must be known of all code that a process may run that it does nothing of the kind: also that it executes no
// other program, into which the probes would follow. Its children are free to: those have none of their own.

// stackWords are functions that give a program another stack, or look at the one that it has, by what they do.
var stackWords = []struct {
	does  string
	names []string
}{
	{"switches stacks", []string{
		"makecontext", "swapcontext", "setcontext", "jump_fcontext", "make_fcontext", "ontop_fcontext", "co_switch",
		"coro_transfer",
	}},
	{"jumps between stacks or out of calls", []string{
		"longjmp", "_longjmp", "siglongjmp", "__longjmp_chk", "__libc_longjmp", "__libc_siglongjmp",
	}},
	{"handles signals on another stack", []string{"sigaltstack"}},
	{"unwinds its stack", []string{
		"_Unwind_RaiseException", "_Unwind_Resume", "_Unwind_Resume_or_Rethrow", "_Unwind_ForcedUnwind", "_Unwind_Backtrace",
		"__cxa_throw", "__cxa_begin_catch", "__gxx_personality_v0", "rust_begin_unwind", "rust_eh_personality",
		"unw_step", "unw_backtrace", "backtrace", "pthread_exit", "pthread_cancel", "thrd_exit",
	}},
	{"loads code later", []string{"dlopen", "dlmopen", "mprotect", "pkey_mprotect", "memfd_create"}},
	{"calls functions by names", []string{"dlsym", "dlvsym"}},
	{"may execute another program", []string{
		"execve", "execv", "execvp", "execl", "execlp", "execle", "execvpe", "fexecve", "execveat", "syscall",
	}},
}

// systemLibraries have such functions themselves, and use them for nobody but callers.
var systemLibraries = []string{
	"libc.so", "ld-linux", "libm.so", "libpthread.so", "libdl.so", "librt.so", "ld-musl",
	"libc.musl",
}

// maxStackCode bounds the code of a file that is searched for changes of the stack pointer.
const maxStackCode = 8 << 20

// replaced is what is known of replacing return addresses in what is traced.
type replaced struct {
	harm  string    // why it may not be done; "": nothing is in the way
	files []*binary // that were looked at
}

// kernelReturnRefused tells why the kernel may not replace return addresses in a file of what is traced; "": nothing is
// in the way.
func (m *matcher) kernelReturnRefused(b *binary) string {
	if m.replaced == nil {
		m.replaced = &replaced{}
		m.replaced.harm = m.replaced.look(m)
	}
	switch {
	case m.replaced.harm != "":
		return m.replaced.harm
	case !hasFile(m.replaced.files, b):
		return "what runs does not load " + path.Base(b.name) + " at its start"
	}
	return ""
}

func (r *replaced) look(m *matcher) string {
	pid := m.files.pid()
	switch {
	case pid == 0 && m.opts.Runs == "":
		return "which programs will run it is not known (-p and -c name one)"
	case m.opts.Spread:
		return "which programs will run it is not known"
	}
	if m.opts.FilteredReturns {
		if pid == 0 { // it will have the filters of this process
			pid = target.PID(os.Getpid())
		}
		if filtered, err := pid.Filtered(); err != nil || filtered {
			return "a seccomp filter may forbid the system call with which it returns"
		}
	}
	files, complete := m.files.loaded()
	if !complete {
		return "not all of its libraries can be read"
	}
	r.files = files
	for _, b := range files {
		if why := b.stackHarm(m.opts.FilteredReturns); why != "" {
			return why
		}
	}
	return ""
}

// loaded are the program of the process, or the one that will be started, its libraries, and those that they ask for.
func (fs *files) loaded() (out []*binary, complete bool) {
	complete = true
	add := func(b *binary, err error) {
		switch {
		case err != nil:
			complete = false
		case !hasFile(out, b):
			out = append(out, b)
		}
	}
	if fs.pid() == 0 {
		found, err := fs.find(fs.opts.Runs)
		if out = found; err != nil || len(out) != 1 {
			return nil, false
		}
	} else {
		add(fs.exe())
		for _, m := range fs.mappedFiles() {
			add(fs.openMapping(m))
		}
	}
	if fs.mapsErr != nil {
		return nil, false
	}
	for _, also := range []string{"LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH"} {
		v, err := os.Getenv(also), error(nil) // a command's, too
		if pid := fs.pid(); pid != 0 {
			v, _, err = pid.Env(also)
		}
		complete = complete && err == nil && (v == "" || fs.pid() != 0 && also == "LD_LIBRARY_PATH") // see neededBy
	}
	for i := 0; i < len(out) && len(out) < maxRunning; i++ {
		paths := fs.neededBy(out[i])
		complete = complete && len(paths) == len(out[i].obj.Needed())
		for _, p := range paths {
			add(fs.openName(p, p))
		}
	}
	return out, complete && len(out) < maxRunning
}

// stackHarm tells what of a file has to do with stacks in a way that replaced return addresses would break.
func (b *binary) stackHarm(filters bool) string {
	name := path.Base(b.name)
	if len(b.runtimes()) > 0 {
		return name + " has a runtime that walks and moves stacks"
	}
	system := false
	for _, s := range systemLibraries {
		rest, begins := strings.CutPrefix(name, s)
		system = system || begins && (rest == "" || strings.ContainsRune(".-", rune(rest[0])))
	}
	if system && b.obj.Type() == objfile.TypeDyn {
		return ""
	}
	for _, w := range stackWords {
		for _, fn := range w.names {
			if _, has := b.obj.SymbolAddr(fn); has || b.obj.Imports(fn) {
				return fmt.Sprintf("%s %s (%s)", name, w.does, fn)
			}
		}
	}
	if filters {
		for _, fn := range []string{"prctl", "seccomp_load"} {
			if b.obj.Imports(fn) {
				return fmt.Sprintf("%s may install a seccomp filter (%s)", name, fn)
			}
		}
	}
	if textSize(b.obj) > maxStackCode {
		return name + " is too large to find out whether it switches stacks"
	}
	if at, found := finds(b.obj, code.SetsStack); found {
		return fmt.Sprintf("%s sets its stack pointer (at %#x)", name, at)
	}
	if at, found := finds(b.obj, code.CallsKernel); found {
		return fmt.Sprintf("%s may execute another program (system call at %#x)", name, at)
	}
	return ""
}

// finds looks for an instruction in all code of a file. Where functions are known, each is looked at by itself: data
// before it, of which the last bytes may look like the beginning of an instruction, hides nothing of it.
func finds(obj *objfile.File, look func(*abi.Arch, []byte) (int, bool)) (at uint64, found bool) {
	var err error
	defer objfile.Guard(&err)()
	found = true // unless all of it was seen
	var starts []uint64
	_ = obj.Functions(func(s *objfile.Symbol) bool {
		starts = append(starts, s.Addr)
		return true
	})
	slices.Sort(starts)
	for _, s := range obj.Segments() {
		if !s.Exec {
			continue
		}
		text := obj.Bytes(s.Addr, int(s.FileSize))
		first := 0
		for first < len(starts) && starts[first] <= s.Addr {
			first++
		}
		for at, end := s.Addr, s.Addr+s.FileSize; at < end; first++ {
			next := end
			if first < len(starts) && starts[first] < end {
				next = starts[first]
			}
			if off, ok := look(obj.Arch(), text[at-s.Addr:next-s.Addr]); ok {
				return at + uint64(off), true
			}
			at = next
		}
	}
	return 0, false
}
