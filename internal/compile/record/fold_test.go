package record

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"trocar/internal/binary/types"
	"trocar/result"
)

// TestFold: the values of all CPUs as one mean what they mean together.
func TestFold(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	d := &Decoder{}
	for _, typ := range []*types.Type{
		types.AggOf(types.Count, false), types.AggOf(types.Sum, true), types.AggOf(types.Min, true),
		types.AggOf(types.Max, false),
		types.AggOf(types.Avg, true), types.AggOf(types.Stats, false), types.HistOf(0), types.LHistOf(0, 100, 10),
		types.TInt64, types.TInt8, types.TUint32, types.StringOf(16),
	} {
		for _, key := range []*types.Type{nil, types.TInt64} {
			s := &Storage{Map: Map{Name: "@", Key: key, Value: typ}, Scalar: key == nil, ValueSize: typ.Size, PerCPU: true}
			for round := range 50 {
				entry := make([]byte, s.Stride()*(1+round%4))
				for i := 0; i+8 <= len(entry); i += 8 {
					binary.LittleEndian.PutUint64(entry[i:], random.Uint64N(1<<random.IntN(40))) // some are 0
				}
				var all, one result.Value
				folded := s.Fold([]byte("before"), entry)[len("before"):]
				isOne := d.MapValue(&one, s, [][]byte{folded})
				if isAll := d.MapValue(&all, s, s.CPUs(entry)); isAll != isOne || all.String() != one.String() {
					t.Fatalf("%s, scalar %v: %q of one, %q of all", typ, s.Scalar, one.String(), all.String())
				}
			}
		}
	}
}
