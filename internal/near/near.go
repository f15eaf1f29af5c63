// Package near finds the words that a misspelt one may stand for: of commands, flags, settings, builtins, functions.
package near

import (
	"slices"
	"strings"
)

// Longest is how many bytes names may have to be near to another.
const Longest = 256

// most is how many names are told.
const most = 3

// Names are those that differ least from a word, in whatever case, by at most a third of its letters: up to three, in
// order. The word itself is none of them.
func Names(word string, names []string) []string {
	limit := max(1, len(word)/3)
	var best []string
	least := limit + 1
	for _, n := range names {
		if n == word {
			continue
		}
		d := Distance(strings.ToLower(word), strings.ToLower(n), limit)
		switch {
		case d > limit:
		case d < least:
			best, least = append(best[:0], n), d
		case d == least && len(best) < most:
			best = append(best, n)
		}
	}
	slices.Sort(best)
	return best
}

// List writes "a, b or c".
func List(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// Distance is the number of letters to insert, remove, change or swap with the neighbour to make a into b; more than
// limit is given as limit+1.
func Distance(a, b string, limit int) int {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > limit {
		return limit + 1
	}
	var prev2, prev, cur [Longest + 1]int
	if len(b) > Longest {
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
