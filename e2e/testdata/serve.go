// Serves HTTP to clients of its own, 400 requests in all, on goroutines whose stacks have to grow.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
)

//go:noinline
func handle(w http.ResponseWriter, r *http.Request) {
	defer done()
	fmt.Fprintf(w, "%s %d\n", r.URL.Path, grow(len(r.URL.Path)))
}

//go:noinline
func done() {}

//go:noinline
func grow(n int) int {
	if n == 0 {
		return 0
	}
	var room [300]byte
	room[n%300] = byte(n)
	return grow(n-1) + int(room[n%300])
}

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go http.Serve(l, http.HandlerFunc(handle))
	var clients sync.WaitGroup
	for range 4 {
		clients.Add(1)
		go func() {
			defer clients.Done()
			for range 100 {
				answer, err := http.Get("http://" + l.Addr().String() + "/seven")
				if err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
			}
		}()
	}
	clients.Wait()
	fmt.Println("served")
}
