package code

import (
	"testing"

	"trocar/internal/binary/abi"
)

// What a function reads of an object of which rdi, or the first word on the stack, has the address.
func TestReadObject(t *testing.T) {
	const rdi = 5
	inRDI := Given{Reg: rdi}
	for _, c := range []struct {
		name     string
		given    Given
		text     []byte
		read     []int // the bytes at these offsets, below 24
		followed []int
	}{
		{"ret", inRDI, []byte{0xc3}, nil, nil},
		{"mov 8(%rdi),%rax; ret", inRDI, []byte{0x48, 0x8b, 0x47, 0x08, 0xc3}, []int{8, 9, 10, 11, 12, 13, 14, 15}, nil},
		{
			"movl $0,8(%rdi); mov 8(%rdi),%rax", inRDI,
			[]byte{0xc7, 0x47, 0x08, 0, 0, 0, 0, 0x48, 0x8b, 0x47, 0x08, 0xc3},
			[]int{12, 13, 14, 15},
			nil,
		},
		{"mov %rdi,%rbx; movzbl (%rbx),%eax", inRDI, []byte{0x48, 0x89, 0xfb, 0x0f, 0xb6, 0x03, 0xc3}, []int{0}, nil},
		{"xor %edi,%edi; mov (%rdi),%al", inRDI, []byte{0x31, 0xff, 0x8a, 0x07, 0xc3}, nil, nil},
		{
			"mov (%rdi),%rax; movzbl (%rax),%eax", inRDI,
			[]byte{0x48, 0x8b, 0x07, 0x0f, 0xb6, 0x00, 0xc3},
			[]int{0, 1, 2, 3, 4, 5, 6, 7},
			[]int{0},
		},
		{
			"mov 8(%rsp),%rcx; cmpw $1,2(%rcx)",
			Given{Stack: true, Off: 8},
			[]byte{0x48, 0x8b, 0x4c, 0x24, 0x08, 0x66, 0x83, 0x79, 0x02, 0x01, 0xc3},
			[]int{2, 3},
			nil,
		},
		{
			"push %rdi; mov (%rsp),%rdx; mov (%rdx),%al", inRDI,
			[]byte{0x57, 0x48, 0x8b, 0x14, 0x24, 0x8a, 0x02, 0xc3},
			[]int{0},
			nil,
		},
		// It is read on one of two ways only, and on none behind where they meet with different addresses.
		{
			"test %esi,%esi; je 1f; mov 4(%rdi),%al; mov %rsi,%rdi; 1: mov (%rdi),%al", inRDI,
			[]byte{0x85, 0xf6, 0x74, 0x06, 0x8a, 0x47, 0x04, 0x48, 0x89, 0xf7, 0x8a, 0x07, 0xc3},
			[]int{4},
			nil,
		},
		// A call of what nobody knows, where it was passed, and elsewhere.
		{"call", inRDI, []byte{0xe8, 0, 0, 0, 0, 0xc3}, nil, nil},
		{
			"lea 16(%rdi),%rsi; call", inRDI,
			[]byte{0x48, 0x8d, 0x77, 0x10, 0xe8, 0, 0, 0, 0, 0xc3},
			[]int{16, 17, 18, 19, 20, 21, 22, 23},
			[]int{16, 17, 18, 19, 20, 21, 22, 23},
		},
	} {
		use, ok := ReadObject(abi.AMD64, c.text, c.given, func(_ int64, _ bool, _ int, moved bool) *ObjectUse {
			if moved {
				return AllOfIt()
			}
			return nil
		})
		if !ok {
			t.Fatal("the code is not read")
		}
		for i := range 24 {
			if got, want := use.Reads(i, 1), has(c.read, i); got != want {
				t.Errorf("%s: reads byte %d: %v", c.name, i, got)
			}
			if got, want := use.Follows(i), has(c.followed, i); got != want {
				t.Errorf("%s: follows the word at %d: %v", c.name, i, got)
			}
		}
	}
}

func has(list []int, n int) bool {
	for _, i := range list {
		if i == n {
			return true
		}
	}
	return false
}

func FuzzReadObject(f *testing.F) {
	f.Add([]byte{0x48, 0x8b, 0x07, 0x0f, 0xb6, 0x00, 0x74, 0xf8, 0xc3})
	f.Fuzz(func(_ *testing.T, text []byte) {
		ReadObject(abi.AMD64, text, Given{Reg: 5}, func(int64, bool, int, bool) *ObjectUse { return AllOfIt() })
	})
}
