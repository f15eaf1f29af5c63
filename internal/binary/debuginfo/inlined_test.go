package debuginfo

import (
	"slices"
	"testing"
)

// TestIndexedCopies compares the inlined copies that an index finds with those that are found by looking for them.
func TestIndexedCopies(t *testing.T) {
	t.Parallel()
	for _, command := range []string{plainO2, bookO2, goProgram} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			path := build(t, command)
			scanned, indexed := open(t, path), open(t, path)
			indexed.copiesAsked = copiesFrom - 1
			total, n := 0, 0
			places := func(in *Info, at uint64) (list []uint64, empty int) {
				fn, err := in.FunctionAt(at)
				if err != nil {
					t.Fatal(err)
				}
				copies, empty, _, err := in.AllCopies(fn)
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range copies {
					list = append(list, c.Entry)
				}
				return list, empty
			}
			var entries []uint64
			if err := scanned.Functions(func(fn *Function) bool {
				if fn.Inlined && fn.Entry != 0 {
					entries = append(entries, fn.Entry)
				}
				return true
			}); err != nil {
				t.Fatal(err)
			}
			for _, at := range entries {
				if n++; n%(1+len(entries)/60) != 0 {
					continue
				}
				scanned.copiesAsked = 0
				want, wantEmpty := places(scanned, at)
				got, gotEmpty := places(indexed, at)
				if !slices.Equal(got, want) || gotEmpty != wantEmpty {
					t.Errorf("%#x: %#x and %d empty with an index, %#x and %d without", at, got, gotEmpty, want, wantEmpty)
				}
				total += len(want)
			}
			if len(entries) > 60 && (indexed.copies == nil || total == 0) {
				t.Errorf("%d copies of %d functions compared", total, len(entries))
			}
		})
	}
}
