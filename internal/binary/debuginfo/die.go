package debuginfo

import "trocar/internal/binary/section"

// value is an attribute of an entry.
type value struct {
	attr, form uint16
	u          uint64 // numbers; offsets of references are made absolute in the section for forms relative to the unit
	block      []byte // blocks, expressions, strings in place: a view
}

// isBlock tells whether the value is a block or an expression.
func (v value) isBlock() bool {
	switch v.form {
	case formBlock, formBlock1, formBlock2, formBlock4, formExprloc:
		return true
	}
	return false
}

// reference is where a value leads to, apart from the unit it is in.
type reference struct {
	form uint16
	u    uint64
}

func (v value) reference() reference {
	r := reference{v.form, v.u}
	if v.inUnit() {
		r.form = formRef4
	}
	return r
}

func (r reference) value() value { return value{form: r.form, u: r.u} }

// inUnit tells a reference to an entry of the same unit.
func (v value) inUnit() bool {
	switch v.form {
	case formRef1, formRef2, formRef4, formRef8, formRefUdata:
		return true
	}
	return false
}

// signed is the number as a signed one. Only DW_FORM_sdata and DW_FORM_implicit_const say so themselves.
func (v value) signed() int64 { return int64(v.u) }

// die is a debugging information entry. Its attributes are read when they are asked for.
type die struct {
	u        *unit
	table    *abbrevTable
	ab       *abbrev // nil: no entry has been read
	off      int
	attrs    int // where its attributes begin
	next     int // after the attributes: the first child, or the entry after it
	sibling  int // the entry after all children, 0 if not told
	tag      uint16
	children bool

	up      *die // see origin
	upKnown bool
}

// read reads the entry at off, using d's memory. It is false at a null entry and where nothing can be read.
func (d *die) read(u *unit, t *abbrevTable, off int) bool {
	*d = die{u: u, table: t, off: off}
	if off < u.first || off >= u.end {
		return false
	}
	w := walker{u: u, t: t, pos: off}
	ab := w.next()
	d.next = w.pos
	if ab == nil {
		return false
	}
	d.at(&w, ab)
	return true
}

// at sets d to the entry that a walker has come to, which is no null entry.
func (d *die) at(w *walker, ab *abbrev) *die {
	*d = die{
		u: w.u, table: w.t, ab: ab, off: w.off, attrs: w.attrs, next: w.pos, sibling: w.sibling,
		tag: ab.tag, children: ab.children,
	}
	return d
}

// readValue reads an attribute's value.
func readValue(r *section.Reader, u *unit, v *value, implicit int64) {
	switch v.form {
	case formAddr:
		v.u = r.Uint(int(u.addrSize))
	case formData1, formFlag, formStrx1, formAddrx1:
		v.u = uint64(r.U8())
	case formData2, formStrx2, formAddrx2:
		v.u = uint64(r.U16())
	case formStrx3, formAddrx3:
		v.u = r.Uint(3)
	case formData4, formStrx4, formAddrx4, formRefSup4:
		v.u = uint64(r.U32())
	case formData8, formRefSig8, formRefSup8:
		v.u = r.U64()
	case formRef1:
		v.u = uint64(u.off) + uint64(r.U8())
	case formRef2:
		v.u = uint64(u.off) + uint64(r.U16())
	case formRef4:
		v.u = uint64(u.off) + uint64(r.U32())
	case formRef8:
		v.u = uint64(u.off) + r.U64()
	case formRefUdata:
		v.u = uint64(u.off) + r.ULEB()
	case formRefAddr:
		if u.version <= 2 {
			v.u = r.Uint(int(u.addrSize))
		} else {
			v.u = r.Offset(u.off64)
		}
	case formStrp, formLineStrp, formSecOffset, formStrpSup, formGNURefAlt, formGNUStrpAlt:
		v.u = r.Offset(u.off64)
	case formUdata, formStrx, formAddrx, formLoclistx, formRnglistx, formGNUAddrIndex, formGNUStrIndex:
		v.u = r.ULEB()
	case formSdata:
		v.u = uint64(r.SLEB())
	case formImplicitConst:
		v.u = uint64(implicit)
	case formFlagPresent:
		v.u = 1
	case formData16:
		v.block = r.Bytes(16)
	case formBlock1:
		v.block = r.Bytes(uint64(r.U8()))
	case formBlock2:
		v.block = r.Bytes(uint64(r.U16()))
	case formBlock4:
		v.block = r.Bytes(uint64(r.U32()))
	case formBlock, formExprloc:
		v.block = r.Bytes(r.ULEB())
	case formString:
		v.block = r.CString()
	case formIndirect:
		form := r.ULEB()
		if form == formIndirect || form == formImplicitConst || form > 0xffff {
			r.Fail()
			return
		}
		v.form = uint16(form)
		readValue(r, u, v, 0)
	default:
		r.Fail()
	}
}

