package debuginfo

import (
	"errors"
	"fmt"
	"sync"

	"trocar/internal/binary/section"
)

// attrSpec is one attribute of an abbreviation.
type attrSpec struct {
	attr, form uint16
	at         int16 // where it begins among the attributes; -1 if that isn't always the same
	step       int32 // how to step over it
	implicit   int64 // the value, for DW_FORM_implicit_const
}

// has tells which attributes an abbreviation has, for scans that only look at some entries.
type has uint16

const (
	hasPC     has = 1 << iota // DW_AT_low_pc or DW_AT_ranges
	hasInline                 // DW_AT_inline, or it may be inlined all the same: see abstract
	hasName
	hasDeclaration
	hasSpecification
	hasOrigin
	hasFarOrigin // DW_AT_abstract_origin that may lead into another unit
	hasLinkage
	hasSize
	hasRuntimeType
)

// abbrev is the shape of entries (DWARF 5, 7.5.3).
type abbrev struct {
	code     uint64
	tag      uint16
	has      has
	children bool
	fixed    int32  // size of all attributes together if that is always the same and there is no DW_AT_sibling, else -1
	some     uint64 // a bit for each attribute, by the lowest six bits of its number
	attrs    []attrSpec
	skip     []int32 // how to step over the attributes: a number of bytes, or one of the steps below
}

// Steps over attributes whose size is in the data.
const (
	stepLEB int32 = -1 - iota
	stepBlock1
	stepBlock2
	stepBlock4
	stepBlock
	stepString
	stepIndirect
	stepSibling1 // DW_AT_sibling, whose value is wanted
	stepSibling2
	stepSibling4
	stepSibling8
	stepSiblingLEB
)

const (
	maxAttrs   = 255     // of one abbreviation; compilers write up to 30
	maxAbbrevs = 1 << 17 // of one table
)

// abbrevTable is the shapes of a unit's entries. Forms of address and offset size are resolved for the unit's format.
type abbrevTable struct {
	list   []abbrev
	byCode map[uint64]int32 // only if the codes aren't 1, 2, 3 …
	attrs  []attrSpec
	steps  []int32
}

// format is what the sizes of forms depend on.
type format struct {
	version  uint8
	addrSize uint8
	off64    bool
}

func (f format) offSize() int32 {
	if f.off64 {
		return 8
	}
	return 4
}

// stepOf tells how to step over a form.
func (f format) stepOf(form uint16) (int32, bool) {
	switch form {
	case formFlagPresent, formImplicitConst:
		return 0, true
	case formData1, formRef1, formFlag, formStrx1, formAddrx1:
		return 1, true
	case formData2, formRef2, formStrx2, formAddrx2:
		return 2, true
	case formStrx3, formAddrx3:
		return 3, true
	case formData4, formRef4, formStrx4, formAddrx4, formRefSup4:
		return 4, true
	case formData8, formRef8, formRefSig8, formRefSup8:
		return 8, true
	case formData16:
		return 16, true
	case formAddr:
		return int32(f.addrSize), true
	case formStrp, formLineStrp, formSecOffset, formStrpSup, formGNURefAlt, formGNUStrpAlt:
		return f.offSize(), true
	case formRefAddr:
		if f.version <= 2 { // DWARF 2 gave it the size of an address
			return int32(f.addrSize), true
		}
		return f.offSize(), true
	case formSdata, formUdata, formRefUdata, formStrx, formAddrx, formLoclistx, formRnglistx, formGNUAddrIndex,
		formGNUStrIndex:
		return stepLEB, true
	case formBlock1:
		return stepBlock1, true
	case formBlock2:
		return stepBlock2, true
	case formBlock4:
		return stepBlock4, true
	case formBlock, formExprloc:
		return stepBlock, true
	case formString:
		return stepString, true
	case formIndirect:
		return stepIndirect, true
	}
	return 0, false
}

