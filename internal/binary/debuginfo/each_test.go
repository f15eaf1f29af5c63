package debuginfo

import (
	"fmt"
	"sync"
	"testing"
)

// TestEach asks about all functions at a time and one by one: the answers are the same, however the debug info is
// stored.
func TestEach(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		plainO0, plainO2, clangO2, bookO2v4, clbookO2, rustO2, goProgram,
		gcc5 + "-gz=zlib " + plainC,
		gxx5 + "-gsplit-dwarf " + shelfCpp,
		gxx5 + "-gsplit-dwarf -fdebug-types-section " + shelfCpp,
		gxx5 + shelfCpp + "|cp $BASE $OUT && cp $BASE other && dwz -m common.debug $OUT other",
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			in := open(t, build(t, command))
			var addrs []uint64
			var want []string
			tell := func(in *Info, fn *Function) string {
				p, err := in.Prototype(fn)
				if err != nil {
					t.Error(err)
				}
				n, err := in.CopyCount(fn)
				if err != nil {
					t.Error(err)
				}
				return fmt.Sprintf("%s %s:%d %d %v %v", p, fn.File, fn.Line, n, fn.Ranges, fn.Inlined)
			}
			if err := in.Functions(func(fn *Function) bool {
				addrs = append(addrs, fn.Entry, fn.Entry+1, 1)
				want = append(want, tell(in, fn), "", "")
				return true
			}); err != nil {
				t.Fatal(err)
			}
			if len(want) < 10 {
				t.Fatalf("only %d functions", len(want)/3)
			}
			got := make([]string, len(want))
			// Of another Info, so that nothing has been read yet.
			if err := open(t, build(t, command)).Each(addrs,
				func(own *Info, i int, fn *Function) { got[i] = tell(own, fn) }); err != nil {
				t.Fatal(err)
			}
			for i := range want {
				if got[i] != want[i] {
					t.Errorf("%#x: %s\nwant %s", addrs[i], got[i], want[i])
				}
			}
		})
	}
}

// TestEachTwice runs two at a time on one Info.
func TestEachTwice(t *testing.T) {
	t.Parallel()
	in := open(t, build(t, bookO2))
	var addrs []uint64
	if err := in.Functions(func(fn *Function) bool { addrs = append(addrs, fn.Entry); return true }); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var counts [2]struct {
		sync.Mutex
		n int
	}
	for i := range counts {
		wg.Go(func() {
			err := in.Each(addrs, func(own *Info, _ int, fn *Function) {
				if _, err := own.CopyCount(fn); err != nil {
					t.Error(err)
				}
				counts[i].Lock()
				counts[i].n++
				counts[i].Unlock()
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if counts[0].n != len(addrs) || counts[1].n != len(addrs) {
		t.Errorf("%d and %d of %d", counts[0].n, counts[1].n, len(addrs))
	}
}
