package debuginfo

import (
	"strings"

	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
)

// converter makes types.Type of entries. A type asked for without its members (shallow) is a stub that is completed on
// demand; members and elements that lie in the value itself are complete whenever the whole is.
type converter struct {
	in            *Info
	shallow, full map[entryKey]*types.Type
	busy          map[entryKey]bool // structs being made complete: one that contains itself is damaged
}

// Limits of one type. C++ nests by-value members some tens deep.
const (
	maxTypeDepth   = 200
	maxMembers     = 1 << 16
	maxEnumerators = 1 << 17
	maxTypeSize    = 1 << 40
	maxKeptTypes   = 1 << 15
	maxDimensions  = 16
)

func (c *converter) init(in *Info) {
	c.in = in
	c.reset()
}

func (c *converter) reset() {
	c.shallow, c.full = make(map[entryKey]*types.Type), make(map[entryKey]*types.Type)
	c.busy = make(map[entryKey]bool)
}

// of returns the complete type that an attribute refers to.
func (c *converter) of(u *unit, v value) *types.Type {
	return c.ref(u, v, true, 0)
}

// name returns the type that an attribute refers to, without members: for display.
func (c *converter) name(u *unit, v value) *types.Type {
	return c.ref(u, v, false, 0)
}

func (c *converter) ref(u *unit, v value, deep bool, depth int) *types.Type {
	d, ok := u.ref(v)
	if !ok {
		return &types.Type{Kind: types.Void, Name: "?", Incomplete: true}
	}
	return c.get(d, deep, depth)
}

// elem returns the type in DW_AT_type; no such attribute means void.
func (c *converter) elem(d *die, deep bool, depth int) *types.Type {
	v, ok := d.get(atType)
	if !ok {
		return types.TVoid
	}
	return c.ref(d.u, v, deep, depth)
}

func (c *converter) get(d *die, deep bool, depth int) *types.Type {
	kept, key := c.shallow, d.key()
	if deep {
		kept = c.full
	}
	if t := kept[key]; t != nil {
		return t
	}
	if depth > maxTypeDepth {
		return &types.Type{Kind: types.Void, Name: "?", Incomplete: true}
	}
	d.u.load()
	if sig, ok := d.get(atSignature); ok { // the definition is in a type unit
		if def, ok := d.u.ref(sig); ok && def.key() != d.key() {
			return c.get(def, deep, depth+1)
		}
	}
	t := c.make(d, deep, depth+1)
	if t.Source == nil {
		t.Source = &types.Source{Lang: d.u.root.lang}
	}
	if depth == 0 && len(c.shallow)+len(c.full) > maxKeptTypes {
		c.reset()
		return t
	}
	kept[key] = t
	return t
}

func (c *converter) make(d *die, deep bool, depth int) *types.Type {
	lang := d.u.root.lang
	size := d.size()
	switch d.tag {
	case tagBaseType:
		return d.baseTypeOf(lang, size)
	case tagUnspecifiedType:
		t := *types.TVoid
		if name := d.name(); name != "" {
			t.Name = name
		}
		if strings.Contains(t.Name, "nullptr") {
			return &types.Type{Kind: types.Pointer, Name: t.Name, Size: 8, Align: 8, Elem: types.TVoid}
		}
		return &t
	case tagPointerType, tagReferenceType, tagRvalueReferenceType:
		return c.pointer(d, depth)
	case tagConstType, tagVolatileType, tagRestrictType, tagAtomicType, tagImmutableType:
		q := map[uint16]types.Qualifiers{
			tagConstType: types.Const, tagVolatileType: types.Volatile,
			tagRestrictType: types.Restrict, tagAtomicType: types.Atomic, tagImmutableType: types.Const,
		}[d.tag]
		return c.elem(d, deep, depth).Derive(func(t *types.Type) { t.Source.Quals |= q })
	case tagTypedef:
		return c.typedef(d, deep, depth)
	case tagArrayType:
		return c.array(d, deep, depth)
	case tagSubrangeType:
		t := *c.elem(d, deep, depth)
		if name := d.name(); name != "" && t.Kind != types.Void {
			t.Name = name
		}
		return &t
	case tagEnumerationType:
		return c.enum(d, size, depth)
	case tagStructureType, tagClassType, tagInterfaceType, tagUnionType:
		if t := transparent(d, size); t != nil {
			return t
		}
		if deep {
			return c.completed(d, size, depth)
		}
		return c.stub(d, size)
	case tagSubroutineType:
		return c.function(d, depth)
	case tagPtrToMemberType:
		return c.memberPointer(d, depth)
	}
	return &types.Type{Kind: types.Void, Name: "?", Incomplete: true}
}

