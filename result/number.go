package result

import (
	"bytes"
	"math"
	"strconv"
)

// pad fills the field with what was appended since start. Zeros are only put before text that is right-aligned, as
// bpftrace does.
func (s *Spec) pad(dst []byte, start int) []byte {
	switch {
	case len(dst)-start >= s.Width:
		return dst
	case s.Left:
		return padRight(dst, start, s.Width)
	case s.Zero:
		return padLeft(dst, start, s.Width, '0')
	}
	return padLeft(dst, start, s.Width, ' ')
}

// appendInt shows a signed integer by C11 7.21.6.1.
func (s *Spec) appendInt(dst []byte, n int64) []byte {
	sign, u := "", uint64(n)
	switch {
	case n < 0:
		sign, u = "-", -u
	case s.Plus:
		sign = "+"
	case s.Space:
		sign = " "
	}
	return s.appendDigits(dst, sign, u, 10)
}

// appendUint shows an unsigned integer in the base of the conversion.
func (s *Spec) appendUint(dst []byte, u uint64) []byte {
	switch s.Verb {
	case "o":
		return s.appendDigits(dst, "", u, 8)
	case "x":
		if s.Alt && u != 0 {
			return s.appendDigits(dst, "0x", u, 16)
		}
		return s.appendDigits(dst, "", u, 16)
	case "X":
		start := len(dst)
		prefix := ""
		if s.Alt && u != 0 {
			prefix = "0X"
		}
		dst = s.appendDigits(dst, prefix, u, 16)
		upper(dst[start:])
		return dst
	}
	return s.appendDigits(dst, "", u, 10)
}

// appendDigits puts sign or prefix, zeros and digits in their order: spaces come before the prefix, zeros after it.
func (s *Spec) appendDigits(dst []byte, prefix string, u uint64, base int) []byte {
	start := len(dst)
	dst = append(dst, prefix...)
	digits := len(dst)
	if u != 0 || s.Prec != 0 {
		dst = strconv.AppendUint(dst, u, base)
	}
	if s.Alt && base == 8 && (len(dst) == digits || dst[digits] != '0') {
		dst = padLeft(dst, digits, max(s.Prec, len(dst)-digits+1), '0')
	}
	dst = padLeft(dst, digits, s.Prec, '0')
	if s.Zero && !s.Left && s.Prec < 0 {
		return padLeft(dst, digits, s.Width-len(prefix), '0')
	}
	return s.padSpaces(dst, start)
}

func (s *Spec) padSpaces(dst []byte, start int) []byte {
	if s.Left {
		return padRight(dst, start, s.Width)
	}
	return padLeft(dst, start, s.Width, ' ')
}

// appendFloat shows a floating-point number by C11 7.21.6.1.
func (s *Spec) appendFloat(dst []byte, f float64) []byte {
	start := len(dst)
	switch {
	case math.Signbit(f) && !math.IsNaN(f):
		dst = append(dst, '-')
		f = -f
	case s.Plus:
		dst = append(dst, '+')
	case s.Space:
		dst = append(dst, ' ')
	}
	signed := len(dst)
	finite := true
	switch {
	case math.IsNaN(f):
		dst, finite = append(dst, "nan"...), false
	case math.IsInf(f, 0):
		dst, finite = append(dst, "inf"...), false
	default:
		dst = s.appendMagnitude(dst, f)
	}
	if s.Verb[0] < 'a' {
		upper(dst[start:])
	}
	if s.Zero && !s.Left && finite {
		if s.Verb == "a" || s.Verb == "A" {
			signed += len("0x")
		}
		return padLeft(dst, signed, s.Width-(signed-start), '0')
	}
	return s.padSpaces(dst, start)
}

func (s *Spec) appendMagnitude(dst []byte, f float64) []byte {
	prec := s.Prec
	if prec < 0 {
		prec = 6
	}
	start := len(dst)
	switch s.Verb {
	case "a", "A":
		dst = strconv.AppendFloat(dst, f, 'x', s.Prec, 64)
		dst = shortExponent(dst, start)
		if s.Alt && !bytes.Contains(dst[start:], []byte{'.'}) {
			dst = insertPoint(dst, start+len("0x"))
		}
		return dst
	case "e", "E":
		dst = strconv.AppendFloat(dst, f, 'e', prec, 64)
	case "g", "G":
		return s.appendShortest(dst, f, prec)
	default:
		dst = strconv.AppendFloat(dst, f, 'f', prec, 64)
	}
	if s.Alt && prec == 0 {
		dst = insertPoint(dst, start)
	}
	return dst
}

// appendShortest is %g: the style of e or f by the exponent, without trailing zeros unless # asks for them.
func (s *Spec) appendShortest(dst []byte, f float64, prec int) []byte {
	if prec == 0 {
		prec = 1
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'e', prec-1, 64)
	exp := 0
	mantissa := len(dst)
	for i := len(dst) - 1; i > start; i-- {
		if dst[i] == 'e' {
			exp, _ = strconv.Atoi(string(dst[i+1:]))
			mantissa = i
			break
		}
	}
	if exp >= -4 && exp < prec {
		dst = strconv.AppendFloat(dst[:start], f, 'f', prec-1-exp, 64)
		mantissa = len(dst)
	}
	point := bytes.IndexByte(dst[start:mantissa], '.') >= 0
	switch {
	case s.Alt && point:
		return dst
	case s.Alt:
		return insertPoint(dst, start)
	}
	end := mantissa
	for point && dst[end-1] == '0' {
		end--
	}
	if point && dst[end-1] == '.' {
		end--
	}
	return append(dst[:end], dst[mantissa:]...)
}

// insertPoint puts a point behind the digits of a number that begins at start.
func insertPoint(dst []byte, start int) []byte {
	i := start
	for i < len(dst) && dst[i] >= '0' && dst[i] <= '9' {
		i++
	}
	dst = append(dst, 0)
	copy(dst[i+1:], dst[i:])
	dst[i] = '.'
	return dst
}

// shortExponent turns Go's "p+04" into C's "p+4".
func shortExponent(dst []byte, start int) []byte {
	n := len(dst)
	if n-start > 4 && dst[n-4] == 'p' && dst[n-2] == '0' {
		dst[n-2] = dst[n-1]
		return dst[:n-1]
	}
	return dst
}

func upper(b []byte) {
	for i, c := range b {
		if c >= 'a' && c <= 'z' {
			b[i] = c - 'a' + 'A'
		}
	}
}
