package types

import "fmt"

// Identity names a type such that different types of one program have different names: named structures of different
// files may differ, so they count as one only if they are one.
func Identity(t *Type) string {
	if t == nil {
		return "?"
	}
	switch t.Kind {
	case Pointer:
		return Identity(t.Elem) + "*" + fmt.Sprint(t.Space)
	case Array:
		return Identity(t.Elem) + fmt.Sprintf("[%d]", t.Len)
	case Struct, Union, Enum:
		return fmt.Sprintf("%s %p", t.Name, t)
	}
	return fmt.Sprintf("%s %d %d %v", t.Name, t.Kind, t.Size, t.Signed)
}
