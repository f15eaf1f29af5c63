// Writes its own call stacks, as its runtime sees them: of goroutines, in deferred functions, and where C has called back.
package main

/*
#include <stdlib.h>
extern void goCallback(void*);
static void bridge(void *p) { goCallback(p); }
static int ccompare(const void *a, const void *b) { goCallback((void*)a); return *(int*)a - *(int*)b; }
static void sorting(void) { int v[] = {3,1,2}; qsort(v, 3, sizeof v[0], ccompare); }
*/
import "C"

import (
	"fmt"
	"runtime"
	"strings"
	"unsafe"
)

//go:noinline
func leaf() {
	var pcs [100]uintptr
	n := runtime.Callers(1, pcs[:])
	frames := runtime.CallersFrames(pcs[:n])
	for {
		f, more := frames.Next()
		if strings.HasPrefix(f.Function, "main.") {
			fmt.Println(f.Function)
		}
		if !more {
			break
		}
	}
	fmt.Println("--")
}

//export goCallback
func goCallback(p unsafe.Pointer) { leaf() }

//go:noinline
func deep(n int, f func()) int {
	var big [200]byte
	big[n%200] = byte(n)
	if n == 0 {
		f()
		return 1
	}
	return deep(n-1, f) + int(big[n%200])
}

type thing struct{ n int }

//go:noinline
func (t *thing) method() {
	defer func() {
		_ = recover()
		leaf()
	}()
	var m map[string]int
	m["x"] = t.n
}

func main() {
	deep(5, leaf)
	done := make(chan bool)
	go func() { deep(30, leaf); done <- true }()
	<-done
	(&thing{}).method()
	deep(3, func() { C.bridge(nil) })
	deep(3, func() { C.sorting() })
	go func() { C.sorting(); done <- true }()
	<-done
}
