package result

import "unicode/utf8"

// AppendLine appends the value as AppendText does, but on one line and safe to be shown: control characters, line ends,
// characters that turn the direction of text, and bytes that are no UTF-8 are escaped as in C, and so are backslashes and, in a
// string, quotes, so that it can be read back.
func (v *Value) AppendLine(dst []byte) []byte {
	if v.Kind != String {
		return v.appendText(dst, oneLine)
	}
	start := len(dst)
	return escapeFrom(v.AppendText(dst), start, true)
}

// Escape escapes the texts in a value, as AppendLine does; its parts are changed, too.
func (v *Value) Escape() {
	switch v.Kind {
	case String, Enum, Symbol:
		v.Text = string(escapeFrom([]byte(v.Text), 0, false))
	}
	for i := range v.Elems {
		v.Elems[i].Escape()
	}
}

// escapeFrom escapes what begins at start.
func escapeFrom(dst []byte, start int, quotes bool) []byte {
	at := start
	for at < len(dst) {
		if n := keeps(dst[at:], quotes); n > 0 {
			at += n
			continue
		}
		break
	}
	if at == len(dst) {
		return dst // nearly always
	}
	rest := string(dst[at:])
	dst = dst[:at]
	for i := 0; i < len(rest); {
		if n := keeps(rest[i:], quotes); n > 0 {
			dst = append(dst, rest[i:i+n]...)
			i += n
			continue
		}
		switch c := rest[i]; c {
		case '\\', '"':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			dst = append(dst, '\\', 'x', hexDigits[c>>4], hexDigits[c&15]) // each byte of a character
			_, n := utf8.DecodeRuneInString(rest[i:])
			for _, c := range []byte(rest[i+1 : i+n]) {
				dst = append(dst, '\\', 'x', hexDigits[c>>4], hexDigits[c&15])
			}
			i += n - 1
		}
		i++
	}
	return dst
}

// keeps is the length of the character that s begins with, 0 if it is escaped.
func keeps[T string | []byte](s T, quotes bool) int {
	c := s[0]
	if c < utf8.RuneSelf {
		if c < ' ' || c == 0x7f || c == '\\' || c == '"' && quotes {
			return 0
		}
		return 1
	}
	var b [utf8.UTFMax]byte
	r, n := utf8.DecodeRune(b[:copy(b[:], s)])
	switch {
	case r == utf8.RuneError && n <= 1,
		r < 0xa0,                   // C1 controls, the next line among them
		r == 0x2028 || r == 0x2029, // line and paragraph separators
		r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069: // direction
		return 0
	}
	return n
}
