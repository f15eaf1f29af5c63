package match

import (
	"fmt"
	"strconv"
	"strings"

	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
)

// goCalls tells how calls in a file's Go code are told apart, nil if it has none. exact asks for the layout that the debug
// information has, for which it is opened.
func (b *binary) goCalls(exact bool) *probe.Call {
	if !b.obj.IsGo() {
		return nil
	}
	if b.exactCall == nil && exact {
		b.exactCall = b.goCall(true)
	}
	if b.exactCall != nil {
		return b.exactCall
	}
	if b.call == nil {
		b.call = b.goCall(false)
	}
	return b.call
}

// goCode is goCalls for Go code at an address, nil for other code: in assembly that register may be anything.
func (m *matcher) goCode(b *binary, addr uint64) *probe.Call {
	if !b.obj.IsGo() {
		return nil
	}
	if in, assembly := b.obj.GoCode(addr); !in || assembly {
		return nil
	}
	return b.goCalls(m.needs.Calls())
}

// goCall takes the offsets in the runtime's structures g and m from the program's debug information, else from what is known
// of its Go version.
func (b *binary) goCall(exact bool) *probe.Call {
	goes := b.obj.Arch().Go()
	if goes == nil {
		return &probe.Call{Unknown: "where Go keeps it on " + b.obj.CPU() + " is not known"}
	}
	if exact {
		if info, err := b.debug(); err == nil {
			if found := callFrom(info, goes.G); found != nil {
				return found
			}
		}
	}
	c := &probe.Call{Register: goes.G, StackEnd: 8, Thread: 48}
	version := b.obj.GoVersion()
	switch goMinor(version) {
	case 21, 22:
		c.ID, c.Current = 152, 192
	case 23, 24:
		c.ID, c.Current = 160, 192
	case 25, 26:
		c.ID, c.Current = 152, 184
	default:
		if version == "" {
			return &probe.Call{Unknown: b.name + " has no debug information and doesn't tell its Go version"}
		}
		return &probe.Call{
			Unknown: fmt.Sprintf("%s has no debug information, and where the runtime of %s keeps it is not known", b.name, version),
		}
	}
	return c
}

// callFrom takes the offsets from debug information; g is the register that points to the goroutine's record.
func callFrom(info *debuginfo.Info, g int) *probe.Call {
	record, err := info.TypeNamed("runtime.g", nil)
	if err != nil {
		return nil
	}
	m, err := info.TypeNamed("runtime.m", nil)
	if err != nil {
		return nil
	}
	at := func(t *types.Type, to *int, names ...string) bool {
		off := 0
		for _, name := range names {
			f, ok := t.Complete().Field(name)
			if !ok {
				return false
			}
			off += f.Offset
			t = f.Type
		}
		*to = off
		return true
	}
	c := &probe.Call{Register: g}
	if at(record, &c.StackEnd, "stack", "hi") && at(record, &c.ID, "goid") && at(record, &c.Thread, "m") && at(m, &c.Current, "curg") {
		return c
	}
	return nil
}

// goMinor is the N of "go1.N.2", 0 if it is another form.
func goMinor(version string) int {
	rest, ok := strings.CutPrefix(version, "go1.")
	if !ok {
		return 0
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end >= 0 {
		rest = rest[:end]
	}
	minor, err := strconv.Atoi(rest)
	if err != nil {
		return 0
	}
	return minor
}
