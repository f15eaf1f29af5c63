package match

import (
	"slices"
	"strings"

	"trocar/internal/near"
	"trocar/internal/process/probe"
)

// kind is what matching does for one kind of probe, beside what the kind's traits say.
type kind struct {
	kind probe.Kind
	// parse takes the parts behind the kind into the spec.
	parse func(*matcher, *spec) bool
	// match finds the spec's points; it reports what is wrong itself.
	match func(*matcher, *spec) []*probe.Point
	// list names what there is to probe for `-l`; nil: nothing to list.
	list func(*matcher, *spec) []listing

	name, form string // of the traits
	among      probe.Side
}

// kinds lists all probe kinds; order is that of listings.
func kinds() []kind {
	all := []kind{
		{kind: probe.Begin, parse: parseSpecial, match: matchSpecial},
		{kind: probe.End, parse: parseSpecial, match: matchSpecial},
		{kind: probe.Self, parse: parseSelf, match: matchSelf, list: listSelf},
		{kind: probe.Test, parse: parseNamed, match: matchNamed},
		{kind: probe.Bench, parse: parseNamed, match: matchNamed},
		{kind: probe.Fentry, parse: parseFentry, match: matchFentry, list: listFentry},
		{kind: probe.Fexit, parse: parseFentry, match: matchFentry, list: listFentry},
		{kind: probe.Hardware, parse: parseEvent, match: matchEvent, list: listEvents},
		{kind: probe.Interval, parse: parseTimer, match: matchTimer, list: listUnits},
		{kind: probe.Iter, parse: parseIter, match: matchIter, list: listIters},
		{kind: probe.Kprobe, parse: parseKprobe, match: matchKprobe, list: listKprobes},
		{kind: probe.Kretprobe, parse: parseKprobe, match: matchKprobe, list: listKprobes},
		{kind: probe.Method, parse: parseMethod, match: matchMethod, list: listMethods},
		{kind: probe.MethodReturn, parse: parseMethod, match: matchMethod},
		{kind: probe.Profile, parse: parseTimer, match: matchTimer, list: listUnits},
		{kind: probe.Python, parse: parsePython, match: matchPython, list: listPython},
		{kind: probe.PythonReturn, parse: parsePython, match: matchPython},
		{kind: probe.RawTracepoint, parse: parseRawTracepoint, match: matchRawTracepoint, list: listRawTracepoints},
		{kind: probe.Software, parse: parseEvent, match: matchEvent, list: listEvents},
		{kind: probe.Tracepoint, parse: parseTracepoint, match: matchTracepoint, list: listTracepoints},
		{kind: probe.Uprobe, parse: parseUprobe, match: matchUprobe, list: listUprobes},
		{kind: probe.Uretprobe, parse: parseUprobe, match: matchUprobe, list: listUprobes},
		{kind: probe.USDT, parse: parseUSDT, match: matchUSDT, list: listUSDT},
		{kind: probe.Watchpoint, parse: parseWatchpoint, match: matchWatchpoint},
	}
	for i := range all {
		t := all[i].kind.Traits()
		all[i].name, all[i].form, all[i].among = t.Name, t.Form, t.Among
	}
	return all
}

// findKind finds a kind by its name, in any case, or by an alias.
func findKind(all []kind, name string) *kind {
	for i := range all {
		if slices.Contains(all[i].kind.Traits().Aliases, name) {
			return &all[i]
		}
	}
	lower := strings.ToLower(name)
	for i := range all {
		if all[i].name == lower || slices.Contains(all[i].kind.Traits().Aliases, lower) {
			return &all[i]
		}
	}
	return nil
}

// nearKinds are the kind names that resemble a word most.
func nearKinds(all []kind, word string) (names []string) {
	best := 2
	for i := range all {
		d := near.Distance(strings.ToLower(word), all[i].name, best)
		if d < best {
			best, names = d, nil
		}
		if d <= best {
			names = append(names, all[i].name)
		}
	}
	return names
}
