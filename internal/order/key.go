package order

import (
	"math/bits"
	"sort"
)

// ByKey sorts a list by a number of each element, and elements with the same number by compare, without which they are
// left in any order. It sorts in place, byte by byte of the numbers: large lists take a third of the time that
// comparing takes.
func ByKey[T any](list []T, key func(*T) uint64, compare func(a, b *T) int) {
	r := radix{
		key:  func(i int) uint64 { return key(&list[i]) },
		swap: func(i, j int) { list[i], list[j] = list[j], list[i] },
	}
	if compare != nil {
		r.less = func(i, j int) bool { return compare(&list[i], &list[j]) < 0 }
	}
	r.sort(0, len(list))
}

// few elements are sorted by comparing.
const few = 24

// radix sorts what it knows only by number ("American flag sort": McIlroy, Bostic and McIlroy, Engineering Radix Sort).
type radix struct {
	key  func(i int) uint64
	less func(i, j int) bool
	swap func(i, j int)
}

func (r *radix) sort(low, high int) {
	if high-low <= few {
		r.insert(low, high)
		return
	}
	first, differ := r.key(low), uint64(0)
	inOrder := true
	for i, last := low+1, first; i < high; i++ {
		k := r.key(i)
		differ |= k ^ first
		inOrder = inOrder && last <= k
		last = k
	}
	if differ == 0 {
		if r.less != nil {
			sort.Sort(part{r, low, high - low})
		}
		return
	}
	if inOrder {
		r.runs(low, high)
		return
	}
	shift := (bits.Len64(differ) - 1) &^ 7
	var next, end [256]int
	for i := low; i < high; i++ {
		end[byte(r.key(i)>>shift)]++
	}
	at := low
	for b, n := range end {
		next[b] = at
		at += n
		end[b] = at
	}
	for b := range end {
		for next[b] < end[b] {
			if c := byte(r.key(next[b]) >> shift); int(c) == b {
				next[b]++
			} else {
				r.swap(next[b], next[c])
				next[c]++
			}
		}
	}
	at = low
	for _, to := range end {
		r.sort(at, to)
		at = to
	}
}

// runs sorts elements with the same number where the numbers are in order.
func (r *radix) runs(low, high int) {
	if r.less == nil {
		return
	}
	for i := low; i < high; {
		j := i + 1
		for k := r.key(i); j < high && r.key(j) == k; j++ {
		}
		if j-i > 1 {
			sort.Sort(part{r, i, j - i})
		}
		i = j
	}
}

func (r *radix) insert(low, high int) {
	for i := low + 1; i < high; i++ {
		k := r.key(i)
		for j := i; j > low; j-- {
			if before := r.key(j - 1); before < k || before == k && (r.less == nil || !r.less(j, j-1)) {
				break
			}
			r.swap(j, j-1)
		}
	}
}

// part is elements with the same number.
type part struct {
	*radix
	low, n int
}

func (p part) Len() int           { return p.n }
func (p part) Less(i, j int) bool { return p.less(p.low+i, p.low+j) }
func (p part) Swap(i, j int)      { p.swap(p.low+i, p.low+j) }
