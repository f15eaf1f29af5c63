package syntax

import (
	"strings"

	"trocar/internal/script/diag"
)

// noteComments keeps the comments between two tokens. The parser may come by several times.
func (p *parser) noteComments(pos, end int) {
	if p.file == nil {
		return
	}
	for pos < end {
		if p.text[pos] != '/' {
			pos++
			continue
		}
		n := skipComment(p.text, pos)
		if pos >= p.noted {
			p.file.Comments = append(p.file.Comments, diag.Span{Source: p.src, Start: pos, End: n})
			p.noted = n
		}
		pos = n
	}
}

// skipComment is the offset behind the comment that begins at pos, without its line break.
func skipComment(text string, pos int) int {
	sep, length := "\n", 0
	if text[pos+1] == '*' {
		sep, length = "*/", 2
	}
	if n := strings.Index(text[pos+2:], sep); n >= 0 {
		return pos + 2 + n + length
	}
	return len(text)
}

// before writes the comments that stand before an offset in or before what is about to be written at a place, and a
// blank line if there was one.
func (p *printer) before(at diag.Span, limit int) {
	if at.Source == nil || at.Source != p.src {
		return
	}
	p.write(limit)
	p.blank(at.Start)
}

// write writes the comments up to an offset, each on lines of its own.
func (p *printer) write(limit int) {
	for len(p.comments) > 0 && p.comments[0].Start < limit {
		p.blank(p.comments[0].Start)
		p.indent()
		p.text(p.comment() + "\n")
	}
}

// comment takes the next comment.
func (p *printer) comment() string {
	c := p.comments[0]
	p.comments = p.comments[1:]
	p.prev = c.End
	return strings.TrimRight(p.src.Text[c.Start:c.End], " \t\r\n")
}

// after writes the comments that stand behind what was written for a place: on the same line, or inside of it.
func (p *printer) after(at diag.Span) {
	if at.Source == nil || at.Source != p.src {
		return
	}
	for len(p.comments) > 0 && p.comments[0].Start < at.End {
		p.text("\n")
		p.indent()
		p.text(p.comment())
	}
	p.prev = max(p.prev, at.End)
	for len(p.comments) > 0 && strings.Trim(p.src.Text[max(p.prev, 0):max(p.prev, p.comments[0].Start)], " \t;") == "" {
		p.text(" " + p.comment())
	}
}

// inside writes the comments that are left in a block before its end.
func (p *printer) inside(at diag.Span) {
	if at.Source != nil && at.Source == p.src {
		p.write(at.End)
		p.prev = max(p.prev, at.End)
	}
}

// rest writes the comments behind everything.
func (p *printer) rest() {
	if p.src != nil {
		p.write(len(p.src.Text) + 1)
	}
}

// commentIn tells whether a comment is left to write that stands in a block.
func (p *printer) commentIn(at diag.Span) bool {
	return at.Source != nil && at.Source == p.src && len(p.comments) > 0 && p.comments[0].Start < at.End
}

// blank writes a blank line if the text had one between what was written last and an offset.
func (p *printer) blank(pos int) {
	if p.prev >= 0 && p.prev <= pos && strings.Count(p.src.Text[p.prev:pos], "\n") > 1 {
		p.text("\n")
	}
	p.prev = pos
}

// beginOf is the offset up to which comments are put before a statement: its end, but only its begin if it has a block,
// which comments can stay in.
func beginOf(n Node, at diag.Span) int {
	limit := at.End
	Inspect(n, func(n Node) bool {
		if _, ok := n.(*Block); ok {
			limit = at.Start
		}
		return limit != at.Start
	})
	return limit
}
