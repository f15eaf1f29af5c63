package dotnet

import (
	"fmt"
	"strings"
	"testing"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/clr"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
	"trocar/internal/process/runtimes"
)

func assembly(t testing.TB, path string) *Code {
	t.Helper()
	f, err := objfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	c := openCode(runtimes.File{Object: f}).(*Code)
	t.Cleanup(func() {
		_ = c.Close()
		_ = f.Close()
	})
	return c
}

// show is what is known of the arguments and result of a method: "name type place".
func show(t testing.TB, c *Code, name string, own, args []clr.Type) []string {
	t.Helper()
	im := c.image
	number, ok := im.MethodNamed(name)
	if !ok {
		t.Fatalf("no method %s", name)
	}
	m := method{body: clr.Body{Method: number}}
	m.sig, _ = im.Signature(number)
	placeIn(abi.AMD64, im, &m, &loader{code: c, image: im, own: own, method: args})
	var out []string
	for _, v := range append(m.params, *m.result) {
		place := v.Place.Why
		switch v.Place.Kind {
		case types.InRegister:
			place, _ = abi.AMD64.ScriptName(v.Place.Reg)
		case types.InMemory:
			place = fmt.Sprintf("[%d%+d]", v.Place.Reg, v.Place.Offset)
		case types.InPieces:
			place = fmt.Sprintf("%d pieces", len(v.Place.Pieces))
		}
		out = append(out, v.Name+" "+types.Declare(v.Type, "")+" "+place)
	}
	return out
}

func TestPlaces(t *testing.T) {
	c := assembly(t, "../../../binary/clr/testdata/shapes.dll")
	canon, integer := []clr.Type{{Element: clr.Canonical}}, []clr.Type{{Element: clr.Int32}}
	for _, test := range []struct {
		name      string
		own, args []clr.Type
		want      []string
	}{
		{name: "Depot.Store::Has(string,Unit,Size,char)", want: []string{
			"name string di", "unit Unit si", "size Size dx", "mark char cx", "retval bool ax",
		}},
		{name: "Depot.Store::Move(int,int)", want: []string{
			"this Depot.Store * di", "from int si", "to int dx", "retval long ax",
		}},
		{name: "Depot.Store::Move(int,int,Dictionary<string,int[,]>)", want: []string{
			"this Depot.Store * di", "from int si", "to int dx", "seen Dictionary<string,int[,]> * cx", "retval long ax",
		}},
		{name: "Depot.Store::.ctor(int)", want: []string{
			"this Depot.Store * di", "room int si", "retval results 0 pieces",
		}},
		// Code that reference types share: where the object doesn't tell the instance, an argument does.
		{name: "Depot.Shelf<T>::Put(T,string)", own: canon, want: []string{
			"this Depot.Shelf<T> * di", "item object * si", "label string dx", "retval object * ax",
		}},
		{name: "Depot.Shelf<T>::All<U>(U[],int&)", own: integer, args: canon, want: []string{
			"from __Canon[] si", "count int * dx", "retval List<__Canon> * ax",
		}},
		{name: "Depot.Shelf<T>::All<U>(U[],int&)", own: integer, args: integer, want: []string{
			"from int[] di", "count int * si", "retval List<int> * ax",
		}},
	} {
		got := show(t, c, test.name, test.own, test.args)
		if strings.Join(got, "\n") != strings.Join(test.want, "\n") {
			t.Errorf("%s:\n%s\nwant\n%s", test.name, strings.Join(got, "\n"), strings.Join(test.want, "\n"))
		}
	}
}

// TestKnownValues: value types of .NET's own library are passed as they are declared there, and behind one whose size
// is not known nothing is told.
func TestKnownValues(t *testing.T) {
	c := assembly(t, "testdata/values.dll")
	const order = "in which order the runtime has the fields of Pair is not known"
	const unknown = "whether its result is passed by address is not known: " + order
	for name, want := range map[string][]string{
		"Depot.Order::Until(DateTime,Guid,Decimal,Nullable<int>,CancellationToken,string)": {
			"from DateTime di", "id Guid 2 pieces", "price Decimal 2 pieces", "most Nullable<int> r9",
			"stop CancellationToken [7+8]", "who string [7+16]", "retval Nullable<TimeSpan> 2 pieces",
		},
		"Depot.Order::Few(Nullable<bool>,Nullable<DateTime>,char)": {
			"known Nullable<bool> di", "at Nullable<DateTime> 2 pieces", "mark char cx", "retval bool ax",
		},
		// Two numbers and a reference within a struct: 24 bytes if they stay in order, 16 if they do not.
		"Depot.Order::Mixed(Pair,string)": {
			"this Depot.Order * di", "pair Pair " + unknown, "who string " + unknown, "retval ? " + order,
		},
	} {
		got := show(t, c, name, nil, nil)
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}
