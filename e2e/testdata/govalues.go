// Calls functions with arguments and results of every kind that Go has.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
	"unsafe"
)

type (
	point struct{ X, Y int32 }
	named int16
	shape struct {
		Name string
		At   point
		Tags []string
		Next *shape
	}
)

type (
	base  struct{ ID uint8 }
	outer struct {
		base
		*point
		F func(int) int
		M map[string]int
		C chan int
		E error
		W any
		T time.Time
		D time.Duration
		A [2][3]int8
		S [][]int
		Z struct{}
		R rune
		B byte
		U uintptr
		P unsafe.Pointer
		G float64
		H float32
		X complex128
	}
)

type myErr struct {
	Code int
	Msg  string
}

func (e *myErr) Error() string { return e.Msg }

type valErr struct {
	Code int
	Why  string
}

func (e valErr) Error() string { return e.Why }

type numErr int

func (e numErr) Error() string { return "num" }

type pair[K comparable, V any] struct {
	Key K
	Val V
}

//go:noinline
func ints(a int8, b int16, c int32, d int64, e uint8, f uint16, g uint32, h uint64, i int, j uint, k uintptr) {
}

//go:noinline
func bools(a, b bool, c rune, d byte, n named) {}

//go:noinline
func strs(a, b, c string) {}

//go:noinline
func floats(a float64, n int, b float32, m int) {}

//go:noinline
func cplx(a complex128, n int) {}

//go:noinline
func structs(p point, s shape, o outer) {}

//go:noinline
func ptrs(p *point, s *shape, n *point, pp **point, i *int, st *string) {}

//go:noinline
func slices(a []int, b []string, c []point, d [][]string, e []byte, f []*point, n []int, long []int, g []any, h []error) {
}

//go:noinline
func arrays(a [3]int, b [2][2]int8, c [1]string, d [2]string, e [0]int) {}

//go:noinline
func maps(
	a map[string]int, b map[int]string, c map[point]shape, d map[*point]bool, n map[string]int, big map[int]int,
	e map[string][]string, f map[any]any, s map[string]struct{},
) {
}

//go:noinline
func chans(a chan int, b chan string, c <-chan point, n chan int, cl chan int) {}

//go:noinline
func funcs(a func(int) int, n func(), c func() string) {}

//go:noinline
func times(t time.Time, u time.Time, d time.Duration, z time.Time, p *time.Time) {}

//go:noinline
func ctxs(a, b, c, d context.Context) {}

//go:noinline
func errs(a, b, c, d, e, f error, n error, typed error) {}

//go:noinline
func anys(a any, b any, c any, d any, e any, f any, g any, h any) {}

//go:noinline
func variadic(n int, rest ...string) {}

//go:noinline
func blanks(a int, _ string, _ int, b int) {}

//go:noinline
func zeros(a struct{}, b int, c [0]int, d string) {}

//go:noinline
func gen[T any](v T, n int) {}

//go:noinline
func (p pair[K, V]) get(n int) {}

//go:noinline
func (p *pair[K, V]) set(k K, v V) {}

//go:noinline
func (p point) val(n int) {}

//go:noinline
func (p *point) ref(n int) {}

//go:noinline
func res1() (m map[string]int, err error, n int, s string) {
	return map[string]int{"a": 1}, errors.New("bad"), 3, "x"
}

//go:noinline
func res2() (int, error) { return 5, nil }

//go:noinline
func res3() (a float64, b int, c *shape, d []string) { return 1.5, 2, &shape{Name: "r"}, []string{"q"} }

// The last is on the stack although it is the only one that a register alone would hold.
//
//go:noinline
func crowded(a, b, c []int16, last *point) int32 { return last.X }

//go:noinline
func nothing(n int) {}

//go:noinline
func hollow(a []struct{}, b any, c [2]struct{}) {}

//go:noinline
func unsafes(p unsafe.Pointer, u uintptr) {}

