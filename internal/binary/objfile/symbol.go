package objfile

// Symbols of thread-local variables have offsets for values, not addresses.
const sttTLS = 6

// SymbolAddr finds the address of a variable or function by its name as in the file: a global one before local ones. ok
// is false too if several local ones have different addresses.
func (f *File) SymbolAddr(name string) (addr uint64, ok bool) {
	var err error
	defer Guard(&err)()
	sym, ok := f.find(name, false)
	return sym.value, ok
}

// Symbol is SymbolAddr with the size.
func (f *File) Symbol(name string) (addr, size uint64, ok bool) {
	var err error
	defer Guard(&err)()
	sym, ok := f.find(name, false)
	return sym.value, sym.size, ok
}

// find finds a variable or function, or a thread-local variable.
func (f *File) find(name string, local bool) (best rawSym, ok bool) {
	tables := []symTable{f.table(".symtab"), f.dynTable()}
	if tables[0].len() <= 1 {
		if d := f.Debug(); d != nil {
			tables = append(tables, d.table(".symtab"))
		}
	}
	ambiguous := false
	for i := range tables {
		t := &tables[i]
		for j := 1; j < t.len(); j++ {
			r := t.at(j)
			if r.shndx == shnUndef || (r.typ() == sttTLS) != local || !local && r.typ() > sttFunc && r.typ() != sttIFunc ||
				cString(t.strs, uint64(r.name)) != name {
				continue
			}
			switch {
			case !ok, best.bind() == Local && r.bind() != Local:
				best, ok, ambiguous = r, true, false
			case best.bind() == Local && r.bind() == Local && r.value != best.value:
				ambiguous = true
			}
		}
	}
	return best, ok && !ambiguous
}
