package objfile

import "testing"

// An exact name is no pattern.
func TestExactQuery(t *testing.T) {
	for _, c := range []struct {
		pattern, symbol string
		fits            bool
	}{
		{"put<int*>", "_Z3putIPiEiT_", true},
		{"put<int*>", "_Z3putIPPiEiT_", false},
		{"int put<int**>(int**)", "_Z3putIPPiEiT_", true},
		{"take(Item<int>*, Item<char>*)", "_Z4takeP4ItemIiEPS_IcE", true},
		{"take(Item<int>*, Item<char>*)", "_Z4takeP4ItemIiEPPS_IcE", false},
		{"main.Count[*T]", "main.Count[*T]", true},
		{"main.Count[*T]", "main.Count[*main.T]", false},
		{"put*", "put_one", false},
		{"put*", "put*", true},
	} {
		q := NewQuery(c.pattern, Exact)
		if got := q.Match(&Symbol{Name: c.symbol}); got != c.fits || q.Wildcard() {
			t.Errorf("%s, %s: %t, wildcard %t", c.pattern, c.symbol, got, q.Wildcard())
		}
	}
}
