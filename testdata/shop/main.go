// Command shop is a small program for tests of the compiler, built for each CPU.
package main

import "os"

type order struct {
	table int
	dish  string
	cents []int
}

//go:noinline
func serve(o *order, dish string, n int) (sum int) {
	for _, c := range o.cents {
		sum += c * n
	}
	return sum + len(dish)
}

func main() {
	os.Exit(serve(&order{1, "soup", []int{2}}, "soup", len(os.Args)) & 1)
}
