package debuginfo

import (
	"trocar/internal/binary/types"
)

// Variables that have a constant in place of an expression.

// variable compiles the place of a variable's entry: its location, or its constant value.
func (e *exprEnv) variable(d *die) types.Place {
	if v, ok := d.get(atConstValue); ok {
		return constPlace(v)
	}
	v, ok := d.get(atLocation)
	if !ok {
		return unavailable(optimizedOut)
	}
	l := e.u.location(v, e.pc, e.entry, e.views(d))
	switch {
	case l.found:
		return e.place(l.expr)
	case l.other:
		return unavailable(notHere)
	}
	return unavailable(optimizedOut)
}

// views is the attribute that tells the numbers of location views, nil if there is none or it does not matter.
func (e *exprEnv) views(d *die) *value {
	if v, ok := d.get(atGNULocviews); ok && !e.inlined {
		return &v
	}
	return nil
}

// constPlace is the place of a DW_AT_const_value.
func constPlace(v value) types.Place {
	if v.isBlock() || v.form == formData16 || v.form == formString {
		return constantBytes(v.block)
	}
	switch v.form {
	case formData1, formData2, formData4, formData8, formSdata, formUdata, formImplicitConst:
		return types.Place{Kind: types.Constant, Value: v.u}
	}
	return unavailable("its constant value is not understood")
}

// constantBytes is a constant given by its bytes.
func constantBytes(b []byte) types.Place {
	if len(b) == 0 || len(b) > 8*maxPieces {
		return unavailable("its constant value is not understood")
	}
	word := func(b []byte) types.Place {
		var v uint64
		for i := range min(len(b), 8) {
			v |= uint64(b[i]) << (8 * i)
		}
		return types.Place{Kind: types.Constant, Value: v}
	}
	if len(b) <= 8 {
		return word(b)
	}
	var pieces []types.Piece
	for len(b) > 0 {
		n := min(8, len(b))
		pieces = append(pieces, types.Piece{Size: n, Place: word(b[:n])})
		b = b[n:]
	}
	return types.Place{Kind: types.InPieces, Pieces: pieces}
}
