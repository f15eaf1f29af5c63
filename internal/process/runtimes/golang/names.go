package golang

import (
	"net/url"
	"strings"

	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
)

// methodAt is a method by its function.
type methodAt struct {
	recv   uint64 // description of the receiver's type
	sig    uint64 // of the signature
	doubly bool   // tables differ
}

// index walks all descriptions, from those that the linker lists to all that they are made of.
func (p *Program) index() {
	if p.indexed {
		return
	}
	p.indexed = true
	p.named, p.methods = map[string]uint64{}, map[uint64]methodAt{}
	queue := make([]uint64, 0, p.nlinks)
	seen := map[uint64]bool{}
	add := func(addr uint64) {
		if addr != 0 && !seen[addr] && len(seen) < maxTypes {
			seen[addr] = true
			queue = append(queue, addr)
		}
	}
	for i := range p.nlinks {
		add(p.typeOff(p.word(p.links+4*uint64(i), 4)))
	}
	for len(queue) > 0 {
		d := p.desc(queue[len(queue)-1])
		queue = queue[:len(queue)-1]
		if d == nil {
			continue
		}
		p.enter(d)
		add(d.elem)
		add(d.key)
		add(d.table)
		for _, f := range d.fields {
			add(f.typ)
		}
		for _, t := range d.in {
			add(t)
		}
		for _, t := range d.out {
			add(t)
		}
		for _, m := range d.methods {
			add(m.typ)
		}
	}
}

func (p *Program) enter(d *desc) {
	if d.named {
		name := plainName(p.nameOf(d, 0))
		if old, ok := p.named[name]; ok && old != d.addr {
			p.named[name] = 0 // types of functions may share a name
		} else if !ok {
			p.named[name] = d.addr
		}
	}
	for _, m := range d.methods {
		if m.fn == 0 {
			continue
		}
		at := methodAt{recv: d.addr, sig: m.typ}
		if old, ok := p.methods[m.fn]; ok && old != at {
			at.doubly = true
		}
		p.methods[m.fn] = at
	}
}

// plainName is a name without what the linker escapes in paths: "gopkg.in/yaml%2ev3.Node".
func plainName(name string) string {
	if !strings.Contains(name, "%") {
		return name
	}
	if plain, err := url.PathUnescape(name); err == nil {
		return plain
	}
	return name
}

// TypeNamed finds a type by its full name: "net/http.Request", "*net/http.Request", "[]string". The last part of a
// package's path is enough if no other package has such a type.
func (p *Program) TypeNamed(name string) (t *types.Type, ok bool) {
	var err error
	defer objfile.Guard(&err)()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.index()
	t = p.typeNamed(strings.TrimSpace(name), 0)
	return t, t != nil
}

func (p *Program) typeNamed(name string, depth int) *types.Type {
	if depth > 16 {
		return nil
	}
	if rest, ok := strings.CutPrefix(name, "*"); ok {
		elem := p.typeNamed(rest, depth+1)
		if elem == nil {
			return nil
		}
		t := types.PointerTo(elem, types.User)
		t.Name, t.Source = "*"+elem.Name, &types.Source{Lang: types.Go}
		return t
	}
	name = plainName(name)
	if addr, ok := p.named[name]; ok {
		if addr == 0 {
			return nil
		}
		return p.typ(addr, true, 0)
	}
	if strings.Contains(name, "/") {
		return nil
	}
	found := uint64(0)
	for full, addr := range p.named {
		if strings.HasSuffix(full, "/"+name) {
			if found != 0 || addr == 0 {
				return nil
			}
			found = addr
		}
	}
	if found == 0 {
		return nil
	}
	return p.typ(found, true, 0)
}
