package objfile

import (
	"slices"
	"strings"
)

// maxNearNames bounds how many names are compared.
const maxNearNames = 1 << 20

// maxNearName bounds the names that are compared letter by letter.
const maxNearName = 256

// Near finds up to n function names of the file that resemble a name for which there is no function: for "did you mean".
func (f *File) Near(name string, n int) (names []string) {
	type candidate struct {
		name string
		dist int
	}
	var best []candidate
	limit := max(1, len(name)/3)
	lower := strings.ToLower(name)
	left := maxNearNames
	readable := strings.ContainsAny(name, ":<( ")
	f.Functions(func(s *Symbol) bool {
		if left--; left < 0 {
			return false
		}
		got := s.Name
		if readable {
			if !IsMangled(got) {
				return true
			}
			got = demangled(got, true)
		}
		if len(got) > maxNearName || got == name {
			return true
		}
		worst := limit
		if len(best) == n {
			worst = min(worst, best[n-1].dist)
		}
		d := nameDistance(lower, strings.ToLower(got), worst)
		if d > worst || len(best) == n && d >= best[n-1].dist {
			return true
		}
		if slices.ContainsFunc(best, func(c candidate) bool { return c.name == got }) {
			return true
		}
		i, _ := slices.BinarySearchFunc(best, d+1, func(c candidate, d int) int { return c.dist - d })
		best = slices.Insert(best, i, candidate{strings.Clone(got), d})
		best = best[:min(len(best), n)]
		return true
	})
	for _, c := range best {
		names = append(names, c.name)
	}
	return names
}

// nameDistance is the edit distance; a name that holds the other as a whole counts as near: its clone ("f.isra.0"), or
// with something in front or behind ("__f", "f_locked").
func nameDistance(want, got string, limit int) int {
	if strings.HasPrefix(got, want+".") {
		return 0
	}
	if strings.TrimLeft(got, "_") == strings.TrimLeft(want, "_") {
		return 1
	}
	d := EditDistance(want, got, limit)
	if d > limit && len(want) >= 5 && (strings.HasPrefix(got, want) || strings.HasSuffix(got, want)) && len(got) <= 2*len(want) {
		d = limit
	}
	return d
}

// EditDistance is the number of letters to insert, remove, change or swap with the neighbour to make a into b; more than
// limit is given as limit+1.
func EditDistance(a, b string, limit int) int {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > limit {
		return limit + 1
	}
	var prev2, prev, cur [maxNearName + 1]int
	if len(b) > maxNearName {
		return limit + 1
	}
	for j := range len(b) + 1 {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		least := cur[0]
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(prev[j-1]+cost, prev[j]+1, cur[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, prev2[j-2]+1)
			}
			cur[j] = d
			least = min(least, d)
		}
		if least > limit {
			return limit + 1
		}
		prev2, prev = prev, cur
	}
	return min(prev[len(b)], limit+1)
}
