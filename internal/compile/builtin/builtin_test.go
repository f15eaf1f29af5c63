package builtin

import (
	"strings"
	"testing"
)

// TestTable: each ID has one entry, each name one meaning, and each entry tells what the reference shows.
func TestTable(t *testing.T) {
	entries := map[ID]int{}
	names := map[string]ID{}
	for _, f := range All() {
		if f.ID == None || f.ID >= NumIDs {
			t.Errorf("%v has the ID %d", f.Names, f.ID)
		}
		entries[f.ID]++
		for _, n := range f.Names {
			if other, ok := names[n]; ok {
				t.Errorf("%s is %v and %v", n, other, f.ID)
			}
			names[n] = f.ID
			if Lookup(n) != f {
				t.Errorf("Lookup(%q) is another entry than %v", n, f.ID)
			}
		}
		if f.Doc == "" || !strings.HasSuffix(strings.TrimRight(f.Doc, ")|"), ".") && !strings.HasSuffix(f.Doc, " |") {
			t.Errorf("%v: the documentation is no sentence: %q", f.ID, f.Doc)
		}
		if len(f.Variants) == 0 {
			t.Errorf("%v shows no signature", f.ID)
		}
		if f.Max >= 0 && f.Max < f.Min {
			t.Errorf("%v takes at least %d arguments and at most %d", f.ID, f.Min, f.Max)
		}
	}
	for id := None + 1; id < NumIDs; id++ {
		if entries[id] != 1 {
			t.Errorf("%d entries for %v (%d)", entries[id], id, id)
		}
	}
}

func TestLookup(t *testing.T) {
	for name, want := range map[string]ID{
		"pid": PID, "arg0": ArgN, "arg17": ArgN, "argN": ArgN, "__builtin_arch": Arch, "__builtin_pid": PID,
		"arg": None, "argx": None, "arg1000": None, "nothing": None,
	} {
		got := None
		if f := Lookup(name); f != nil {
			got = f.ID
		}
		if got != want {
			t.Errorf("Lookup(%q) is %v, want %v", name, got, want)
		}
	}
}
