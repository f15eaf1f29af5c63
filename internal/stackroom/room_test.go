package stackroom

import (
	"testing"
	"unsafe"
)

// TestMake: a goroutine that has made room calls deep without its stack being moved.
func TestMake(t *testing.T) {
	moved := make(chan bool)
	go func() {
		Make()
		var here byte
		before := uintptr(unsafe.Pointer(&here))
		deep(100)
		moved <- uintptr(unsafe.Pointer(&here)) != before
	}()
	if <-moved {
		t.Error("the stack was made larger again")
	}
}

// deep takes some 150 bytes of the stack for each call.
//
//go:noinline
func deep(n int) byte {
	var some [128]byte
	some[n] = byte(n)
	if n > 0 {
		some[n-1] = deep(n - 1)
	}
	return some[n/2]
}
