package probe

import (
	"encoding/json"
	"reflect"
	"testing"

	"trocar/internal/binary/types"
)

// TestPointIsData writes points down and reads them back. All fields are filled, so that one which does not travel
// shows. Types are those that are complete: one that debug information completes on demand loses that by its nature.
func TestPointIsData(t *testing.T) {
	var want Point
	fill(t, reflect.ValueOf(&want).Elem(), "Point", 4)
	text, err := json.Marshal(&want)
	if err != nil {
		t.Fatal(err)
	}
	var got Point
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("a point comes back as another:\n%+v\n%+v", got, want)
	}
}

// fill gives every field of a value something else than zero. Below depth types refer to no further ones.
func fill(t *testing.T, v reflect.Value, name string, depth int) {
	t.Helper()
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(3)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(5)
	case reflect.String:
		v.SetString("text of " + name)
	case reflect.Slice:
		if depth == 0 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(t, v.Index(i), name, depth-1)
		}
	case reflect.Pointer:
		if depth == 0 {
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), name, depth-1)
	case reflect.Struct:
		for i := range v.NumField() {
			switch f := v.Type().Field(i); {
			case f.IsExported():
				fill(t, v.Field(i), f.Name, depth)
			case v.Type() == reflect.TypeFor[types.Source]() && f.Name == "complete":
			default:
				t.Errorf("%s.%s is not exported: it would be lost", v.Type(), f.Name)
			}
		}
	default:
		t.Errorf("%s is a %s, which is no data", name, v.Type())
	}
}
