package dotnet

import (
	"trocar/internal/binary/clr"
	"trocar/internal/binary/types"
)

// known are value types of .NET's own library whose fields are the same in all versions from .NET 6 on, and whose
// values mean something that their fields do not say. Other assemblies refer to them by name only.
//
// The runtime orders the fields of those with references by itself: of these only the size is told.
func (l *loader) known(t *clr.Type, name string, depth int) (v value, ok bool) {
	space, own, ok := l.image.Library(t)
	if !ok {
		return value{}, false
	}
	made := func(form types.Form, fields ...types.Field) (value, bool) {
		s := &types.Type{Kind: types.Struct, Name: name, Align: 1, Source: &types.Source{Lang: types.DotNet, Form: form}}
		for _, f := range fields {
			s.Align = max(s.Align, f.Type.Align)
			f.Offset = (s.Size + f.Type.Align - 1) / f.Type.Align * f.Type.Align
			s.Size = f.Offset + f.Type.Size
			s.Fields = append(s.Fields, f)
		}
		s.Size = (s.Size + s.Align - 1) / s.Align * s.Align
		return value{t: s}, true
	}
	field := func(name string, t *types.Type) types.Field { return types.Field{Name: name, Type: t} }
	signed, unsigned := number("int", 4, true), number("uint", 4, false)
	object := reference(opaque("object"))
	switch space + "." + own {
	case "System.DateTime":
		return made(types.DotNetDateTimeForm, field("_dateData", number("ulong", 8, false)))
	case "System.TimeSpan":
		return made(types.DotNetTimeSpanForm, field("_ticks", number("long", 8, true)))
	case "System.DateOnly":
		return made(types.DotNetDateForm, field("_dayNumber", signed))
	case "System.TimeOnly":
		return made(types.DotNetTimeForm, field("_ticks", number("ulong", 8, false)))
	case "System.Guid":
		half := number("short", 2, true)
		return made(types.DotNetGuidForm, field("_a", signed), field("_b", half), field("_c", half),
			field("_d", types.ArrayOf(number("byte", 1, false), 8)))
	case "System.Decimal":
		return made(types.DotNetDecimalForm, field("_flags", signed), field("_hi32", unsigned),
			field("_lo64", number("ulong", 8, false)))
	case "System.Nullable`1":
		if len(t.Args) != 1 {
			break
		}
		of := l.typ(&t.Args[0], depth+1)
		if of.t == nil || of.t.Size == 0 || of.refs || of.t.Align == 0 {
			return value{why: "the size of " + name + " is not known"}, true
		}
		v, ok := made(types.DotNetNullableForm, field("hasValue", number("bool", 1, false)), field("value", of.t))
		v.why = of.why
		return v, ok
	case "System.Index":
		return made(types.NoForm, field("_value", signed))
	case "System.Threading.CancellationToken":
		if l.code.pid != 0 {
			break // which has all of it
		}
		v, ok := made(types.NoForm, field("_source", reference(opaque("CancellationTokenSource"))))
		v.refs = true
		return v, ok
	case "System.Memory`1", "System.ReadOnlyMemory`1", "System.Threading.Tasks.ValueTask":
		if l.code.pid != 0 {
			break
		}
		v, ok := made(types.NoForm, field("_object", object), field("_more", number("ulong", 8, false)))
		v.refs, v.why = true, "in which order the runtime has the fields of "+name+" is not known"
		return v, ok
	case "System.Span`1", "System.ReadOnlySpan`1":
		if len(t.Args) != 1 {
			break
		}
		elem := l.typ(&t.Args[0], depth+1)
		if elem.t == nil {
			elem.t = opaque("?")
		}
		return value{t: types.DotNetSpan(name, elem.t), refs: true}, true
	}
	return value{}, false
}
