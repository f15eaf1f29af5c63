// Calls from Go to C and back.
package main

/*
#include <stdlib.h>
#include <string.h>
struct pair { int x; long y; };
extern long back(long);
__attribute__((noipa)) static long sum(struct pair p, const char *s, int n) { return p.x + p.y + strlen(s) + n; }
__attribute__((noipa)) static long twice(long n) { return 2 * back(n); }
*/
import "C"

import (
	"fmt"
	"unsafe"
)

//export back
func back(n C.long) C.long { return C.long(inner(int(n), "back")) }

//go:noinline
func inner(n int, s string) int { return n + len(s) + grow(50) }

//go:noinline
func grow(n int) int {
	if n == 0 {
		return 0
	}
	var room [500]byte
	room[n%500] = 0
	return grow(n-1) + int(room[n%500])
}

func main() {
	s := C.CString("text")
	defer C.free(unsafe.Pointer(s))
	for i := range 3 {
		fmt.Println(C.sum(C.struct_pair{x: 1, y: C.long(i)}, s, -1), C.twice(C.long(i)), inner(i, "direct"))
	}
}