// get returns an attribute.
func (d *die) get(attr uint16) (value, bool) {
	if d.ab == nil || !d.ab.mayHave(attr) {
		return value{}, false
	}
	for i := range d.ab.attrs {
		if d.ab.attrs[i].attr == attr {
			return d.value(i)
		}
	}
	return value{}, false
}

// value reads the attribute of an index among those of the abbreviation.
func (d *die) value(i int) (value, bool) {
	attrs := d.ab.attrs
	from := i
	for attrs[from].at < 0 {
		from--
	}
	r := section.Reader{Data: d.u.b, Pos: d.attrs + int(attrs[from].at)}
	for ; from < i; from++ {
		skip(&r, attrs[from].step, d.u.format)
	}
	s := &attrs[i]
	v := value{attr: s.attr, form: s.form}
	readValue(&r, d.u, &v, s.implicit)
	return v, !r.Bad
}

// each calls yield with all attributes.
func (d *die) each(yield func(value)) {
	if d.ab == nil {
		return
	}
	for i := range d.ab.attrs {
		if v, ok := d.value(i); ok {
			yield(v)
		}
	}
}

// flag tells whether a flag is set.
func (d *die) flag(attr uint16) bool {
	v, ok := d.get(attr)
	return ok && v.u != 0
}

// num returns an attribute of the class constant; blocks count as none.
func (d *die) num(attr uint16) (uint64, bool) {
	v, ok := d.get(attr)
	if !ok || v.isBlock() || v.form == formString {
		return 0, false
	}
	return v.u, true
}

// name is the entry's own DW_AT_name.
func (d *die) name() string {
	if v, ok := d.get(atName); ok {
		return d.u.str(v)
	}
	return ""
}

// at reads an entry of the unit at an absolute offset.
func (u *unit) at(off uint64) (*die, bool) {
	t, err := u.table()
	if err != nil || off >= uint64(u.end) {
		return nil, false
	}
	u.load()
	d := new(die)
	if !d.read(u, t, int(off)) {
		return nil, false
	}
	return d, true
}

// ref returns the entry that a reference leads to.
func (u *unit) ref(v value) (*die, bool) {
	if v.inUnit() {
		return u.at(v.u)
	}
	switch v.form {
	case formRefAddr:
		if u.pkg != nil { // no unit of a .dwp refers to another
			return nil, false
		}
		if t := u.f.unitAt(u.sec, v.u); t != nil {
			return t.at(v.u)
		}
	case formRefSig8:
		var t *unit
		if u.pkg != nil {
			t = u.f.pkgTypeUnit(v.u)
		} else {
			t = u.f.typeUnit(v.u)
		}
		if t != nil {
			return t.at(uint64(t.typeOff))
		}
	case formGNURefAlt, formRefSup4, formRefSup8:
		if u.f.alt != nil {
			if t := u.f.alt.unitAt(secInfo, v.u); t != nil {
				return t.at(v.u)
			}
		}
	}
	return nil, false
}

