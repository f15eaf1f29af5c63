package flame

import (
	"fmt"
	"hash/fnv"
	"html"
	"strings"
	"unicode/utf8"
)

// Sizes of the picture, in pixels.
const (
	svgWidth  = 1200
	svgRow    = 17
	svgTop    = 40
	svgLetter = 7.2 // of the font, about
	svgLeast  = 0.2 // what is narrower is not drawn, but in its caller's width
)

// appendSVG draws a flame graph: the root is at the bottom, and a box is as wide as its share. Its title says the
// numbers.
func (p *Profile) appendSVG(dst []byte) []byte {
	root := p.tree()
	height := svgTop + svgRow*root.depth() + svgRow
	dst = fmt.Appendf(dst, `<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="monospace" `+
		`font-size="12">
<rect width="100%%" height="100%%" fill="#fffdf8"/>
<text x="%d" y="24" text-anchor="middle" font-size="16">%s: %d %s</text>
`, svgWidth, height, svgWidth, height, svgWidth/2, escaped(p.Title), root.total, escaped(p.Unit))
	return p.appendBox(dst, root, root.total, 0, float64(height-2*svgRow))
}

func (p *Profile) appendBox(dst []byte, n *node, all uint64, x, y float64) []byte {
	dst = p.boxes(dst, n, all, x, y)
	return append(dst, "</svg>\n"...)
}

func (p *Profile) boxes(dst []byte, n *node, all uint64, x, y float64) []byte {
	if all == 0 {
		return dst
	}
	width := float64(n.total) / float64(all) * svgWidth
	if width < svgLeast {
		return dst
	}
	detail := ""
	if n.detail != "" {
		detail = " (" + n.detail + ")"
	}
	dst = fmt.Appendf(dst, `<g><title>%s%s: %d %s, %.2f%%; self %d</title><rect x="%.2f" y="%.0f" width="%.2f" `+
		`height="%d" fill="%s" rx="1"/>`, escaped(n.name), escaped(detail), n.total, escaped(p.Unit),
		100*float64(n.total)/float64(all), n.self, x, y, max(width-0.3, 0.1), svgRow-1, n.color())
	if text := fitting(n.name, int((width-4)/svgLetter)); text != "" {
		dst = fmt.Appendf(dst, `<text x="%.2f" y="%.0f">%s</text>`, x+2, y+12, escaped(text))
	}
	dst = append(dst, "</g>\n"...)
	for _, c := range n.children {
		dst = p.boxes(dst, c, all, x, y-svgRow)
		x += float64(c.total) / float64(all) * svgWidth
	}
	return dst
}

// color is the same for a function in all pictures; the kernel's are of another hue.
func (n *node) color() string {
	h := fnv.New32a()
	h.Write([]byte(n.name))
	v := int(h.Sum32() % 60)
	if n.kernel {
		return fmt.Sprintf("#%02x%02x%02x", 120+v, 170+v/2, 220)
	}
	return fmt.Sprintf("#%02x%02x%02x", 235, 130+v*3/2, 70+v)
}

// fitting is a text of at most so many letters; "" if too few fit.
func fitting(text string, letters int) string {
	switch {
	case letters < 3:
		return ""
	case utf8.RuneCountInString(text) <= letters:
		return text
	}
	return string([]rune(text)[:letters-1]) + "…"
}

// escaped is a text that may stand in XML and HTML: names come from programs that nobody need trust. What XML has no
// form for (XML 1.0, 2.2) is shown as "?".
func escaped(text string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError || r == 0xfffe || r == 0xffff {
			return '?'
		}
		return r
	}, text))
}
