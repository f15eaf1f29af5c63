package debuginfo

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"trocar/internal/binary/objfile"
)

// maxAlike bounds the names that are given for an incomplete one.
const maxAlike = 1 << 10

// TypesLike lists the names of types of which a given one is a part: without namespaces, packages or classes in front,
// without template arguments, or with the first of them only. They are in order.
func (in *Info) TypesLike(name string) (names []string, err error) {
	defer objfile.Guard(&err)()
	in.mu.Lock()
	defer in.mu.Unlock()
	want := parseTypeName(name)
	short := plain([]byte(lastPart(want.name)))
	if len(short) == 0 {
		return nil, nil
	}
	var mu sync.Mutex
	var found []typeEntry
	seen := make(map[uint64]bool) // by the hash of the whole name
	err = in.everyUnit(func(s *scanner, u *unit) bool {
		var last int
		s.eachType(u, func(e typeEntry) {
			v, ok := s.die.get(atName)
			if !ok || e.off == last || !want.fits(e.tag) || !bytes.HasSuffix(plain(u.strBytes(v)), short) {
				return
			}
			last = e.off // what is in a namespace without a name comes under two names
			mu.Lock()
			defer mu.Unlock()
			if !seen[e.hash] && len(found) < maxAlike {
				seen[e.hash] = true
				found = append(found, e)
			}
		})
		return len(found) < maxAlike
	})
	if err != nil {
		return nil, err
	}
	for _, e := range found {
		d, ok := e.u.at(uint64(e.off))
		if !ok {
			continue
		}
		if full := d.qualified(); isPartOfName(full, want.name) && !slices.Contains(names, full) {
			names = append(names, full)
		}
	}
	slices.Sort(names)
	return names, nil
}

// isPartOfName tells whether a name may stand for a full one.
func isPartOfName(full, part string) bool {
	full, part = strings.ReplaceAll(full, " ", ""), strings.ReplaceAll(part, " ", "")
	full = strings.ReplaceAll(full, "(anonymousnamespace)::", "")
	for _, end := range []string{full, string(plain([]byte(full)))} {
		rest, ok := strings.CutSuffix(end, part)
		if ok && !strings.ContainsAny(rest, "[]*") && (rest == "" || strings.HasSuffix(rest, "::") ||
			strings.HasSuffix(rest, ".") || strings.HasSuffix(rest, "/")) {
			return true
		}
	}
	// The first template arguments: "vector<int>" for "vector<int,std::allocator<int>>".
	args, ok := strings.CutSuffix(part, ">")
	at := strings.Index(full, args+",")
	if !ok || at < 0 || at > 0 && !strings.HasSuffix(full[:at], "::") {
		return false
	}
	// What is in front must be scopes, and what follows the rest of these arguments.
	return !strings.ContainsAny(full[:at], "<,") && strings.HasSuffix(full, ">") && len(plain([]byte(full))) ==
		strings.IndexByte(full[at:], '<')+at
}