// refOf returns the entry that an attribute leads to.
func (d *die) refOf(attr uint16) (*die, bool) {
	v, ok := d.get(attr)
	if !ok {
		return nil, false
	}
	return d.u.ref(v)
}

// maxOrigins bounds the chain of DW_AT_abstract_origin and DW_AT_specification.
const maxOrigins = 8

// inherited returns an attribute of the entry or of those it completes (DWARF 5, 2.13.2 and 3.3.8.1), and the entry it
// was found at.
func (d *die) inherited(attr uint16) (value, *die, bool) {
	for range maxOrigins {
		if v, ok := d.get(attr); ok {
			return v, d, true
		}
		if d = d.origin(); d == nil {
			break
		}
	}
	return value{}, nil, false
}

// origin is the entry that this one completes: its DW_AT_abstract_origin or DW_AT_specification, nil if it has none.
func (d *die) origin() *die {
	if !d.upKnown {
		d.upKnown = true
		if v, ok := d.completes(); ok {
			d.up, _ = d.u.ref(v)
		}
	}
	return d.up
}

// completes is the reference to the entry that this one completes.
func (d *die) completes() (value, bool) {
	if d.ab == nil || d.ab.has&(hasOrigin|hasSpecification) == 0 {
		return value{}, false
	}
	v, ok := d.get(atAbstractOrigin)
	if !ok {
		v, ok = d.get(atSpecification)
	}
	return v, ok
}

// fullName is the DW_AT_name of the entry or of those it completes.
func (d *die) fullName() string {
	if v, o, ok := d.inherited(atName); ok {
		return o.u.str(v)
	}
	return ""
}

// eachChild calls yield with the direct children of d, reusing one die, until it returns false.
func (d *die) eachChild(yield func(*die) bool) {
	if !d.children {
		return
	}
	var c die
	for pos := d.next; c.read(d.u, d.table, pos); {
		next := c.end()
		if !yield(&c) || next <= pos {
			return
		}
		pos = next
	}
}

// end is the offset after the entry and all its children; 0 if the data ends before.
func (d *die) end() int {
	if !d.children {
		return d.next
	}
	if d.sibling > d.next {
		return d.sibling
	}
	w := walker{u: d.u, t: d.table, pos: d.next}
	for depth := 1; depth > 0; {
		ab := w.next()
		switch {
		case w.bad:
			return 0
		case ab == nil:
			depth--
		case ab.children:
			if w.sibling > w.pos {
				w.pos = w.sibling
			} else {
				depth++
			}
		}
	}
	return w.pos
}

// walker goes through entries one after another, faster than die.read: it only steps over attributes.
type walker struct {
	u       *unit
	t       *abbrevTable
	pos     int // the next entry
	off     int // the entry last returned
	attrs   int // where its attributes begin
	sibling int // its DW_AT_sibling if that lies ahead and within the unit, else 0
	bad     bool
}

// next steps over the next entry. It returns nil for a null entry, and sets bad at the end or where the data is
// damaged.
func (w *walker) next() *abbrev {
	b := w.u.b
	if w.pos >= len(b) || w.pos < 0 {
		w.bad = true
		return nil
	}
	w.off = w.pos
	code := uint64(b[w.pos])
	w.attrs = w.pos + 1
	if code >= 0x80 {
		r := section.Reader{Data: b, Pos: w.pos}
		code = r.ULEB()
		if r.Bad {
			w.bad = true
			return nil
		}
		w.attrs = r.Pos
	}
	w.sibling = 0
	if code == 0 {
		w.pos = w.attrs
		return nil
	}
	ab := w.t.find(code)
	if ab == nil {
		w.bad = true
		return nil
	}
	next, sib := ab.after(b, w.attrs, w.u.format)
	if next < 0 {
		w.bad = true
		return nil
	}
	w.pos = next
	if sib != 0 {
		if s := uint64(w.u.off) + sib; s > uint64(next) && s <= uint64(w.u.end) {
			w.sibling = int(s)
		}
	}
	return ab
}
