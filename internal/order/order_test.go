package order_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"trocar/internal/order"
)

func TestBy(t *testing.T) {
	type pair struct{ key, at int }
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 200 {
		list := make([]pair, n)
		for i := range list {
			list[i] = pair{r.IntN(n), i}
		}
		want := slices.Clone(list)
		compare := func(a, b pair) int { return a.key - b.key }
		slices.SortStableFunc(want, compare)
		if order.By(list, compare); !slices.Equal(list, want) {
			t.Fatalf("%v, want %v", list, want)
		}
	}
}
