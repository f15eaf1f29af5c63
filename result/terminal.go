package result

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode/utf8"
)

// AppendShown appends text so that a terminal shows it and does not obey it: control characters but line ends and tabs,
// characters that turn the direction of text, and bytes that are no UTF-8 are escaped as in C. Names and texts of
// traced programs may have such characters in them.
func AppendShown(dst []byte, text string) []byte {
	start := len(dst)
	return shownFrom(append(dst, text...), start)
}

// AppendShownLine is AppendShown for what is said on a line of its own: line breaks within it are escaped as well, so
// that no name begins a line as if that were a message of ours. One at the end is left out.
func AppendShownLine(dst []byte, text string) []byte {
	start := len(dst)
	dst = AppendShown(dst, strings.TrimSuffix(text, "\n"))
	if bytes.IndexByte(dst[start:], '\n') < 0 {
		return dst // nearly always
	}
	shown := string(dst[start:])
	return append(dst[:start], strings.ReplaceAll(shown, "\n", `\n`)...)
}

// Messagef is fmt.Sprintf for the texts of diagnostics: the line breaks of the format are the message's own and are
// kept, those in names, errors and other arguments are escaped, so that none of them begins a line as if that were a
// message of ours.
func Messagef(format string, args ...any) string {
	text := fmt.Sprintf(format, args...)
	if strings.Count(text, "\n") == strings.Count(format, "\n") {
		return text // nearly always
	}
	guarded := make([]any, len(args))
	for i, arg := range args {
		guarded[i] = arg
		switch reflect.ValueOf(arg).Kind() {
		case reflect.Int: // may be a width
		default:
			guarded[i] = unbroken{arg}
		}
	}
	return fmt.Sprintf(format, guarded...)
}

// unbroken shows a value without line breaks.
type unbroken struct{ v any }

// Format is for fmt.
func (o unbroken) Format(f fmt.State, verb rune) {
	text := fmt.Sprintf(fmt.FormatString(f, verb), o.v)
	_, _ = io.WriteString(f, strings.ReplaceAll(text, "\n", `\n`))
}

// ShownLine is text as AppendShownLine has it.
func ShownLine(text string) string { return string(AppendShownLine(nil, text)) }

// Shown is text as AppendShown has it.
func Shown(text string) string { return string(AppendShown(nil, text)) }

// ShownFrom does with what dst has from start on what AppendShown does with a text.
func ShownFrom(dst []byte, start int) []byte { return shownFrom(dst, start) }

func shownFrom(dst []byte, start int) []byte {
	at := start
	for at < len(dst) {
		if at += plain(dst[at:]); at == len(dst) {
			break
		}
		n := shows(dst[at:])
		if n == 0 {
			break
		}
		at += n
	}
	if at == len(dst) {
		return dst // nearly always
	}
	rest := string(dst[at:])
	dst = dst[:at]
	for i := 0; i < len(rest); {
		if n := shows(rest[i:]); n > 0 {
			dst = append(dst, rest[i:i+n]...)
			i += n
			continue
		}
		_, n := utf8.DecodeRuneInString(rest[i:])
		for _, c := range []byte(rest[i : i+n]) {
			if c == '\r' {
				dst = append(dst, `\r`...)
				continue
			}
			dst = append(dst, '\\', 'x', hexDigits[c>>4], hexDigits[c&15])
		}
		i += n
	}
	return dst
}

// plain is how many of the first bytes are printable ASCII, or a little less: eight are looked at together.
func plain(b []byte) (n int) {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	for ; len(b)-n >= 8; n += 8 {
		w := binary.LittleEndian.Uint64(b[n:])
		del := w ^ 0x7f*ones
		// A byte with its highest bit set, one below a blank, one that is DEL.
		if (w|(w-' '*ones)&^w|(del-ones)&^del)&high != 0 {
			break
		}
	}
	return n
}

// shows is the length of the character that s begins with, 0 if it is escaped.
func shows[T string | []byte](s T) int {
	if c := s[0]; c == '\n' || c == '\t' || c == '\\' {
		return 1
	}
	return keeps(s, false)
}

// ShownWriter writes to another writer what AppendShown makes of it. Flush writes all that is pending.
type ShownWriter struct {
	w   *bufio.Writer
	buf []byte
}

// NewShownWriter makes a writer for names and texts of traced programs.
func NewShownWriter(w io.Writer) *ShownWriter { return &ShownWriter{w: bufio.NewWriter(w)} }

// Write takes a text, which must not end within a character.
func (s *ShownWriter) Write(b []byte) (int, error) {
	s.buf = shownFrom(append(s.buf[:0], b...), 0)
	if _, err := s.w.Write(s.buf); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Flush writes what is pending.
func (s *ShownWriter) Flush() error { return s.w.Flush() }
