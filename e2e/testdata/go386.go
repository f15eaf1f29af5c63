// Go386 says "ready", waits for a line on stdin, calls work(0) to work(199), and says "done" and, at its end, the sum of
// what it returned. Built for 386, the first instruction of work means something else in 64-bit code.
package main

import (
	"bufio"
	"fmt"
	"os"
)

// work has no room for a stack that grows: that would come by its entry twice.
//
//go:noinline
//go:nosplit
func work(i int) int { return i + 1 }

func main() {
	fmt.Println("ready")
	bufio.NewReader(os.Stdin).ReadString('\n')
	sum := 0
	for i := range 200 {
		sum += work(i)
	}
	fmt.Println("done")
	defer fmt.Println("sum", sum)
	bufio.NewReader(os.Stdin).ReadString('\n')
}
