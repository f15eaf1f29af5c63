package result

import (
	"reflect"
	"strings"
	"testing"
)

// TestEventTypes looks that each type of event is in the list once, with a number of its own.
func TestEventTypes(t *testing.T) {
	seen := map[eventKind]string{}
	for _, e := range EventTypes() {
		name := reflect.TypeOf(e).Elem().Name()
		if other, twice := seen[e.kind()]; twice {
			t.Errorf("%s and %s have the same number", other, name)
		}
		seen[e.kind()] = name
		if reflect.TypeOf(e).Elem().Field(0).Type != reflect.TypeFor[Head]() {
			t.Errorf("%s does not begin with a Head", name)
		}
		e.Common().Action = 7
		if got := reflect.ValueOf(e).Elem().Field(0).Interface().(Head).Action; got != 7 {
			t.Errorf("%s: Common is not its head", name)
		}
		if err := UnknownEvent("x", e); !strings.HasSuffix(err.Error(), "*result."+name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if len(seen) != int(kindEnd) {
		t.Errorf("%d types of events in the list, %d numbers", len(seen), kindEnd)
	}
}

func TestDiagnosticText(t *testing.T) {
	at := Position{File: "stdin", Line: 1, Col: 5, EndLine: 1, EndCol: 8, Source: []string{"one two"}, Marks: "    ~~~"}
	several := Position{File: "stdin", Line: 1, Col: 5, EndLine: 2, EndCol: 3, Source: []string{"one two", "three"}}
	macro := at
	macro.Expanded = []Position{{
		File: "lib.bt", Line: 3, Col: 1, EndLine: 3, EndCol: 2, Source: []string{"m()"},
		Marks: "~",
	}}
	for _, tt := range []struct {
		d    Diagnostic
		want string
	}{
		{Diagnostic{Text: "bad"}, "ERROR: bad\n"},
		{Diagnostic{Severity: Info, Text: "so"}, "INFO: so\n"},
		{Diagnostic{Severity: 9, Text: "so"}, "SEVERITY 9: so\n"},
		{Diagnostic{Severity: Warning, Text: "odd", At: several}, "stdin:1-2: WARNING: odd\none two\nthree\n"},
		{
			Diagnostic{
				Text: "bad", At: macro, Hints: []string{"do"},
				Notes: []Note{{Text: "fact"}, {Text: "other", At: Position{File: "x", Line: 1, Col: 1, EndLine: 1, EndCol: 2}}},
			},
			"stdin:1:5-8: ERROR: bad\none two\n    ~~~\nNOTE: fact\nx:1:1-2: ERROR: other\nHINT: do\n" +
				"lib.bt:3:1-2: ERROR: expanded from\nm()\n~\n",
		},
	} {
		if got := tt.d.String(); got != tt.want {
			t.Errorf("got\n%swant\n%s", got, tt.want)
		}
	}
	d := Diagnostic{Text: "bad", At: at}
	want := "\x1b[1mstdin:1:5-8:\x1b[0m \x1b[31mERROR:\x1b[0m bad\none two\n    \x1b[31m~~~\x1b[0m\n"
	if got := string(d.AppendText(nil, true)); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