// siblingStep is the step of a DW_AT_sibling.
func siblingStep(form uint16) (int32, bool) {
	switch form {
	case formRef1:
		return stepSibling1, true
	case formRef2:
		return stepSibling2, true
	case formRef4:
		return stepSibling4, true
	case formRef8:
		return stepSibling8, true
	case formRefUdata:
		return stepSiblingLEB, true
	}
	return 0, false
}

// parse reads a table, into t's own memory if it has been used before. It stops after the code last if that isn't 0: a
// unit's first entry needs one abbreviation only, most often the first.
func (t *abbrevTable) parse(data []byte, off uint64, f format, last uint64) error {
	t.list, t.attrs, t.steps, t.byCode = t.list[:0], t.attrs[:0], t.steps[:0], nil
	type span struct{ attrs, steps int }
	var ends []span
	r := section.At(data, off)
	dense := true
	for {
		code := r.ULEB()
		if r.Bad {
			return errShort
		}
		if code == 0 {
			break
		}
		if len(t.list) >= maxAbbrevs {
			return errors.New("too many abbreviations")
		}
		ab := abbrev{code: code, fixed: 0}
		tag := r.ULEB()
		if tag > 0xffff {
			return fmt.Errorf("abbreviation with tag %#x", tag)
		}
		ab.tag = uint16(tag)
		ab.children = r.U8() != 0
		run := int32(0)
		at := int16(0)
		n := 0
		for {
			attr, form := r.ULEB(), r.ULEB()
			if attr == 0 && form == 0 {
				break
			}
			if n++; r.Bad || n > maxAttrs || attr > 0xffff || form > 0xffff {
				return errors.New("damaged abbreviation")
			}
			s := attrSpec{attr: uint16(attr), form: uint16(form)}
			if s.form == formImplicitConst {
				s.implicit = r.SLEB()
			}
			ab.note(s)
			step, ok := f.stepOf(s.form)
			if !ok {
				return fmt.Errorf("attribute with the unknown form %#x", form)
			}
			s.at, s.step = at, step
			if step < 0 || at < 0 {
				at = -1
			} else {
				at += int16(step) // 255 attributes of 16 bytes at most
			}
			t.attrs = append(t.attrs, s)
			if s.attr == atSibling {
				if sib, ok := siblingStep(s.form); ok {
					step = sib
				}
			}
			if step >= 0 {
				run += step
				continue
			}
			if run > 0 {
				t.steps = append(t.steps, run)
				run = 0
			}
			ab.fixed = -1
			t.steps = append(t.steps, step)
		}
		if ab.fixed == 0 {
			ab.fixed = run
		} else if run > 0 {
			t.steps = append(t.steps, run)
		}
		if ab.abstract() {
			ab.has |= hasInline
		}
		t.list = append(t.list, ab)
		ends = append(ends, span{len(t.attrs), len(t.steps)})
		dense = dense && code == uint64(len(t.list))
		if code == last {
			break
		}
	}
	// The slices stand still only now.
	var from span
	for i, end := range ends {
		t.list[i].attrs = t.attrs[from.attrs:end.attrs:end.attrs]
		t.list[i].skip = t.steps[from.steps:end.steps:end.steps]
		from = end
	}
	if !dense {
		t.byCode = make(map[uint64]int32, len(t.list))
		for i := range t.list {
			if _, ok := t.byCode[t.list[i].code]; !ok {
				t.byCode[t.list[i].code] = int32(i)
			}
		}
	}
	return nil
}

// mayHave tells quickly of most attributes that entries don't have them.
func (ab *abbrev) mayHave(attr uint16) bool { return ab.some&(1<<(attr&63)) != 0 }

// abstract tells entries of functions whose code, if there is any, others have that refer to them: GCC writes them
// before it optimizes the whole program (-flto), without saying which ones will be inlined.
func (ab *abbrev) abstract() bool {
	return ab.tag == tagSubprogram && ab.has&(hasPC|hasDeclaration|hasOrigin) == 0 &&
		ab.has&(hasName|hasSpecification) != 0
}

