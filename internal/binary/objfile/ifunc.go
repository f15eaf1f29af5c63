package objfile

import (
	"cmp"
	"slices"

	"trocar/internal/binary/code"
)

// Code is the code of a function: size bytes at addr or, where the size is not known, up to the next symbol. It is a
// view (see Guard), nil if addr is not in code.
func (f *File) Code(addr, size uint64) []byte {
	if !f.Executable(addr) {
		return nil
	}
	if size == 0 {
		size = f.untilNext(addr)
	}
	return f.Bytes(addr, int(min(size, code.MaxFunction)))
}

// untilNext is the distance to the next symbol, or to the end of the segment.
func (f *File) untilNext(addr uint64) uint64 {
	s := f.segmentAt(addr)
	limit := s.FileSize - (addr - s.Addr)
	x := f.addrIndex()
	i, _ := slices.BinarySearchFunc(x.entries, addr+1, func(e indexEntry, a uint64) int { return cmp.Compare(e.addr, a) })
	if i < len(x.entries) {
		limit = min(limit, x.entries[i].addr-addr)
	}
	return limit
}

// maxImplementations bounds what is believed of a resolver; glibc's have up to a dozen candidates.
const maxImplementations = 64

// Implementations finds the functions that an indirect function (IFUNC) can turn out to be: those whose addresses its
// resolver takes. Which one runs is decided at load time by the CPU's features. Each comes with Indirect set to fn's
// name; a list without entries means that the resolver cannot be read.
func (f *File) Implementations(fn *Func) (impls []Func, err error) {
	defer Guard(&err)()
	var found []uint64
	seen := map[uint64]bool{}
	isImpl := func(a uint64) bool {
		return f.Executable(a) && (a < fn.Addr || a >= fn.Addr+max(fn.Size, 1)) && f.functionAt(a)
	}
	var visit func(addr, size uint64, depth int)
	visit = func(addr, size uint64, depth int) {
		if seen[addr] || len(seen) > 16 {
			return
		}
		seen[addr] = true
		body := f.Code(addr, size)
		if size == 0 && len(body) > 4096 {
			body = body[:4096]
		}
		taken, branches := code.Taken(f.Arch(), body, addr, f.PointerAt, isImpl)
		found = append(found, taken...)
		// Some resolvers only call one that they share.
		if len(taken) > 0 || depth == 0 {
			return
		}
		for _, b := range branches {
			if f.Executable(b) && (b < addr || b >= addr+uint64(len(body))) {
				if s, ok := f.Lookup(b); ok && s.Addr == b {
					visit(b, s.Size, depth-1)
				}
			}
		}
	}
	visit(fn.Addr, fn.Size, 2)
	slices.Sort(found)
	found = slices.Compact(found)
	if len(found) > maxImplementations {
		return nil, nil
	}
	for _, a := range found {
		impl := Func{Symbol: Symbol{Name: fn.Name, Version: fn.Version, Default: fn.Default, Addr: a}, Indirect: fn.Name}
		if s, ok := f.Lookup(a); ok && s.Addr == a {
			impl.Name, impl.Size, impl.Version, impl.Default = s.Name, s.Size, "", false
		}
		impls = append(impls, impl)
	}
	return impls, nil
}

// functionAt tells whether a function may begin at an address: a symbol does or, in stripped files, it is aligned as
// functions are and follows padding or an instruction that does not go on.
func (f *File) functionAt(a uint64) bool {
	if s, ok := f.Lookup(a); ok && s.Size > 0 {
		return s.Addr == a
	}
	return a%16 == 0
}

// CodeSize is the distance from an address to the next symbol or the end of the code there, for functions whose symbols
// don't tell their size.
func (f *File) CodeSize(addr uint64) (size uint64) {
	var err error
	defer Guard(&err)()
	if !f.Executable(addr) {
		return 0
	}
	return f.untilNext(addr)
}
