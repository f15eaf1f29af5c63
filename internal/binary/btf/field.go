package btf

// Field finds where a structure has a field, or one that is in a field of it, and so on. The types of fields are not
// made for that, and structures that all the kernel knows of come early: Structs finds many at once.
func (b *Types) Field(structure string, path ...string) (offset int, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id, ok := b.find(1<<kindStruct, structure)
	for _, name := range path {
		at := 0
		if id, at, ok = b.member(id, name, 0); !ok {
			return 0, false
		}
		offset += at
	}
	return offset, ok
}

// member finds a member of a structure, which may be in one without a name. One that is not of whole bytes is none.
func (b *Types) member(id uint32, name string, depth int) (of uint32, offset int, ok bool) {
	t := b.at(id)
	for ; depth < maxDepth; depth++ {
		switch t.kind {
		case kindTypedef, kindConst, kindVolatile, kindRestrict, kindTypeTag:
			t = b.at(t.ref())
			continue
		}
		break
	}
	if t.kind != kindStruct && t.kind != kindUnion || depth == maxDepth {
		return 0, 0, false
	}
	for i := range t.vlen {
		// The name, the type, and the offset in bits, of which kind_flag uses the upper 8 for the size of bit-fields.
		bits := t.word(3*i + 2)
		if t.flag {
			if bits>>24 != 0 {
				continue
			}
			bits &= 1<<24 - 1
		}
		called, in := t.word(3*i), t.word(3*i+1)
		if called != 0 {
			if name != "" && b.called(called, name) && bits%8 == 0 {
				return in, int(bits / 8), true
			}
			continue
		}
		if of, at, ok := b.member(in, name, depth+1); ok {
			return of, int(bits/8) + at, true
		}
	}
	return 0, 0, false
}
