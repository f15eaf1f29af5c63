package codegen_test

import "trocar/internal/binary/types"

// goStruct makes a struct of Go whose fields lie one behind the other.
func goStruct(name string, form types.Form, fields ...types.Field) *types.Type {
	t := &types.Type{Kind: types.Struct, Name: name, Align: 8, Source: &types.Source{Lang: types.Go, Form: form}}
	for _, f := range fields {
		f.Offset = t.Size
		t.Fields = append(t.Fields, f)
		t.Size += (f.Type.Size + 7) &^ 7
	}
	return t
}

func goPointer(name string, elem *types.Type, form types.Form) *types.Type {
	p := types.PointerTo(elem, types.User)
	p.Name, p.Source = name, &types.Source{Lang: types.Go, Form: form}
	return p
}

// goKinds has a field of each kind of Go's, as its debug information describes them, with maps of both layouts.
func goKinds() *types.Type {
	field := func(name string, t *types.Type) types.Field { return types.Field{Name: name, Type: t} }
	word := &types.Type{
		Kind: types.Int, Name: "int", Size: 8, Align: 8, Signed: true,
		Source: &types.Source{Lang: types.Go},
	}
	octet := &types.Type{Kind: types.Int, Name: "uint8", Size: 1, Align: 1, Source: &types.Source{Lang: types.Go}}
	address := goPointer("unsafe.Pointer", types.TVoid, types.UnsafeForm)
	text := goStruct("string", types.StringForm, field("str", goPointer("*uint8", octet, types.NoForm)),
		field("len", word))
	face := goStruct("error", types.InterfaceForm, field("tab", address), field("data", address))
	empty := goStruct("interface {}", types.AnyForm, field("_type", address), field("data", address))
	slice := func(elem *types.Type) *types.Type {
		t := goStruct("[]"+elem.Name, types.SliceForm, field("array", goPointer("*"+elem.Name, elem, types.NoForm)),
			field("len", word), field("cap", word))
		t.Source.Item = elem
		return t
	}
	of := func(header, key, value *types.Type) *types.Type {
		t := goPointer("map["+key.Name+"]"+value.Name, header, types.MapForm)
		t.Source.Key, t.Source.Item = key, value
		return t
	}
	swiss := func(key, value *types.Type) *types.Type {
		slot := goStruct("slot", types.NoForm, field("key", key), field("elem", value))
		group := goStruct("group", types.NoForm, field("ctrl", types.TUint64), field("slots", types.ArrayOf(slot, 8)))
		groups := goStruct("groups", types.NoForm, field("data", goPointer("*group", group, types.NoForm)),
			field("lengthMask", types.TUint64))
		table := goStruct("table", types.NoForm, field("used", word), field("index", word), field("groups", groups))
		dir := goPointer("**table", goPointer("*table", table, types.NoForm), types.NoForm)
		return of(goStruct("map", types.NoForm, field("used", types.TUint64), field("seed", word), field("dirPtr", dir),
			field("dirLen", word)), key, value)
	}
	old := func(key, value *types.Type) *types.Type {
		bucket := goStruct("bucket", types.NoForm, field("tophash", types.ArrayOf(octet, 8)),
			field("keys", types.ArrayOf(key, 8)),
			field("values", types.ArrayOf(value, 8)), field("overflow", address))
		buckets := goPointer("*bucket", bucket, types.NoForm)
		return of(goStruct("hash", types.NoForm, field("count", word), field("flags", octet), field("B", octet),
			field("buckets", buckets), field("oldbuckets", buckets)), key, value)
	}
	header := goStruct("hchan", types.NoForm, field("qcount", word), field("dataqsiz", word),
		field("closed", types.TUint32))
	function := goPointer("func()", &types.Type{Kind: types.Func, Name: "func()"}, types.ClosureForm)
	leaf := goStruct("main.leaf", types.NoForm, field("Name", text), field("N", word), field("Err", face))
	return goStruct("main.kinds", types.NoForm,
		field("Err", face), field("Any", empty), field("New", swiss(text, leaf)), field("Old", old(word, text)),
		field("Chan", goPointer("chan int", header, types.ChannelForm)), field("Func", function),
		field("Bytes", slice(octet)),
		field("Texts", slice(text)), field("Leaf", goPointer("*main.leaf", leaf, types.NoForm)), field("Errs", slice(face)))
}
