package native

import (
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/code"
	"trocar/internal/binary/debuginfo"
)

// finderOf looks for the returns in code that lies at an address.
func finderOf(arch *abi.Arch, body []byte, addr uint64, owned bool) *returnFinder {
	return &returnFinder{
		arch: arch, start: addr, owned: owned, ranges: []debuginfo.Range{{Low: addr, High: addr + uint64(len(body))}},
		read:  func(at uint64, n int) []byte { return body[at-addr:][:n] },
		entry: func(code.Table) uint64 { return 0 },
	}
}

func TestReturnFinder(t *testing.T) {
	for _, c := range []struct {
		arch    *abi.Arch
		code    string
		owned   bool
		returns []uint64 // from the function's start on
		tails   int
		why     string
	}{
		{abi.AMD64, "55 7402 5d c3 5d f3c3 c20800", false, []uint64{4, 6, 8}, 0, ""},
		{abi.ARM64, "fd7bbfa9 fd7bc1a8 c0035fd6", false, []uint64{8}, 0, ""},
		{abi.AMD64, "55 7402 5d c3 5d c3", true, []uint64{4, 6}, 0, ""},
		{abi.AMD64, "7403 eb01 90 c3", true, []uint64{5}, 0, ""},
		{abi.AMD64, "7402 5d c3 e900100000", true, []uint64{3}, 1, ""},  // a jump to another function
		{abi.AMD64, "7402 5d c3 e900100000", false, []uint64{3}, 1, ""}, // a jump to another function
		{abi.AMD64, "7470 c3", true, []uint64{2}, 1, ""},                // the same on a condition
		{abi.AMD64, "7470 c3", false, nil, 0, whyConditional},
		{abi.AMD64, "ebf0", true, nil, 1, ""},                  // to before its start
		{abi.AMD64, "ffe0", true, nil, 0, ""},                  // a switch
		{abi.AMD64, "ffe0", false, nil, 1, ""},                 // it is not known where
		{abi.AMD64, "e800100000 c3", true, []uint64{5}, 0, ""}, // a call comes back
		{abi.ARM64, "00040014", true, nil, 1, ""},
		{abi.AMD64, "55 06 c3", false, nil, 0, whyUndecoded}, // an invalid byte
	} {
		body, err := hex.DecodeString(strings.ReplaceAll(c.code, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		const addr = 0x401000
		f := finderOf(c.arch, body, addr, c.owned)
		why := f.find()
		for i := range f.found.At {
			f.found.At[i] -= addr
		}
		if why != c.why || why == "" && (!slices.Equal(f.found.At, c.returns) || len(f.found.Tails) != c.tails) {
			t.Errorf("%s (Go: %v): %q, %+v", c.code, c.owned, why, f.found)
		}
	}
}

func TestJumpsWithFrame(t *testing.T) {
	const addr = 0x401000
	for _, c := range []struct {
		code, why string
		returns   int
	}{
		{"55 7403 5d c3 90 ff10 e900000000", "", 1}, // behind a call of what does not return, to the end
		{"55 7404 5d c3 9090 90", "", 1},            // the same on a condition
		{"55 7403 5d c3 90 ff10 e901000000", whyElsewhere, 0},
		{"55 7402 5d c3 ffe0", "", 1}, // a computed goto
	} {
		body, err := hex.DecodeString(strings.ReplaceAll(c.code, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		f := finderOf(abi.AMD64, body, addr, false)
		f.framed = func(uint64) bool { return true }
		if why := f.find(); why != c.why || why == "" && (len(f.found.At) != c.returns || len(f.found.Tails) != 0) {
			t.Errorf("%s: %q, %+v", c.code, why, f.found)
		}
	}
}

func TestJumpTables(t *testing.T) {
	const addr = 0x401000
	lea := "488d0df90f0000" // lea 0x402000,%rcx
	for _, c := range []struct {
		code  string
		entry uint64 // the first of the table
		tails int
		why   string
	}{
		{lea + "488b14d1 ffe2 c3", addr + 13, 0, ""},         // mov (%rcx,%rdx,8),%rdx; jmp *%rdx: to a label
		{lea + "488b14d1 ffe2 c3", 0x500000, 1, ""},          // to a function
		{lea + "488b14d1 ffe2 c3", 0, 1, ""},                 // to one that is found when the program runs
		{lea + "488b14d1 ffe2 c3", 0x500001, 0, whyComputed}, // to what is none
		{"488b07 ffe0 488d05f9ffffff c3", 0, 0, whyComputed}, // it takes the address of a label
		{"488d05f9ffffff 488b07 ffe0 c3", 0x500000, 1, ""},   // that of its own
		{"ff24f7 c3", 0, 1, ""},                              // jmp *(%rdi,%rsi,8): a table that is passed
		{"4863c6 480500104000 ffe0 c3", 0, 0, whyComputed},   // an address is added
		{"488d8600104000 ffe0 c3", 0, 0, whyComputed},        // the same by lea
		{"488d0579000000 9090 ffe0 c3", 0x500000, 1, ""},     // to a function that the code names
		{lea + "4863d2 488d0411 ffe0 c3", addr + 16, 0, ""},  // distances, added by lea
		{lea + "4863d2 4801ca ffe2 c3", 0x500000, 0, whyComputed},
	} {
		body, err := hex.DecodeString(strings.ReplaceAll(c.code, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		f := finderOf(abi.AMD64, body, addr, false)
		f.entry = func(t code.Table) uint64 {
			if t.At == 0x402000 {
				return c.entry
			}
			return 0
		}
		f.function = func(a uint64) bool { return a == 0x500000 }
		if why := f.find(); why != c.why || why == "" && (len(f.found.At) != 1 || len(f.found.Tails) != c.tails) {
			t.Errorf("%s, %#x: %q, %+v", c.code, c.entry, why, f.found)
		}
	}
}

func FuzzReturns(f *testing.F) {
	f.Add([]byte{0x55, 0x74, 0x02, 0x5d, 0xc3, 0xff, 0xe0})
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, arch := range []*abi.Arch{abi.AMD64, abi.I386, abi.ARM64} {
			for _, golang := range []bool{false, true} {
				finder := finderOf(arch, body, 0x1000, golang)
				finder.find()
				for _, at := range append(finder.found.At, finder.found.Tails...) {
					if at < 0x1000 || at >= 0x1000+uint64(len(body)) {
						t.Fatalf("a return at %#x", at)
					}
				}
			}
		}
	})
}
