// Functions with arguments of all kinds, in all the places where Go passes them.
package main

//lint:file-ignore U1000 what is not used has types, too

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

type color uint8

func (c color) String() string { return [...]string{"red", "green"}[c&1] }

type point struct{ X, Y int32 }

type embedded struct {
	point
	Name string
}

type node struct {
	next  *node
	kids  []*node
	table map[string]point
	Value any
	at    time.Time
}

type shape interface {
	Area(scale float64, n int) (float64, error)
	Name() string
}

type square struct{ side float64 }

//go:noinline
func (s square) Area(scale float64, n int) (float64, error) {
	return s.side * s.side * scale * float64(n), nil
}

//go:noinline
func (s square) Name() string { return "square" }

type circle struct {
	r    float64
	name string
	big  [40]int
}

//go:noinline
func (c *circle) Area(scale float64, n int) (float64, error) {
	return c.r * scale, errors.New("not exact")
}

//go:noinline
func (c *circle) Name() string { return c.name }

//go:noinline
func (c *circle) grow(by point, label string, f float32, on bool) (point, bool) {
	c.r += float64(f) + float64(grow(int(by.X)))
	return point{by.Y, by.X}, on && label != ""
}

//go:noinline
func (c circle) whole(n int) int { return n + len(c.name) + c.big[n%40] }

//go:noinline
func mixed(a int8, f float64, s string, g float32, xs []int, e error, p *point, k color) int {
	if e != nil {
		return -1
	}
	return int(a) + int(f) + len(s) + int(g) + len(xs) + int(p.X) + int(k) + grow(int(k))
}

//go:noinline
func many(a, b, c, d, e, f, g, h int, s string, i int) int {
	return a + b + c + d + e + f + g + h + len(s) + i
}

//go:noinline
func arrays(one [1]int, two [2]int, none [0]int, z struct{}, x int) int {
	return one[0] + two[1] + x + len(none)
}

//go:noinline
func unused(_ int, b string, _ float64, d int) int { return grow(d) }

//go:noinline
func leaf(a, b int) int { return a - b }

//go:noinline
func small(a bool, b uint8, c int16, d int) int { return int(c) + d }

//go:noinline
func nested(e embedded, n *node, ctx context.Context, f func(int) int, ch chan point, m map[string][]int, c complex128) int {
	return len(e.Name) + len(n.kids) + f(1) + len(ch) + len(m) + int(real(c))
}

//go:noinline
func variadic(first string, rest ...any) int { return len(first) + len(rest) + grow(1) }

type list[T any] struct{ items []T }

//go:noinline
func (l *list[T]) push(v T, n int) int {
	l.items = append(l.items, v)
	return len(l.items) + n
}

//go:noinline
func generic[T any](v T, n int) T {
	fmt.Fprint(os.Stderr, "")
	_ = n
	return v
}

//go:noinline
func grow(n int) int {
	if n <= 0 {
		return 0
	}
	var room [400]byte
	room[n%400] = 1
	return grow(n-1) + int(room[0])
}

func main() {
	c := &circle{r: 1, name: "round"}
	shapes := []shape{square{2}, c}
	sum := 0.0
	for i, s := range shapes {
		a, err := s.Area(1.5, i+3)
		sum += a
		fmt.Println(s.Name(), a, err)
	}
	p, ok := c.grow(point{1, 2}, "label", 2.5, true)
	n := mixed(-3, 2.5, "text", 1.5, []int{1, 2}, nil, &p, 1)
	n += many(1, 2, 3, 4, 5, 6, 7, 8, "stack", 9) + arrays([1]int{1}, [2]int{2, 3}, [0]int{}, struct{}{}, 4)
	n += unused(1, "b", 2, 3) + leaf(9, 4) + small(true, 2, -3, 4) + c.whole(3)
	captured := n
	n += nested(embedded{point{1, 2}, "e"}, &node{at: time.Unix(1, 0)}, context.Background(),
		func(i int) int { return i + captured }, make(chan point, 1), map[string][]int{"k": {1}}, 3i)
	n += variadic("v", 1, "two", color(1)) + (&list[string]{}).push("item", 2) + (&list[int]{}).push(7, 2) +
		generic(5, 6) + len(generic("g", 7))
	method := c.grow
	_, _ = method(point{3, 4}, "value", 1, false)
	fmt.Println(sum, p, ok, n, color(1), len(fmt.Sprint(node{}, embedded{})))
}
