package order_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"trocar/internal/order"
)

type keyed struct {
	key uint64
	at  uint32
}

func keyOf(e *keyed) uint64 { return e.key }

func byAt(a, b *keyed) int { return cmp.Compare(a.at, b.at) }

// TestByKey sorts lists of all lengths and kinds of numbers as comparing sorts them.
func TestByKey(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for name, number := range map[string]func() uint64{
		"any":       r.Uint64,
		"addresses": func() uint64 { return 0x7f0000001000 + r.Uint64N(1<<21)&^15 },
		"few":       func() uint64 { return r.Uint64N(5) },
		"equal":     func() uint64 { return 7 },
		"ends":      func() uint64 { return []uint64{0, 1, 1 << 63, ^uint64(0)}[r.IntN(4)] },
	} {
		for _, n := range []int{0, 1, 2, 23, 24, 25, 26, 300, 5000} {
			list := make([]keyed, n)
			for i := range list {
				list[i] = keyed{number(), r.Uint32N(50)}
			}
			want := slices.Clone(list)
			slices.SortFunc(want, func(a, b keyed) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.at, b.at)) })
			for range 2 { // then what is in order
				if order.ByKey(list, keyOf, byAt); !slices.Equal(list, want) {
					t.Fatalf("%s, %d: not in order", name, n)
				}
			}
			r.Shuffle(n, func(i, j int) { list[i], list[j] = list[j], list[i] })
			order.ByKey(list, keyOf, nil)
			if !slices.IsSortedFunc(list, func(a, b keyed) int { return cmp.Compare(a.key, b.key) }) {
				t.Fatalf("%s, %d: not in order of the numbers", name, n)
			}
			slices.SortFunc(list, func(a, b keyed) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.at, b.at)) })
			if !slices.Equal(list, want) {
				t.Fatalf("%s, %d: elements lost", name, n)
			}
		}
	}
}

func BenchmarkByKey(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 6))
	list := make([]keyed, 200_000)
	for i := range list {
		list[i] = keyed{0x400000 + r.Uint64N(1<<25)&^15, uint32(i)}
	}
	work := make([]keyed, len(list))
	b.Run("key", func(b *testing.B) {
		for b.Loop() {
			copy(work, list)
			order.ByKey(work, keyOf, byAt)
		}
	})
	b.Run("compare", func(b *testing.B) {
		for b.Loop() {
			copy(work, list)
			slices.SortFunc(work, func(a, b keyed) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.at, b.at)) })
		}
	})
}
