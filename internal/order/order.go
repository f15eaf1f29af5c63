// Package order sorts lists with one piece of code for all types: those that are short or sorted once (By), and large
// ones by a number of each element (ByKey). The functions of the standard library's package slices are compiled anew
// for each type, into 5 to 12 KB of code.
package order

import "sort"

// By sorts a list; equal elements keep their order. Compare gives a number below 0, 0 or above, as cmp.Compare does.
func By[T any](list []T, compare func(a, b T) int) {
	sort.Stable(&sorter{
		len(list),
		func(i, j int) bool { return compare(list[i], list[j]) < 0 },
		func(i, j int) { list[i], list[j] = list[j], list[i] },
	})
}

type sorter struct {
	n    int
	less func(i, j int) bool
	swap func(i, j int)
}

func (s *sorter) Len() int           { return s.n }
func (s *sorter) Less(i, j int) bool { return s.less(i, j) }
func (s *sorter) Swap(i, j int)      { s.swap(i, j) }
