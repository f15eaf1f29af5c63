package dotnet

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"trocar/internal/binary/clr"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
)

// world are the types of the process.
func (c *Code) world() (*world, error) {
	if !c.opened {
		c.opened = true
		if c.pid == 0 {
			c.err = errors.New("the running program tells it: name its process with -p")
			return nil, c.err
		}
		c.running, c.err = openWorld(c.pid)
	}
	return c.running, c.err
}

// Close gives back what was opened for the process, and other assemblies. What is not known of types then stays so.
func (c *Code) Close() error {
	if c.running != nil {
		_ = c.running.Close() // it was only read
	}
	for _, f := range c.siblings {
		if f != nil && c.running == nil {
			_ = f.Close() // it was only read
		}
	}
	c.running, c.closed = nil, true
	clear(c.siblings)
	return nil
}

// sibling is another assembly: that which the process has mapped or, without a process, that beside.
func (c *Code) sibling(name string) *objfile.File {
	f, ok := c.siblings[name]
	if ok {
		return f
	}
	switch w, err := c.world(); {
	case strings.Contains(name, "/"):
	case err == nil:
		f = w.sibling(name)
	case c.pid == 0:
		if beside, err := c.file.OpenNamed(c.file.Names(), path.Join(path.Dir(c.file.Path()), name+".dll")); err == nil {
			f = beside
		}
	}
	if f != nil && f.Managed() == nil {
		f = nil
	}
	if c.siblings[name] = f; f != nil {
		c.files[f.Managed()] = f
	}
	return f
}

// library has the types that all others are made of; other names only refer to it.
const library = "System.Private.CoreLib"

// declared finds where the type is declared that an assembly names.
func (c *Code) declared(im *clr.Image, t *clr.Type) (f *objfile.File, typ uint32, ok bool) {
	if t.In != nil {
		im = t.In
	}
	if typ, ok = im.TypeDef(t); ok {
		f, ok = c.files[im]
		return f, typ, ok
	}
	assembly, name, ok := im.Refers(t)
	if !ok {
		return nil, 0, false
	}
	const forwards = 4
	for range forwards {
		if f = c.sibling(assembly); f == nil {
			if assembly == library {
				return nil, 0, false
			}
			assembly = library
			continue
		}
		if typ, assembly, ok = f.Managed().Find(name); ok || assembly == "" {
			return f, typ, ok
		}
	}
	return nil, 0, false
}

// object is a reference to an object. What it has is found out when it is asked for.
func (l *loader) object(t *clr.Type, name string) *types.Type {
	own, c := l.substituted(t), l.code
	id := identity(&own)
	stub := opaque(name)
	stub.Source.Form = types.DotNetObjectForm
	in := l.in(own.In)
	space, generic, ok := in.image.Library(&own)
	if ok = ok && space == "System.Collections.Generic" && len(own.Args) > 0; ok && generic == "List`1" {
		stub.Source.Form = types.DotNetListForm
	}
	return reference(types.Stub(stub, func() *types.Type {
		full, ok := c.objects[id]
		if !ok && c.closed {
			return nil
		} else if !ok {
			var err error
			full = in.complete(&own, name, &err)
			switch {
			case err != nil:
				full = opaque(name)
				full.Source.Form, full.Source.Unknown = types.DotNetObjectForm, err.Error()
			case stub.Source.Form == types.DotNetListForm:
				if item := in.typ(&own.Args[0], 1); item.t != nil && item.why == "" {
					full.Source.Form, full.Source.Item = types.DotNetListForm, item.t
				}
			}
			c.objects[id] = full
		}
		return full
	}))
}

// identity is what a type is.
func identity(t *clr.Type) string {
	s := fmt.Sprintf("%d %d %d %p", t.Element, t.Row, t.Number, t.In)
	for i := range t.Args {
		s += "<" + identity(&t.Args[i]) + ">"
	}
	return s
}

// told are the fields that tell what people want to know of objects of the library's own types. The others are shown
// where they are asked for by name.
var told = map[string][]string{
	"System.Exception":                        {"_message", "_innerException", "_HResult"},
	"System.Collections.Generic.Dictionary`2": {"_count", "_freeCount"},
	"System.Collections.Generic.HashSet`1":    {"_count", "_freeCount"},
}

// maxBases bounds the types that one is derived from.
const maxBases = 32

