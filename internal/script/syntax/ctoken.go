package syntax

import (
	"strings"

	"trocar/internal/script/diag"
)

// ckind is a kind of C token (ISO C11 6.4).
type ckind uint8

const (
	cEOF ckind = iota
	cName
	cNumber
	cString
	cChar
	cPunct
)

// origin tells how much a text is the user's own, and so what is said about what can't be understood in it.
type origin uint8

const (
	ofScript origin = iota // the script and what it imports: an error
	ofHeader               // an included header: a warning, and it is left out
	ofSystem               // a system header: left out in silence
)

// ctoken is a token of C text.
type ctoken struct {
	kind  ckind
	bol   bool // first of its line
	space bool // white space before it
	from  origin
	text  string
	src   *diag.Source
	pos   int
	hide  *hidden
}

// hidden is the list of macros that a token came from, which it is not expanded by again (C11 6.10.3.4).
type hidden struct {
	name string
	next *hidden
}

func (h *hidden) has(name string) bool {
	for ; h != nil; h = h.next {
		if h.name == name {
			return true
		}
	}
	return false
}

func (t ctoken) is(punct string) bool { return t.kind == cPunct && t.text == punct }

func (t ctoken) name(name string) bool { return t.kind == cName && t.text == name }

func (t ctoken) span() diag.Span {
	if t.src == nil {
		return diag.Span{}
	}
	return diag.Span{Source: t.src, Start: t.pos, End: min(t.pos+len(t.text), len(t.src.Text))}
}

// cOperators are C's punctuators of more than one character that matter here, longest first.
var cOperators = []string{"...", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "->", "##", "++", "--"}

// scanC reads the token at or behind pos. newline tells of a line break before it.
func scanC(text string, pos int) (t ctoken, end int) {
	start := pos
	newline := false
	for pos < len(text) {
		switch c := text[pos]; {
		case c == '\n':
			newline = true
			pos++
		case isSpace(c):
			pos++
		case c == '\\' && continuation(text, pos) > 0:
			pos += continuation(text, pos)
		case strings.HasPrefix(text[pos:], "//"):
			for pos < len(text) && text[pos] != '\n' {
				pos += max(1, continuation(text, pos))
			}
		case strings.HasPrefix(text[pos:], "/*"):
			if n := strings.Index(text[pos+2:], "*/"); n >= 0 {
				pos += n + 4
			} else {
				pos = len(text)
			}
		default:
			t = ctoken{bol: newline, space: pos > start, pos: pos}
			t.kind, end = cTokenEnd(text, pos)
			t.text = text[pos:end]
			return t, end
		}
	}
	return ctoken{kind: cEOF, bol: true, pos: len(text)}, len(text)
}

// continuation is the length of a backslash and line break at pos, or 0.
func continuation(text string, pos int) int {
	switch {
	case strings.HasPrefix(text[pos:], "\\\n"):
		return 2
	case strings.HasPrefix(text[pos:], "\\\r\n"):
		return 3
	}
	return 0
}

func cTokenEnd(text string, pos int) (ckind, int) {
	c := text[pos]
	switch {
	case isNameStart(c):
		end := nameEnd(text, pos)
		if end < len(text) && (text[end] == '"' || text[end] == '\'') && end-pos <= 2 { // L"…", u8"…"
			_, end = cTokenEnd(text, end)
			return cString, end
		}
		return cName, end
	case isDigit(c) || c == '.' && pos+1 < len(text) && isDigit(text[pos+1]):
		end := pos + 1
		for end < len(text) {
			switch c := text[end]; {
			case isNameStart(c) || isDigit(c) || c == '.':
			case (c == '+' || c == '-') && strings.IndexByte("eEpP", text[end-1]) >= 0 && !isHex(text[pos:end]):
			default:
				return cNumber, end
			}
			end++
		}
		return cNumber, end
	case c == '"' || c == '\'':
		end := pos + 1
		for end < len(text) && text[end] != c && text[end] != '\n' {
			if text[end] == '\\' {
				end++
			}
			end++
		}
		kind := cString
		if c == '\'' {
			kind = cChar
		}
		if end < len(text) && text[end] == c {
			end++
		}
		return kind, min(end, len(text))
	}
	if strings.IndexByte(".<>=!&|-#+", c) >= 0 {
		for _, op := range cOperators {
			if strings.HasPrefix(text[pos:], op) {
				return cPunct, pos + len(op)
			}
		}
	}
	return cPunct, pos + 1
}

func isHex(s string) bool { return strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0X") }

// tokensText joins tokens to text, with a blank where there was white space.
func tokensText(list []ctoken) string {
	var b strings.Builder
	for i, t := range list {
		if i > 0 && t.space {
			b.WriteByte(' ')
		}
		b.WriteString(t.text)
	}
	return b.String()
}
