package dotnet

import (
	"strconv"
	"strings"

	"trocar/internal/binary/clr"
	"trocar/internal/binary/objfile"
	"trocar/internal/process/probe"
	"trocar/internal/process/runtimes"
)

// Made are the methods that a query fits, of an assembly that the process has loaded: each may be compiled at any time,
// and again.
func (c *Code) Made(q *objfile.Query) (list []runtimes.MadeMethod) {
	if c.pid == 0 {
		return nil
	}
	var err error
	defer objfile.Guard(&err)()
	name := ""
	if !q.Wildcard() {
		bare, _, _ := strings.Cut(q.Pattern, "(")
		bare = bare[strings.LastIndex(bare, "::")+1:]
		name = runtimes.WithoutTypes(strings.TrimPrefix(bare, ":"))
	}
	found := map[uint32]int{}
	c.image.Methods(name, func(method uint32, full []byte) {
		if text := string(full); q.Method(text) {
			found[method] = len(list)
			list = append(list, runtimes.MadeMethod{Number: method, Name: text})
		}
	})
	if len(list) == 0 {
		return nil
	}
	bodies, _ := c.image.Bodies() // damage is told elsewhere
	for i := range bodies {
		if at, ok := found[bodies[i].Method]; ok && (list[at].Ahead == 0 || !bodies[i].Instance()) {
			list[at].Ahead = uint64(bodies[i].Addr)
		}
	}
	assembly := c.image.Assembly()
	for i := range list {
		m := &list[i]
		full, loose := keysOf(assembly, c.image.Plain(m.Number))
		m.Made = &probe.Made{Keys: []string{full}, Func: m.Name, Inlined: c.image.Inlined(m.Number)}
		if off, _ := c.image.Source(m.Number); off > 0 {
			m.Made.Source = c.file.Base() + uint64(off)
		}
		if c.image.Overloads(m.Number) < 2 {
			m.Made.Keys = append(m.Made.Keys, loose)
		}
		_, m.Made.Several = c.image.Generic(m.Number)
	}
	return list
}

// keysOf are the keys of the code of a method, by its plain name: in full, and by how many parameters it has, since
// their types may be written in several ways.
func keysOf(assembly, plain string) (full, loose string) {
	bare, params, _ := strings.Cut(plain, "(")
	return assembly + "!" + plain, assembly + "!" + bare + "/" + strconv.Itoa(len(split(strings.TrimSuffix(params, ")"))))
}

// MadeScope is what is known at the entry of a method that is compiled at run time, or at its return.
func (c *Code) MadeScope(number uint32, atReturn bool) *probe.Scope {
	var err error
	defer objfile.Guard(&err)()
	m := method{body: clr.Body{Method: number}}
	ofType, ofMethod := c.image.Generic(number)
	if !c.place(&m, &loader{code: c, image: c.image, any: ofType || ofMethod}) {
		return &probe.Scope{}
	}
	if atReturn {
		return &probe.Scope{Retval: m.result}
	}
	return &probe.Scope{Args: m.params}
}

// Note makes of a line of a perf map what it tells of a method's code:
//
//	7f10a0 2a instance int32 [app] Ns.Type`1[System.Int32]::Method(!0,string)[OptimizedTier1]
func note(line string) (b runtimes.Note, ok bool) {
	addr, rest, _ := strings.Cut(strings.TrimPrefix(line, "0x"), " ")
	size, name, _ := strings.Cut(rest, " ")
	var err error
	if b.Addr, err = strconv.ParseUint(addr, 16, 64); err != nil {
		return b, false
	}
	if b.Size, err = strconv.ParseUint(strings.TrimPrefix(size, "0x"), 16, 64); err != nil || b.Size == 0 {
		return b, false
	}
	name = strings.TrimRight(name, "\n")
	text, assembly, ok := noted(name)
	if !ok {
		return b, false
	}
	_, tier, _ := cutTier(name)
	b.Tier = printable(tier)
	b.Name = printable(text)
	typ, rest, _ := strings.Cut(text, "::")
	full, loose := keysOf(assembly, withoutArgs(typ)+"::"+rest)
	b.Keys = []string{full, loose}
	switch {
	case strings.HasSuffix(b.Tier, "OSR"):
		b.Rank = runtimes.NotEntered
	case strings.HasPrefix(b.Tier, "Quick"):
		b.Rank = 1
	case strings.HasPrefix(b.Tier, "Instrumented"):
		b.Rank = 2
	default:
		b.Rank = 3
	}
	return b, true
}

// withoutArgs is a type's name without the arguments of its type parameters. Names that the compiler makes begin with
// what looks like some.
func withoutArgs(s string) string {
	var b strings.Builder
	depth, own := 0, 0 // own: how deep in such a beginning
	begins := true
	for _, r := range s {
		switch {
		case r == '<' && depth == 0 && (begins || own > 0):
			own++
		case r == '<':
			depth++
		case r == '>' && own > 0:
			own--
		case r == '>':
			depth--
			continue
		}
		if depth == 0 {
			b.WriteRune(r)
		}
		begins = depth == 0 && (r == '+' || r == '.')
	}
	return b.String()
}
