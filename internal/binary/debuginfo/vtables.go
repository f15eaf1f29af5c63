package debuginfo

import (
	"fmt"
	"slices"
	"strings"

	"trocar/internal/binary/objfile"
	"trocar/internal/binary/section"
	"trocar/internal/binary/types"
)

// vtableSuffix ends the names that rustc gives to the variables that are virtual tables: "<T as Trait>::{vtable}".
const vtableSuffix = "::{vtable}"

// maxVTables bounds the virtual tables of a program that are kept.
const maxVTables = 1 << 18

// VTable names the types of Rust whose virtual table is at an address: linkers put tables together that are alike, so
// there may be several. ErrNotFound (wrapped) if there is none.
func (in *Info) VTable(addr uint64) (concrete []string, err error) {
	defer objfile.Guard(&err)()
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.vtables == nil {
		in.vtables = make(map[uint64][]string)
		for _, u := range in.main.unitList() {
			in.passed(u)
			if u.typeOff == 0 {
				in.vtablesOf(u)
			}
		}
	}
	if concrete = in.vtables[addr]; concrete == nil {
		return nil, fmt.Errorf("a virtual table at %#x of %s: %w", addr, in.src.Path, ErrNotFound)
	}
	return concrete, nil
}

// vtablesOf notes the tables of a unit, which are at its top.
func (in *Info) vtablesOf(u *unit) {
	full, err := u.full(in)
	if err != nil || full.load().lang != types.Rust {
		return
	}
	top, ok := full.at(uint64(full.first))
	if !ok {
		return
	}
	top.eachChild(func(v *die) bool {
		if v.tag != tagVariable || !strings.HasSuffix(v.name(), vtableSuffix) {
			return true
		}
		addr, ok := v.fixedAddr()
		name := v.containing()
		if ok && name != "" && !slices.Contains(in.vtables[addr], name) {
			in.vtables[addr] = append(in.vtables[addr], name)
		}
		return len(in.vtables) < maxVTables
	})
}

// fixedAddr is the address of a variable that always is at the same.
func (d *die) fixedAddr() (addr uint64, ok bool) {
	v, found := d.get(atLocation)
	if !found || !v.isBlock() || len(v.block) < 2 {
		return 0, false
	}
	r := section.Reader{Data: v.block}
	switch r.U8() {
	case opAddr:
		addr = r.Uint(int(d.u.addrSize))
	case opAddrx, opGNUAddrIndex:
		if addr, ok = d.u.indexedAddr(r.ULEB()); !ok {
			return 0, false
		}
	default:
		return 0, false
	}
	return addr, !r.Bad && r.Left() == 0
}

// containing is the name of the type that a virtual table is of.
func (d *die) containing() string {
	t, ok := d.refOf(atType)
	if !ok {
		return ""
	}
	c, ok := t.refOf(atContainingType)
	if !ok {
		return ""
	}
	return c.qualified()
}
