package objfile

import (
	"errors"
	"fmt"
	"slices"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/types"
)

// tlsSegment is PT_TLS: what each thread gets a copy of.
type tlsSegment struct{ addr, size, align uint64 }

// ErrNoSymbol is what ThreadLocal returns if there is no thread-local variable of that name.
var ErrNoSymbol = errors.New("no such symbol")

// ThreadLocal is where the running thread has its own variable of a name, and the variable's size in bytes (0: the file
// does not tell). The place holds wherever the file is loaded; it is computed when the value is read.
func (f *File) ThreadLocal(name string) (p types.Place, size uint64, err error) {
	defer Guard(&err)()
	sym, ok := f.find(name, true)
	// A relocation of its own tells the variable that is in use, which may be another file's.
	if f.arch != nil && f.arch.TLS != nil && !f.program() || !ok {
		if p, found := f.threadLocalCells(name, f.arch); found {
			return p, sym.size, nil
		}
	}
	if !ok {
		return p, 0, ErrNoSymbol
	}
	p, err = f.threadLocalAt(sym.value)
	return p, sym.size, err
}

// ThreadLocalAt is where the running thread has what lies at an offset in the file's block of thread-local variables.
func (f *File) ThreadLocalAt(offset uint64) (p types.Place, err error) {
	defer Guard(&err)()
	return f.threadLocalAt(offset)
}

func (f *File) threadLocalAt(offset uint64) (p types.Place, err error) {
	if f.arch == nil || f.arch.TLS == nil {
		return p, fmt.Errorf("thread-local variables are not available on %s", f.CPU())
	}
	if f.tls == nil {
		return p, errors.New("it is thread-local, but the file has no segment of thread-local variables")
	}
	if f.program() {
		// The program's block ends at the thread pointer (variant II); its distance is fixed, so that linkers write it into
		// the instructions. The block begins where a program header with this address and alignment allows it.
		align := max(f.tls.align, 1)
		distance := f.tls.size + (-f.tls.addr-f.tls.size)&(align-1)
		return inThread(types.PlaceOp{Code: types.PushConst, Arg: int64(offset - distance)}), nil
	}
	// The distance of another variable of the file, or of this one: the block is a whole.
	if r, ok := f.tlsReloc(f.arch.TLS.TPOff); ok {
		ops := append(cell(r.slot), types.PlaceOp{Code: types.PushConst, Arg: int64(offset - r.value)},
			types.PlaceOp{Code: types.Add})
		return inThread(ops...), nil
	}
	// The number of this file among those with thread-local variables, which the loader has written somewhere in the file.
	if r, ok := f.tlsReloc(f.arch.TLS.Module); ok {
		return f.inBlock(r.slot, []types.PlaceOp{{Code: types.PushConst, Arg: int64(offset)}})
	}
	return p, errors.New("it is thread-local in a library, and no cell of the library tells where its block is")
}

// threadLocalCells finds a variable by the relocations that name it.
func (f *File) threadLocalCells(name string, arch *abi.Arch) (p types.Place, found bool) {
	if arch == nil || arch.TLS == nil {
		return p, false
	}
	relocs := f.tlsRelocs()
	for _, r := range relocs {
		if r.name == name && r.kind == arch.TLS.TPOff && r.addend == 0 {
			return inThread(cell(r.slot)...), true
		}
	}
	for _, r := range relocs {
		if r.name != name || r.kind != arch.TLS.Module {
			continue
		}
		// The pair of cells that __tls_get_addr is called with.
		pair := slices.ContainsFunc(relocs, func(o tlsReloc) bool {
			return o.slot == r.slot+8 && o.kind == arch.TLS.DTPOff && o.name == name
		})
		if pair {
			if p, err := f.inBlock(r.slot, cell(r.slot+8)); err == nil {
				return p, true
			}
		}
	}
	return p, false
}

// Word reads a word of the loaded file.
func Word(addr uint64) []types.PlaceOp { return cell(addr) }

// cell reads a word of the loaded file.
func cell(addr uint64) []types.PlaceOp {
	return append(types.Loaded(addr).Ops, types.PlaceOp{Code: types.Load, Arg: 8})
}

