package result

import (
	"fmt"
	"math"
	"strconv"
)

// Format is a parsed format string of printf and its kin.
//
// Conversions are C's with C's rules for flags, field width and precision, and those of bpftrace: %r, %rx and %rh for
// buffers, %gr for allocation flags, and %s for every value; %#s puts it on one line, see AppendLine, and %+s text in
// quotes as well, see AppendQuoted. Without a length modifier d, u, o and x mean an int, so %d
// of 4294967295 is -1 as in C; %p takes 64 bits. A percent sign that begins no conversion stands for itself.
//
// bpftrace 0.27 goes its own way where this one follows C: it ignores precision and the space flag, and fills a
// left-aligned or negative number with zeros on the wrong side (%05d of -42 gives "00-42").
type Format struct {
	// Specs are the conversions in order; each takes an argument, after one for each * in it.
	Specs []Spec

	lits []string // text before each conversion, then the rest
	args int
}

// Spec is one conversion.
type Spec struct {
	Text  string // as written: "%-5d"
	Verb  string // what follows flags, width, precision and length: "d", "rx", …
	Width int    // 0: none
	Prec  int    // -1: none
	Bits  int    // of an integer conversion: 8, 16, 32 or 64
	Left  bool   // -
	Plus  bool   // +
	Space bool
	Alt   bool // #
	Zero  bool

	WidthArg, PrecArg bool // given as *: an argument before the value

	op op
}

// op says how a conversion is carried out; the plain ones have neither flags nor width.
type op uint8

const (
	opText   op = iota // s, and r of what is no buffer
	opLine             // s with #
	opQuoted           // s with +
	opPlainInt
	opPlainUint
	opPlainHex
	opPlainText
	opInt
	opUint
	opFloat
	opChar
	opAddr
	opEscape    // rx
	opHex       // rh
	opGFP       // gr
	opCountOnly // n: nothing
)

// MaxField bounds widths and precisions: a script may not ask for a gigabyte of spaces.
const MaxField = 1 << 16

// ParseFormat parses a format string. Only a width or precision beyond MaxField is an error; whether the arguments fit
// is decided by who knows their types.
func ParseFormat(s string) (*Format, error) {
	f := &Format{}
	var lit []byte
	for i := 0; i < len(s); {
		if s[i] != '%' {
			lit = append(lit, s[i])
			i++
			continue
		}
		spec, n, err := parseSpec(s[i:])
		switch {
		case err != nil:
			return nil, err
		case n == 0:
			lit = append(lit, '%')
			i++
			continue
		case spec.Verb == "%":
			lit = append(lit, '%')
			i += n
			continue
		}
		i += n
		f.lits = append(f.lits, string(lit))
		lit = lit[:0]
		f.Specs = append(f.Specs, spec)
		f.args += spec.NumArgs()
	}
	f.lits = append(f.lits, string(lit))
	return f, nil
}

// NumArgs is the number of arguments that the format takes.
func (f *Format) NumArgs() int { return f.args }

// NumArgs is the number of arguments that the conversion takes.
func (s *Spec) NumArgs() int {
	n := 1
	if s.WidthArg {
		n++
	}
	if s.PrecArg {
		n++
	}
	return n
}

// parseSpec parses the conversion that s begins with; n is its length, 0 if it is none.
func parseSpec(s string) (spec Spec, n int, err error) {
	spec = Spec{Prec: -1, Bits: 32}
	i := 1
flags:
	for ; i < len(s); i++ {
		switch s[i] {
		case '-':
			spec.Left = true
		case '+':
			spec.Plus = true
		case ' ':
			spec.Space = true
		case '#':
			spec.Alt = true
		case '0':
			spec.Zero = true
		default:
			break flags
		}
	}
	spec.Width, spec.WidthArg, i = parseField(s, i)
	if i < len(s) && s[i] == '.' {
		spec.Prec, spec.PrecArg, i = parseField(s, i+1)
	}
	var short, long int
	for ; i < len(s); i++ {
		switch s[i] {
		case 'h':
			short++
			continue
		case 'l', 'L', 'j', 'z', 't':
			long++
			continue
		}
		break
	}
	switch {
	case long > 0:
		spec.Bits = 64
	case short == 1:
		spec.Bits = 16
	case short > 1:
		spec.Bits = 8
	}
	v := verbLen(s[i:])
	if v == 0 {
		return spec, 0, nil
	}
	spec.Verb, spec.Text, n = s[i:i+v], s[:i+v], i+v
	if spec.Width > MaxField || spec.Prec > MaxField {
		return spec, n, fmt.Errorf("field of %q is too wide, at most %d can be asked for", spec.Text, MaxField)
	}
	spec.choose()
	return spec, n, nil
}

