package probe

import (
	"slices"
	"strings"

	"trocar/internal/binary/objfile"
)

// kind describes a probe kind: one entry per kind is all there is to register.
type kind struct {
	kind    Kind
	name    string
	aliases []string // short and former names, case matters
	// parse takes the parts behind the kind into the spec.
	parse func(*matcher, *spec) bool
	// match finds the spec's points; it reports what is wrong itself.
	match func(*matcher, *spec) []*Point
	// list names what there is to probe for `-l`; nil: nothing to list.
	list func(*matcher, *spec) []listing
	// kernelList and userList tell whether a pattern for several kinds ("*:…") means this one.
	kernelList, userList bool
	// maySkip: in a pattern for several kinds, a wrong number of parts leaves this kind out.
	maySkip bool
}

// kinds lists all probe kinds; order is that of listings.
func kinds() []kind {
	return []kind{
		{kind: Begin, name: "begin", parse: parseSpecial, match: matchOne},
		{kind: End, name: "end", parse: parseSpecial, match: matchOne},
		{kind: Self, name: "self", parse: parseSelf, match: matchOne, list: listSelf},
		{kind: Test, name: "test", parse: parseNamed, match: matchOne},
		{kind: Bench, name: "bench", parse: parseNamed, match: matchOne},
		{
			kind: Fentry, name: "fentry", aliases: []string{"f", "kfunc"}, parse: parseFentry, match: matchFentry,
			list: listFentry, kernelList: true, maySkip: true,
		},
		{
			kind: Fexit, name: "fexit", aliases: []string{"fr", "kretfunc"}, parse: parseFentry, match: matchFentry,
			list: listFentry, maySkip: true,
		},
		{
			kind: Hardware, name: "hardware", aliases: []string{"h"}, parse: parseEvent, match: matchEvent,
			list: listEvents, kernelList: true, maySkip: true,
		},
		{kind: Interval, name: "interval", aliases: []string{"i"}, parse: parseTimer, match: matchOne, list: listUnits},
		{
			kind: Iter, name: "iter", aliases: []string{"it"}, parse: parseIter, match: matchIter,
			list: listIters, kernelList: true, maySkip: true,
		},
		{
			kind: Kprobe, name: "kprobe", aliases: []string{"k"}, parse: parseKprobe, match: matchKprobe,
			list: listKprobes, kernelList: true, maySkip: true,
		},
		{
			kind: Kretprobe, name: "kretprobe", aliases: []string{"kr"}, parse: parseKprobe, match: matchKprobe,
			list: listKprobes, maySkip: true,
		},
		{kind: Profile, name: "profile", aliases: []string{"p"}, parse: parseTimer, match: matchOne, list: listUnits},
		{
			kind: RawTracepoint, name: "rawtracepoint", aliases: []string{"rt"}, parse: parseRawTracepoint,
			match: matchRawTracepoint, list: listRawTracepoints, kernelList: true, maySkip: true,
		},
		{
			kind: Software, name: "software", aliases: []string{"s"}, parse: parseEvent, match: matchEvent,
			list: listEvents, kernelList: true, maySkip: true,
		},
		{
			kind: Tracepoint, name: "tracepoint", aliases: []string{"t"}, parse: parseTracepoint, match: matchTracepoint,
			list: listTracepoints, kernelList: true, maySkip: true,
		},
		{
			kind: Uprobe, name: "uprobe", aliases: []string{"u"}, parse: parseUprobe, match: matchUprobe,
			list: listUprobes, userList: true, maySkip: true,
		},
		{
			kind: Uretprobe, name: "uretprobe", aliases: []string{"ur"}, parse: parseUprobe, match: matchUprobe,
			list: listUprobes, maySkip: true,
		},
		{
			kind: USDT, name: "usdt", aliases: []string{"U"}, parse: parseUSDT, match: matchUSDT,
			list: listUSDT, userList: true, maySkip: true,
		},
		{kind: Watchpoint, name: "watchpoint", aliases: []string{"w"}, parse: parseWatchpoint, match: matchOne},
	}
}

// findKind finds a kind by its name, in any case, or by an alias.
func findKind(all []kind, name string) *kind {
	for i := range all {
		if slices.Contains(all[i].aliases, name) {
			return &all[i]
		}
	}
	lower := strings.ToLower(name)
	for i := range all {
		if all[i].name == lower || slices.Contains(all[i].aliases, lower) {
			return &all[i]
		}
	}
	return nil
}

// String is the kind's name as listings and the builtin `probe` show it.
func (k Kind) String() string {
	for _, e := range kinds() {
		if e.kind == k {
			return e.name
		}
	}
	return "probe"
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
