// Package stackroom spares goroutines that call deep the growth of their stacks.
package stackroom

// Make makes the calling goroutine's stack 32 KB large while little is on it. Stacks are made larger step by step
// otherwise, and each function that is on them is looked up each time in tables of 5 MB: 64 KB around each place that
// was read are then memory of this process.
func Make() { room(0) }

// room is called with 0: the stack is made larger before anything is done, and its part here is not touched.
//
//go:noinline
func room(n int) byte {
	if n == 0 {
		return 0
	}
	var room [20 << 10]byte
	for i := range room {
		room[i] = byte(i)
	}
	return room[n%len(room)]
}
