// Calls functions with results of many kinds, from several goroutines.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

type leaf struct {
	Name  string
	Grams int32
}

type order struct {
	Cups int
	Leaf leaf
	Note string
}

//go:noinline
func weigh(n int) int64 { return int64(n) * -7 }

//go:noinline
func label(n int) string { return strings.Repeat("tea", n) }

//go:noinline
func split(n int) (half int, rest uint8, err error) {
	if n%2 != 0 {
		return n / 2, 1, errors.New("odd leaves")
	}
	return n / 2, 0, nil
}

//go:noinline
func unnamed(n int) (int, string) { return n + 1, "second" }

//go:noinline
func mixed(n int) (a int, f float64, b bool) { return n, 1.5, n > 2 }

//go:noinline
func pick(n int) leaf { return leaf{"assam", int32(-n)} }

// Too many words for the registers: the result is on the stack, behind the arguments that are.
//
//go:noinline
func whole(n int) (o order, extra [4]int64) {
	return order{n, leaf{"darjeeling", 3}, "hot"}, [4]int64{10, 20, 30, int64(n)}
}

//go:noinline
func steep(n int) int {
	if n == 0 {
		return 0
	}
	var room [600]byte
	room[n] = 1
	return steep(n-1) + int(room[n])
}

//go:noinline
func spill(n int) (out int) {
	defer func() {
		if r := recover(); r != nil {
			out = -n
		}
	}()
	if n > 1 {
		panic("spilled")
	}
	return n
}

//go:noinline
func larger[T int | string](a, b T) T {
	if a > b {
		return a
	}
	return b
}

//go:noinline
func (l *leaf) add(n int32) int32 {
	l.Grams += n
	return l.Grams
}

//go:noinline
func each(list []string, visit func(string) int) (sum int) {
	for _, s := range list {
		sum += visit(s)
	}
	return sum
}

//go:noinline
func when(t time.Time, d time.Duration, m map[string]int, e error, any any, r io.Reader) time.Time {
	return t.Add(d)
}

// idle uses no argument: it comes back without them when its stack has grown.
//
//go:noinline
func idle(n int) { weigh(2) }

func main() {
	idle(1)
	for n := 1; n <= 3; n++ {
		weigh(n)
		label(n)
		split(n)
		unnamed(n)
		mixed(n)
		pick(n)
		whole(n)
		spill(n)
	}
	larger(3, 4)
	larger("black", "green")
	l := &leaf{"oolong", 5}
	add := l.add
	add(4)
	base := 100
	each([]string{"a", "bcd"}, func(s string) int { return base + len(s) })
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 5 {
				steep(40)
			}
		}()
	}
	wg.Wait()
	t := time.Date(2024, 2, 29, 12, 30, 15, 250, time.UTC)
	when(t, 1500*time.Millisecond, map[string]int{"x": 1, "y": 2}, fmt.Errorf("no %s", "water"), leaf{"mint", 1}, os.Stdin)
	when(t, -time.Hour, nil, nil, "text", strings.NewReader("abc"))
}
