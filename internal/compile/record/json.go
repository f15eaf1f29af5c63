package record

import (
	"encoding/json"
	"errors"
	"fmt"

	"trocar/internal/binary/types"
)

// The form of a Script in JSON: types are in a table and referred to by their number, so that what is one type stays
// one. Kinds, of types and of records, are the numbers of this version of trocar.

// scriptVersion is raised when the form changes, or the number of any kind.
const scriptVersion = 1

type scriptRow struct {
	Version       int
	Types         []typeRow
	Layouts       []layoutRow
	Storage       []storageRow
	Losses        []Loss
	StackSize     int
	Pythons       bool `json:",omitempty"`
	FramePointers string
	Formats       []string
}

// typeRef is 1 + the number of a type, which is less than that of any which refers to it; 0 is no type.
type typeRef int

// Fields of a row that have the name of one of what it embeds stand in its place.
type (
	typeRow struct {
		types.Type
		Elem   typeRef    `json:",omitempty"`
		Fields []fieldRow `json:",omitempty"`
		Source *sourceRow `json:",omitempty"`
	}
	fieldRow struct {
		types.Field
		Type typeRef
	}
	sourceRow struct {
		Lang     types.Language
		Form     types.Form
		Variants *variantsRow `json:",omitempty"`
	}
	variantsRow struct {
		Discr fieldRow
		List  []variantRow
	}
	variantRow struct {
		types.Variant
		Type typeRef
	}
	layoutRow struct {
		Layout
		Args []slotRow
	}
	slotRow struct {
		Slot
		Type typeRef
	}
	storageRow struct {
		Storage
		Map mapRow
	}
	mapRow struct {
		Map
		Key, Value typeRef
	}
)

// MarshalJSON writes a script that has been frozen.
func (s *Script) MarshalJSON() ([]byte, error) {
	w := typeWriter{refs: map[*types.Type]typeRef{}}
	row := scriptRow{
		Version: scriptVersion, Losses: s.Losses, Formats: s.Formats, StackSize: s.StackSize, Pythons: s.Pythons,
		FramePointers: s.FramePointers,
	}
	for _, l := range s.Layouts {
		lr := layoutRow{Layout: *l}
		for _, a := range l.Args {
			lr.Args = append(lr.Args, slotRow{Slot: a, Type: w.ref(a.Type)})
		}
		row.Layouts = append(row.Layouts, lr)
	}
	for _, st := range s.Storage {
		m := mapRow{Map: st.Map, Key: w.ref(st.Map.Key), Value: w.ref(st.Map.Value)}
		row.Storage = append(row.Storage, storageRow{Storage: st, Map: m})
	}
	if w.err != nil {
		return nil, w.err
	}
	row.Types = w.rows
	return json.Marshal(&row)
}

type typeWriter struct {
	rows []typeRow
	refs map[*types.Type]typeRef // -1: it is being written
	err  error
}

func (w *typeWriter) ref(t *types.Type) typeRef {
	if t == nil {
		return 0
	}
	if r, ok := w.refs[t]; ok {
		if r < 0 {
			w.err = fmt.Errorf("the type %s holds itself: it was not frozen", t.Name)
		}
		return r
	}
	w.refs[t] = -1
	row := typeRow{Type: *t, Elem: w.ref(t.Elem)}
	for _, f := range t.Fields {
		row.Fields = append(row.Fields, w.field(f))
	}
	if s := t.Source; s != nil {
		row.Source = &sourceRow{Lang: s.Lang, Form: s.Form}
		if vs := s.Variants; vs != nil {
			row.Source.Variants = &variantsRow{Discr: w.field(vs.Discr)}
			for _, v := range vs.List {
				row.Source.Variants.List = append(row.Source.Variants.List, variantRow{Variant: v, Type: w.ref(v.Type)})
			}
		}
	}
	w.rows = append(w.rows, row)
	r := typeRef(len(w.rows))
	w.refs[t] = r
	return r
}

func (w *typeWriter) field(f types.Field) fieldRow { return fieldRow{Field: f, Type: w.ref(f.Type)} }

// UnmarshalJSON reads what MarshalJSON wrote. Text of other origin gives an error, or a script by which a Decoder
// decodes something: it never reads beyond a record.
func (s *Script) UnmarshalJSON(text []byte) error {
	var row scriptRow
	if err := json.Unmarshal(text, &row); err != nil {
		return err
	}
	if row.Version != scriptVersion {
		return fmt.Errorf("layouts of records in the form of version %d, this program knows version %d",
			row.Version, scriptVersion)
	}
	r := typeReader{rows: row.Types}
	for i := range row.Types {
		r.types = append(r.types, r.read(i))
	}
	out := Script{
		Losses: row.Losses, Formats: row.Formats, StackSize: row.StackSize, Pythons: row.Pythons,
		FramePointers: row.FramePointers,
	}
	for i := range row.Layouts {
		lr := &row.Layouts[i]
		l := lr.Layout
		l.Args = nil
		for _, a := range lr.Args {
			a.Slot.Type = r.typ(a.Type)
			l.Args = append(l.Args, a.Slot)
		}
		out.Layouts = append(out.Layouts, &l)
	}
	for _, sr := range row.Storage {
		st := sr.Storage
		st.Map = sr.Map.Map
		st.Map.Key, st.Map.Value = r.typ(sr.Map.Key), r.typ(sr.Map.Value)
		out.Storage = append(out.Storage, st)
	}
	if r.err != nil {
		return r.err
	}
	if err := out.Check(); err != nil {
		return err
	}
	*s = out
	return nil
}

type typeReader struct {
	rows  []typeRow
	types []*types.Type // those that are read
	err   error
}

// typ gives a type that was read before.
func (r *typeReader) typ(ref typeRef) *types.Type {
	if ref == 0 {
		return nil
	}
	if ref < 0 || int(ref) > len(r.types) {
		r.err = errors.New("layouts of records: a type refers to one that does not come before it")
		return nil
	}
	return r.types[ref-1]
}

func (r *typeReader) read(i int) *types.Type {
	row := &r.rows[i]
	t := row.Type
	t.Elem, t.Fields, t.Source = r.typ(row.Elem), nil, nil
	for _, f := range row.Fields {
		if t.Fields = append(t.Fields, r.field(f)); f.Type == 0 && r.err == nil {
			r.err = errors.New("layouts of records: a field has no type")
		}
	}
	if s := row.Source; s != nil {
		t.Source = &types.Source{Lang: s.Lang, Form: s.Form}
		if vs := s.Variants; vs != nil {
			t.Source.Variants = &types.Variants{Discr: r.field(vs.Discr)}
			for _, v := range vs.List {
				v.Variant.Type = r.typ(v.Type)
				t.Source.Variants.List = append(t.Source.Variants.List, v.Variant)
			}
		}
	}
	return &t
}

func (r *typeReader) field(f fieldRow) types.Field {
	f.Field.Type = r.typ(f.Type)
	return f.Field
}
