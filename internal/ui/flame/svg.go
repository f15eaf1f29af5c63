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
	if root.total > 0 {
		b := svgBoxes{root: root, color: p.colors(root), unit: escaped(p.Unit), diff: p.Base != nil}
		dst = b.append(dst, root, 0, float64(height-2*svgRow))
	}
	return append(dst, "</svg>\n"...)
}

// svgBoxes is what the boxes of a picture have in common.
type svgBoxes struct {
	root  *node
	color func(*node) string
	unit  string
	diff  bool
}

// append draws a node with those that it calls above it.
func (b *svgBoxes) append(dst []byte, n *node, x, y float64) []byte {
	all := b.root.total
	width := float64(n.total) / float64(all) * svgWidth
	if width < svgLeast {
		return dst
	}
	detail := ""
	if n.detail != "" {
		detail = " (" + n.detail + ")"
	}
	dst = fmt.Appendf(dst, `<g><title>%s%s: %d %s, %.2f%%; self %d`, escaped(n.name), escaped(detail), n.total, b.unit,
		share(n.total, all), n.self)
	if b.diff {
		before := share(n.before, b.root.before)
		dst = fmt.Appendf(dst, "; before %.2f%%, change %+.2f%%", before, share(n.total, all)-before)
	}
	dst = fmt.Appendf(dst, `</title><rect x="%.2f" y="%.0f" width="%.2f" height="%d" fill="%s" rx="1"/>`, x, y,
		max(width-0.3, 0.1), svgRow-1, b.color(n))
	if text := fitting(n.name, int((width-4)/svgLetter)); text != "" {
		dst = fmt.Appendf(dst, `<text x="%.2f" y="%.0f">%s</text>`, x+2, y+12, escaped(text))
	}
	dst = append(dst, "</g>\n"...)
	for _, c := range n.children {
		dst = b.append(dst, c, x, y-svgRow)
		x += float64(c.total) / float64(all) * svgWidth
	}
	return dst
}

// colors tells the colour of nodes below a root.
func (p *Profile) colors(root *node) func(*node) string {
	if p.Base == nil {
		return (*node).color
	}
	return func(n *node) string { return n.shade(root.total, root.before) }
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