func main() {
	ints(-1, -2, -3, -4, 5, 6, 7, 1<<63, 9, 10, 11)
	bools(true, false, 'é', 'x', -5)
	strs("a\x00b", "\xff\xfe", "")
	floats(1.5, 3, 2.5, 4)
	cplx(1+2i, 3)
	next := &shape{Name: "next"}
	sh := shape{"sq", point{1, -2}, []string{"t1", "", "t3"}, next}
	n := 41
	add := func(i int) int { return n + i }
	ch := make(chan int, 5)
	ch <- 1
	ch <- 2
	tm := time.Date(2024, 2, 29, 12, 30, 15, 250, time.UTC)
	o := outer{
		base{7},
		&point{3, 4}, add,
		map[string]int{"k": 1},
		ch, errors.New("inner"),
		point{5, 6},
		tm, 1500 * time.Millisecond,
		[2][3]int8{{1, 2, 3}, {4, 5, 6}},
		[][]int{{1}, {2, 3}},
		struct{}{},
		'z', 'b', 77, unsafe.Pointer(&n), 1.25, 2.5, 1 - 1i,
	}
	structs(point{1, 2}, sh, o)
	pt := &point{8, 9}
	str := "pointed"
	ptrs(pt, &sh, nil, &pt, &n, &str)
	long := make([]int, 100)
	for i := range long {
		long[i] = i
	}
	slices([]int{1, 2}, []string{"x", ""}, []point{{1, 2}}, [][]string{{"a"}, {}}, []byte("hi"),
		[]*point{pt}, nil, long, []any{1, "s"}, []error{io.EOF})
	arrays([3]int{1, 2, 3}, [2][2]int8{{1, 2}, {3, 4}}, [1]string{"one"}, [2]string{"p", "q"}, [0]int{})
	big := map[int]int{}
	for i := range 5000 {
		big[i] = i * 2
	}
	maps(map[string]int{"x": 1, "y": 2}, map[int]string{3: "three"}, map[point]shape{{1, 2}: sh}, map[*point]bool{pt: true}, nil, big,
		map[string][]string{"h": {"v1", "v2"}}, map[any]any{"k": 1}, map[string]struct{}{"in": {}})
	cl := make(chan int)
	close(cl)
	chans(ch, make(chan string), make(chan point, 3), nil, cl)
	funcs(add, nil, tm.String)
	now := time.Now()
	fmt.Println("now", now.UTC().Format(time.RFC3339Nano))
	times(tm, now, 90*time.Second, time.Time{}, &tm)
	type key struct{}
	c1, cancel := context.WithCancel(context.Background())
	defer cancel()
	c2 := context.WithValue(c1, key{}, "val")
	c3, cancel3 := context.WithTimeout(c2, time.Hour)
	defer cancel3()
	ctxs(context.Background(), c1, c2, c3)
	_, perr := os.Open("/nonexistent")
	var nerr error = &net.OpError{
		Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1},
		Err: os.NewSyscallError("connect", syscall.ECONNREFUSED),
	}
	var tn *myErr
	errs(errors.New("plain"), fmt.Errorf("wrap: %w", io.EOF), perr, nerr, &myErr{3, "my"}, valErr{4, "val"}, nil, tn)
	anys(1, "s", point{1, 2}, pt, nil, numErr(5), []string{"a"}, map[string]int{"a": 1})
	anys(1.5, true, 'x', struct{ P *int }{&n}, add, ch, time.Second, tm)
	variadic(1, "a", "b")
	variadic(2)
	blanks(1, "b", 2, 3)
	zeros(struct{}{}, 1, [0]int{}, "s")
	gen(1, 2)
	gen("str", 3)
	gen(point{1, 2}, 4)
	gen(pt, 5)
	p := pair[string, int]{"k", 5}
	p.get(1)
	p.set("k2", 6)
	pt.val(1)
	pt.ref(2)
	res1()
	res2()
	res3()
	crowded([]int16{1}, []int16{2, 3}, nil, pt)
	nothing(7)
	hollow(make([]struct{}, 2), &struct{}{}, [2]struct{}{})
	unsafes(unsafe.Pointer(&n), 99)
}
