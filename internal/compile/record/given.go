package record

import (
	"encoding/binary"

	"trocar/internal/binary/types"
	"trocar/result"
)

// What a function is given, or gives back, is kept as the registers in which values are passed: one program serves all
// functions. What they mean is asked for when one has been called (Resolver.Given).
//
// Such a value is: u64 number of the point in the lower half, types.TextWord in the upper one; the registers; texts
// that some of them point to, each as CStringOf has it.

// ReturnType names the type of a result with the sign before it.
const ReturnType = result.ReturnType

// TextShift is where the types.TextWord begins in the first word.
const TextShift = 32

// leastGiven is the size of a value in which each register that a types.TextWord may name has a place.
const leastGiven = 8 * (1 + types.TextRegister)

// GivenOf makes the type of values of so many registers and texts.
func GivenOf(name string, registers, texts int, text *types.Type) *types.Type {
	size := 8 + 8*registers + texts*text.Size
	if texts > 0 {
		size = max(size, leastGiven)
	}
	return &types.Type{
		Kind: types.Record, Name: name, Size: size, Align: 8, Len: registers, Max: int64(texts), Elem: text,
		Source: &types.Source{Form: types.GivenForm},
	}
}

// TextsIn is how many texts a value has, and TextAt where one begins.
func TextsIn(t *types.Type) int { return int(t.Max) }

// TextAt is the offset of a text.
func TextAt(t *types.Type, i int) int { return 8 + 8*t.Len + i*t.Elem.Size }

// Given is one of the values that a function is given or gives back.
type Given struct {
	Name  string
	Type  *types.Type
	Parts []GivenPart // of which it consists
	Why   string      // if there are none: why
}

// GivenPart are some bytes of a value, which come from the beginning of a register.
type GivenPart struct{ Size, Register int } // Register below 0: bytes without meaning

// givenValue decodes what a function is given or gives back.
func (d *Decoder) givenValue(v *result.Value, t *types.Type, b []byte) {
	word := binary.LittleEndian.Uint64(b)
	args := t.Name == ArgumentsType
	list, known := d.Resolver.Given(int(uint32(word)))
	texts := types.TextWord(word >> TextShift)
	switch {
	case args:
		v.Kind, v.Type = result.Record, t.Name
		if !known {
			v.Elems, v.Names = make([]result.Value, 1), []string{""}
			unavailable(&v.Elems[0], "the function's parameters are not known")
			return
		}
		d.givenList(v, t, list, texts, b)
		return
	case t.Name == ReturnType:
		v.Kind, v.Type = result.Record, t.Name
		if known && len(list) == 0 {
			return
		}
		v.Elems, v.Names = make([]result.Value, 1), []string{""}
		v = &v.Elems[0]
		*v = result.Value{}
	}
	switch {
	case !known:
		unavailable(v, "the function's result is not known")
	case len(list) == 0:
		v.Kind, v.Text = result.None, "void"
	case len(list) == 1:
		d.given(v, t, &list[0], texts, b)
	default:
		v.Kind = result.Struct
		d.givenList(v, t, list, texts, b)
	}
}

func (d *Decoder) givenList(v *result.Value, t *types.Type, list []Given, texts types.TextWord, b []byte) {
	v.Elems, v.Names = make([]result.Value, len(list)), make([]string, len(list))
	for i := range list {
		v.Names[i] = list[i].Name
		d.given(&v.Elems[i], t, &list[i], texts, b)
	}
}

// given decodes one of the values.
func (d *Decoder) given(v *result.Value, t *types.Type, of *Given, texts types.TextWord, b []byte) {
	d.made++
	if len(of.Parts) == 0 || of.Type == nil || of.Type.Size > maxGiven || of.Type.Size < 0 {
		unavailable(v, of.Why)
		return
	}
	first := of.Parts[0].Register
	if text, sized := textOf(of.Type); text {
		n := texts.Text(first)
		switch at := TextAt(t, n); {
		case n < 0 || at+t.Elem.Size > len(b):
			unavailable(v, "of one call no more texts are kept")
		case sized && len(of.Parts) == 2 && d.register(t, b, of.Parts[1].Register) == 0:
			v.Kind, v.Type = result.String, "" // an empty one needs no address
		default:
			d.value(v, t.Elem, b[at:])
		}
		return
	}
	var held [maxGiven]byte
	at := 0
	for _, p := range of.Parts {
		if p.Register >= 0 && at+p.Size <= of.Type.Size {
			var word [8]byte
			binary.LittleEndian.PutUint64(word[:], d.register(t, b, p.Register))
			copy(held[at:at+p.Size], word[:])
		}
		at += p.Size
	}
	d.held(v, of.Type, held[:of.Type.Size])
}

// maxGiven bounds a value that is passed in registers.
const maxGiven = 128

// register is what a register had.
func (d *Decoder) register(t *types.Type, b []byte, n int) uint64 {
	if n < 0 || n >= t.Len || 16+8*n > len(b) {
		return 0
	}
	return binary.LittleEndian.Uint64(b[8+8*n:])
}

// textOf tells texts: a C string, and one whose length is passed with it.
func textOf(t *types.Type) (text, sized bool) {
	sized = t.Form() == types.StringForm
	return sized || t.IsCString(), sized
}

// held decodes a value of which nothing was followed.
func (d *Decoder) held(v *result.Value, t *types.Type, b []byte) {
	if _, more := (Capture{Registers: true, Kept: true}).Of(t); !more {
		d.value(v, t, b)
		return
	}
	word := uint64(0)
	if len(b) >= 8 {
		word = binary.LittleEndian.Uint64(b)
	}
	switch form := t.Form(); {
	case form == types.InterfaceForm || form == types.AnyForm || form == types.SliceForm:
		if word == 0 {
			null(v)
			return
		}
		unavailable(v, "what it refers to was not read")
	case t.Kind == types.Pointer && word == 0 && t.Lang().Managed():
		null(v)
	case t.Kind == types.Pointer && len(b) == 8:
		v.Kind, v.Size, v.Num = result.Pointer, 8, word
	default:
		unavailable(v, "what it refers to was not read")
	}
}
