package code

import (
	"reflect"
	"testing"

	"trocar/internal/binary/abi"
)

// The start and the end of a function of Go without optimizations:
// f(a int, s string, f float64, g float32) float64.
const spilling = "\x55" + // push %rbp
	"\x48\x89\xe5" + // mov %rsp,%rbp
	"\x48\x83\xec\x08" + // sub $0x8,%rsp
	"\x48\x89\x44\x24\x18" + // mov %rax,0x18(%rsp)
	"\x48\x89\x5c\x24\x20" + // mov %rbx,0x20(%rsp)
	"\xf2\x0f\x11\x44\x24\x30" + // movsd %xmm0,0x30(%rsp)
	"\xf3\x0f\x11\x4c\x24\x38" // movss %xmm1,0x38(%rsp)

// TestReadSpills: what a function has stored, until something may have changed it.
func TestReadSpills(t *testing.T) {
	all := []Store{{0, false, 8, 0x18}, {3, false, 8, 0x20}, {0, true, 8, 0x30}, {1, true, 4, 0x38}}
	for _, c := range []struct {
		name, code string
		want       []Store // at the last place
		places     int
	}{
		{"to the end", spilling, all, 7},
		{"up to a call", spilling + "\xe8\x00\x00\x00\x00", all, 7},
		{"a floating-point register is set", spilling + "\x0f\x57\xc9\xf3\x0f\x11\x4c\x24\x38", all, 7},
		{
			"a number is stored over it", spilling + "\x48\xc7\x44\x24\x30\x00\x00\x00\x00",
			[]Store{all[0], all[1], all[3]},
			8,
		},
		{"something is stored elsewhere", spilling + "\x48\x89\x08", all, 7},
		{"a register was changed before", "\x48\x83\xec\x08\x31\xc0\x48\x89\x44\x24\x18", nil, 3},
		{"the frame is given up", spilling + "\x48\x83\xc4\x08\x5d", all, 7},
	} {
		list := ReadSpills(abi.AMD64, []byte(c.code))
		if len(list) != c.places {
			t.Errorf("%s: %d places, want %d", c.name, len(list), c.places)
		} else if got := list[len(list)-1].Stores; !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	list := ReadSpills(abi.AMD64, []byte(spilling))
	last := &list[len(list)-1]
	if last.Depth != 16 || !last.Framed || !last.Kept(abi.AMD64, 0) || last.Kept(abi.AMD64, dwarfRBP) {
		t.Errorf("at the end: %+v", last)
	}
	if !last.Wrote(0x30, 8) || last.Wrote(0x28, 8) || !last.Wrote(0x34, 8) {
		t.Error("what was stored is not told apart from what was not")
	}
	if ReadSpills(abi.ARM64, []byte(spilling)) != nil {
		t.Error("of another CPU something is told")
	}
}

// TestReadFarewell: which floating-point registers are in the frame where a function is about to return.
func TestReadFarewell(t *testing.T) {
	const end = "\x48\x83\xc4\x58\x5d\xc3"  // add $0x58,%rsp; pop %rbp; ret
	const load = "\xf2\x0f\x10\x44\x24\x18" // movsd 0x18(%rsp),%xmm0
	floats := []Store{{0, true, 8, 0x18}}
	for _, c := range []struct {
		name, code string
		want       []Store
		ok         bool
	}{
		{"loaded", "\x90\x90" + load + end, floats, true},
		{"loaded, then other registers", load + "\xbf\x01\x00\x00\x00\x48\x89\xfe" + end, floats, true},
		{"stored", "\x90\xf2\x0f\x11\x44\x24\x18" + end, floats, true},
		{"a nop before the return", "\x90" + load + end[:5] + "\x90\xc3", floats, true},
		{"computed", "\x90\x90\x0f\x57\xc0" + end, nil, true},
		{"loaded, then computed", "\x90" + load + "\x0f\x57\xc0" + end, nil, true},
		{"loaded, then overwritten in the frame", "\x90" + load + "\x48\x89\x44\x24\x18" + end, nil, true},
		{"loaded, then something is stored elsewhere", "\x90" + load + "\x48\x89\x08" + end, nil, true},
		{"loaded before a call", "\x90" + load + "\xe8\x00\x00\x00\x00" + end, nil, true},
		{"no frame", "\x90\x90" + load + "\xc3", nil, false},
		{"another end", load + "\x48\x83\xec\x58\x5d\xc3", nil, false},
	} {
		got, ok := ReadFarewell(abi.AMD64, []byte(c.code), len(c.code)-1)
		if ok != c.ok || ok && !reflect.DeepEqual(got.Floats, c.want) {
			t.Errorf("%s: %+v %v", c.name, got, ok)
		}
		if ok && (got.Depth != 0x60 || c.code[got.At:got.At+4] != end[:4]) {
			t.Errorf("%s: the frame is given up at %d, %d deep", c.name, got.At, got.Depth)
		}
	}
	if _, ok := ReadFarewell(abi.ARM64, []byte(load+end), len(load+end)-1); ok {
		t.Error("of another CPU something is told")
	}
}
