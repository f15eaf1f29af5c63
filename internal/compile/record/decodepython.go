package record

import (
	"bytes"
	"encoding/binary"
	"math/big"
	"unicode/utf8"

	"trocar/internal/binary/types"
	"trocar/result"
)

// Where an object of Python has what is captured of it.
const (
	PythonClass  = 8   // the address of its type
	PythonSized  = 16  // the number of elements or digits; of a float, its value
	PythonDigits = 24  // of an int: 30 bits in each 32
	PythonBytes  = 32  // of a bytes
	PythonState  = 32  // of a str: how its text is kept
	PythonName   = 24  // in a type: the address of its name
	PythonFlags  = 168 // in a type
	// PythonLongStr is where the text of a str of ASCII is in versions whose ints have a sign in the number of their
	// digits: 3.11.
	PythonLongStr = 48
)

// Bits in the flags of a type.
const (
	pythonIsHeap  = 9 // it is of the program
	PythonIsInt   = 24
	pythonIsList  = 25
	pythonIsTuple = 26
	PythonIsBytes = 27
	PythonIsStr   = 28
	pythonIsDict  = 29
	pythonIsType  = 31
)

// Offsets in a captured object.
const (
	PythonWord    = 8 // what is at PythonSized
	PythonBits    = 16
	PythonStateAt = 24
	PythonType    = 32
	PythonText    = 80
)

// PythonOf makes the captured form of a reference to an object of Python: u64 its address (0: none), or Missing; u64
// what is at PythonSized; u64 flags of its type; u32 the state of a str, u32 unused; the name of the type; then the
// digits of an int or the first n bytes of a str or bytes.
func PythonOf(t *types.Type, n int) *types.Type {
	return &types.Type{Kind: types.Python, Name: t.Name, Size: PythonText + roundUp(n), Align: 8, Len: t.Len}
}

// python decodes an object of Python, as Python writes it.
func (d *Decoder) python(v *result.Value, t *types.Type, b []byte) {
	at := uint(b, 8)
	if d.missing(v, t, at) {
		return
	}
	if at == 0 {
		v.Kind, v.Text = result.None, "NULL"
		return
	}
	word, flags := uint(b[PythonWord:], 8), uint(b[PythonBits:], 8)
	name, _, _ := bytes.Cut(b[PythonType:PythonText], []byte{0})
	v.Type = text(name)
	is := func(bit int) bool { return flags>>bit&1 != 0 }
	builtin := !is(pythonIsHeap)
	content := b[PythonText:]
	switch {
	case builtin && v.Type == "NoneType":
		v.Kind, v.Text = result.None, "None"
	case builtin && v.Type == "bool":
		v.Kind = result.Bool
		if uint(content, 4) != 0 {
			v.Num = 1
		}
	case builtin && v.Type == "float":
		v.Kind, v.Num, v.Size = result.Float, word, 8
	case is(PythonIsInt):
		pythonInt(v, t, word, content)
	case is(PythonIsStr):
		d.pythonStr(v, word, uint(b[PythonStateAt:], 4)>>2&7, content)
	case is(PythonIsBytes):
		byteSlice(v, t, content[:min(word, uint64(len(content)))], word)
	case is(pythonIsList), is(pythonIsTuple), is(pythonIsDict):
		v.Kind, v.Text = result.String, v.Type+"("+new(big.Int).SetUint64(word).String()+")"
	case is(pythonIsType):
		v.Kind, v.Text = result.String, "<class>"
	default:
		v.Kind, v.Text = result.String, "<"+v.Type+">"
	}
}

// pythonInt decodes an int: digits of 30 bits, the lowest first.
func pythonInt(v *result.Value, t *types.Type, word uint64, content []byte) {
	digits, negative := word>>3, word&3 == 2
	if t.Len == PythonLongStr {
		digits, negative = word, int64(word) < 0
		if negative {
			digits = -digits
		}
	}
	if digits > uint64(len(content))/4 {
		least := new(big.Int).SetUint64(digits - 1) // the highest digit can be 1
		unavailable(v, "an int of more than "+least.Mul(least, big.NewInt(9)).String()+" digits")
		return
	}
	n := new(big.Int)
	for i := int(digits) - 1; i >= 0; i-- {
		n.Lsh(n, 30)
		n.Or(n, big.NewInt(int64(binary.LittleEndian.Uint32(content[4*i:]))))
	}
	if negative {
		n.Neg(n)
	}
	v.Size = 8
	switch {
	case n.IsInt64():
		v.Kind, v.Num, v.Signed = result.Int, uint64(n.Int64()), true
	default:
		v.Kind, v.Text = result.String, n.String()
	}
}

// pythonStr decodes a str of n characters, each of as many bytes as the widest of them takes.
func (d *Decoder) pythonStr(v *result.Value, n, unit uint64, content []byte) {
	v.Kind, v.Type = result.String, ""
	if unit != 1 && unit != 2 && unit != 4 {
		unavailable(v, "a str whose characters are not known")
		return
	}
	kept := min(n, uint64(len(content))/unit)
	text := make([]byte, 0, kept)
	for i := range kept {
		var r rune
		switch unit {
		case 1:
			r = rune(content[i])
		case 2:
			r = rune(binary.LittleEndian.Uint16(content[2*i:]))
		default:
			r = rune(binary.LittleEndian.Uint32(content[4*i:]))
		}
		if r >= escaped+0x80 && r <= escaped+0xff {
			text = append(text, byte(r-escaped))
		} else {
			text = utf8.AppendRune(text, r)
		}
	}
	d.string(v, text, n > kept)
}

// escaped is what Python adds to bytes of names of files and of arguments that are not UTF-8.
const escaped = 0xdc00
