package match

import (
	"fmt"
	"strconv"
	"strings"

	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
)

// goRuntime is the same for all points of a file; nil if it has no Go code.
func (b *binary) goRuntime() *probe.GoRuntime {
	if b.golang == nil && b.obj.IsGo() {
		version := b.obj.GoVersion() // the file may be closed when the layout is asked for
		b.golang = probe.NewGoRuntime(func() (probe.GoLayout, error) { return b.goLayout(version) })
	}
	return b.golang
}

// goCode is goRuntime for Go code at an address, nil for other code: in assembly R14 may be anything.
func (b *binary) goCode(addr uint64) *probe.GoRuntime {
	r := b.goRuntime()
	if r == nil {
		return nil
	}
	if in, assembly := b.obj.GoCode(addr); !in || assembly {
		return nil
	}
	return r
}

// goLayout takes the offsets from the program's debug information, else from what is known of its Go version.
func (b *binary) goLayout(version string) (l probe.GoLayout, err error) {
	l = probe.GoLayout{StackHi: 8, M: 48}
	if b.info != nil {
		if found, ok := layoutFrom(b.info); ok {
			return found, nil
		}
	}
	switch goMinor(version) {
	case 21, 22:
		l.Goid, l.CurG = 152, 192
	case 23, 24:
		l.Goid, l.CurG = 160, 192
	case 25, 26:
		l.Goid, l.CurG = 152, 184
	default:
		if version == "" {
			return l, fmt.Errorf("%s has no debug information and doesn't tell its Go version", b.name)
		}
		return l, fmt.Errorf("%s has no debug information, and where the runtime of %s keeps it is not known", b.name, version)
	}
	return l, nil
}

func layoutFrom(info *debuginfo.Info) (l probe.GoLayout, ok bool) {
	g, err := info.TypeNamed("runtime.g", nil)
	if err != nil {
		return l, false
	}
	m, err := info.TypeNamed("runtime.m", nil)
	if err != nil {
		return l, false
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
	ok = at(g, &l.StackHi, "stack", "hi") && at(g, &l.Goid, "goid") && at(g, &l.M, "m") && at(m, &l.CurG, "curg")
	return l, ok
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