// parseField reads a width or precision. Numbers beyond MaxField come out as MaxField+1.
func parseField(s string, i int) (n int, star bool, next int) {
	if i < len(s) && s[i] == '*' {
		return 0, true, i + 1
	}
	for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		n = min(n*10+int(s[i]-'0'), MaxField+1)
	}
	return n, false, i
}

// verbLen is the length of the conversion's name at the start of s, 0 if there is none.
func verbLen(s string) int {
	if s == "" {
		return 0
	}
	switch s[0] {
	case 'd', 'i', 'o', 'u', 'x', 'X', 'e', 'E', 'f', 'F', 'G', 'a', 'A', 'c', 's', 'p', 'n', '%':
		return 1
	case 'g':
		if len(s) > 1 && s[1] == 'r' {
			return 2
		}
		return 1
	case 'r':
		if len(s) > 1 && (s[1] == 'x' || s[1] == 'h') {
			return 2
		}
		return 1
	}
	return 0
}

func (s *Spec) choose() {
	plain := s.Width == 0 && !s.WidthArg && s.Prec < 0 && !s.PrecArg && !s.Plus && !s.Space && !s.Alt
	switch s.Verb {
	case "d", "i":
		s.op = opInt
		if plain {
			s.op = opPlainInt
		}
	case "u", "o", "x", "X":
		s.op = opUint
		switch {
		case plain && s.Verb == "u":
			s.op = opPlainUint
		case plain && s.Verb == "x":
			s.op = opPlainHex
		}
	case "e", "E", "f", "F", "g", "G", "a", "A":
		s.op = opFloat
	case "c":
		s.op = opChar
	case "p":
		s.op = opAddr
	case "rx":
		s.op = opEscape
	case "rh":
		s.op = opHex
	case "gr":
		s.op = opGFP
	case "n":
		s.op = opCountOnly
	default: // s, r
		switch {
		case s.Plus && s.Verb == "s":
			s.op = opQuoted
		case s.Alt && s.Verb == "s":
			s.op = opLine
		}
		if plain {
			s.op = opPlainText
		}
	}
}

// Append appends the formatted arguments. It allocates nothing but room in dst. An argument that isn't there is shown
// as the conversion itself.
func (f *Format) Append(dst []byte, args []Value) []byte {
	next := 0
	for i := range f.Specs {
		dst = append(dst, f.lits[i]...)
		s := &f.Specs[i]
		if next+s.NumArgs() > len(args) {
			dst = append(dst, s.Text...)
			next = len(args)
			continue
		}
		if s.WidthArg || s.PrecArg {
			t := *s
			next += t.takeFields(args[next:])
			dst = t.append(dst, &args[next])
		} else {
			dst = s.append(dst, &args[next])
		}
		next++
	}
	return append(dst, f.lits[len(f.Specs)]...)
}

// takeFields reads the arguments of * as C does: a negative width means left, a negative precision none.
func (s *Spec) takeFields(args []Value) int {
	n := 0
	if s.WidthArg {
		w := int64(args[0].Num)
		if w < 0 {
			s.Left, w = true, -max(w, -MaxField)
		}
		s.Width = int(min(w, MaxField))
		n++
	}
	if s.PrecArg {
		s.Prec = int(max(-1, min(int64(args[n].Num), MaxField)))
		n++
	}
	return n
}

