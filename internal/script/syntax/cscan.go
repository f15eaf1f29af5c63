package syntax

import "trocar/internal/script/diag"

func (p *parser) cSection() {}

func (p *parser) atCDef() bool { return false }

func (p *parser) cExtent() cSegment { return cSegment{} }

func (p *parser) rangeSpan(s cSegment) diag.Span {
	return diag.Span{Source: p.src, Start: s.start, End: s.end}
}
