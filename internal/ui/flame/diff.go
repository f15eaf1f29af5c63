package flame

import (
	"cmp"
	"fmt"
	"math"

	"trocar/internal/order"
	"trocar/result"
)

// change is how the share of a function of all that was counted differs from that in the earlier profile. Shares are
// compared, since two profiles are seldom of the same length.
type change struct {
	name          string
	self, total   uint64
	selfB, totalB uint64 // before
}

// share is n of all, in per cent; 0 of nothing.
func share(n, all uint64) float64 {
	if all == 0 {
		return 0
	}
	return 100 * float64(n) / float64(all)
}

// AppendChanges appends the top functions by how much their own share has changed since the earlier profile.
func (p *Profile) AppendChanges(dst []byte, top int) []byte {
	if top == 0 {
		top = DefaultTop
	}
	all, allBefore := p.Total(), p.Base.Total()
	dst = fmt.Appendf(dst, "before: %d %s; after: %d %s; shares are of each\n", allBefore, p.Base.Unit, all, p.Unit)
	if all == 0 && allBefore == 0 {
		return dst
	}
	list := p.changes()
	grown := func(c *change) float64 { return share(c.self, all) - share(c.selfB, allBefore) }
	below := func(c *change) float64 { return share(c.total, all) - share(c.totalB, allBefore) }
	order.By(list, func(a, b *change) int {
		return cmp.Or(cmp.Compare(math.Abs(grown(b)), math.Abs(grown(a))),
			cmp.Compare(math.Abs(below(b)), math.Abs(below(a))), cmp.Compare(b.self, a.self),
			cmp.Compare(a.name, b.name))
	})
	dst = append(dst, "\n  before    after   change    total  function\n"...)
	for _, c := range list[:min(top, len(list))] {
		dst = fmt.Appendf(dst, "%7.2f%% %7.2f%% %+7.2f%% %+7.2f%%  ", share(c.selfB, allBefore), share(c.self, all),
			grown(c), below(c))
		dst = append(result.AppendShownLine(dst, c.name), '\n')
	}
	if n := len(list) - top; n > 0 {
		dst = append(appendNumber(append(dst, "and "...), uint64(n), "more functions"), '\n')
	}
	return append(dst, "\nbefore, after and change are of what functions do themselves, total is the change with what "+
		"they call\n"...)
}

// changes are the functions of both profiles, by the names that pictures have.
func (p *Profile) changes() []*change {
	all := map[string]*change{}
	add := func(samples []Sample, self, total func(*change) *uint64) {
		for i := range samples {
			s := &samples[i]
			seen := map[string]bool{}
			names := s.names()[len(s.Roots):]
			for j, name := range names {
				c := all[name]
				if c == nil {
					c = &change{name: name}
					all[name] = c
				}
				if j == len(names)-1 {
					*self(c) += s.Count
				}
				if !seen[name] {
					seen[name] = true
					*total(c) += s.Count
				}
			}
		}
	}
	add(p.Samples, func(c *change) *uint64 { return &c.self }, func(c *change) *uint64 { return &c.total })
	add(p.Base.Samples, func(c *change) *uint64 { return &c.selfB }, func(c *change) *uint64 { return &c.totalB })
	var list []*change
	for _, c := range all {
		list = append(list, c)
	}
	return list
}

// Compare makes a profile one of changes since an earlier one. In files of folded lines nothing tells what stood at the
// root of a stack from its functions: there, as many names are taken for such as the stacks of the other profile have.
func (p *Profile) Compare(base *Profile) {
	p.Base = base
	p.root(base)
	base.root(p)
}

func (p *Profile) root(like *Profile) {
	if !p.flat || like.flat || len(like.Samples) == 0 {
		return
	}
	p.flat = false
	n := len(like.Samples[0].Roots)
	for i := range p.Samples {
		s := &p.Samples[i]
		k := min(n, len(s.Frames))
		for range k {
			last := len(s.Frames) - 1
			s.Roots = append(s.Roots, Name(s.Frames[last]))
			s.Frames = s.Frames[:last]
		}
		if len(s.Frames) == 1 && s.Frames[0].Symbol == noStack {
			s.Frames = nil
		}
	}
}

// shade is the colour of a node by how its share has changed: red for more, blue for less, the stronger the more of the
// whole it is.
func (n *node) shade(all, allBefore uint64) string {
	d := share(n.total, all) - share(n.before, allBefore)
	// A tenth of the whole is the full colour, on which black text can be read; the root lets small changes be seen.
	depth := int(min(1, math.Sqrt(math.Abs(d)/10)) * 130)
	switch {
	case math.Abs(d) < 0.005:
		return "#eeeeee"
	case d > 0:
		return fmt.Sprintf("#ff%02x%02x", 235-depth, 225-depth)
	}
	return fmt.Sprintf("#%02x%02xff", 225-depth, 235-depth)
}
