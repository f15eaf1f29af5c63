package golang

import (
	"fmt"
	"strings"

	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
)

// Types as debug information would have them: the same names, forms and members.

const maxDepth = 100

// Type is the type that is described at an address of the file, complete.
func (p *Program) Type(addr uint64) (t *types.Type, ok bool) {
	var err error
	defer objfile.Guard(&err)()
	p.mu.Lock()
	defer p.mu.Unlock()
	t = p.typ(addr, true, 0)
	return t, t != nil
}

// broken stands for a type whose description makes no sense.
func broken() *types.Type { return &types.Type{Kind: types.Void, Name: "?", Incomplete: true} }

// typ makes a type, nil if it is not known. Behind pointers it is not deep: structs have their members when they are
// asked for.
func (p *Program) typ(addr uint64, deep bool, depth int) *types.Type {
	d := p.desc(addr)
	if d == nil || depth > maxDepth {
		return nil
	}
	kept := p.full
	if d.kind == kindStruct && !deep {
		kept = p.stubs
	}
	if t := kept[addr]; t != nil {
		return t
	}
	if p.busy[addr] {
		return nil // it contains itself
	}
	p.busy[addr] = true
	defer delete(p.busy, addr)
	t := p.convert(d, deep, depth+1)
	if t == nil {
		return nil
	}
	if depth == 0 && len(p.stubs)+len(p.full) > maxKept {
		p.stubs, p.full = map[uint64]*types.Type{}, map[uint64]*types.Type{}
	}
	kept[addr] = t
	return t
}

// shallow is a type for display and for what pointers point to.
func (p *Program) shallow(addr uint64, depth int) *types.Type {
	if p.busy[addr] { // through a pointer a type may well lead to itself
		if d := p.desc(addr); d != nil {
			return p.stub(d)
		}
	}
	if t := p.typ(addr, false, depth); t != nil {
		return t
	}
	return broken()
}

// stub is a type of which only name and size are known, until it is asked for more.
func (p *Program) stub(d *desc) *types.Type {
	t := &types.Type{Kind: types.Struct, Name: p.nameOf(d, 0), Size: d.size, Align: d.align, Source: source(d)}
	switch d.kind {
	case kindPointer, kindMap, kindChan, kindFunc:
		t.Kind, t.Elem = types.Pointer, types.TVoid
	}
	addr := d.addr
	return types.Stub(t, func() *types.Type {
		full, _ := p.Type(addr)
		return full
	})
}

func source(d *desc) *types.Source { return &types.Source{Lang: types.Go, RuntimeType: d.addr} }

func (p *Program) convert(d *desc, deep bool, depth int) *types.Type {
	t := &types.Type{Name: p.nameOf(d, 0), Size: d.size, Align: d.align, Source: source(d)}
	pointer := func(form types.Form, elem *types.Type) *types.Type {
		t.Kind, t.Elem, t.Space, t.Source.Form = types.Pointer, elem, types.User, form
		return t
	}
	switch d.kind {
	case kindBool:
		t.Kind = types.Bool
	case kindFloat32, kindFloat64:
		t.Kind = types.Float
	case kindComplex, kindComplex + 1:
		part := &types.Type{
			Kind: types.Float, Name: fmt.Sprintf("float%d", 4*d.size), Size: d.size / 2, Align: d.align,
			Source: &types.Source{Lang: types.Go},
		}
		t.Kind, t.Source.Form = types.Struct, types.ComplexForm
		t.Fields = []types.Field{{Name: "real", Type: part}, {Name: "imag", Type: part, Offset: d.size / 2}}
	case kindPointer:
		return pointer(types.NoForm, p.shallow(d.elem, depth))
	case kindUnsafe:
		return pointer(types.UnsafeForm, types.TVoid)
	case kindChan:
		t.Source.Item = p.shallow(d.elem, depth)
		return pointer(types.ChannelForm, channel())
	case kindMap:
		t.Source.Key, t.Source.Item = p.shallow(d.key, depth), p.shallow(d.elem, depth)
		return pointer(types.MapForm, p.mapHeader(d, depth))
	case kindFunc:
		return pointer(types.ClosureForm, p.function(d, depth))
	case kindString:
		t.Kind, t.Source.Form = types.Struct, types.StringForm
		t.Fields = members("str", types.PointerTo(goInt("uint8", 1, false), types.User), "len", goInt("int", 8, true))
	case kindSlice:
		t.Source.Item = p.shallow(d.elem, depth)
		t.Kind, t.Source.Form = types.Struct, types.SliceForm
		t.Fields = members("array", types.PointerTo(t.Source.Item, types.User), "len", goInt("int", 8, true), "cap",
			goInt("int", 8, true))
	case kindIface:
		t.Kind, t.Source.Form = types.Struct, types.InterfaceForm
		first := "tab"
		if d.nmethods == 0 {
			t.Source.Form, first = types.AnyForm, "_type"
		}
		word := types.PointerTo(types.TVoid, types.User)
		t.Fields = members(first, word, "data", word)
	case kindArray:
		elem := p.typ(d.elem, true, depth)
		if elem == nil || elem.Size*d.length != d.size || d.length > 0 && d.size/d.length != elem.Size {
			return nil
		}
		t.Kind, t.Elem, t.Len = types.Array, elem, d.length
	case kindStruct:
		if !deep {
			return p.stub(d)
		}
		t.Kind = types.Struct
		end := 0
		for _, f := range d.fields {
			ft := p.typ(f.typ, true, depth)
			if ft == nil || f.offset < end || ft.Size > d.size-f.offset {
				return nil
			}
			end = f.offset + ft.Size
			t.Fields = append(t.Fields, types.Field{Name: f.name, Type: ft, Offset: f.offset, Embedded: f.embedded})
		}
	default:
		if d.kind < kindInt || d.kind > kindUintptr || d.size != 1 && d.size != 2 && d.size != 4 && d.size != 8 {
			return nil
		}
		t.Kind, t.Signed = types.Int, d.kind < kindUint
	}
	if t.Kind == types.Struct && d.kind != kindStruct && len(t.Fields) > 0 {
		if last := t.Fields[len(t.Fields)-1]; last.Offset+last.Type.Size != d.size {
			return nil
		}
	}
	return t
}

func goInt(name string, size int, signed bool) *types.Type {
	return &types.Type{
		Kind: types.Int, Name: name, Size: size, Align: size, Signed: signed,
		Source: &types.Source{Lang: types.Go},
	}
}

// members are fields one after the other: names and types in turn.
func members(list ...any) (fields []types.Field) {
	off := 0
	for i := 0; i+1 < len(list); i += 2 {
		t := list[i+1].(*types.Type)
		off = (off + t.Align - 1) / t.Align * t.Align
		fields = append(fields, types.Field{Name: list[i].(string), Type: t, Offset: off})
		off += t.Size
	}
	return fields
}

func record(name string, list ...any) *types.Type {
	t := &types.Type{
		Kind: types.Struct, Name: name, Align: 8, Fields: members(list...),
		Source: &types.Source{Lang: types.Go},
	}
	last := t.Fields[len(t.Fields)-1]
	t.Size = (last.Offset + last.Type.Size + 7) &^ 7
	return t
}

// channel is the start of runtime.hchan (runtime/chan.go), the same in all versions.
func channel() *types.Type {
	return record("runtime.hchan", "qcount", goInt("uint", 8, false), "dataqsiz", goInt("uint", 8, false),
		"buf", types.PointerTo(types.TVoid, types.User), "elemsize", goInt("uint16", 2, false), "closed",
		goInt("uint32", 4, false))
}

func (p *Program) function(d *desc, depth int) *types.Type {
	t := &types.Type{Kind: types.Func, Name: p.nameOf(d, 0), Source: &types.Source{Lang: types.Go, Vararg: d.variadic}}
	for _, in := range d.in {
		t.Source.Params = append(t.Source.Params, p.shallow(in, depth))
	}
	for _, out := range d.out {
		t.Source.Results = append(t.Source.Results, p.shallow(out, depth))
	}
	return t
}

// mapHeader is what a map points to, as debug information has it: from 1.24 on internal/runtime/maps.Map with tables of
// groups (internal/runtime/maps of the Go source), before that runtime.hmap with buckets (runtime/map.go).
func (p *Program) mapHeader(d *desc, depth int) *types.Type {
	group := p.typ(d.table, true, depth)
	if group == nil || group.Kind != types.Struct {
		return types.TVoid
	}
	u64, u8, u16, u32 := goInt("uint64", 8, false), goInt("uint8", 1, false), goInt("uint16", 2, false),
		goInt("uint32", 4, false)
	num, user := goInt("int", 8, true), types.User
	if p.swiss(d) {
		groups := record("groupReference", "data", types.PointerTo(group, user), "lengthMask", u64)
		table := record("table", "used", u16, "capacity", u16, "growthLeft", u16, "localDepth", u8, "index", num, "groups",
			groups)
		return record("map", "used", u64, "seed", goInt("uintptr", 8, false), "dirPtr",
			types.PointerTo(types.PointerTo(table, user), user), "dirLen", num)
	}
	// Debug information has other words for the members of a bucket than the description.
	names := map[string]string{"topbits": "tophash", "elems": "values"}
	bucket := group.Derive(func(t *types.Type) {
		fields := make([]types.Field, len(t.Fields))
		for i, f := range t.Fields {
			if n, ok := names[f.Name]; ok {
				f.Name = n
			}
			if f.Name == "overflow" {
				f.Type = types.PointerTo(types.TVoid, user)
			}
			fields[i] = f
		}
		t.Fields = fields
	})
	to := types.PointerTo(bucket, user)
	return record("hash", "count", num, "flags", u8, "B", u8, "noverflow", u16, "hash0", u32, "buckets", to, "oldbuckets",
		to)
}

// nameOf is a type's name with the paths of packages in full.
func (p *Program) nameOf(d *desc, depth int) string {
	if n, ok := p.names[d.addr]; ok {
		return n
	}
	n := p.makeName(d, depth)
	if len(n) > maxNameLen {
		n = d.str
	}
	p.names[d.addr] = n
	return n
}

func (p *Program) makeName(d *desc, depth int) string {
	if d.named {
		args := strings.IndexByte(d.str, '[')
		if args < 0 {
			args = len(d.str)
		}
		if dot := strings.LastIndexByte(d.str[:args], '.'); dot >= 0 && d.pkg != "" {
			return d.pkg + d.str[dot:]
		}
		return d.str
	}
	inner := func(addr uint64) string {
		if e := p.desc(addr); e != nil && depth < 20 {
			return p.nameOf(e, depth+1)
		}
		return "?"
	}
	switch d.kind {
	case kindPointer:
		return "*" + inner(d.elem)
	case kindSlice:
		return "[]" + inner(d.elem)
	case kindArray:
		return fmt.Sprintf("[%d]%s", d.length, inner(d.elem))
	case kindMap:
		return "map[" + inner(d.key) + "]" + inner(d.elem)
	case kindChan:
		return [...]string{"chan ", "<-chan ", "chan<- ", "chan "}[d.dir] + inner(d.elem)
	case kindFunc:
		return "func" + p.signatureText(d, depth)
	case kindStruct:
		if len(d.fields) == 0 {
			return d.str
		}
		var fields []string
		size := 0
		for _, f := range d.fields {
			text := inner(f.typ)
			if size += len(text) + len(f.name); size > maxNameLen {
				return d.str
			}
			if !f.embedded {
				text = f.name + " " + text
			}
			fields = append(fields, text)
		}
		return "struct { " + strings.Join(fields, "; ") + " }"
	}
	return d.str
}

// signatureText is "(int, string) error".
func (p *Program) signatureText(d *desc, depth int) string {
	list := func(addrs []uint64) string {
		var words []string
		size := 0
		for i, a := range addrs {
			if size > maxNameLen {
				break // nobody wants to see it
			}
			e := p.desc(a)
			if e == nil || depth >= 20 {
				words = append(words, "?")
				continue
			}
			word := p.nameOf(e, depth+1)
			if rest, ok := strings.CutPrefix(word, "[]"); ok && d.variadic && i == len(d.in)-1 && len(addrs) == len(d.in) {
				word = "..." + rest
			}
			words, size = append(words, word), size+len(word)
		}
		return strings.Join(words, ", ")
	}
	text := "(" + list(d.in) + ")"
	switch len(d.out) {
	case 0:
		return text
	case 1:
		return text + " " + list(d.out)
	}
	return text + " (" + list(d.out) + ")"
}
