package syntax

import (
	"path/filepath"
	"strings"

	"trocar/internal/script/diag"
)

// cSegment is a stretch of C in a script.
type cSegment struct {
	start, end int
	def        bool // a definition, which a ';' is implied behind; else a preprocessor line
}

// cSection finds the C definitions at the begin of a script.
func (p *parser) cSection() {
	for p.atCDef() {
		seg := p.cExtent()
		p.cText = append(p.cText, seg)
		p.file.CText = append(p.file.CText, p.rangeSpan(seg))
		p.seek(seg.end)
	}
}

// atCDef tells whether a preprocessor line or a C definition begins here. `struct:x { … }` is a probe: behind the
// keyword only names and groups in brackets may stand before the '{'.
func (p *parser) atCDef() bool {
	t := p.tok
	switch {
	case t.is("#"):
		return true
	case t.word("typedef"):
		next := p.peek()
		return next.kind == tIdent || next.is("(")
	case t.word("struct") || t.word("union") || t.word("enum"):
	default:
		return false
	}
	for n := 0; ; n++ {
		t = scan(p.text, t.end)
		switch {
		case t.is("{"):
			return true
		case t.is(";"):
			return n == 1 // a forward declaration
		case t.kind == tIdent:
		case t.is("(") || t.is("["):
			t = p.groupEnd(t)
			if t.kind == tEOF {
				return false
			}
		default:
			return false
		}
	}
}

// groupEnd is the token that closes the group of brackets that t opens, or the end of the text.
func (p *parser) groupEnd(t token) token {
	depth := 0
	for {
		switch {
		case t.kind == tEOF:
			return t
		case t.is("(") || t.is("[") || t.is("{"):
			depth++
		case t.is(")") || t.is("]") || t.is("}"):
			if depth--; depth == 0 {
				return t
			}
		}
		t = scan(p.text, t.end)
	}
}

// cExtent is the stretch of the preprocessor line or definition that begins here.
func (p *parser) cExtent() cSegment {
	seg := p.cStretch()
	if seg.end == len(p.text) { // not closed
		seg.end = len(strings.TrimRight(p.text, " \t\r\n\v\f"))
	}
	return seg
}

func (p *parser) cStretch() cSegment {
	seg := cSegment{start: p.tok.start, def: true}
	if p.tok.is("#") {
		return cSegment{start: seg.start, end: lineEnd(p.text, p.tok.start)}
	}
	t := p.tok
	if t.word("typedef") {
		for !t.is(";") && t.kind != tEOF {
			if t.is("{") || t.is("(") || t.is("[") {
				t = p.groupEnd(t)
			}
			t = scan(p.text, t.end)
		}
		seg.end = t.end
		return seg
	}
	for !t.is("{") && !t.is(";") && t.kind != tEOF {
		t = scan(p.text, t.end)
	}
	if t.is("{") {
		t = p.groupEnd(t)
	}
	seg.end = t.end
	for {
		next := scan(p.text, seg.end)
		switch {
		case next.word("__attribute__"):
			open := scan(p.text, next.end)
			if !open.is("(") {
				return seg
			}
			seg.end = p.groupEnd(open).end
			continue
		case next.is(";"):
			seg.end = next.end
		}
		return seg
	}
}

// lineEnd is the end of a preprocessor line: comments and continued lines belong to it.
func lineEnd(text string, pos int) int {
	_, pos = scanC(text, pos)
	for {
		t, end := scanC(text, pos)
		if t.kind == cEOF || t.bol {
			break
		}
		pos = end
	}
	for { // a line may be continued by an empty one
		next := pos
		for next < len(text) && (text[next] == ' ' || text[next] == '\t') {
			next++
		}
		n := continuation(text, next)
		if n == 0 {
			return pos
		}
		pos = next + n
	}
}

// cTextOf is C text as it can be written before a line break.
func cTextOf(s diag.Span) string {
	text := s.Source.Text[s.Start:s.End]
	for {
		short := strings.TrimRight(text, " \t\r\n")
		if !strings.HasSuffix(short, "\\") || continuation(text, len(short)-1) == 0 {
			break
		}
		text = short[:len(short)-1]
	}
	if strings.HasSuffix(text, "\\") {
		text += " " // not the sign of a continued line
	}
	return text
}

func (p *parser) rangeSpan(s cSegment) diag.Span {
	return diag.Span{Source: p.src, Start: s.start, End: s.end}
}

func dirOf(path string) string { return filepath.Dir(path) }

// readC takes in the C definitions of a parsed script.
func (u *cUnit) readC(src *diag.Source, segments []cSegment) {
	if len(segments) > 0 {
		u.read(&creader{src: src, regions: segments, dir: dirOf(src.Name)})
	}
}