// inThread is the place at a distance from the thread pointer.
func inThread(distance ...types.PlaceOp) types.Place {
	ops := append([]types.PlaceOp{{Code: types.PushThread}}, distance...)
	return types.Place{Kind: types.InMemory, Ops: append(ops, types.PlaceOp{Code: types.Add})}
}

// inBlock is the place at an offset in the block of the file whose number a cell has. Each thread has a vector of the
// blocks; before it come its length, and for each number 16 bytes of which the first 8 are the block's address (dtv_t
// in glibc's sysdeps/generic/dl-dtv.h). A block that the thread has not used yet has the address -1, so that nothing
// can be read there.
func (f *File) inBlock(slot uint64, offset []types.PlaceOp) (p types.Place, err error) {
	if !f.usesGlibc() {
		return p, errors.New("it is thread-local in a library, and only of glibc is it known where a thread has its blocks")
	}
	vector := []types.PlaceOp{
		{Code: types.PushThread},
		{Code: types.PushConst, Arg: f.arch.TLS.Vector},
		{Code: types.Add},
		{Code: types.Load, Arg: 8},
	}
	number := cell(slot)
	var ops []types.PlaceOp
	// vector + 16·number; beyond the vector's length 0, where nothing can be read.
	ops = append(ops, vector...)
	ops = append(ops, number...)
	ops = append(ops, types.PlaceOp{Code: types.PushConst, Arg: 16}, types.PlaceOp{Code: types.Mul},
		types.PlaceOp{Code: types.Add})
	ops = append(ops, number...)
	ops = append(ops, vector...)
	ops = append(ops, types.PlaceOp{Code: types.PushConst, Arg: 16}, types.PlaceOp{Code: types.Sub},
		types.PlaceOp{Code: types.Load, Arg: 8})
	ops = append(ops, types.PlaceOp{Code: types.IfLe}, types.PlaceOp{Code: types.Mul},
		types.PlaceOp{Code: types.Load, Arg: 8})
	ops = append(ops, offset...)
	return types.Place{Kind: types.InMemory, Ops: append(ops, types.PlaceOp{Code: types.Add})}, nil
}

// usesGlibc tells whether the file is linked with glibc, or is of it.
func (f *File) usesGlibc() bool {
	for _, n := range f.dynamicInfo().needed {
		if n == "libc.so.6" || len(n) > 8 && n[:8] == "ld-linux" {
			return true
		}
	}
	return false
}

// program tells whether the file is a program and not a library, which may be position independent as well, and may be
// started as well (libc).
func (f *File) program() bool {
	if f.typ == TypeExec {
		return true
	}
	d := f.dynamicInfo()
	return d.pie || f.interp.size > 0 && !d.named
}

// tlsReloc is a relocation for thread-local variables.
type tlsReloc struct {
	slot    uint64
	kind    uint32
	sym     uint32 // number of the dynamic symbol, 0: none
	name    string
	defined bool   // the symbol is of this file
	value   uint64 // with the addend; 0: of another file
	addend  uint64
}

// tlsReloc is a relocation of a kind that is about a variable of this file: best one without a symbol, since a program
// may define a variable of the same name, which is then used in place of the library's.
func (f *File) tlsReloc(kind uint32) (best tlsReloc, ok bool) {
	for _, r := range f.tlsRelocs() {
		switch {
		case r.kind != kind:
		case r.sym == 0:
			return r, true
		case r.defined && !ok:
			best, ok = r, true
		}
	}
	return best, ok
}

func (f *File) tlsRelocs() (list []tlsReloc) {
	if !f.is64 {
		return nil
	}
	t, d, dyn := f.arch.TLS, f.dynamicInfo(), f.dynTable()
	for _, table := range [][]byte{d.rela, d.jmprel} {
		for ; len(table) >= 24; table = table[24:] {
			info := u64(table, 8)
			kind := uint32(info)
			if kind != t.TPOff && kind != t.Module && kind != t.DTPOff {
				continue
			}
			r := tlsReloc{slot: u64(table, 0), kind: kind, sym: uint32(info >> 32), addend: u64(table, 16)}
			r.value = r.addend
			if r.sym != 0 && uint64(r.sym) < uint64(dyn.len()) {
				s := dyn.at(int(r.sym))
				r.name, r.defined = cString(dyn.strs, uint64(s.name)), s.shndx != shnUndef
				r.value += s.value
			}
			list = append(list, r)
		}
	}
	return list
}
