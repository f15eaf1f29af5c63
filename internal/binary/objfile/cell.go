package objfile

// Cell is where a library keeps the address of a variable that it exports: the variable in use may be a program's
// copy of it. False: the library uses its own.
func (f *File) Cell(name string) (slot uint64, ok bool) {
	var err error
	defer Guard(&err)()
	if !f.is64 || f.program() {
		return 0, false
	}
	return f.cellOf(name, func(s *rawSym) bool { return s.typ() == sttObject })
}

// Import is the word of a file in which the loader writes where a function of a library is, before code of the file is
// run.
func (f *File) Import(name string) (slot uint64, ok bool) {
	var err error
	defer Guard(&err)()
	if !f.is64 {
		return 0, false
	}
	return f.cellOf(name, func(s *rawSym) bool { return s.typ() == sttFunc && s.shndx == shnUndef })
}

func (f *File) cellOf(name string, fits func(*rawSym) bool) (slot uint64, ok bool) {
	d, dyn := f.dynamicInfo(), f.dynTable()
	for table := d.rela; len(table) >= 24; table = table[24:] {
		sym := u64(table, 8) >> 32
		if sym == 0 || sym >= uint64(dyn.len()) || u64(table, 16) != 0 {
			continue
		}
		if s := dyn.at(int(sym)); fits(&s) && cString(dyn.strs, uint64(s.name)) == name {
			return u64(table, 0), true
		}
	}
	return 0, false
}
