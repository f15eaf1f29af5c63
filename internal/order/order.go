// Package order sorts lists that are short or sorted once. The functions of the standard library's package slices are
// compiled anew for each type, into 5 to 12 KB of code; here that is one for all types.
package order

import "sort"

// By sorts a list; equal elements keep their order. Compare gives a number below 0, 0 or above, as cmp.Compare does.
func By[T any](list []T, compare func(a, b T) int) { sort.Stable(sorter[T]{list, compare}) }

type sorter[T any] struct {
	list    []T
	compare func(a, b T) int
}

func (s sorter[T]) Len() int           { return len(s.list) }
func (s sorter[T]) Less(i, j int) bool { return s.compare(s.list[i], s.list[j]) < 0 }
func (s sorter[T]) Swap(i, j int)      { s.list[i], s.list[j] = s.list[j], s.list[i] }
