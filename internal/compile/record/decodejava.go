package record

import (
	"strconv"
	"strings"

	"trocar/internal/binary/types"
	"trocar/result"
)

// Offsets in a captured object of Java.
const (
	JavaClass   = 8
	JavaProcess = 16
	JavaLength  = 20 // of an array
	JavaCoder   = 24 // of a text: 1 + its coder; 0: it is no text
	JavaBytes   = 28 // of a text: how many there are
	JavaContent = 32
)

// JavaOf makes the captured form of a reference to an object of Java: u64 1 (0: there is none), or Missing; u64 the
// address of its class; u32 its process; then as above, and up to n bytes of a text or of numbers in an array.
func JavaOf(t *types.Type, n int) *types.Type {
	return &types.Type{
		Kind: types.Java, Name: t.Name, Size: JavaContent + roundUp(n), Align: 8, Elem: t.Source.Item, Max: int64(n),
	}
}

// java decodes an object of Java.
func (d *Decoder) java(v *result.Value, t *types.Type, b []byte) {
	const utf16 = 2
	at, coder, content := uint(b, 8), uint(b[JavaCoder:], 4), b[JavaContent:]
	switch {
	case d.missing(v, t, at):
		return
	case at == 0:
		v.Kind, v.Text = result.None, "null"
		return
	case coder != 0:
		n := uint(b[JavaBytes:], 4)
		kept := content[:min(n, uint64(len(content)), uint64(t.Max))]
		text := ""
		if coder == utf16 {
			text = wide(kept[:len(kept)&^1], 2, false)
		} else {
			text = latin1(kept)
		}
		d.string(v, []byte(text), n > uint64(len(kept)))
		return
	case t.Elem != nil:
		n := uint(b[JavaLength:], 4)
		if t.Elem.Kind == types.Void {
			name := strings.TrimSuffix(t.Name, "[]") + "[" + strconv.FormatUint(n, 10) + "]"
			*v = result.Value{Kind: result.Dynamic, Type: name}
			return
		}
		kept := min(n, uint64(t.Max)/uint64(max(t.Elem.Size, 1)), innerElems)
		d.elements(v, t, int(kept), content)
		if v.Kind != result.Unavailable {
			v.Kind, v.Cut, v.Num = result.Array, n > kept, n
		}
		return
	}
	name, ok := d.Resolver.ObjectType(uint32(uint(b[JavaProcess:], 4)), uint(b[JavaClass:], 8))
	if !ok {
		name = t.Name
	}
	*v = result.Value{Kind: result.Dynamic, Type: name}
}

func latin1(b []byte) string {
	runes := make([]rune, len(b))
	for i, c := range b {
		runes[i] = rune(c)
	}
	return string(runes)
}
