package match

import (
	"slices"
	"strings"

	"trocar/internal/binary/objfile"
	"trocar/internal/process/probe"
)

// kind is what matching does for one kind of probe.
type kind struct {
	kind probe.Kind
	name string
	// parse takes the parts behind the kind into the spec.
	parse func(*matcher, *spec) bool
	// match finds the spec's points; it reports what is wrong itself.
	match func(*matcher, *spec) []*probe.Point
	// list names what there is to probe for `-l`; nil: nothing to list.
	list func(*matcher, *spec) []listing
	// kernelList and userList tell whether a pattern for several kinds ("*:…") means this one.
	kernelList, userList bool
	// maySkip: in a pattern for several kinds, a wrong number of parts leaves this kind out.
	maySkip bool
}

// kinds lists all probe kinds; order is that of listings.
func kinds() []kind {
	all := []kind{
		{kind: probe.Begin, parse: parseSpecial, match: matchOne},
		{kind: probe.End, parse: parseSpecial, match: matchOne},
		{kind: probe.Self, parse: parseSelf, match: matchOne, list: listSelf},
		{kind: probe.Test, parse: parseNamed, match: matchOne},
		{kind: probe.Bench, parse: parseNamed, match: matchOne},
		{
			kind: probe.Fentry, parse: parseFentry, match: matchFentry,
			list: listFentry, kernelList: true, maySkip: true,
		},
		{
			kind: probe.Fexit, parse: parseFentry, match: matchFentry,
			list: listFentry, maySkip: true,
		},
		{
			kind: probe.Hardware, parse: parseEvent, match: matchEvent,
			list: listEvents, kernelList: true, maySkip: true,
		},
		{kind: probe.Interval, parse: parseTimer, match: matchOne, list: listUnits},
		{
			kind: probe.Iter, parse: parseIter, match: matchIter,
			list: listIters, kernelList: true, maySkip: true,
		},
		{
			kind: probe.Kprobe, parse: parseKprobe, match: matchKprobe,
			list: listKprobes, kernelList: true, maySkip: true,
		},
		{
			kind: probe.Kretprobe, parse: parseKprobe, match: matchKprobe,
			list: listKprobes, maySkip: true,
		},
		{kind: probe.Profile, parse: parseTimer, match: matchOne, list: listUnits},
		{
			kind: probe.RawTracepoint, parse: parseRawTracepoint,
			match: matchRawTracepoint, list: listRawTracepoints, kernelList: true, maySkip: true,
		},
		{
			kind: probe.Software, parse: parseEvent, match: matchEvent,
			list: listEvents, kernelList: true, maySkip: true,
		},
		{
			kind: probe.Tracepoint, parse: parseTracepoint, match: matchTracepoint,
			list: listTracepoints, kernelList: true, maySkip: true,
		},
		{
			kind: probe.Uprobe, parse: parseUprobe, match: matchUprobe,
			list: listUprobes, userList: true, maySkip: true,
		},
		{
			kind: probe.Uretprobe, parse: parseUprobe, match: matchUprobe,
			list: listUprobes, maySkip: true,
		},
		{
			kind: probe.USDT, parse: parseUSDT, match: matchUSDT,
			list: listUSDT, userList: true, maySkip: true,
		},
		{kind: probe.Watchpoint, parse: parseWatchpoint, match: matchOne},
	}
	for i := range all {
		all[i].name = all[i].kind.String()
	}
	return all
}

// findKind finds a kind by its name, in any case, or by an alias.
func findKind(all []kind, name string) *kind {
	for i := range all {
		if slices.Contains(all[i].kind.Aliases(), name) {
			return &all[i]
		}
	}
	lower := strings.ToLower(name)
	for i := range all {
		if all[i].name == lower || slices.Contains(all[i].kind.Aliases(), lower) {
			return &all[i]
		}
	}
	return nil
}

// nearKinds are the kind names that resemble a word most.
func nearKinds(all []kind, word string) (near []string) {
	best := 2
	for i := range all {
		d := objfile.EditDistance(strings.ToLower(word), all[i].name, best)
		if d < best {
			best, near = d, nil
		}
		if d <= best {
			near = append(near, all[i].name)
		}
	}
	return near
}
