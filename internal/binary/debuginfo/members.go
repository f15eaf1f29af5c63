package debuginfo

import (
	"slices"
	"strings"

	"trocar/internal/binary/section"
	"trocar/internal/binary/types"
)

// members reads the members of a struct or union into t.
func (c *converter) members(t *types.Type, d *die, depth int) {
	special := specials{cpp: t.Source.Lang == types.CPlusPlus}
	d.eachChild(func(m *die) bool {
		switch m.tag {
		case tagMember:
			if m.flag(atExternal) || m.flag(atDeclaration) { // static
				break
			}
			t.Fields = append(t.Fields, c.member(t, m, depth))
		case tagInheritance:
			c.base(t, m, depth)
		case tagSubprogram:
			special.add(d, m)
		case tagVariantPart:
			if t.Source.Variants == nil {
				t.Source.Variants = c.variants(m, depth)
				t.Source.Form = types.RustEnumForm
			}
		case tagTemplateTypeParameter:
			c.typeArgument(t, m, depth)
		}
		return len(t.Fields) < maxMembers
	})
	reversed(t)
	c.align(t, d)
	if special.cpp {
		t.Source.InMemory = special.byAddress(t, d)
	}
}

// typeArgument keeps those type arguments without which the elements of library types are not known: their own members
// point to bytes, or to nodes that have no more than the links.
func (c *converter) typeArgument(t *types.Type, m *die, depth int) {
	s := t.Source
	switch {
	case s.Lang == types.Rust && t.Elem == nil && hasAny(t.Name, "Vec<", "VecDeque<", "RawTable<"),
		t.Elem == nil && strings.HasPrefix(t.Name, "__gnu_cxx::__aligned_membuf<"):
		t.Elem = c.elem(m, false, depth)
	case s.Lang != types.CPlusPlus || !t.OfNodes():
	case s.Key == nil:
		s.Key = c.elem(m, false, depth)
	case s.Item == nil:
		s.Item = c.elem(m, false, depth)
	}
}