// complete is the type of an object with its fields, those of its bases first, as the running program has them.
func (l *loader) complete(t *clr.Type, name string, err *error) *types.Type {
	defer objfile.Guard(err)()
	if c := l.code; c.pid == 0 {
		_, *err = c.world()
		return nil
	}
	full := opaque(name)
	full.Incomplete, full.Size, full.Align, full.Source.Form = false, header, header, types.DotNetObjectForm
	if t.Element == clr.Object || t.Element == clr.Canonical {
		return full
	}
	var levels [][]types.Field
	at := l.in(l.image)
	for range maxBases {
		if t.In != nil {
			at = l.in(t.In)
		}
		file, typ, ok := l.code.declared(at.image, t)
		if !ok {
			*err = errors.New("the assembly that declares it is not known")
			return nil
		}
		at = l.in(file.Managed())
		at.own = t.Args
		base, derived := at.image.Base(typ)
		if at.image.IsInterface(typ) || !derived {
			break
		}
		w, e := l.code.world()
		if e != nil {
			*err = e
			return nil
		}
		table, e := w.loaded(file, typ)
		if e == nil {
			if len(levels) == 0 {
				full.Size = int(uint32(w.at(table, w.of.MethodTable.BaseSize))) - header
			}
			var own []types.Field
			own, e = at.fields(w, table, typ)
			def := at.image.TypeOf(typ)
			if space, name, ok := at.image.Library(&def); ok && told[space+"."+name] != nil {
				for i := range own {
					own[i].Artificial = !slices.Contains(told[space+"."+name], own[i].Name)
				}
			}
			levels = append(levels, own)
		}
		if e != nil || full.Size < header || full.Size > maxSize {
			*err = e
			return nil
		}
		next := at.substituted(&base)
		t = &next
	}
	for i := len(levels) - 1; i >= 0; i-- {
		for _, f := range levels[i] {
			// One of a base may have the same name, and cannot be named in its place.
			for j := range full.Fields {
				if old := &full.Fields[j]; old.Name == f.Name {
					old.Name = "base." + old.Name
				}
			}
			full.Fields = append(full.Fields, f)
		}
	}
	return full
}

// fields are those that a type adds to its base.
func (l *loader) fields(w *world, table uint64, typ uint32) (out []types.Field, err error) {
	places, err := w.placed(table, l.image, typ)
	for i := range places {
		if p := &places[i]; l.varies(&p.Type) {
			return nil, errors.New("it is generic, and laid out in another way for each type")
		}
	}
	for i := range places {
		p := &places[i]
		v := l.typ(&p.Type, 1)
		switch {
		case v.t == nil || v.t.Size == 0:
			v.t = types.Missing(orSize(v.why))
		case v.why != "":
			v.t = types.Missing(v.why)
		}
		out = append(out, types.Field{Name: property(p.Name), Type: v.t, Offset: header + p.offset})
	}
	return out, err
}

// property is the name of a field as the source has it: of one that the compiler has made for a property, that one's.
func property(name string) string {
	if own, ok := strings.CutSuffix(name, ">k__BackingField"); ok && strings.HasPrefix(own, "<") {
		return own[1:]
	}
	return name
}

// varies tells whether a field's size depends on what type parameters stand for, which the layout of the generic type
// itself does not tell.
func (l *loader) varies(t *clr.Type) bool {
	switch t.Element {
	case clr.TypeParam:
		if t.Number >= len(l.own) {
			return true
		}
		switch own := &l.own[t.Number]; own.Element {
		case clr.Class, clr.Object, clr.String, clr.Canonical, clr.Vector, clr.Array:
			return false
		case clr.Instance:
			return own.Value
		}
		return true
	case clr.Instance:
		for i := range t.Args {
			if t.Value && l.varies(&t.Args[i]) {
				return true
			}
		}
	}
	return false
}

// place moves the fields of a value type to where the running program has them; false: that is not known.
func (l *loader) place(t *clr.Type, s *types.Type) bool {
	file, typ, ok := l.code.declared(l.image, t)
	w, err := l.code.world()
	if !ok || err != nil {
		return false
	}
	table, err := w.loaded(file, typ)
	if err != nil {
		return false
	}
	places, err := w.placed(table, l.image, typ)
	if err != nil || len(places) != len(s.Fields) {
		return false
	}
	const boxed = 16 // what a value in an object has around it
	size := int(uint32(w.at(table, w.of.MethodTable.BaseSize))) - boxed
	for i := range places {
		if p := &places[i]; l.varies(&p.Type) || p.offset+s.Fields[i].Type.Size > size || s.Align != header {
			return false
		}
	}
	for i := range places {
		s.Fields[i].Offset = places[i].offset
	}
	s.Size = size
	return true
}
