package debuginfo

import "trocar/internal/binary/types"

// Kinds in DW_AT_go_kind are those of reflect.Kind.
const (
	goChan          = 18
	goFunc          = 19
	goInterface     = 20
	goMap           = 21
	goSlice         = 23
	goString        = 24
	goUnsafePointer = 26
)

// goDictionary is the name of the parameter by which a shared instance of a generic function is given its dictionary.
const goDictionary = ".dict"

// Added tells a parameter of a name that is not in the source; before tells whether another one has the name. Go's
// compiler lists the dictionary, in code without optimization, and twice what a closure captures.
func Added(lang types.Language, name string, before bool) bool {
	return lang == types.Go && (name == goDictionary || name != "" && name != "_" && before)
}

// goTypedef makes the type of a Go typedef: maps, channels and interfaces are typedefs of what the runtime makes of
// them, all other named types are typedefs of a type of the same name.
func (c *converter) goTypedef(d *die, inner *types.Type, name string, depth int) *types.Type {
	kind, ok := d.num(atGoKind)
	runtimeType, _ := d.num(atGoRuntimeType)
	dict, hasDict := d.num(atGoDictIndex)
	if hasDict && dict < 1<<20 {
		return inner.Derive(func(t *types.Type) { t.Source.DictIndex = int(dict) + 1 })
	}
	if !ok {
		return inner
	}
	form := types.NoForm
	switch kind {
	case goMap:
		form = types.MapForm
	case goChan:
		form = types.ChannelForm
	case goInterface:
		form = types.InterfaceForm
		if inner.Name == "runtime.eface" {
			form = types.AnyForm
		}
	default:
		return inner
	}
	var key, item *types.Type
	if v, ok := d.get(atGoKey); ok {
		key = c.ref(d.u, v, false, depth)
	}
	if v, ok := d.get(atGoElem); ok {
		item = c.ref(d.u, v, false, depth)
	}
	return inner.Derive(func(t *types.Type) {
		s := t.Source
		t.Name, s.Form, s.RuntimeType, s.Key, s.Item = name, form, runtimeType, key, item
	})
}