// size is DW_AT_byte_size; 0 if it is missing or cannot be.
func (d *die) size() int {
	n, ok := d.num(atByteSize)
	if !ok || n > maxTypeSize {
		return 0
	}
	return int(n)
}

func (d *die) baseTypeOf(lang types.Language, size int) *types.Type {
	enc, _ := d.num(atEncoding)
	t := &types.Type{
		Kind: types.Int, Name: d.name(), Size: size, Align: max(1, min(size, 16)),
		Source: &types.Source{Lang: lang},
	}
	switch enc {
	case ateBoolean:
		t.Kind = types.Bool
	case ateSigned:
		t.Signed = true
	case ateSignedChar:
		t.Signed, t.Source.Form = true, types.CharForm
	case ateUnsignedChar:
		t.Source.Form = types.CharForm
	case ateUTF, ateUCS, ateASCII:
		t.Source.Form = types.UnicodeForm
	case ateFloat:
		t.Kind = types.Float
	case ateComplexFloat:
		part := &types.Type{Kind: types.Float, Name: "float", Size: size / 2, Align: max(1, min(size/2, 16))}
		t.Kind, t.Align, t.Source.Form = types.Struct, part.Align, types.ComplexForm
		t.Fields = []types.Field{{Name: "real", Type: part}, {Name: "imag", Type: part, Offset: size / 2}}
	case ateUnsigned, 0x01: // DW_ATE_address
	case ateUser:
		complexInteger(t)
	default: // decimal and packed numbers: bytes of which nothing is understood
		t.Kind, t.Incomplete = types.Struct, true
	}
	if order, _ := d.num(atEndianity); order == endBig && size > 1 {
		t = &types.Type{
			Kind: types.Struct, Name: bigEndian + t.Name, Size: size, Align: t.Align, Incomplete: true, Source: t.Source,
		}
	}
	if lang == types.Rust && t.Name == "u8" || lang == types.Rust && t.Name == "i8" || lang == types.Go {
		t.Source.Form = types.NoForm // numbers there, though rustc calls them characters
		if enc == ateComplexFloat {
			t.Source.Form = types.ComplexForm
		}
	}
	if lang == types.Rust && size == 0 { // () and !
		t.Kind = types.Struct
	}
	t.Source.RuntimeType, _ = d.num(atGoRuntimeType)
	return t
}

// bigEndian begins the names of types of which the bytes are in the other order: what they mean is not shown.
const bigEndian = "big-endian "

// complexInteger makes a type one of GCC's complex integers, if it is one.
func complexInteger(t *types.Type) {
	part, ok := strings.CutPrefix(t.Name, "complex ")
	if !ok || t.Size < 2 {
		t.Kind, t.Incomplete = types.Struct, true
		return
	}
	elem := &types.Type{
		Kind: types.Int, Name: part, Size: t.Size / 2, Align: min(t.Size/2, 16), Signed: !strings.Contains(part, "unsigned"),
		Source: &types.Source{Lang: t.Source.Lang},
	}
	t.Kind, t.Align = types.Struct, elem.Align
	t.Fields = []types.Field{{Name: "real", Type: elem}, {Name: "imag", Type: elem, Offset: elem.Size}}
}

func (c *converter) pointer(d *die, depth int) *types.Type {
	t := types.PointerTo(c.elem(d, false, depth), types.User)
	t.Source = &types.Source{Lang: d.u.root.lang}
	t.Name = d.name()
	if n := int(d.u.addrSize); n == 4 {
		t.Size, t.Align = 4, 4
	}
	switch d.tag {
	case tagReferenceType:
		t.Source.Ref = types.LValueRef
	case tagRvalueReferenceType:
		t.Source.Ref = types.RValueRef
	}
	if kind, ok := d.num(atGoKind); ok && kind == goUnsafePointer {
		t.Source.Form = types.UnsafeForm
	}
	t.Source.RuntimeType, _ = d.num(atGoRuntimeType)
	return t
}

func (c *converter) typedef(d *die, deep bool, depth int) *types.Type {
	lang := d.u.root.lang
	inner := c.elem(d, deep, depth)
	name := d.name()
	if lang == types.Go {
		return c.goTypedef(d, inner, name, depth)
	}
	alias := d.u.prefix(d.off) + name
	align, _ := d.num(atAlignment)
	return inner.Derive(func(t *types.Type) {
		t.Source.Alias, t.Source.Quals = alias, 0
		if align > 0 && align <= 1<<16 {
			t.Align = int(align)
		}
		if t.Name == "" && (t.Kind == types.Struct || t.Kind == types.Union || t.Kind == types.Enum) {
			t.Name = alias
		}
	})
}

