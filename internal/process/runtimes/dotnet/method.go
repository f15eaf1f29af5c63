package dotnet

import (
	"fmt"
	"strings"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/clr"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
	"trocar/internal/process/runtimes"
)

// method is what is known of a body's arguments and result.
type method struct {
	body   clr.Body
	sig    clr.Signature
	params []probe.Var // this first, if it has one
	result *probe.Var
}

// method looks at the method whose body begins at an address.
func (c *Code) method(addr uint64) (m method, ok bool) {
	if addr >= runtimes.Unnumbered {
		m.body.Method = uint32(addr - runtimes.Unnumbered)
		ok = c.place(&m, &loader{code: c, image: c.image, any: true})
		return m, ok
	}
	if m.body, ok = c.image.BodyAt(uint32(addr)); !ok || m.body.Method == 0 {
		return m, false
	}
	own, args, ok := c.image.InstanceOf(&m.body)
	if !ok {
		return m, false
	}
	ok = c.place(&m, &loader{code: c, image: c.image, own: own, method: args})
	return m, ok
}

func (c *Code) place(m *method, l *loader) (ok bool) {
	if m.sig, ok = c.image.Signature(m.body.Method); ok {
		placeIn(c.file.Arch(), c.image, m, l)
	}
	return ok
}

// placeIn tells where the arguments and the result of a method are: in the order of C's convention (System V), with
// those that the runtime adds. That order is: this, where a large result goes, the context of shared generic code,
// arguments.
func placeIn(arch *abi.Arch, im *clr.Image, m *method, l *loader) {
	owner := im.Owner(m.body.Method)
	var list []*types.Type
	var at []int // of the parameters in list
	add := func(name string, v value) {
		m.params = append(m.params, probe.Var{Name: name, Type: v.t, Place: types.Unknown("%s", v.why)})
		at = append(at, len(list))
		list = append(list, v.t)
	}
	unknown := "" // why what follows is nowhere known
	if m.sig.Instance {
		add("this", l.this(owner))
	}
	result := l.typ(&m.sig.Result, 0)
	switch {
	case result.t == nil:
		unknown = "whether its result is passed by address is not known: " + result.why
	case result.t.Kind == types.Struct && result.t.Size > 16:
		list = append(list, word())
	}
	switch valueType := im.IsValueType(owner); {
	case unknown == "" && l.open(m.body.Method, m.sig.Instance && !valueType):
		unknown = "which instance of the generic code it is, and so where its arguments are, is not known"
	case l.sharedContext(m.sig.Instance, valueType):
		list = append(list, word())
	}
	for i, name := range im.ParamNames(m.body.Method, len(m.sig.Params)) {
		if name == "" {
			name = fmt.Sprintf("arg%d", i)
		}
		v := l.typ(&m.sig.Params[i], 0)
		switch {
		case unknown != "":
			v.why = unknown
		case v.t == nil:
			unknown = fmt.Sprintf("how %s, in front of it, is passed is not known: %s", name, v.why)
		}
		if v.t == nil || unknown != "" {
			t := v.t
			if t == nil {
				t = opaque(im.TypeText(&m.sig.Params[i], m.body.Method))
			}
			m.params = append(m.params, probe.Var{Name: name, Type: t, Place: types.Unknown("%s", v.why)})
			continue
		}
		add(name, v)
	}
	if m.sig.Vararg {
		return
	}
	places := arch.CPlaces(list, nil)
	for i, n := range at {
		p := &m.params[i]
		switch {
		case places == nil:
			p.Place = types.Unknown("the calling convention of this CPU is not known")
		case p.Place.Why != "":
		case places[n] != nil:
			p.Place = *places[n]
		default:
			p.Place = types.Unknown("where it is passed is not known")
		}
	}
	m.result = resultOf(arch, result)
}

// resultOf tells where a result is at a method's epilogues.
func resultOf(arch *abi.Arch, v value) *probe.Var {
	r := &probe.Var{Name: "retval", Type: v.t}
	switch {
	case v.t == nil:
		r.Type, r.Place = opaque("?"), types.Unknown("%s", v.why)
	case v.t.Kind == types.Void:
		r.Type, r.Place = &types.Type{Kind: types.Struct, Name: probe.NoResults}, types.Place{Kind: types.InPieces}
	case v.why != "":
		r.Place = types.Unknown("%s", v.why)
	case v.t.Kind == types.Struct && v.t.Size > 16:
		r.Place = types.Unknown("it is stored where the caller wants it")
	default:
		r.Place = arch.Result(v.t, types.C)
	}
	return r
}

// Entry gives a method's entry its arguments, or its return the result.
func (c *Code) Entry(entry uint64, p *probe.Point) {
	var err error
	defer objfile.Guard(&err)()
	m, ok := c.method(entry)
	if !ok {
		return
	}
	p.Scope = p.Scope.Clone()
	if p.Kind == probe.Uretprobe {
		p.Scope.Retval = m.result
		return
	}
	p.Scope.Args = m.params
}

// Result is the scope at a method's returns.
func (c *Code) Result(fn *objfile.Func) (s *probe.Scope) {
	var err error
	defer objfile.Guard(&err)()
	if m, ok := c.method(fn.Addr); ok && m.result != nil {
		s = &probe.Scope{Retval: m.result}
	}
	return s
}

// Declaration is a method as C# has it.
func (c *Code) Declaration(entry uint64) (d runtimes.Declaration, ok bool) {
	var err error
	defer objfile.Guard(&err)()
	m, ok := c.method(entry)
	if !ok {
		return d, false
	}
	im := c.image
	for i, name := range im.ParamNames(m.body.Method, len(m.sig.Params)) {
		d.Params = append(d.Params, strings.TrimSpace(im.TypeText(&m.sig.Params[i], m.body.Method)+" "+name))
	}
	if im.Static(m.body.Method) {
		d.Text = "static "
	}
	d.Text += im.TypeText(&m.sig.Result, m.body.Method) + " " + objfile.MethodBare(im.Name(&m.body)) +
		"(" + strings.Join(d.Params, ", ") + ")"
	return d, true
}
