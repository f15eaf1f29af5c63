// Narrow says "ready", waits for a line on stdin, calls work(0) to work(199), and says "done" and, at its end, the sum of what it returned.
// Built for 386, its first instruction means something else in 64-bit code.
package main

import (
	"bufio"
	"fmt"
	"os"
)

//go:noinline
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
