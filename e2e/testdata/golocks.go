// Four goroutines that take a mutex and a lock of readers and writers in turns, and say how long each of these let them
// wait, by their own clock.
package main

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

var (
	mutex  sync.Mutex
	rwlock sync.RWMutex
	waited [2]atomic.Int64
)

//go:noinline
func hold() {
	begin := time.Now()
	mutex.Lock()
	waited[0].Add(int64(time.Since(begin)))
	time.Sleep(2 * time.Millisecond)
	mutex.Unlock()
}

//go:noinline
func read() {
	begin := time.Now()
	rwlock.RLock()
	waited[1].Add(int64(time.Since(begin)))
	time.Sleep(time.Millisecond)
	rwlock.RUnlock()
}

func main() {
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 40 {
				hold()
			}
		})
	}
	all.Wait()
	rwlock.Lock()
	for range 4 {
		all.Go(read)
	}
	time.Sleep(200 * time.Millisecond)
	rwlock.Unlock()
	all.Wait()
	fmt.Fprintf(os.Stderr, "mutex %d\nrwlock %d\n", waited[0].Load(), waited[1].Load())
}
