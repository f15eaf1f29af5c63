package match

import (
	"slices"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/code"
	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
)

// rustResult is the place of a Rust function's result of type t. What the calling convention is not known to say is
// proven by code that calls the function, or refused.
func (m *matcher) rustResult(b *binary, info *debuginfo.Info, fn *debuginfo.Function, t *types.Type) types.Place {
	arch := b.obj.Arch()
	if t.IsScalar() && t.Size <= 8 && t.Kind != types.Float {
		return arch.Result(t, types.Rust) // as all conventions have it
	}
	pair := abi.TwoScalars(t) && m.takes(b, info, fn.Entry, code.SecondResult)
	place := arch.RustResult(t, pair)
	if place.Kind != types.Unavailable {
		return place
	}
	params, err := info.Params(fn.Own(), fn.Entry)
	if err != nil {
		return place
	}
	for i := range params {
		if p := &params[i]; p.Type == nil || p.Type.Complete().Size > 0 {
			if proven := arch.RustHidden(t, p.Place); proven.Kind != types.Unavailable {
				return proven
			}
			break
		}
	}
	return place
}

// maxCalled bounds how far it is followed what functions call.
const maxCalled = 4

// maxCallers bounds the calls of a function that are looked at.
const maxCallers = 64

// takes tells whether code that calls a function takes a result of it from a register.
func (m *matcher) takes(b *binary, info *debuginfo.Info, entry uint64, where code.ResultRegister) (yes bool) {
	var err error
	defer objfile.Guard(&err)()
	return !b.leaves(info, entry, where, 0) && m.taken(b, info, entry, func(behind []byte) bool {
		return code.TakesResult(b.obj.Arch(), behind, where)
	})
}

// taken tells whether code behind a call of a function is such that it takes a result.
func (m *matcher) taken(b *binary, info *debuginfo.Info, entry uint64, takes func(behind []byte) bool) (yes bool) {
	var err error
	arch := b.obj.Arch()
	defer objfile.Guard(&err)()
	var calls []uint64
	for _, s := range b.obj.Segments() {
		if s.Exec {
			code.CallsTo(arch, b.obj.Bytes(s.Addr, int(s.FileSize)), s.Addr, entry, func(at uint64) {
				if len(calls) < maxCallers {
					calls = append(calls, at)
				}
			})
		}
	}
	for _, at := range calls {
		caller, err := info.FunctionAt(at)
		if err != nil {
			continue
		}
		for _, r := range caller.Ranges {
			if !r.Contains(at) {
				continue
			}
			if ok, _, err := m.decodeTo(b, r.Low, at); !ok || err != nil {
				break
			}
			behind := at + 5
			if behind < r.High && takes(b.obj.Bytes(behind, int(min(r.High-behind, 512)))) {
				return true
			}
		}
	}
	return false
}

// leaves tells whether a function, and what it calls, is seen to leave a register as it is: then it returns nothing in
// there, and what callers find in it behind the call is what they had before (GCC's -fipa-ra).
func (b *binary) leaves(info *debuginfo.Info, entry uint64, where code.ResultRegister, depth int) bool {
	if depth > maxCalled {
		return false
	}
	parts := []debuginfo.Range{{Low: entry, High: entry + min(b.obj.CodeSize(entry), code.MaxFunction)}}
	if fn, err := info.FunctionAt(entry); err == nil && fn.Entry == entry && len(fn.Ranges) > 0 {
		parts = fn.Ranges // and what is executed rarely
	}
	for _, part := range parts {
		if part.High <= part.Low || part.High-part.Low > code.MaxFunction {
			return false
		}
		text := b.obj.Bytes(part.Low, int(part.High-part.Low))
		if !code.KeepsRegister(b.obj.Arch(), text, where, func(at int64) bool {
			to := part.Low + uint64(at)
			if to == entry || slices.ContainsFunc(parts, func(p debuginfo.Range) bool { return p.Contains(to) }) {
				return true // which is looked at
			}
			sym, ok := b.obj.Lookup(to)
			return ok && sym.Addr == to && b.leaves(info, to, where, depth+1)
		}) {
			return false
		}
	}
	return true
}
