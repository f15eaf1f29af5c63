package record

import (
	"math/bits"
	"strconv"
	"strings"

	"trocar/internal/binary/types"
)

// leastFlags is how many enumerators of one bit an enum must have for its values to be sums of them: 1 and 2 alone are
// also the first two of a list.
const leastFlags = 3

// flags is the text of a value that is a sum of an enum's enumerators of one bit each: "READ|WRITE", and what no name
// is for as a number. "": the enum has others than such and their sums, or the value has none of them.
func flags(t *types.Type, n uint64) string {
	if t.Form() == types.HexForm || t.Form() == types.OctalForm || len(t.Enums) > 0 && t.Enums[0].Mask != 0 {
		return words(t, n)
	}
	if n == 0 || t.Size > 8 {
		return ""
	}
	mask := ^uint64(0) >> (64 - 8*t.Size)
	n &= mask
	var known uint64
	for _, e := range t.Enums {
		if u := uint64(e.Value) & mask; bits.OnesCount64(u) == 1 {
			known |= u
		}
	}
	if bits.OnesCount64(known) < leastFlags || n&known == 0 {
		return ""
	}
	var names []string
	left := n
	for _, e := range t.Enums {
		switch u := uint64(e.Value) & mask; {
		case u&^known != 0 && u != mask: // it is a list after all
			return ""
		case bits.OnesCount64(u) == 1 && left&u != 0:
			names = append(names, e.Name)
			left &^= u
		}
	}
	if left != 0 {
		names = append(names, "0x"+strconv.FormatUint(left, 16))
	}
	return strings.Join(names, "|")
}

// words is the text of a number that is made of several, each of which has the bits of its enumerators' masks:
// "O_WRONLY|O_CREAT". What no name is for is a number.
func words(t *types.Type, n uint64) string {
	if t.Size < 1 || t.Size > 8 {
		return ""
	}
	size := ^uint64(0) >> (64 - 8*t.Size)
	n &= size
	var names []string
	left, taken := n, uint64(0)
	for _, e := range t.Enums {
		mask := uint64(e.Mask) & size
		if taken&mask != 0 || n&mask != uint64(e.Value)&size {
			continue
		}
		names = append(names, e.Name)
		taken |= mask
		left &^= mask
	}
	switch {
	case left == 0 && len(names) > 0:
	case t.Form() == types.OctalForm:
		text := strconv.FormatUint(left, 8)
		if left != 0 {
			text = "0" + text
		}
		names = append(names, text)
	case t.Form() == types.HexForm || len(names) > 0:
		names = append(names, "0x"+strconv.FormatUint(left, 16))
	case len(t.Enums) > 0 && t.Enums[0].Mask != -1 && left != 0: // flags, none of which is known
		return "0x" + strconv.FormatUint(left, 16)
	case left == 0:
		return "0"
	}
	return strings.Join(names, "|")
}
