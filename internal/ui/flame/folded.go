package flame

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// AppendFolded appends a line for each stack: its names from the root inwards with semicolons between them, and the
// count. It is what flamegraph.pl and speedscope read. Two counts are the earlier profile's and the later one's, as
// difffolded.pl writes them.
func (p *Profile) AppendFolded(dst []byte) []byte {
	counts := map[string][2]uint64{} // before, after
	add := func(samples []Sample, at int) {
		for i := range samples {
			names := samples[i].names()
			for j, n := range names {
				names[j] = foldable(n)
			}
			line := strings.Join(names, ";")
			n := counts[line]
			n[at] += samples[i].Count
			counts[line] = n
		}
	}
	add(p.Samples, 1)
	if p.Base != nil {
		add(p.Base.Samples, 0)
	}
	for _, line := range slices.Sorted(maps.Keys(counts)) {
		dst = append(append(dst, line...), ' ')
		if p.Base != nil {
			dst = append(strconv.AppendUint(dst, counts[line][0], 10), ' ')
		}
		dst = append(strconv.AppendUint(dst, counts[line][1], 10), '\n')
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
