package record

import (
	"trocar/internal/binary/types"
	"trocar/result"
)

// ArgumentsType names the type of the arguments of a function together.
const ArgumentsType = result.ArgumentsType

// MostTexts bounds the texts that are kept of one call.
const MostTexts = types.MostTexts

// Word tells a value that is one word: it is shown as it is, or as the C text that it points to. more tells that by
// itself what a pointer refers to would be shown, too.
func Word(name string, t *types.Type) (text, more, ok bool) {
	if t = t.Complete(); t == nil || t.Incomplete {
		return false, false, false
	}
	if t.IsCString() {
		return true, false, t.Size == 8
	}
	switch t.Kind {
	case types.Int, types.Bool, types.Enum, types.Pointer:
		_, more = Capture{Registers: true, Kept: true}.Of(t)
		return false, more && (name != "this" || t.Closure()), number(t.Size)
	}
	return false, false, false
}
