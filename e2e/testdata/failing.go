// Functions that return errors in each way that there is, and what can be nil.
package main

import (
	"errors"
	"fmt"
)

type node struct {
	next *node
	list []int
	by   map[string]int
	do   func()
}

//go:noinline
func only(n int) error {
	if n%2 == 1 {
		return errors.New("odd")
	}
	return nil
}

//go:noinline
func unnamed(n int) (int, error) {
	if n%3 == 0 {
		return 0, fmt.Errorf("number %d", n)
	}
	return n, nil
}

//go:noinline
func named(n int) (half int, err error) {
	if n > 4 {
		return 0, errors.New("too large")
	}
	return n / 2, nil
}

//go:noinline
func plain(n int) int { return n * 2 }

//go:noinline
func nothing(n int) { total += n }

//go:noinline
func look(x *node, v any, e error) bool { return x == nil && v == nil && e == nil }

var total int

func main() {
	for n := range 6 {
		only(n)
		unnamed(n)
		named(n)
		total += plain(n)
		nothing(n)
	}
	look(nil, nil, nil)
	look(&node{}, 1, nil)
	look(&node{list: []int{}, do: main}, nil, errors.New("e"))
	look(&node{next: &node{}, by: map[string]int{}}, "text", nil)
}
