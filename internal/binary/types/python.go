package types

// PythonObject is a reference to an object of Python, which tells its type itself. The text of a str is at ascii in it
// if it has no other characters, else at compact.
func PythonObject(ascii, compact int) *Type {
	return &Type{
		Kind: Pointer, Name: "object", Size: 8, Align: 8, Elem: TVoid, Len: ascii, Bits: compact,
		Source: &Source{Form: PythonForm},
	}
}
