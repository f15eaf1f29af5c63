package objfile

import (
	"bytes"
	"errors"
	"runtime/debug"
	"unsafe"
)

// ErrTruncated is returned when a file was cut short while it was read.
var ErrTruncated = errors.New("the file was cut short while it was read")

// Guard turns the fault of reading a mapped page that is no longer there (the file was truncated, a disk failed) into
// ErrTruncated. It is used as
//
//	defer objfile.Guard(&err)()
//
// around all code that touches views of a File: Bytes, Data, names inside the callback of Functions. The methods of
// this package have it already; what they return by value is copied.
func Guard(err *error) func() {
	old := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(old)
		if r := recover(); r != nil {
			// Only a memory fault has an address; anything else is a bug and goes on.
			if _, ok := r.(interface{ Addr() uintptr }); !ok {
				panic(r)
			}
			if *err == nil {
				*err = ErrTruncated
			}
		}
	}
}

// view makes a string of bytes without copying.
func view(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	return unsafe.String(&b[0], len(b))
}

// cString is the NUL-terminated string at an offset of a string table, as a view; empty if it is not inside.
func cString(table []byte, off uint64) string {
	if off >= uint64(len(table)) {
		return ""
	}
	b := table[off:]
	if len(b) > maxName {
		b = b[:maxName]
	}
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return view(b[:i])
	}
	return ""
}

// maxName bounds a symbol's name. C++ and Rust make names of some kilobytes.
const maxName = 1 << 16