func (ab *abbrev) note(s attrSpec) {
	ab.some |= 1 << (s.attr & 63)
	switch s.attr {
	case atLowPC, atRanges:
		ab.has |= hasPC
	case atInline:
		ab.has |= hasInline
	case atName:
		ab.has |= hasName
	case atDeclaration:
		ab.has |= hasDeclaration
	case atSpecification:
		ab.has |= hasSpecification
	case atAbstractOrigin:
		ab.has |= hasOrigin
		switch s.form {
		case formRefAddr, formGNURefAlt, formRefSup4, formRefSup8, formIndirect:
			ab.has |= hasFarOrigin
		}
	case atLinkageName, atMIPSLinkageName:
		ab.has |= hasLinkage
	case atByteSize:
		ab.has |= hasSize
	case atGoRuntimeType:
		ab.has |= hasRuntimeType
	}
}

// find returns the abbreviation of a code, nil if there is none.
func (t *abbrevTable) find(code uint64) *abbrev {
	if t.byCode != nil {
		if i, ok := t.byCode[code]; ok {
			return &t.list[i]
		}
		return nil
	}
	if code-1 < uint64(len(t.list)) {
		return &t.list[code-1]
	}
	return nil
}

// after steps over the attributes that start at pos. It returns where they end (-1: not within b) and the value of
// DW_AT_sibling (0: none).
func (ab *abbrev) after(b []byte, pos int, f format) (next int, sibling uint64) {
	if ab.fixed >= 0 {
		pos += int(ab.fixed)
		if pos > len(b) {
			return -1, 0
		}
		return pos, 0
	}
	r := section.Reader{Data: b, Pos: pos}
	for _, step := range ab.skip {
		switch step {
		case stepLEB:
			for r.Pos < len(b) && b[r.Pos] >= 0x80 {
				r.Pos++
			}
			r.Pos++
		case stepSibling1:
			sibling = uint64(r.U8())
		case stepSibling2:
			sibling = uint64(r.U16())
		case stepSibling4:
			sibling = uint64(r.U32())
		case stepSibling8:
			sibling = r.U64()
		case stepSiblingLEB:
			sibling = r.ULEB()
		default:
			skip(&r, step, f)
		}
		if r.Bad || r.Pos > len(b) {
			return -1, 0
		}
	}
	return r.Pos, sibling
}

// skip goes over one attribute.
func skip(r *section.Reader, step int32, f format) {
	n := uint64(0)
	switch step {
	case stepLEB:
		r.ULEB()
		return
	case stepString:
		r.CString()
		return
	case stepBlock1:
		n = uint64(r.U8())
	case stepBlock2:
		n = uint64(r.U16())
	case stepBlock4:
		n = uint64(r.U32())
	case stepBlock:
		n = r.ULEB()
	case stepIndirect:
		form := r.ULEB()
		inner, ok := f.stepOf(uint16(min(form, 0xffff)))
		if !ok || inner == stepIndirect {
			r.Fail()
			return
		}
		skip(r, inner, f)
		return
	default:
		n = uint64(step)
	}
	if n > uint64(r.Left()) {
		r.Fail()
		return
	}
	r.Pos += int(n)
}

// abbrevCache keeps the tables used last.
type abbrevCache struct {
	mu    sync.Mutex
	kept  map[abbrevKey]*abbrevTable
	order []abbrevKey
}

type abbrevKey struct {
	off uint64
	fmt format
}

const keptAbbrevs = 64

func (c *abbrevCache) get(data []byte, off uint64, f format) (*abbrevTable, error) {
	key := abbrevKey{off, f}
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.kept[key]; t != nil {
		return t, nil
	}
	t := new(abbrevTable)
	if err := t.parse(data, off, f, 0); err != nil {
		return nil, err
	}
	if len(c.order) >= keptAbbrevs {
		delete(c.kept, c.order[0])
		c.order = append(c.order[:0], c.order[1:]...)
	}
	if c.kept == nil {
		c.kept = make(map[abbrevKey]*abbrevTable)
	}
	c.kept[key] = t
	c.order = append(c.order, key)
	return t, nil
}