// array makes nested arrays of the subranges, the last dimension innermost.
func (c *converter) array(d *die, deep bool, depth int) *types.Type {
	elem := c.elem(d, deep, depth)
	lang := d.u.root.lang
	var dims []int
	d.eachChild(func(s *die) bool {
		if s.tag == tagSubrangeType || s.tag == tagEnumerationType {
			dims = append(dims, s.count(lang))
		}
		return len(dims) < maxDimensions
	})
	if len(dims) == 0 {
		dims = []int{-1}
	}
	stride, hasStride := d.num(atByteStride)
	t := elem
	for i := len(dims) - 1; i >= 0; i-- {
		n := dims[i]
		if n > 0 && t.Size > 0 && n > maxTypeSize/t.Size {
			n = -1
		}
		t = types.ArrayOf(t, n)
		t.Source = &types.Source{Lang: lang}
	}
	if d.flag(atGNUVector) {
		t.Source.Form, t.Align = types.VectorForm, max(1, min(t.Size, 64))
	}
	if hasStride && stride != uint64(elem.Size) {
		return &types.Type{Kind: types.Struct, Name: "array with gaps", Size: d.size(), Align: 1, Incomplete: true}
	}
	t.Source.RuntimeType, _ = d.num(atGoRuntimeType)
	return t
}

// count is the number of elements of an array's dimension, -1 if it isn't fixed. In C none means that only the program
// knows.
func (s *die) count(lang types.Language) int {
	n := s.counted(lang)
	if n == 0 && (lang == types.C || lang == types.CPlusPlus) {
		return -1
	}
	return n
}

func (s *die) counted(lang types.Language) int {
	if n, ok := s.num(atCount); ok {
		if _, isRef := s.refOf(atCount); isRef || n > maxTypeSize {
			return -1
		}
		return int(n)
	}
	v, ok := s.get(atUpperBound)
	if !ok || v.isBlock() {
		return -1
	}
	switch v.form {
	case formRef1, formRef2, formRef4, formRef8, formRefUdata, formRefAddr, formLoclistx, formSecOffset:
		return -1
	}
	high, low := v.signed(), int64(0)
	if v.form == formData4 && v.u == 0xffffffff { // GCC: the -1 of int a[0]
		high = -1
	}
	if l, ok := s.num(atLowerBound); ok {
		low = int64(l)
	}
	if n := high - low + 1; n >= 0 && n <= maxTypeSize {
		return int(n)
	}
	return -1
}

func (c *converter) enum(d *die, size, depth int) *types.Type {
	lang := d.u.root.lang
	t := &types.Type{Kind: types.Enum, Size: size, Name: typeName(d, "enum"), Source: &types.Source{Lang: lang}}
	signKnown := false
	if _, ok := d.get(atType); ok {
		under := c.elem(d, false, depth)
		t.Signed, signKnown = under.Signed, true
		if t.Size == 0 {
			t.Size = under.Size
		}
	} else if enc, ok := d.num(atEncoding); ok {
		t.Signed, signKnown = enc == ateSigned || enc == ateSignedChar, true
	}
	if t.Size == 0 && d.flag(atDeclaration) {
		t.Size = 4
		t.Incomplete = true
	}
	t.Align = max(1, min(t.Size, 16))
	d.eachChild(func(e *die) bool {
		if e.tag == tagEnumerator {
			v, ok := e.get(atConstValue)
			if ok && !v.isBlock() {
				if !signKnown && v.form == formSdata && v.signed() < 0 {
					t.Signed = true
				}
				t.Enums = append(t.Enums, types.Enumerator{Name: e.name(), Value: v.signed()})
			}
		}
		return len(t.Enums) < maxEnumerators
	})
	// DW_FORM_data1 to data4 hold the bits in their own width; the enum's says what they mean.
	if bits := 64 - 8*t.Size; t.Signed && bits > 0 && bits < 64 {
		for i := range t.Enums {
			t.Enums[i].Value = t.Enums[i].Value << bits >> bits
		}
	}
	return t
}

// typeName is a type's name as it is shown: C puts the word before it.
func typeName(d *die, word string) string {
	name := d.fullName()
	if name == "" {
		return ""
	}
	if d.u.root.lang == types.C {
		return word + " " + name
	}
	name += d.arguments(true)
	at := d.declared() // GCC puts the definition of a type unit beside the namespaces, and a declaration into them
	return at.u.prefix(at.off) + name
}

func structWord(tag uint16) string {
	if tag == tagUnionType {
		return "union"
	}
	return "struct"
}

