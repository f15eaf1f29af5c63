package check

import (
	"strings"

	"trocar/internal/script/diag"
)

var noSpan diag.Span

// hintNear adds the names that are nearest to a misspelt one, if any is near.
func hintNear(d *diag.Diagnostic, name string, names []string) {
	if near := nearest(name, names); len(near) > 0 {
		d.Hint("did you mean %s?", strings.Join(near, " or "))
	}
}

// nearest returns up to three names that differ least from name, by at most a third of its letters.
func nearest(name string, names []string) []string {
	limit := max(1, len(name)/3)
	var best []string
	dist := limit + 1
	for _, n := range names {
		if n == name {
			continue
		}
		d := distance(strings.ToLower(name), strings.ToLower(n), limit)
		switch {
		case d > limit:
		case d < dist:
			best, dist = append(best[:0], n), d
		case d == dist && len(best) < 3:
			best = append(best, n)
		}
	}
	return sorted(best)
}

// distance is the number of letters to change, add, drop or swap; more than limit is not counted exactly.
func distance(a, b string, limit int) int {
	if len(a) > 64 || len(b) > 64 || len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	prev2, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}
