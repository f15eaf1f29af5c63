package record

import (
	"encoding/binary"
	"math"
	"testing"

	"trocar/internal/binary/types"
	"trocar/result"
)

// Objects of Python are shown as Python writes them.
func TestDecodePython(t *testing.T) {
	const old, recent = PythonLongStr, 40
	object := func(version int, class string, word, flags uint64, state uint32, content string) result.Value {
		typ := PythonOf(types.PythonObject(version, version+16), 24)
		b := make([]byte, typ.Size)
		binary.LittleEndian.PutUint64(b, 0x1000)
		binary.LittleEndian.PutUint64(b[PythonWord:], word)
		binary.LittleEndian.PutUint64(b[PythonBits:], flags)
		binary.LittleEndian.PutUint32(b[PythonStateAt:], state)
		copy(b[PythonType:], class)
		copy(b[PythonText:], content)
		d := &Decoder{Trailer: ".."}
		var v result.Value
		d.Value(&v, typ, b)
		return v
	}
	const isInt, isStr, isBytes, isDict, heap = 1 << PythonIsInt, 1 << PythonIsStr, 1 << PythonIsBytes, 1 << pythonIsDict,
		1 << pythonIsHeap
	negative := uint64(1<<64 - 2)
	for _, c := range []struct {
		v    result.Value
		want string
	}{
		{object(recent, "int", 1<<3, isInt, 0, "\x2a"), "42"},
		{object(recent, "int", 1, isInt, 0, ""), "0"},
		{object(recent, "int", 2<<3|2, isInt, 0, "\x01\x00\x00\x00\x01"), "-1073741825"},
		{object(recent, "int", 3<<3, isInt, 0, "\x00\x00\x00\x00\x00\x00\x00\x00\x20"), "36893488147419103232"},
		{object(recent, "int", 7<<3, isInt, 0, ""), "<an int of more than 54 digits>"},
		{object(old, "int", negative, isInt, 0, "\x01\x00\x00\x00\x01"), "-1073741825"},
		{object(old, "Number", 1, isInt|heap, 0, "\x2a"), "42"},
		{object(recent, "bool", 1<<3, isInt, 0, "\x01"), "true"},
		{object(recent, "bool", 1, isInt, 0, ""), "false"},
		{object(recent, "NoneType", 0, 0, 0, ""), "None"},
		{object(recent, "float", math.Float64bits(1.5), 0, 0, ""), "1.5"},
		{object(recent, "float", math.Float64bits(1.5), heap, 0, ""), "<float>"},
		{object(recent, "str", 3, isStr, 1<<2|3<<5, "abcd"), "abc"},
		{object(recent, "str", 2, isStr, 1<<2|1<<5, "\xe9\xe8"), "éè"},
		{object(recent, "str", 1, isStr, 2<<2|1<<5, "\xac\x20"), "€"},
		{object(recent, "str", 1, isStr, 4<<2|1<<5, "\x00\xf6\x01\x00"), "😀"},
		{object(recent, "str", 2, isStr, 2<<2|1<<5, "a\x00\xe9\xdc"), "a\xe9"}, // a byte of a file's name
		{object(recent, "str", 30, isStr, 1<<2|3<<5, "abcdefghijklmnopqrstuvwx"), "abcdefghijklmnopqrstuvwx.."},
		{object(recent, "str", 30, isStr, 3<<2, "abc"), "<a str whose characters are not known>"},
		{object(recent, "bytes", 2, isBytes, 0, "ab"), "ab"},
		{object(recent, "dict", 7, isDict, 0, ""), "dict(7)"},
		{object(recent, "Handler", 7, heap, 0, ""), "<Handler>"},
	} {
		if got := c.v.String(); got != c.want {
			t.Errorf("%s, and not %s", got, c.want)
		}
	}
}
