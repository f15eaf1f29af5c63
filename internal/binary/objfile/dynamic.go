package objfile

import (
	"strings"
)

// dynamic is what PT_DYNAMIC says.
type dynamic struct {
	needed  []string
	runpath []string
	table   symTable // by DT_SYMTAB, for files without section headers
	rela    []byte   // DT_RELA and DT_JMPREL
	jmprel  []byte
	named   bool // has a name as a library (DT_SONAME)
	pie     bool // says that it is a program
}

const (
	dtNeeded   = 1
	dtPltRelSz = 2
	dtHash     = 4
	dtStrTab   = 5
	dtSymTab   = 6
	dtRela     = 7
	dtRelaSz   = 8
	dtStrSz    = 10
	dtSoname   = 14
	dtRpath    = 15
	dtPltRel   = 20
	dtJmpRel   = 23
	dtRunpath  = 29
	dtGNUHash  = 0x6ffffef5
	dtVerSym   = 0x6ffffff0
	dtFlags1   = 0x6ffffffb

	flagPIE = 0x08000000 // DF_1_PIE of dtFlags1

	maxNeeded = 1024
)

func (f *File) dynamicInfo() *dynamic {
	return f.dynamic.get(func(p **dynamic) {
		d := &dynamic{}
		*p = d
		data := f.slice(f.dyn.off, f.dyn.size)
		ent := 8
		if f.is64 {
			ent = 16
		}
		val := map[uint64]uint64{}
		var needed, rpaths []uint64
		for more := true; more && len(data) >= ent; data = data[ent:] {
			var tag, v uint64
			if f.is64 {
				tag, v = u64(data, 0), u64(data, 8)
			} else {
				tag, v = u32(data, 0), u32(data, 4)
			}
			switch tag {
			case 0:
				more = false
			case dtNeeded:
				if len(needed) < maxNeeded {
					needed = append(needed, v)
				}
			case dtRpath, dtRunpath:
				if len(rpaths) < 2 {
					rpaths = append(rpaths, v)
				}
			case dtSoname:
				d.named = true
			case dtFlags1:
				d.pie = v&flagPIE != 0
			case dtPltRelSz, dtHash, dtStrTab, dtSymTab, dtRela, dtRelaSz, dtStrSz, dtPltRel, dtJmpRel, dtGNUHash, dtVerSym:
				val[tag] = v
			}
		}
		at := func(addr, size uint64) []byte {
			b := f.Bytes(addr, int(min(size, uint64(len(f.data)))))
			return b
		}
		strs := at(val[dtStrTab], val[dtStrSz])
		for _, n := range needed {
			if s := cString(strs, n); s != "" {
				d.needed = append(d.needed, strings.Clone(s))
			}
		}
		for _, n := range rpaths {
			if s := cString(strs, n); s != "" {
				d.runpath = append(d.runpath, strings.Split(strings.Clone(s), ":")...)
			}
		}
		d.rela = at(val[dtRela], val[dtRelaSz])
		if val[dtPltRel] == dtRela {
			d.jmprel = at(val[dtJmpRel], val[dtPltRelSz])
		}
		if f.section(".dynsym") == nil && val[dtSymTab] != 0 {
			t := f.makeTable(nil, strs)
			n := f.dynSymCount(val[dtHash], val[dtGNUHash])
			t.syms = at(val[dtSymTab], uint64(n)*uint64(t.ent))
			d.table = t
		}
	})
}

// dynSymCount finds the number of dynamic symbols from a hash table: it stands nowhere else.
func (f *File) dynSymCount(hash, gnu uint64) uint32 {
	if h := f.Bytes(hash, 8); hash != 0 && len(h) == 8 {
		return uint32(u32(h, 4)) // nchain
	}
	h := f.Bytes(gnu, 16)
	if gnu == 0 || len(h) < 16 {
		return 0
	}
	nbuckets, symoffset, bloom := u32(h, 0), u32(h, 4), u32(h, 8)
	word := uint64(4)
	if f.is64 {
		word = 8
	}
	buckets := gnu + 16 + bloom*word
	last := uint64(0)
	b := f.Bytes(buckets, int(min(nbuckets*4, uint64(len(f.data)))))
	for i := 0; i+4 <= len(b); i += 4 {
		last = max(last, u32(b, i))
	}
	if last < symoffset {
		return uint32(symoffset)
	}
	// The chain of the highest bucket ends with an odd entry.
	chains := buckets + nbuckets*4
	for ; last < 1<<31; last++ {
		c := f.Bytes(chains+(last-symoffset)*4, 4)
		if len(c) < 4 {
			return 0
		}
		if u32(c, 0)&1 != 0 {
			break
		}
	}
	return uint32(last + 1)
}

// Needed are the names of the libraries the file asks for (DT_NEEDED).
func (f *File) Needed() (names []string) {
	var err error
	defer Guard(&err)()
	return f.dynamicInfo().needed
}

// Runpath are the directories in which the file asks its libraries to be searched, "$ORIGIN" not replaced.
func (f *File) Runpath() (dirs []string) {
	var err error
	defer Guard(&err)()
	return f.dynamicInfo().runpath
}

// Imports tells whether the file uses a function of that name from another file.
func (f *File) Imports(name string) (yes bool) {
	var err error
	defer Guard(&err)()
	t := f.dynTable()
	for i := 1; i < t.len(); i++ {
		if r := t.at(i); r.shndx == shnUndef && cString(t.strs, uint64(r.name)) == name {
			return true
		}
	}
	return false
}

// HoldsPointer tells whether data of a file that can be loaded anywhere has the address of something: whether relative
// relocations write it.
func (f *File) HoldsPointer(to uint64) bool {
	if !f.is64 || f.arch == nil {
		return false
	}
	for table := f.dynamicInfo().rela; len(table) >= 24; table = table[24:] {
		if u64(table, 16) == to && u64(table, 8)&0xffffffff == uint64(f.arch.ELF.Relative) {
			return true
		}
	}
	return false
}

// PointerAt is the value that a pointer-sized cell of the file holds once the file is loaded at its linked address: a
// relocation's addend, or what is written there (which also holds for relative relocations packed as DT_RELR).
func (f *File) PointerAt(addr uint64) uint64 {
	relocs := f.relocs.get(func(p *map[uint64]uint64) {
		m := map[uint64]uint64{}
		*p = m
		if !f.is64 {
			return
		}
		d := f.dynamicInfo()
		dyn := f.dynTable()
		for _, table := range [][]byte{d.rela, d.jmprel} {
			for ; len(table) >= 24; table = table[24:] {
				slot, info, addend := u64(table, 0), u64(table, 8), u64(table, 16)
				switch {
				case f.arch != nil && info&0xffffffff == uint64(f.arch.ELF.Relative):
					m[slot] = addend
				default:
					// A symbol that this file defines itself.
					if i := info >> 32; i != 0 && i < uint64(dyn.len()) {
						if r := dyn.at(int(i)); r.shndx != shnUndef {
							m[slot] = r.value + addend
						}
					}
				}
			}
		}
	})
	if v, ok := relocs[addr]; ok {
		return v
	}
	b := f.Bytes(addr, 8)
	if len(b) < 8 {
		return 0
	}
	return u64(b, 0)
}