func hasAny(s string, words ...string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// specials are the members of a class of C++ that decide how its values are passed.
type specials struct {
	cpp                           bool
	copies, deleted               int // copy and move constructors that are declared, and deleted ones among them
	ownCopy, ownDtor, deletedDtor bool
}

// add looks at a member function of the class d. One that is defaulted in the class is trivial if those of its parts
// are.
func (s *specials) add(d, m *die) {
	if !s.cpp || m.flag(atArtificial) {
		return
	}
	how, _ := m.num(atDefaulted)
	own := how != 1 // DW_DEFAULTED_in_class
	name := m.name()
	if strings.HasPrefix(name, "~") {
		if m.flag(atDeleted) {
			s.deletedDtor = true
		} else if own {
			s.ownDtor = true
		}
		return
	}
	class, _, _ := strings.Cut(d.name(), "<")
	if name == "" || name != class || !m.copies(d) {
		return
	}
	s.copies++
	if m.flag(atDeleted) {
		s.deleted++
	} else if own {
		s.ownCopy = true
	}
}

// copies tells whether a constructor's only parameter is a reference to its class.
func (m *die) copies(class *die) bool {
	n, self := 0, false
	m.eachChild(func(p *die) bool {
		if p.tag != tagFormalParameter || p.flag(atArtificial) {
			return true
		}
		n++
		r, ok := p.refOf(atType)
		if !ok || r.tag != tagReferenceType && r.tag != tagRvalueReferenceType {
			return false
		}
		for range maxOrigins {
			if r, ok = r.refOf(atType); !ok {
				return false
			}
			switch r.tag {
			case tagConstType, tagVolatileType, tagTypedef:
				continue
			}
			break
		}
		self = r.key() == class.key() || r.name() != "" && r.name() == class.name()
		return true
	})
	return n == 1 && self
}

// byAddress tells whether values are passed and returned in memory of the caller's (Itanium C++ ABI, 3.1.1): by what
// the compiler says (clang; DW_AT_calling_convention of a type, DWARF 5, 5.7), else because the class or a part of it
// has a copy or move constructor or destructor that is more than a copy of the bytes, or can be neither copied nor
// moved.
func (s *specials) byAddress(t *types.Type, d *die) bool {
	switch how, _ := d.num(atCallingConvention); how {
	case 4: // DW_CC_pass_by_reference
		return true
	case 5: // DW_CC_pass_by_value
		return false
	}
	if s.ownCopy || s.ownDtor || s.deletedDtor || s.copies > 0 && s.copies == s.deleted || len(t.Source.VBases) > 0 {
		return true
	}
	for _, f := range t.Fields {
		if f.Artificial { // the pointer to the virtual table, which a copy sets
			return true
		}
		part := f.Type
		for range maxDimensions {
			if part != nil && part.Kind == types.Array {
				part = part.Elem
			}
		}
		if part != nil && part.Source != nil && part.Source.InMemory {
			return true
		}
	}
	return false
}

// reversed makes the enumerations of a structure in which numbers are in the other order of bytes such, too: of these
// GCC does not tell it.
func reversed(t *types.Type) {
	if !slices.ContainsFunc(t.Fields, func(f types.Field) bool {
		return f.Type != nil && strings.HasPrefix(f.Type.Name, bigEndian)
	}) {
		return
	}
	for i := range t.Fields {
		f := &t.Fields[i]
		if f.Type == nil || f.Type.Kind != types.Enum || f.Type.Size < 2 {
			continue
		}
		old := f.Type
		f.Type = &types.Type{
			Kind: types.Struct, Name: bigEndian + old.Name, Size: old.Size, Align: old.Align, Incomplete: true,
			Source: old.Source,
		}
	}
}

// align works out the alignment, which debug info gives only where the source does.
func (c *converter) align(t *types.Type, d *die) {
	if a, ok := d.num(atAlignment); ok && a > 0 && a <= 1<<16 {
		t.Align = int(a)
		return
	}
	align, packed := 1, 1<<16
	use := func(f types.Field) {
		if f.Type != nil && f.BitSize == 0 && f.Type.Align > 1 {
			align = max(align, f.Type.Align)
			if f.Offset%f.Type.Align != 0 {
				packed = min(packed, f.Offset&-f.Offset)
			}
		} else if f.BitSize > 0 && f.Type != nil {
			align = max(align, f.Type.Align)
		}
	}
	for _, f := range t.Fields {
		use(f)
	}
	if v := t.Source.Variants; v != nil {
		use(v.Discr)
		for _, one := range v.List {
			use(types.Field{Type: one.Type, Offset: one.Offset})
		}
	}
	align = min(align, packed)
	for align > 1 && t.Size%align != 0 { // packed
		align /= 2
	}
	t.Align = align
}

func (c *converter) member(t *types.Type, m *die, depth int) types.Field {
	f := types.Field{Name: m.name(), Artificial: m.flag(atArtificial), Embedded: m.flag(atGoEmbeddedField)}
	f.Type = c.elem(m, true, depth)
	place, ok := m.memberOffset()
	if !ok {
		f.Type = &types.Type{Kind: types.Void, Name: f.Type.Name, Incomplete: true}
		return f
	}
	f.Offset = place
	bits, isBits := m.num(atBitSize)
	if !isBits || bits == 0 || bits > 1<<10 {
		return f
	}
	at, ok := m.bitPosition(place, int(bits), f.Type.Size)
	if !ok {
		f.Type = &types.Type{Kind: types.Void, Name: f.Type.Name, Incomplete: true}
		return f
	}
	f.BitSize = int(bits)
	// Within an aligned unit of the declared type if possible, so that reading it touches nothing else.
	unit := max(f.Type.Size, 1)
	f.Offset = at / 8 / unit * unit
	if at-8*f.Offset+f.BitSize > 8*unit || t.Size > 0 && f.Offset+unit > t.Size {
		f.Offset = at / 8
	}
	f.BitOffset = at - 8*f.Offset
	return f
}

// memberOffset is where a member begins; members of unions have none.
func (m *die) memberOffset() (int, bool) {
	v, ok := m.get(atDataMemberLoc)
	if !ok {
		return 0, true
	}
	if v.isBlock() { // DWARF 2: DW_OP_plus_uconst N
		r := section.Reader{Data: v.block}
		var n uint64
		switch r.U8() {
		case opPlusUconst, opConstu:
			n = r.ULEB()
		case opConst1u:
			n = uint64(r.U8())
		case opConst2u:
			n = uint64(r.U16())
		default:
			return 0, false
		}
		if r.Bad || n > maxTypeSize || r.Left() > 0 && r.U8() != opPlus {
			return 0, false
		}
		return int(n), true
	}
	switch v.form {
	case formSecOffset, formLoclistx:
		return 0, false
	}
	if v.u > maxTypeSize {
		return 0, false
	}
	return int(v.u), true
}

// bitPosition is the position of a bit-field's lowest bit, from the lowest bit of the struct (DWARF 5, 5.7.6, and for
// DW_AT_bit_offset DWARF 3, 5.5.6: counted from the highest bit of a unit of storage).
func (m *die) bitPosition(place, bits, typeSize int) (int, bool) {
	if v, ok := m.num(atDataBitOffset); ok {
		return int(v), v < maxTypeSize
	}
	v, ok := m.get(atBitOffset)
	if !ok || v.isBlock() {
		return 8 * place, true // at the beginning
	}
	storage := typeSize
	if n := m.size(); n > 0 {
		storage = n
	}
	off := int64(v.u) // may be negative, in DW_FORM_sdata
	at := int64(8*place) + int64(8*storage) - off - int64(bits)
	return int(at), at >= 0 && at < maxTypeSize
}

// base adds a base class: an unnamed member. Where a virtual one lies depends on the object.
func (c *converter) base(t *types.Type, m *die, depth int) {
	typ := c.elem(m, true, depth)
	if virt, ok := m.num(atVirtuality); ok && virt != 0 {
		t.Source.VBases = append(t.Source.VBases, typ)
		return
	}
	off, ok := m.memberOffset()
	if !ok {
		t.Source.VBases = append(t.Source.VBases, typ)
		return
	}
	t.Fields = append(t.Fields, types.Field{Type: typ, Offset: off, Base: true})
}

// maxVariants bounds the variants of one enum.
const maxVariants = 1 << 14

// variants reads a DW_TAG_variant_part (DWARF 5, 5.7.10), which rustc writes for enums with data.
func (c *converter) variants(part *die, depth int) *types.Variants {
	vs := new(types.Variants)
	if d, ok := part.refOf(atDiscr); ok && d.tag == tagMember {
		off, known := d.memberOffset()
		if known {
			vs.Discr = types.Field{Name: d.name(), Type: c.elem(d, true, depth), Offset: off, Artificial: true}
		}
	}
	part.eachChild(func(v *die) bool {
		if v.tag != tagVariant {
			return true
		}
		one := types.Variant{}
		if val, ok := v.get(atDiscrValue); ok && !val.isBlock() {
			one.Discrs = append(one.Discrs, types.VariantRange{Low: val.u, High: val.u})
		} else if list, ok := v.get(atDiscrList); ok && list.isBlock() {
			one.Discrs = discrList(list.block, vs.Discr.Type != nil && vs.Discr.Type.Signed)
		}
		one.Default = len(one.Discrs) == 0
		if val, ok := v.get(atDiscrValue); ok && one.Default {
			one.Default = false
			if low, ok := wideDiscr(val); ok {
				one.Discrs = append(one.Discrs, types.VariantRange{Low: low, High: low})
			}
		}
		v.eachChild(func(m *die) bool {
			if m.tag != tagMember {
				return true
			}
			off, ok := m.memberOffset()
			if !ok {
				return false
			}
			one.Name, one.Offset, one.Type = m.name(), off, c.elem(m, true, depth)
			return false
		})
		if one.Type != nil {
			vs.List = append(vs.List, one)
		}
		return len(vs.List) < maxVariants
	})
	return vs
}

// wideDiscr is a discriminant of 128 bits that 64 can hold.
func wideDiscr(val value) (low uint64, ok bool) {
	r := section.Reader{Data: val.block}
	low, high := r.U64(), r.U64()
	return low, !r.Bad && high == 0
}

// discrList reads a DW_AT_discr_list (DWARF 5, 7.5.6 and 5.7.10).
func discrList(b []byte, signed bool) []types.VariantRange {
	r := section.Reader{Data: b}
	num := func() uint64 {
		if signed {
			return uint64(r.SLEB())
		}
		return r.ULEB()
	}
	var out []types.VariantRange
	for r.Left() > 0 && !r.Bad && len(out) < maxVariants {
		switch r.U8() {
		case 0: // DW_DSC_label
			v := num()
			out = append(out, types.VariantRange{Low: v, High: v})
		case 1: // DW_DSC_range
			low := num()
			out = append(out, types.VariantRange{Low: low, High: num()})
		default:
			return out
		}
	}
	return out
}
