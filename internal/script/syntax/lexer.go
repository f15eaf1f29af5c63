package syntax

import "strings"

// kind is a kind of token.
type kind uint8

const (
	tEOF    kind = iota
	tIdent       // name or keyword
	tInt         // digits and whatever letters follow: checked by parseInt
	tString      // with quotes; unterminated ones run to the end of the line
	tVar         // $name
	tParam       // $1
	tCount       // $#
	tMap         // @ or @name
	tPunct       // operator or bracket
	tBad         // a character that begins no token
)

// token is a piece of text: src[start:end].
type token struct {
	kind       kind
	start, end int
	text       string
}

func (t token) is(punct string) bool { return t.kind == tPunct && t.text == punct }

func (t token) word(name string) bool { return t.kind == tIdent && t.text == name }

// operators of more than one character, longest first.
var operators = []string{
	"<<=", ">>=", "...", "++", "--", "->", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||",
	"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "..",
}

// scan reads the token at or behind an offset. It is a function of the text alone, so looking ahead costs nothing but
// time and the parser may go back.
func scan(src string, pos int) token {
	pos = skipLayout(src, pos)
	if pos >= len(src) {
		return token{tEOF, len(src), len(src), ""}
	}
	c := src[pos]
	make := func(k kind, end int) token { return token{k, pos, end, src[pos:end]} }
	switch {
	case isNameStart(c):
		return make(tIdent, nameEnd(src, pos))
	case isDigit(c):
		return make(tInt, nameEnd(src, pos))
	case c == '$':
		switch {
		case pos+1 < len(src) && isNameStart(src[pos+1]):
			return make(tVar, nameEnd(src, pos+1))
		case pos+1 < len(src) && isDigit(src[pos+1]):
			end := pos + 1
			for end < len(src) && isDigit(src[end]) {
				end++
			}
			return make(tParam, end)
		case pos+1 < len(src) && src[pos+1] == '#':
			return make(tCount, pos+2)
		}
		return make(tBad, pos+1)
	case c == '@':
		if pos+1 < len(src) && isNameStart(src[pos+1]) {
			return make(tMap, nameEnd(src, pos+1))
		}
		return make(tMap, pos+1)
	case c == '"':
		return make(tString, stringEnd(src, pos))
	}
	switch c {
	case '{', '}', '(', ')', '[', ']', ';', ',', ':', '?', '~', '#':
		return make(tPunct, pos+1)
	case '.', '=', '<', '>', '+', '-', '*', '/', '%', '&', '|', '^', '!':
		if pos+1 < len(src) && !isNameStart(src[pos+1]) {
			for _, op := range operators {
				if strings.HasPrefix(src[pos:], op) {
					return make(tPunct, pos+len(op))
				}
			}
		}
		return make(tPunct, pos+1)
	}
	end := pos + 1
	for end < len(src) && src[end]&0xc0 == 0x80 { // the rest of a UTF-8 sequence
		end++
	}
	return make(tBad, end)
}

// skipLayout is the offset behind blanks and comments. An unterminated comment runs to the end.
func skipLayout(src string, pos int) int {
	for pos < len(src) {
		switch {
		case isSpace(src[pos]):
			pos++
		case strings.HasPrefix(src[pos:], "//"):
			if n := strings.IndexByte(src[pos:], '\n'); n >= 0 {
				pos += n + 1
			} else {
				pos = len(src)
			}
		case strings.HasPrefix(src[pos:], "/*"):
			if n := strings.Index(src[pos+2:], "*/"); n >= 0 {
				pos += n + 4
			} else {
				pos = len(src)
			}
		default:
			return pos
		}
	}
	return pos
}

// stringEnd is the offset behind a string literal that begins at pos, or the end of the line if it is not closed.
func stringEnd(src string, pos int) int {
	for i := pos + 1; i < len(src); i++ {
		switch src[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		case '\n':
			return i
		}
	}
	return len(src)
}

func nameEnd(src string, pos int) int {
	for pos < len(src) && (isNameStart(src[pos]) || isDigit(src[pos])) {
		pos++
	}
	return pos
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isNameStart(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }
