package record

import (
	"strings"

	"trocar/internal/binary/types"
	"trocar/result"
)

// notRead is said of what lies beyond the part of a value that was copied.
const notRead = "not read"

// dynamic decodes the nodes of an interface: see IfaceOf.
type dynamic struct {
	d     *Decoder
	nodes *Nodes
	point int
	b     []byte
}

// iface shows an interface by its dynamic type with its value.
func (d *Decoder) iface(v *result.Value, t *types.Type, b []byte) {
	nodes := (*Nodes)(t.Nodes)
	if !nodes.Valid() || len(b) < 8+nodes.Size() {
		unavailable(v, "its type and its size disagree")
		return
	}
	point := int(uint(b, 4)) - 1
	if point < 0 {
		null(v)
		return
	}
	y := dynamic{d: d, nodes: nodes, point: point, b: b[8:]}
	y.node(v, 0)
}

// node decodes the value of a node.
func (y *dynamic) node(v *result.Value, index int) {
	node := y.nodes
	b := y.b[index*node.Node() : (index+1)*node.Node()]
	data := uint(b[8:], 8)
	t, ok := y.d.Resolver.DynamicType(y.point, uint(b, 8))
	if !ok || t == nil {
		v.Kind, v.Type, v.Elems = result.Dynamic, "an unknown type",
			[]result.Value{{Kind: result.Pointer, Size: 8, Num: data}}
		return
	}
	v.Kind, v.Type, v.Elems = result.Dynamic, t.Name, make([]result.Value, 1)
	in := &v.Elems[0]
	kept := int(min(uint(b[24:], 8), uint64(node.Raw)))
	raw := b[IfaceHeader : IfaceHeader+kept]
	c := content{dynamic: y, index: index, node: b}
	switch {
	case t.Form() == types.MapForm && data != 0 && kept == 8:
		*in = result.Value{Kind: result.Mapping, Num: uint(raw, 8), Cut: uint(raw, 8) > 0}
	case t.Form() == types.ChannelForm && data != 0 && kept == 16:
		*in = result.Value{Kind: result.Struct, Names: []string{"len", "cap"}, Elems: []result.Value{
			{Kind: result.Uint, Size: 8, Num: uint(raw, 8)}, {Kind: result.Uint, Size: 8, Num: uint(raw[8:], 8)},
		}}
	case t.Form() == types.ClosureForm && kept == 8:
		y.d.closure(in, y.point, uint(raw, 8))
	case t.Kind == types.Pointer && data == 0:
		null(in)
	case t.Kind == types.Pointer && t.Form() == types.NoForm && t.Elem.Kind != types.Void &&
		(kept > 0 || t.Elem.Size == 0):
		c.value(in, t.Elem, 0, raw)
		if s := t.Elem; t.Name == "*errors.errorString" && len(s.Fields) == 1 {
			*in = in.Elems[0] // its text alone
		}
	case t.Kind == types.Pointer:
		*in = result.Value{Kind: result.Pointer, Size: 8, Num: data}
	default:
		c.value(in, t, 0, raw)
	}
}

// content decodes the copied bytes of a node's value.
type content struct {
	*dynamic
	index int
	node  []byte
}

// value decodes a part of a value at an offset; raw is what there is from that on.
func (c *content) value(v *result.Value, t *types.Type, off int, raw []byte) {
	d := c.d
	*v = result.Value{Size: t.Size}
	if d.depth >= maxNesting || d.made >= maxValues {
		unavailable(v, "it contains too many values")
		return
	}
	d.made++
	d.depth++
	defer func() { d.depth-- }()
	part := func(v *result.Value, t *types.Type, at int) {
		if at < 0 || at > len(raw) {
			at = len(raw)
		}
		c.value(v, t, off+at, raw[at:])
	}
	switch {
	case t.Form() == types.StringForm:
		c.text(v, off, raw)
	case t.Size > len(raw) && (t.Kind != types.Struct || t.Name == "time.Time" || t.Form() != types.NoForm) &&
		t.Kind != types.Array,
		t.Size > 0 && len(raw) == 0:
		unavailable(v, notRead)
	case t.Form() == types.InterfaceForm, t.Form() == types.AnyForm:
		c.inner(v, off, raw)
	case t.Form() == types.SliceForm && t.Source.Item != nil && len(raw) >= 24 && uint(raw, 8) != 0:
		c.text(v, off, raw)
		if v.Kind == result.String {
			kept := v.Text
			if v.Cut {
				kept = strings.TrimSuffix(kept, d.Trailer)
			}
			byteSlice(v, t, []byte(kept), uint(raw[8:], 8))
		}
	case t.Form() == types.SliceForm && len(raw) >= 24 && uint(raw, 8) == 0:
		null(v)
	case t.Form() == types.SliceForm && len(raw) >= 24:
		n := uint(raw[8:], 8)
		v.Kind, v.Num, v.Cut = result.Array, n, n > 0
	case t.Kind == types.Array:
		v.Kind = result.Array
		n := t.Len
		if t.Elem.Size > 0 {
			n = min(n, len(raw)/t.Elem.Size)
		}
		n = min(n, maxValues-d.made)
		v.Elems = make([]result.Value, n)
		for i := range v.Elems {
			part(&v.Elems[i], t.Elem, i*t.Elem.Size)
		}
		if n < t.Len {
			v.Cut, v.Num = true, uint64(t.Len)
		}
	case t.Kind == types.Struct && t.Name != "time.Time" && t.Form() == types.NoForm:
		v.Kind, v.Type = result.Struct, t.Name
		for _, f := range t.Fields {
			if f.Name == "_" || hiddenFields[t.Name+"."+f.Name] {
				continue
			}
			if f.Type.Size > 0 && f.Offset >= len(raw) {
				v.Cut = true // so are those behind it
				break
			}
			v.Names = append(v.Names, f.Name)
			v.Elems = append(v.Elems, result.Value{})
			part(&v.Elems[len(v.Elems)-1], f.Type, f.Offset)
		}
	default:
		d.value(v, t, raw)
	}
}

// hiddenFields are the parts of contexts that only their package has a use for.
var hiddenFields = map[string]bool{
	"context.cancelCtx.mu": true, "context.cancelCtx.done": true, "context.cancelCtx.children": true,
	"context.timerCtx.timer":         true,
	"context.backgroundCtx.emptyCtx": true, "context.todoCtx.emptyCtx": true,
}

// text finds the string at an offset among those that were kept.
func (c *content) text(v *result.Value, off int, raw []byte) {
	for i := range c.nodes.Texts {
		at, most := c.nodes.Text(i)
		if uint(c.node[at:], 8) != uint64(off)+1 {
			continue
		}
		n, kept := uint(c.node[at+8:], 8), c.node[at+16:at+16+most]
		if long := c.nodes.Long; i == 0 && c.index == 0 && long > 0 {
			kept = c.b[c.nodes.Size()-long : c.nodes.Size()]
		}
		c.d.string(v, kept[:min(n, uint64(len(kept)))], n > uint64(len(kept)))
		return
	}
	if len(raw) >= 16 && uint(raw[8:], 8) == 0 {
		v.Kind = result.String
		return
	}
	unavailable(v, notRead)
}

// inner finds the node of the interface at an offset.
func (c *content) inner(v *result.Value, off int, raw []byte) {
	if len(raw) < 16 || uint(raw, 8) == 0 {
		if len(raw) < 16 {
			unavailable(v, notRead)
		} else {
			null(v)
		}
		return
	}
	for i := c.index + 1; i < c.nodes.Len; i++ {
		at := i * c.nodes.Node()
		if uint(c.b[at+16:], 8) == uint64(c.index)<<32|uint64(off+1) && uint(c.b[at:], 8) != 0 {
			c.dynamic.node(v, i)
			return
		}
	}
	unavailable(v, notRead)
}
