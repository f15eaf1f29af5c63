package flame

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// AppendFolded appends a line for each stack: its names from the root inwards with semicolons between them, and the
// count. It is what flamegraph.pl and speedscope read.
func (p *Profile) AppendFolded(dst []byte) []byte {
	counts := map[string]uint64{}
	for i := range p.Samples {
		names := p.Samples[i].names()
		for j, n := range names {
			names[j] = foldable(n)
		}
		counts[strings.Join(names, ";")] += p.Samples[i].Count
	}
	for _, line := range slices.Sorted(maps.Keys(counts)) {
		dst = append(append(dst, line...), ' ')
		dst = append(strconv.AppendUint(dst, counts[line], 10), '\n')
	}
	return dst
}

// foldable keeps a name from being taken for two, or for two lines.
func foldable(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ';':
			return ':'
		case r < ' ' || r == 0x7f:
			return '?'
		}
		return r
	}, name)
}
