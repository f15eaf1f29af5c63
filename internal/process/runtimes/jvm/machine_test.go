package jvm

import (
	"bytes"
	"encoding/binary"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/types"
	"trocar/internal/process/runtimes/remote"
)

func TestParameters(t *testing.T) {
	for d, want := range map[string]string{
		"()V":                       "() V",
		"(Ljava/lang/String;I)J":    "(String,int) J",
		"([[JLa/B$C;Z)[I":           "(long[][],B$C,boolean) [I",
		"([Ljava/lang/String;BCSFD": "",
		"(":                         "", "": "", "V": "", "(X)V": "", "([)V": "", "(L)V": "", "(I)": "", "00": "", "IV": "",
	} {
		list, result := parameters(d)
		got := "(" + shortNames(list) + ") " + result
		if result == "" {
			got = ""
		}
		if got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
	if got := typeName("[Ljava/util/Map$Entry;"); got != "java.util.Map$Entry[]" {
		t.Error(got)
	}
}

// TestUnsigned5 reads numbers as the virtual machine writes them, in both forms.
func TestUnsigned5(t *testing.T) {
	write := func(n, excluded uint64) (b []byte) {
		low := 256 - 64 - excluded
		for len(b) < 4 && n >= low {
			n -= low
			b = append(b, byte(excluded+low+n%64))
			n /= 64
		}
		return append(b, byte(excluded+n))
	}
	for _, excluded := range []uint64{0, 1} {
		for _, n := range []uint64{0, 1, 190, 191, 192, 254, 255, 256, 12000, 1 << 20, 1 << 27} {
			text := append(write(n, excluded), 7)
			if got := unsigned5(&text, excluded); got != n || len(text) != 1 {
				t.Errorf("%d: %d, %d bytes are left", n, got, len(text))
			}
		}
	}
	short := []byte{0xff, 0xff}
	unsigned5(&short, 1)
	if short != nil {
		t.Error("a number was read that does not end")
	}
}

// variables is what is constant of a method: six words of 16 bits for each variable, and tables behind them.
func TestParameterNames(t *testing.T) {
	const base, pool, symbol = 0x10000, 0x20000, 0x30000
	space := make([]byte, 0x40000)
	put := func(at int, words ...uint16) int {
		for _, w := range words {
			binary.LittleEndian.PutUint16(space[at:], w)
			at += 2
		}
		return at
	}
	v := &machine{arch: abi.AMD64, entries: 16, m: remote.New(bytes.NewReader(space), remote.Seconds)}
	v.off[constSize], v.off[constFlags], v.off[poolOf], v.off[body], v.off[length] = 8, 12, 16, 2, 0
	for i, name := range []string{"this", "first", "later"} {
		at := symbol + 64*i
		put(at, uint16(len(name)))
		copy(space[at+2:], name)
		binary.LittleEndian.PutUint64(space[pool+16+8*(i+1):], uint64(at))
	}
	binary.LittleEndian.PutUint64(space[base+16:], pool)
	// Two checked exceptions, three variables, of which one begins later; a generic signature; annotations of one kind.
	at := put(base+24, 0, 9, 1, 0, 0, 0, 0, 9, 2, 0, 0, 1, 4, 5, 3, 0, 0, 2, 3)
	at = put(at, 1, 1, 1, 1, 1) // a handler
	at = put(at, 7, 7, 2)
	at = put(at, 9)
	end := (at - base + 8 + 7) &^ 7
	copy(space[base+end-8-(at-base-24):], space[base+24:at])
	put(base+8, uint16(end/8))
	put(base+12, 2|4|8|16|128)
	got := v.parameterNames(base)
	if len(got) != 2 || got[0] != "this" || got[1] != "first" {
		t.Errorf("%v", got)
	}
}

// FuzzMachine reads methods from memory that is anything.
func FuzzMachine(f *testing.F) {
	f.Add(int64(1), []byte("abc"))
	f.Fuzz(func(t *testing.T, seed int64, patch []byte) {
		// Addresses that lead to other places of it.
		r := rand.New(rand.NewSource(seed))
		space := make([]byte, 8<<10)
		for i := 0; i+8 <= len(space); i += 8 {
			binary.LittleEndian.PutUint64(space[i:], uint64(r.Intn(len(space))))
		}
		copy(space[r.Intn(len(space)):], patch)
		v := &machine{arch: abi.AMD64, entries: 16, m: remote.New(bytes.NewReader(space), remote.Seconds)}
		v.known, v.typed = map[uint64]string{}, map[string]*types.Type{}
		for i := range v.off {
			v.off[i] = uint64(8 * r.Intn(12))
		}
		for i := range v.cache.off {
			v.cache.off[i] = uint64(8 * r.Intn(12))
		}
		v.cache.block, v.cache.place = 16, 16
		n := 0
		v.classes(func(uint64) bool { n++; return n < 100 }, func(k uint64) bool {
			v.Name(k)
			return n < 100
		})
		for at := uint64(8); at < 1<<10; at += 256 {
			m := &method{at: at, constMethod: v.m.Word(at + v.off[constMethod])}
			v.look(m, "A", []string{"I", "J", "Ljava/lang/String;"})
			if _, err := v.body(m); err != nil && err != errGone {
				t.Error(err)
			}
			v.has(at, at, at+8)
			for _, v.lists = range []fieldLists{
				{stream: 8, streamed: true, known: true}, {array: 8, count: 24, super: 16, known: true},
			} {
				v.fieldOf(at, "value", "[B")
				if t := v.classType("A").Complete(); len(t.Fields) > 0 && t.Size <= t.Fields[0].Offset {
					panic("a field is behind its object")
				}
				v.named = nil
				delete(v.typed, "struct A")
			}
		}
	})
}

func FuzzParameters(f *testing.F) {
	for _, s := range []string{"(IJ)V", "([[Ljava/lang/String;Z)I", "(L;)V"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, d string) {
		list, result := parameters(d)
		if result != "" && d != "("+strings.Join(list, "")+")"+result {
			t.Errorf("%q became %q and %q", d, list, result)
		}
		if slices.Contains(list, "") {
			t.Errorf("%q has an empty parameter", d)
		}
		shortNames(list)
	})
}
