package match

import (
	"testing"

	"trocar/internal/binary/debuginfo"
)

// What an error names can be written behind the variable, to choose one.
func TestUnitsOf(t *testing.T) {
	var all []debuginfo.Global
	for _, file := range []string{"/src/a.c", "/src/x/b.c", "/src/a.c", "/src/y/b.c"} {
		all = append(all, debuginfo.Global{File: file})
	}
	if got, want := unitsOf(all), "a.c, /src/x/b.c, /src/y/b.c"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
