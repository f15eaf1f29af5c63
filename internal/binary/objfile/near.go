package objfile

import (
	"slices"
	"strconv"
	"strings"

	"trocar/internal/near"
)

// maxNearNames bounds how many names are compared.
const maxNearNames = 1 << 20

// Near finds up to n function names of the file that resemble a name for which there is no function: for "did you
// mean".
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
	within, parts := inner(name), strings.Count(name, "::")+1
	f.Functions(func(s *Symbol) bool {
		if left--; left < 0 {
			return false
		}
		got := s.Name
		if full := within(got); full != "" {
			// The name of a function without its class, namespace or package.
			if !slices.ContainsFunc(best, func(c candidate) bool { return c.name == full }) {
				best = slices.Insert(best, 0, candidate{strings.Clone(full), 0})
				best = best[:min(len(best), n)]
			}
			return true
		}
		if readable {
			if !IsMangled(got) {
				return true
			}
			got = demangled(got, true)
		}
		own := got // what of it is compared
		switch {
		case len(name) < 4: // of what is short too much is near
		case readable:
			own = lastParts(got, parts)
		case IsMangled(got) && !IsMangled(name):
			own = lastName(got)
		case !strings.Contains(name, "."):
			own = got[strings.LastIndexByte(got, '.')+1:]
		}
		if len(own) > near.Longest || got == name {
			return true
		}
		worst := limit
		if len(best) == n {
			worst = min(worst, best[n-1].dist)
		}
		d := min(nameDistance(lower, strings.ToLower(own), worst), nameDistance(lower, strings.ToLower(got), worst))
		if d > worst || len(best) == n && d >= best[n-1].dist {
			return true
		}
		if !IsMangled(name) {
			got = demangled(got, true)
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

// inner finds a name at the end of a qualified one: it gives the whole of that as the source has it, "" if it is
// another.
func inner(name string) func(symbol string) string {
	if name == "" || strings.ContainsAny(name, ":<( .") {
		return func(string) string { return "" }
	}
	mangled, dotted := strconv.Itoa(len(name))+name, "."+name // as C++ and Rust have it, and Go
	return func(symbol string) string {
		switch {
		case strings.HasSuffix(symbol, dotted):
			return symbol
		case !strings.Contains(symbol, mangled) || !IsMangled(symbol):
			return ""
		}
		if full := demangled(symbol, true); strings.HasSuffix(full, "::"+name) {
			return full
		}
		return ""
	}
}

// lastParts is the end of a qualified name that has so many parts.
func lastParts(full string, parts int) string {
	at := len(full)
	for range parts {
		if at = strings.LastIndex(full[:at], "::"); at < 0 {
			return full
		}
	}
	return full[at+2:]
}

// lastName is the name of a function of C++ without what it belongs to, of simple symbols (Itanium C++ ABI, 5.1): no
// templates, no operators. "": it is another.
func lastName(symbol string) (name string) {
	s := strings.TrimLeft(symbol, "_")
	s = strings.TrimLeft(strings.TrimPrefix(strings.TrimPrefix(s, "Z"), "N"), "KVrLROt")
	for len(s) > 0 && s[0] >= '1' && s[0] <= '9' {
		digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
		n, err := strconv.Atoi(s[:digits])
		if s = s[digits:]; err != nil || n > len(s) {
			return ""
		}
		if name, s = s[:n], s[n:]; !strings.HasPrefix(symbol, "_ZN") {
			break
		}
	}
	return name
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
	d := near.Distance(want, got, limit)
	if d > limit && len(want) >= 5 && (strings.HasPrefix(got, want) || strings.HasSuffix(got, want)) &&
		len(got) <= 2*len(want) {
		d = limit
	}
	return d
}
