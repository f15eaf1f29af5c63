package pclntab

import (
	"bytes"

	"trocar/internal/binary/objfile"
)

const (
	funcPCSP       = 16 // in _func
	maxStackDeltas = 1 << 23
)

// Stack calls yield, in the order of addresses, with what the table tells of the stack (pcsp, by which its own
// tracebacks go), until it returns false; ok: it tells.
func (t *Table) Stack(yield func(*objfile.StackDelta) bool) (ok bool) {
	if t.flagFld != funcFlag {
		return false
	}
	var out objfile.StackDelta
	for i, left := 0, maxStackDeltas; i < t.n; i++ {
		entry, end, name, good := t.At(i)
		rec := t.record(i)
		if !good || rec == nil || !t.f.Executable(entry) {
			continue
		}
		switch kind := stackOf(t.name(uint64(name))); kind {
		case outermost:
			out = objfile.StackDelta{Low: entry, High: end, Stop: true}
		case switches:
			out = objfile.StackDelta{Low: entry, High: end, Frame: true}
		case ordinary, borrows:
			at, more := entry, true
			t.pcValues(u32(rec, funcPCSP), t.quantum(), func(low, high uint64, delta int) bool {
				if low, high = entry+low, min(entry+high, end); low < at || high <= low {
					return false
				}
				at, left = high, left-1
				// At 8 the caller's frame pointer is saved, and the own one not yet there.
				frame := delta < 0 || kind == borrows && delta > 8
				out = objfile.StackDelta{Low: low, High: high, Delta: delta, Frame: frame}
				more = yield(&out)
				return more && left > 0
			})
			if !more || left <= 0 {
				return true
			}
			if at == end {
				continue
			}
			out = objfile.StackDelta{Low: at, High: end, Frame: true}
		}
		if out.Low < out.High && !yield(&out) {
			return true
		}
	}
	return true
}

// stackUse says what a function does to the stack.
type stackUse uint8

const (
	ordinary  stackUse = iota
	outermost          // nothing called it
	switches           // it goes on, or calls, on another stack
	borrows            // it calls on another stack, once it has its frame
)

// stackOf tells the functions of the runtime to which pcsp does not apply.
func stackOf(name []byte) stackUse {
	name, of := bytes.CutPrefix(name, []byte("runtime."))
	if !of {
		if bytes.HasPrefix(name, []byte("_rt0_")) {
			return outermost
		}
		if string(name) == "time.now" {
			return borrows
		}
		return ordinary
	}
	switch string(name) {
	case "goexit", "goexit.abi0", "mstart", "mstart.abi0", "mcall", "mcall.abi0", "morestack", "morestack.abi0",
		"morestack_noctxt", "morestack_noctxt.abi0", "rt0_go", "rt0_go.abi0":
		return outermost
	case "systemstack", "systemstack.abi0", "asmcgocall", "asmcgocall.abi0":
		return switches
	case "nanotime1", "nanotime1.abi0", "walltime", "walltime.abi0", "vgetrandom1", "asmcgocall_no_g",
		"asmcgocall_no_g.abi0", "callCgoMmap", "callCgoMmap.abi0", "callCgoMunmap", "callCgoMunmap.abi0", "callCgoSigaction",
		"callCgoSigaction.abi0":
		return borrows
	}
	return ordinary
}
