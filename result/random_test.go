package result

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"time"
)

// random fills events with anything that their types allow. It goes by reflection, so a field that is added later is
// filled as well.
type random struct{ *rand.Rand }

// event is one of the type of e.
func (r random) event(e Event) Event {
	v := reflect.New(reflect.TypeOf(e).Elem())
	r.fill(v.Elem(), 0)
	return v.Interface().(Event)
}

// last are the greatest values of vocabularies.
var last = map[reflect.Type]int{
	reflect.TypeFor[Severity]():  int(Info),
	reflect.TypeFor[Kind]():      int(Times),
	reflect.TypeFor[StackMode](): int(ModeBuildID),
	reflect.TypeFor[MapKind]():   int(TimesMap),
}

func (r random) fill(v reflect.Value, depth int) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(r.time()))
		return
	}
	if n, ok := last[v.Type()]; ok {
		v.SetUint(uint64(r.IntN(n + 1)))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 1)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(r.number()))
	case reflect.Uint64:
		v.SetUint(r.number())
	case reflect.String:
		v.SetString(r.text())
	case reflect.Struct:
		for i := range v.NumField() {
			r.fill(v.Field(i), depth+1)
		}
	case reflect.Pointer:
		if mayBeNil := depth > 2 && r.IntN(2) == 0; !mayBeNil {
			v.Set(reflect.New(v.Type().Elem()))
			r.fill(v.Elem(), depth+1)
		}
	case reflect.Slice:
		if n := r.IntN(4); n > 0 && depth < 9 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				r.fill(v.Index(i), depth+1)
			}
		}
	default:
		panic(fmt.Sprintf("a field of type %v: say how it is filled", v.Type()))
	}
}

// number is 0, near 0, near the ends, or any.
func (r random) number() uint64 {
	switch r.IntN(4) {
	case 0:
		return 0
	case 1:
		return uint64(r.IntN(5) - 2)
	case 2:
		return 1<<63 + uint64(r.IntN(5)-2)
	}
	return r.Uint64()
}

// text is empty, a word that comes again, or any bytes.
func (r random) text() string {
	switch r.IntN(4) {
	case 0:
		return ""
	case 1:
		words := [...]string{"main", "std::vector<int>::push_back", "é€\U0001F600", "\xff\xfe"}
		return strings.Clone(words[r.IntN(len(words))])
	}
	b := make([]byte, r.IntN(40))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return string(b)
}

func (r random) time() time.Time {
	t := time.Unix(r.Int64N(1<<36)-1<<35, r.Int64N(1e9)).UTC()
	switch r.IntN(4) {
	case 0:
		return time.Time{}
	case 1:
		return t.In(time.FixedZone("CEST", 7200))
	case 2:
		return t.In(time.FixedZone("", -r.IntN(50000)-1))
	}
	return t
}