func (s *Spec) append(dst []byte, v *Value) []byte {
	if s.op != opText && s.op != opLine && s.op != opQuoted && s.op != opPlainText && !v.fits(s.op) {
		start := len(dst)
		dst = v.AppendText(dst)
		return s.pad(dst, start)
	}
	switch s.op {
	case opPlainInt:
		return strconv.AppendInt(dst, signExtend(v.integer(), s.Bits), 10)
	case opPlainUint:
		return strconv.AppendUint(dst, zeroExtend(v.integer(), s.Bits), 10)
	case opPlainHex:
		return strconv.AppendUint(dst, zeroExtend(v.integer(), s.Bits), 16)
	case opPlainText:
		return v.AppendText(dst)
	case opInt:
		return s.appendInt(dst, signExtend(v.integer(), s.Bits))
	case opUint:
		return s.appendUint(dst, zeroExtend(v.integer(), s.Bits))
	case opFloat:
		if v.Kind == Float && v.Text != "" {
			return s.padSpaces(append(dst, v.Text...), len(dst))
		}
		return s.appendFloat(dst, v.float())
	}
	start := len(dst)
	switch s.op {
	case opText:
		dst = v.AppendText(dst)
		if s.Prec >= 0 && len(dst)-start > s.Prec {
			dst = dst[:start+s.Prec]
		}
	case opLine:
		dst = v.AppendLine(dst)
	case opQuoted:
		dst = v.AppendQuoted(dst)
	case opChar:
		if v.Kind == String {
			dst = append(dst, v.Text...)
		} else {
			dst = append(dst, byte(v.integer()))
		}
	case opAddr:
		if v.Num == 0 {
			dst = append(dst, '0') // as bpftrace shows a null pointer
		} else {
			dst = appendAddr(dst, v.Num)
		}
	case opEscape:
		for i := range len(v.Text) {
			c := v.Text[i]
			dst = append(dst, '\\', 'x', hexDigits[c>>4], hexDigits[c&15])
		}
	case opHex:
		for i := range len(v.Text) {
			if i > 0 {
				dst = append(dst, ' ')
			}
			c := v.Text[i]
			dst = append(dst, hexDigits[c>>4], hexDigits[c&15])
		}
	case opGFP:
		dst = appendGFP(dst, v.integer())
	}
	return s.pad(dst, start)
}

// fits tells whether the conversion can show the value; others are shown as text, so that nothing is lost.
func (v *Value) fits(o op) bool {
	switch v.Kind {
	case Int, Uint, Bool, Enum, Pointer:
		return o != opEscape && o != opHex
	case Float:
		return o != opEscape && o != opHex && o != opAddr && o != opGFP
	case Symbol:
		return o == opAddr || o == opPlainHex || o == opUint
	case Buffer:
		return o == opEscape || o == opHex
	case String:
		return o == opEscape || o == opHex || v.Type == CharType && o != opFloat && o != opAddr && o != opGFP
	}
	return false
}

func (v *Value) integer() uint64 {
	if v.Kind == Float {
		return uint64(int64(v.float()))
	}
	return v.Num
}

func (v *Value) float() float64 {
	switch v.Kind {
	case Float:
		return math.Float64frombits(v.Num)
	case Int:
		return float64(int64(v.Num))
	case Enum:
		if v.Signed {
			return float64(int64(v.Num))
		}
	}
	return float64(v.Num)
}

func signExtend(u uint64, bits int) int64 {
	switch bits {
	case 8:
		return int64(int8(u))
	case 16:
		return int64(int16(u))
	case 32:
		return int64(int32(u))
	}
	return int64(u)
}

func zeroExtend(u uint64, bits int) uint64 {
	switch bits {
	case 8:
		return uint64(uint8(u))
	case 16:
		return uint64(uint16(u))
	case 32:
		return uint64(uint32(u))
	}
	return u
}
