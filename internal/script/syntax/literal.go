package syntax

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// suffix is what may follow the digits of an integer: the largest value it allows and the factor it stands for.
type suffix struct {
	name   string
	max    uint64
	factor uint64
}

// suffixes of integers: C's, which only limit the value, and durations, which give nanoseconds.
var suffixes = [...]suffix{
	{"", math.MaxUint64, 1},
	{"u", math.MaxUint32, 1},
	{"ul", math.MaxUint64, 1},
	{"ull", math.MaxUint64, 1},
	{"l", math.MaxInt64, 1},
	{"ll", math.MaxInt64, 1},
	{"ns", math.MaxUint64, 1},
	{"us", math.MaxUint64, 1e3},
	{"ms", math.MaxUint64, 1e6},
	{"s", math.MaxUint64, 1e9},
	{"m", math.MaxUint64, 60e9},
	{"h", math.MaxUint64, 3600e9},
	{"d", math.MaxUint64, 86400e9},
}

// ParseInt reads an integer as a script writes it: decimal, 0 octal, 0x hexadecimal, 0b binary, 1e6, '_' between
// digits, C's suffixes and durations. unsigned tells of a U suffix.
func ParseInt(text string) (value uint64, unsigned bool, err error) {
	if strings.HasSuffix(text, "_") {
		return 0, false, fmt.Errorf("trailing underscore in integer literal")
	}
	digits, base := strings.ReplaceAll(text, "_", ""), 10
	switch lower := strings.ToLower(digits); {
	case strings.HasPrefix(lower, "0x"):
		digits, base = digits[2:], 16
	case strings.HasPrefix(lower, "0b"):
		digits, base = digits[2:], 2
	case len(lower) > 1 && lower[0] == '0' && isDigit(lower[1]):
		digits, base = digits[1:], 8
	}
	end := 0
	for end < len(digits) && digitValue(digits[end]) < base {
		end++
	}
	if end == 0 {
		return 0, false, fmt.Errorf("invalid integer: %s", text)
	}
	value, perr := strconv.ParseUint(digits[:end], base, 64)
	if perr != nil {
		return 0, false, overflow(text, math.MaxUint64)
	}
	rest := digits[end:]
	if base == 10 && len(rest) > 1 && (rest[0] == 'e' || rest[0] == 'E') && rest[1] >= '1' && rest[1] <= '9' {
		if value < 1 || value > 9 {
			return 0, false, fmt.Errorf("coefficient part of scientific literal must be 1-9: %s", text)
		}
		end = 2
		for end < len(rest) && isDigit(rest[end]) {
			end++
		}
		exp, perr := strconv.Atoi(rest[1:end])
		if perr != nil || exp > 19 {
			return 0, false, overflow(text, math.MaxUint64)
		}
		for ; exp > 0; exp-- {
			hi, lo := bits.Mul64(value, 10)
			if hi != 0 {
				return 0, false, overflow(text, math.MaxUint64)
			}
			value = lo
		}
		rest = rest[end:]
	}
	s, ok := findSuffix(rest)
	if !ok {
		return 0, false, fmt.Errorf("invalid integer suffix '%s'", rest)
	}
	if value > s.max/s.factor {
		return 0, false, overflow(text, s.max)
	}
	return value * s.factor, strings.HasPrefix(s.name, "u") && s.factor == 1, nil
}

// findSuffix looks a suffix up: durations in lower case, C's in either.
func findSuffix(text string) (suffix, bool) {
	for _, s := range suffixes {
		if s.name == text {
			return s, true
		}
	}
	switch lower := strings.ToLower(text); lower {
	case "u", "ul", "ull", "l", "ll":
		return findSuffix(lower)
	case "lu", "llu":
		return findSuffix("u" + strings.TrimSuffix(lower, "u"))
	}
	return suffix{}, false
}

func overflow(text string, limit uint64) error {
	return fmt.Errorf("overflow error, maximum value is %d: %s", limit, text)
}

func digitValue(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return 99
}

// escapeError is a bad escape in a string: where in the literal, and what.
type escapeError struct {
	start, end int
	text       string
}

// unquote resolves the escapes of a string literal (with its quotes).
func unquote(lit string) (string, *escapeError) {
	body, closed := lit[1:], false
	if n := len(body); n > 0 && body[n-1] == '"' && !escapedEnd(body[:n-1]) {
		body, closed = body[:n-1], true
	}
	if !closed {
		return "", &escapeError{0, len(lit), "unterminated string"}
	}
	if strings.IndexByte(body, '\\') < 0 {
		return body, nil
	}
	var b strings.Builder
	for i := 0; i < len(body); i++ {
		c := body[i]
		if c != '\\' {
			b.WriteByte(c)
			continue
		}
		at := i + 1 // in lit
		i++
		switch c = body[i]; {
		case c == 'n':
			b.WriteByte('\n')
		case c == 't':
			b.WriteByte('\t')
		case c == 'r':
			b.WriteByte('\r')
		case c == '"' || c == '\\':
			b.WriteByte(c)
		case c >= '0' && c <= '7':
			v, end := 0, i
			for end < len(body) && end < i+3 && body[end] >= '0' && body[end] <= '7' {
				v = v*8 + int(body[end]-'0')
				end++
			}
			if v > 255 {
				return "", &escapeError{at, end + 1, "octal escape sequence out of range '" + body[i-1:end] + "'"}
			}
			b.WriteByte(byte(v))
			i = end - 1
		case c == 'x' || c == 'X':
			v, end := 0, i+1
			for end < len(body) && end < i+3 && digitValue(body[end]) < 16 {
				v = v*16 + digitValue(body[end])
				end++
			}
			if end == i+1 {
				return "", &escapeError{at, at + 2, "invalid hex escape sequence"}
			}
			b.WriteByte(byte(v))
			i = end - 1
		default:
			return "", &escapeError{at + 1, at + 2, "invalid escape character '\\" + body[i:i+1] + "'"}
		}
	}
	return b.String(), nil
}

// escapedEnd tells whether what follows text is escaped: text ends in an odd number of backslashes.
func escapedEnd(text string) bool {
	n := 0
	for n < len(text) && text[len(text)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// quote writes a string as a literal.
func quote(s string) string {
	plain := 0
	for plain < len(s) && s[plain] >= ' ' && s[plain] < 0x7f && s[plain] != '"' && s[plain] != '\\' {
		plain++
	}
	if plain == len(s) { // most
		return `"` + s + `"`
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(s); {
		r, n := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(s[i:])
		}
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteByte(s[i])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case !unicode.IsPrint(r) || r == utf8.RuneError && n == 1:
			for _, c := range []byte(s[i : i+n]) {
				fmt.Fprintf(&b, `\x%02x`, c)
			}
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	b.WriteByte('"')
	return b.String()
}

// QuoteName is the name of a value in a record as it is written: in quotes if it is no identifier.
func QuoteName(name string) string {
	plain := name != "" && isNameStart(name[0]) && !isBuiltin(name)
	for i := range len(name) {
		plain = plain && (isNameStart(name[i]) || name[i] >= '0' && name[i] <= '9')
	}
	if plain {
		return name
	}
	return quote(name)
}