// header makes a struct or union without members.
func (c *converter) header(d *die, size int) *types.Type {
	t := &types.Type{
		Kind: types.Struct, Size: size, Align: 1, Name: typeName(d, structWord(d.tag)),
		Source: &types.Source{Lang: d.u.root.lang, Class: d.tag == tagClassType},
	}
	if d.tag == tagUnionType {
		t.Kind = types.Union
	}
	t.Source.RuntimeType, _ = d.num(atGoRuntimeType)
	if kind, ok := d.num(atGoKind); ok {
		switch kind {
		case goString:
			t.Source.Form = types.StringForm
		case goSlice:
			t.Source.Form = types.SliceForm
			if v, ok := d.get(atGoElem); ok {
				t.Source.Item = c.ref(d.u, v, false, 1)
			}
		}
	}
	return t
}

// transparent makes the type that stands for a union whose members are not told, which is what GCC writes for
// transparent unions (connect's __CONST_SOCKADDR_ARG, wait's __WAIT_STATUS): their values are passed as their first
// member is, an address mostly. nil: d is another type, or the union of no members that C++ and GNU C allow.
func transparent(d *die, size int) *types.Type {
	if d.tag != tagUnionType || d.children || size == 0 || d.flag(atDeclaration) || d.u.root.lang != types.C {
		return nil
	}
	if size != 8 {
		return &types.Type{Kind: types.Void, Name: "?", Incomplete: true}
	}
	return types.PointerTo(types.TVoid, types.User)
}

// stub makes a struct or union that is read when it is asked for.
func (c *converter) stub(d *die, size int) *types.Type {
	u, off, in := d.u, uint64(d.off), c.in
	return types.Stub(c.header(d, size), func() *types.Type {
		var err error
		defer objfile.Guard(&err)()
		in.mu.Lock()
		defer in.mu.Unlock()
		if in.closed.Load() {
			return nil
		}
		d, ok := u.at(off)
		if !ok {
			return nil
		}
		t := in.conv.get(d, true, 0)
		if t.Incomplete {
			return nil
		}
		return t
	})
}

// completed makes a struct or union with its members.
func (c *converter) completed(d *die, size, depth int) *types.Type {
	if d.flag(atDeclaration) {
		if def := c.in.definition(d); def != nil {
			return c.get(def, true, depth)
		}
		t := c.header(d, size)
		if t.Lang() == types.CPlusPlus {
			if known := types.LibraryClass(t.Name); known != nil {
				return known
			}
		}
		t.Incomplete = true
		return t
	}
	key := d.key()
	if c.busy[key] {
		t := c.header(d, size)
		t.Incomplete = true
		return t
	}
	c.busy[key] = true
	defer delete(c.busy, key)
	t := c.header(d, size)
	c.members(t, d, depth)
	return t
}

func (c *converter) function(d *die, depth int) *types.Type {
	t := &types.Type{Kind: types.Func, Name: d.name(), Source: &types.Source{Lang: d.u.root.lang}}
	t.Elem = c.elem(d, false, depth)
	d.eachChild(func(p *die) bool {
		switch p.tag {
		case tagFormalParameter:
			typ := c.elem(p, false, depth)
			if p.flag(atVariableParameter) {
				t.Source.Results = append(t.Source.Results, typ)
			} else {
				t.Source.Params = append(t.Source.Params, typ)
			}
		case tagUnspecifiedParameters:
			t.Source.Vararg = true
		}
		return len(t.Source.Params) < maxParams
	})
	if kind, ok := d.num(atGoKind); ok && kind == goFunc {
		p := types.PointerTo(t, types.User)
		p.Name = t.Name
		p.Source = &types.Source{Lang: types.Go, Form: types.ClosureForm}
		p.Source.RuntimeType, _ = d.num(atGoRuntimeType)
		return p
	}
	return t
}

// memberPointer makes C++'s pointer to a member: an offset, or for functions two words (Itanium C++ ABI, 2.3).
func (c *converter) memberPointer(d *die, depth int) *types.Type {
	target := c.elem(d, false, depth)
	class := "?"
	if o, ok := d.refOf(atContainingType); ok {
		class = o.qualified()
	}
	if target.Kind == types.Func {
		return &types.Type{
			Kind: types.Struct, Size: 16, Align: 8, Elem: target, Name: class + "::*",
			Source: &types.Source{Lang: d.u.root.lang, Form: types.MethodPointerForm},
			Fields: []types.Field{{Name: "ptr", Type: types.TUint64}, {Name: "adj", Type: types.TInt64, Offset: 8}},
		}
	}
	return &types.Type{
		Kind: types.Int, Size: 8, Align: 8, Signed: true, Elem: target, Name: target.String() + " " + class + "::*",
		Source: &types.Source{Lang: d.u.root.lang},
	}
}
