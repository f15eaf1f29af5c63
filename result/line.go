package result

import "unicode/utf8"

// AppendLine appends the value as AppendText does, but on one line and safe to be shown: control characters, line ends,
// characters that turn the direction of text, and bytes that are no UTF-8 are escaped as in C, and so are backslashes
// and, in a string, quotes, so that it can be read back.
func (v *Value) AppendLine(dst []byte) []byte { return v.appendText(dst, oneLine) }

// AppendQuoted appends the value as AppendLine does, text by itself in quotes, too, so that it can be told from NULL
// and nil.
func (v *Value) AppendQuoted(dst []byte) []byte {
	st := oneLine
	st.text = true
	return v.appendText(dst, st)
}

// Escape escapes the texts and names in a value, as AppendLine does; its parts are changed, too. Buffers and stacks
// stay as they are.
func (v *Value) Escape() {
	if v.Kind != Buffer {
		v.Text = string(escapeFrom([]byte(v.Text), 0, false))
	}
	v.Type = string(escapeFrom([]byte(v.Type), 0, false))
	for i := range v.Names {
		v.Names[i] = string(escapeFrom([]byte(v.Names[i]), 0, false))
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
		if short := shortEscape(rest[i]); short != 0 {
			dst = append(dst, '\\', short)
			i++
			continue
		}
		_, n := utf8.DecodeRuneInString(rest[i:])
		for _, c := range []byte(rest[i : i+n]) {
			dst = append(dst, '\\', 'x', hexDigits[c>>4], hexDigits[c&15])
		}
		i += n
	}
	return dst
}

// shortEscape is the letter by which C and JSON (RFC 8259 section 7) write a character behind a backslash; 0 if this
// has none here.
func shortEscape(c byte) byte {
	switch c {
	case '\\', '"':
		return c
	case '\n':
		return 'n'
	case '\r':
		return 'r'
	case '\t':
		return 't'
	}
	return 0
}

// decodeRune is utf8.DecodeRune for strings and bytes.
func decodeRune[T string | []byte](s T) (rune, int) {
	var b [utf8.UTFMax]byte
	return utf8.DecodeRune(b[:copy(b[:], s)])
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
	r, n := decodeRune(s)
	switch {
	case r == utf8.RuneError && n <= 1,
		r < 0xa0,                                 // C1 controls, the next line among them
		r == 0x2028 || r == 0x2029,               // line and paragraph separators
		r == 0x200e || r == 0x200f || r == 0x61c, // marks of direction
		r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069: // direction
		return 0
	}
	return n
}
