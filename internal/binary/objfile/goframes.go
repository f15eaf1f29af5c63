package objfile

import "strings"

// StackDelta is how far below the caller's frame code has its stack pointer at some addresses, by a table that the
// language's own linker writes.
type StackDelta struct {
	Low, High uint64
	Delta     int  // bytes between the stack pointer and the return address
	Frame     bool // Delta is not known, or the stack may have been switched: the frame pointer tells of the caller
	Stop      bool // there is no caller
}

const (
	funcPCSP       = 16 // in _func
	maxStackDeltas = 1 << 23
)

// StackDeltas calls yield, in the order of addresses, with what Go's table tells of the stack (pcsp, by which its own
// tracebacks go), until it returns false; ok: there is such a table.
func (f *File) StackDeltas(yield func(*StackDelta) bool) (ok bool) {
	t := f.funcTable()
	if t == nil || t.flagFld != funcFlag {
		return false
	}
	var out StackDelta
	for i, left := 0, maxStackDeltas; i < t.n; i++ {
		entry, end, name, good := t.at(i)
		rec := t.record(i)
		if !good || rec == nil || !f.Executable(entry) {
			continue
		}
		switch kind := goStack(cString(t.names, uint64(name))); kind {
		case goOutermost:
			out = StackDelta{Low: entry, High: end, Stop: true}
		case goSwitches:
			out = StackDelta{Low: entry, High: end, Frame: true}
		case goOrdinary, goBorrows:
			at, more := entry, true
			t.pcValues(u32(rec, funcPCSP), f.goQuantum(), func(low, high uint64, delta int) bool {
				if low, high = entry+low, min(entry+high, end); low < at || high <= low {
					return false
				}
				at, left = high, left-1
				// At 8 the caller's frame pointer is saved, and the own one not yet there.
				frame := delta < 0 || kind == goBorrows && delta > 8
				out = StackDelta{Low: low, High: high, Delta: delta, Frame: frame}
				more = yield(&out)
				return more && left > 0
			})
			if !more || left <= 0 {
				return true
			}
			if at == end {
				continue
			}
			out = StackDelta{Low: at, High: end, Frame: true}
		}
		if out.Low < out.High && !yield(&out) {
			return true
		}
	}
	return true
}

// goKind says what a function does to the stack.
type goKind uint8

const (
	goOrdinary  goKind = iota
	goOutermost        // nothing called it
	goSwitches         // it goes on, or calls, on another stack
	goBorrows          // it calls on another stack, once it has its frame
)

// goStack tells the functions of the runtime to which pcsp does not apply.
func goStack(name string) goKind {
	name, of := strings.CutPrefix(name, "runtime.")
	if !of {
		if strings.HasPrefix(name, "_rt0_") {
			return goOutermost
		}
		if name == "time.now" {
			return goBorrows
		}
		return goOrdinary
	}
	switch name {
	case "goexit", "goexit.abi0", "mstart", "mstart.abi0", "mcall", "mcall.abi0", "morestack", "morestack.abi0",
		"morestack_noctxt", "morestack_noctxt.abi0", "rt0_go", "rt0_go.abi0":
		return goOutermost
	case "systemstack", "systemstack.abi0", "asmcgocall", "asmcgocall.abi0":
		return goSwitches
	case "nanotime1", "nanotime1.abi0", "walltime", "walltime.abi0", "vgetrandom1", "asmcgocall_no_g",
		"asmcgocall_no_g.abi0", "callCgoMmap", "callCgoMmap.abi0", "callCgoMunmap", "callCgoMunmap.abi0", "callCgoSigaction",
		"callCgoSigaction.abi0":
		return goBorrows
	}
	return goOrdinary
}
