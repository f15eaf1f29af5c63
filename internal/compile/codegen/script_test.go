package codegen_test

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"

	"trocar/internal/binary/abi"
	"trocar/internal/compile/codegen"
	"trocar/internal/compile/feature"
	"trocar/internal/compile/record"
	"trocar/result"
)

// throughJSON writes a script and reads it again.
func throughJSON(t testing.TB, s *record.Script) *record.Script {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	back := new(record.Script)
	if err := json.Unmarshal(text, back); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return back
}

// TestScriptIsData: what is read back decodes as what was made.
func TestScriptIsData(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 7))
		user := &userMemory{addr: 1 << 20, bytes: make([]byte, 4096)}
		out, err := compile(randomProgram(random, user, feature.All), codegen.Options{
			Features: feature.All, Arch: abi.AMD64,
			CPUs: 2,
		})
		if err != nil {
			continue // too big
		}
		if err := out.Check(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		back := throughJSON(t, &out.Script)
		if !reflect.DeepEqual(&out.Script, back) {
			t.Fatalf("seed %d: %+v\nread back: %+v", seed, out.Script, *back)
		}
		bytesOf := func(n int) []byte {
			b := make([]byte, n)
			for i := range b {
				b[i] = byte(random.Uint32())
			}
			return b
		}
		d := record.Decoder{Trailer: ".."}
		for i, l := range out.Layouts {
			rec := bytesOf(l.Size + 8*random.IntN(40))
			for _, a := range l.Args {
				if a.Dynamic {
					rec[a.Offset], rec[a.Offset+1], rec[a.Offset+2], rec[a.Offset+3] = byte(random.IntN(40)), 0, 0, 0
				}
			}
			one, ok := d.Record(l, rec, nil)
			two, same := d.Record(back.Layouts[i], rec, nil)
			if ok != same || !reflect.DeepEqual(one, two) {
				t.Errorf("seed %d, record %d: %v, read back: %v", seed, i, one, two)
			}
		}
		for i := range out.Storage {
			var one, two result.Value
			value := bytesOf(8 + (out.Storage[i].ValueSize+7)&^7)
			ok := d.MapValue(&one, &out.Storage[i], [][]byte{value})
			same := d.MapValue(&two, &back.Storage[i], [][]byte{value})
			if ok != same || !reflect.DeepEqual(one, two) {
				t.Errorf("seed %d, map %d: %v, read back: %v", seed, i, one, two)
			}
		}
	}
}
