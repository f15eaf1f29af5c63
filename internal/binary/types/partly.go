package types

import (
	"fmt"
	"strings"
)

// Partly tells a value of which only some members are available: the type has the reason in place of each of the
// others, see Missing, and the place has zeros there. False: the value is available as a whole, or not at all, or its
// members mean nothing without each other.
func Partly(t *Type, p Place) (*Type, Place, bool) {
	if t == nil || p.Kind != InPieces {
		return nil, p, false
	}
	if _, missing := p.Missing(t.Extent()); !missing {
		return nil, p, false
	}
	known, some := partly(t, p, 0)
	if !some {
		return nil, p, false
	}
	p = p.zeroed()
	if n := t.Extent() - p.told(); n > 0 {
		p.Pieces = append(p.Pieces, zeros(n)...)
	}
	return known, p, true
}

// maxPartly bounds how deep members are looked for in members.
const maxPartly = 8

// partly is a type without what is not available at a place; some: there is something.
func partly(t *Type, p Place, depth int) (known *Type, some bool) {
	full := t.Complete()
	why, missing := p.Missing(full.Extent())
	switch {
	case !missing:
		return t, full.Size > 0
	case depth > maxPartly || !full.OfMembers():
		return Missing(why), false
	}
	out := *full
	source := Source{}
	if full.Source != nil {
		source = *full.Source
	}
	out.Source = &source
	out.Fields = make([]Field, len(full.Fields))
	for i, f := range full.Fields {
		if f.BitSize > 0 {
			first := f.Offset + f.BitOffset/8
			if why, missing := p.Slice(first, f.Offset+(f.BitOffset+f.BitSize+7)/8-first).Missing(8); missing {
				f = Field{Name: f.Name, Type: Missing(why), Offset: f.Offset}
			} else {
				some = true
			}
			out.Fields[i] = f
			continue
		}
		of, any := partly(f.Type, p.Slice(f.Offset, f.Type.Complete().Size), depth+1)
		f.Type = of
		out.Fields[i] = f
		some = some || any
	}
	if !some {
		return Missing(why), false
	}
	return &out, true
}

// OfMembers tells a structure that is no more than its members: it is not shown as something else that it means.
func (t *Type) OfMembers() bool {
	if t.Kind != Struct || t.Incomplete || len(t.Fields) == 0 || t.Form() != NoForm || t.Alternatives() != nil ||
		len(t.sourceVBases()) > 0 || t.Lang().Closed(t.Name) {
		return false
	}
	for _, f := range t.Fields {
		if f.Type == nil {
			return false
		}
	}
	_, text := t.Text()
	_, list := t.List()
	_, ref := t.Referenced()
	return !text && !list && !ref
}

// zeroed is a place that has zeros for what is not available.
func (p Place) zeroed() Place {
	out := p
	out.Pieces = nil
	for _, piece := range p.Pieces {
		if _, missing := piece.Place.Missing(piece.Size); !missing {
			out.Pieces = append(out.Pieces, piece)
			continue
		}
		if piece.Place.Kind == InPieces {
			piece.Place = piece.Place.zeroed()
			if n := piece.Size - piece.Place.told(); n > 0 {
				piece.Place.Pieces = append(piece.Place.Pieces, zeros(n)...)
			}
			out.Pieces = append(out.Pieces, piece)
			continue
		}
		out.Pieces = append(out.Pieces, zeros(piece.Size)...)
	}
	return out
}

// told is how many bytes pieces tell of.
func (p Place) told() (n int) {
	for _, piece := range p.Pieces {
		n += piece.Size
	}
	return n
}

func zeros(size int) (pieces []Piece) {
	for ; size > 0; size -= 8 {
		pieces = append(pieces, Piece{Size: min(size, 8), Place: Place{Kind: Constant}})
	}
	return pieces
}

// Lacks describes what a type has only reasons for, by the numbers of members, so that those that lack the same can be
// one.
func (t *Type) Lacks() string {
	var b strings.Builder
	t.lacks(&b, "", 0)
	return b.String()
}

func (t *Type) lacks(b *strings.Builder, at string, depth int) {
	if t.Kind != Struct || depth > maxPartly {
		return
	}
	for i, f := range t.Fields {
		switch path := fmt.Sprintf("%s.%d", at, i); {
		case f.Type == nil:
		case f.Type.Kind == Void:
			fmt.Fprintf(b, "%s %s\n", path, f.Type.Name)
		default:
			f.Type.lacks(b, path, depth+1)
		}
	}
}

// Lack is why a part of the values of a type is not available; false: all of it is.
func (t *Type) Lack() (why string, some bool) { return t.lack(0) }

func (t *Type) lack(depth int) (why string, some bool) {
	if t == nil || t.Kind != Struct && t.Kind != Tuple && t.Kind != Record || depth > maxPartly {
		return "", false
	}
	for _, f := range t.Fields {
		switch {
		case f.Type == nil:
		case f.Type.Kind == Void && !f.Type.Incomplete:
			return f.Type.Name, true
		default:
			if why, some := f.Type.lack(depth + 1); some {
				return why, true
			}
		}
	}
	return "", false
}
