package code

import (
	"testing"

	"trocar/internal/binary/abi"
)

// TestTakesResult looks at code behind calls.
func TestTakesResult(t *testing.T) {
	for _, c := range []struct {
		name string
		code []byte
		want bool
	}{
		{"mov eax to memory, then edx", []byte{0x89, 0x45, 0xf8, 0x89, 0x55, 0xfc}, true},
		{"test al; je; mov ecx, edx", []byte{0xa8, 0x01, 0x74, 0x05, 0x89, 0xd1}, true},
		{"cmovne eax, edx", []byte{0xa8, 0x01, 0x0f, 0x45, 0xc2}, true},
		{"lea rax, [rax+rdx*4]", []byte{0x48, 0x8d, 0x04, 0x90}, true},
		{"xor edx, edx", []byte{0x31, 0xd2, 0x89, 0xd1}, false},
		{"xor eax, edx", []byte{0x31, 0xd0}, true},
		{"mov edx, 5; mov ecx, edx", []byte{0xba, 5, 0, 0, 0, 0x89, 0xd1}, false},
		{"mov edx, eax; mov ecx, edx", []byte{0x89, 0xc2, 0x89, 0xd1}, false},
		{"mov r10d, ecx; ret", []byte{0x41, 0x89, 0xca, 0xc3, 0x89, 0xd1}, false},
		{"call", []byte{0xe8, 0, 0, 0, 0, 0x89, 0xd1}, false},
		{"cqo; mov ecx, edx", []byte{0x48, 0x99, 0x89, 0xd1}, false},
		{"mul rdx", []byte{0x48, 0xf7, 0xe2}, false},
		{"sete dl; mov ecx, edx", []byte{0x0f, 0x94, 0xc2, 0x89, 0xd1}, false},
		{"movups [rsp], xmm2; mov [rsp], edx", []byte{0x0f, 0x11, 0x14, 0x24, 0x89, 0x14, 0x24}, true},
		{"nothing", nil, false},
		{"damaged", []byte{0x0f}, false},
	} {
		if got := TakesResult(abi.AMD64, c.code, SecondResult); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestTakesFirst does so for rax.
func TestTakesFirst(t *testing.T) {
	for _, c := range []struct {
		name string
		code []byte
		want bool
	}{
		{"mov rdi, rax", []byte{0x48, 0x89, 0xc7}, true},
		{"test al, 1", []byte{0xa8, 0x01}, true},
		{"xor eax, eax; mov edi, eax", []byte{0x31, 0xc0, 0x89, 0xc7}, false},
		{"mov edi, ecx; mov [rax+8], edi", []byte{0x89, 0xcf, 0x89, 0x78, 0x08}, true},
		{"mov edi, r8d; lea rax, [rip]; mov rdi, rax", []byte{
			0x44, 0x89, 0xc7, 0x48, 0x8d, 0x05, 0, 0, 0, 0, 0x48, 0x89,
			0xc7,
		}, false},
	} {
		if got := TakesResult(abi.AMD64, c.code, FirstResult); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestCallsTo finds a call among other bytes.
func TestCallsTo(t *testing.T) {
	text := []byte{0x90, 0xe8, 0x0a, 0, 0, 0, 0xe8, 0xe8, 0x04, 0, 0, 0, 0xe8}
	var got []uint64
	CallsTo(abi.AMD64, text, 0x1000, 0x1010, func(at uint64) { got = append(got, at) })
	if len(got) != 2 || got[0] != 0x1001 || got[1] != 0x1007 {
		t.Errorf("%#x", got)
	}
}

func TestTakes(t *testing.T) {
	for _, c := range []struct {
		text   []byte
		target uint64
		want   bool
	}{
		{[]byte{0x90, 0x48, 0x8d, 0x3d, 0x08, 0, 0, 0}, 0x1010, true},
		{[]byte{0x4c, 0x8d, 0x0d, 0xf9, 0xff, 0xff, 0xff, 0x90}, 0x1000, true},
		{[]byte{0x48, 0x8d, 0x3d, 0x08, 0, 0, 0}, 0x1010, false},
		{[]byte{0x48, 0x8b, 0x3d, 0x09, 0, 0, 0}, 0x1010, false}, // mov
		{[]byte{0x48, 0x8d, 0x3c, 0x09, 0, 0, 0}, 0x1010, false}, // of registers
		{[]byte{0x48, 0x8d, 0x3d, 0x09, 0, 0}, 0x1010, false},
		{nil, 0x1000, false},
	} {
		if got := Takes(abi.AMD64, c.text, 0x1000, c.target); got != c.want {
			t.Errorf("%x: %v", c.text, got)
		}
	}
	if Takes(abi.ARM64, []byte{0x48, 0x8d, 0x3d, 0x09, 0, 0, 0}, 0x1000, 0x1010) {
		t.Error("arm64")
	}
}

// FuzzTakesResult gives it any bytes.
func FuzzTakesResult(f *testing.F) {
	f.Add([]byte{0x89, 0x55, 0xfc})
	f.Add([]byte{0x66, 0x4c, 0x0f, 0x44, 0x04, 0x95})
	f.Fuzz(func(_ *testing.T, b []byte) {
		TakesResult(abi.AMD64, b, FirstResult)
		TakesResult(abi.AMD64, b, SecondResult)
	})
}

// Whether a function leaves rax and rdx as they are: what callers find there then is nothing that it returned.
func TestKeepsRegister(t *testing.T) {
	for _, c := range []struct {
		name  string
		text  []byte
		calls bool // what it calls leaves them
		first bool // rax is left
		want  bool // rdx is left
	}{
		{"mov 8(%rdi),%rax; ret", []byte{0x48, 0x8b, 0x47, 0x08, 0xc3}, false, false, true},
		{"mov 8(%rdi),%rdx; ret", []byte{0x48, 0x8b, 0x57, 0x08, 0xc3}, false, true, false},
		{"je 1f; xor %edx,%edx; 1: ret", []byte{0x74, 0x02, 0x31, 0xd2, 0xc3}, false, true, false},
		{"call; ret", []byte{0xe8, 0, 0, 0, 0, 0xc3}, true, true, true},
		{"call; ret", []byte{0xe8, 0, 0, 0, 0, 0xc3}, false, false, false},
		{"jmp elsewhere", []byte{0xe9, 0, 0, 0, 0x10}, false, false, false},
		{"mov $5,%eax; ret", []byte{0xb8, 5, 0, 0, 0, 0xc3}, false, false, true},
		{"lea 1(%rdi),%eax; ret", []byte{0x8d, 0x47, 0x01, 0xc3}, false, false, true},
		{"mov %rax,(%rdi); cmp %edx,%eax; ret", []byte{0x48, 0x89, 0x07, 0x39, 0xd0, 0xc3}, false, true, true},
		{"jmp to itself", []byte{0xeb, 0xfe}, false, true, true},
		{"damaged", []byte{0x0f}, false, false, false},
		{"call *%rax", []byte{0xff, 0xd0, 0xc3}, true, false, false},
		{"cqto; idiv %rcx", []byte{0x48, 0x99, 0x48, 0xf7, 0xf9, 0xc3}, false, false, false},
	} {
		called := func(int64) bool { return c.calls }
		first := KeepsRegister(abi.AMD64, c.text, FirstResult, called)
		if got := KeepsRegister(abi.AMD64, c.text, SecondResult, called); first != c.first || got != c.want {
			t.Errorf("%s: %v, %v", c.name, first, got)
		}
	}
}
