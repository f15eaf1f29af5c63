package objfile

// Slot is what a pointer-sized cell of the file, such as one of the global offset table, is filled with when the file
// is loaded: the names of the function, whether this file has it or another one. late: code of the file decides then
// where that is.
func (f *File) Slot(addr uint64) (names []string, late bool) {
	var err error
	defer Guard(&err)()
	if !f.is64 || f.arch == nil {
		return nil, false
	}
	d, dyn := f.dynamicInfo(), f.dynTable()
	for _, table := range [][]byte{d.jmprel, d.rela} {
		for ; len(table) >= 24; table = table[24:] {
			if u64(table, 0) != addr {
				continue
			}
			info, addend := u64(table, 8), u64(table, 16)
			if resolved := f.arch.ELF.Resolved; resolved != 0 && info&0xffffffff == uint64(resolved) {
				return f.resolvedBy(addend), true
			}
			if i := info >> 32; i != 0 && i < uint64(dyn.len()) {
				return []string{cString(dyn.strs, uint64(dyn.at(int(i)).name))}, false
			}
			return nil, false
		}
	}
	return nil, false
}

// resolvedBy are the names of the functions of which a resolver says at load time which code they are
// (STT_GNU_IFUNC).
func (f *File) resolvedBy(resolver uint64) (names []string) {
	for _, t := range []symTable{f.dynTable(), f.table(".symtab")} {
		for i := 1; i < t.len(); i++ {
			if r := t.at(i); r.shndx != shnUndef && r.typ() == sttIFunc && r.value == resolver {
				names = append(names, cString(t.strs, uint64(r.name)))
			}
		}
	}
	return names
}
