package record

import "encoding/binary"

// Frames of Python functions in stacks: PythonFrame, the number of the instruction, and a number that tells the
// function's code from others, by which the map PythonCodes has what it is called.
const (
	PythonFrame      = 1 << 62
	PythonIndexShift = 48
	PythonMostIndex  = 1<<(62-PythonIndexShift) - 1

	PythonCodes     = "python_codes"
	PythonMostCodes = 1 << 12
)

// PythonPart is a text in the description of a code object: where its length is, of 32 bits, where it begins, and how
// much of it there is at most.
type PythonPart struct{ Length, At, Most int }

// The description of a code object: the first line, the function's name, the end of its file's, and the table by which
// instructions have lines.
const (
	CodeLine       = 0
	PythonCodeSize = 784
)

// Its texts.
var (
	CodeName  = PythonPart{4, 16, 96}
	CodeFile  = PythonPart{8, 112, 160}
	CodeLines = PythonPart{12, 272, 512}
)

// PythonCode is a code object.
type PythonCode struct {
	Name, File string
	first      int
	lines      []byte
}

// PythonCodeOf reads a description.
func PythonCodeOf(value []byte) (c PythonCode) {
	if len(value) < PythonCodeSize {
		return c
	}
	part := func(p PythonPart) []byte {
		return value[p.At : p.At+min(int(binary.LittleEndian.Uint32(value[p.Length:])), p.Most)]
	}
	c.Name, c.File, c.lines = text(part(CodeName)), text(part(CodeFile)), append([]byte(nil), part(CodeLines)...)
	c.first = int(int32(binary.LittleEndian.Uint32(value[CodeLine:])))
	return c
}

// LineOf is the line of an instruction by its number, 0 if it has none, or the table is cut before it. Entries of the
// table (Objects/locations.md of CPython) are of one instruction or several; each says how the line changes.
func (c *PythonCode) LineOf(index int) int {
	line, at := c.first, 0
	rest := c.lines
	number := func() (n int) {
		for shift := 0; len(rest) > 0; shift += 6 {
			b := rest[0]
			rest = rest[1:]
			n |= int(b&0x3f) << min(shift, 30)
			if b&0x40 == 0 {
				break
			}
		}
		return n
	}
	skip := func(n int) { rest = rest[min(n, len(rest)):] }
	for len(rest) > 0 {
		const long, noColumns, oneLine, none = 14, 13, 10, 15
		head := rest[0]
		if rest = rest[1:]; head&0x80 == 0 {
			return 0
		}
		kind, shown := int(head>>3&15), true
		switch {
		case kind == none:
			shown = false
		case kind == long, kind == noColumns:
			n := number()
			if n&1 != 0 {
				n = -(n >> 1)
			} else {
				n >>= 1
			}
			if line += n; kind == long {
				number()
				number()
				number()
			}
		case kind >= oneLine:
			line += kind - oneLine
			skip(2)
		default:
			skip(1)
		}
		if at += int(head&7) + 1; index < at {
			if !shown {
				return 0
			}
			return line
		}
	}
	return 0
}
