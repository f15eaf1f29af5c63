package code

import (
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"trocar/internal/binary/abi"
)

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestEntry(t *testing.T) {
	for _, c := range []struct {
		name, code string
		want       int
	}{
		{"push", "55 4889e5 c3", 0},
		{"push r12", "4154 c3", 0},
		{"endbr64, push", "f30f1efa 53 c3", 4},
		{"endbr64, sub rsp", "f30f1efa 4883ec08 c3", 0},
		{"endbr64, jmp", "f30f1efa e900000000", 4},
		{"mov rax rdi, push rbx", "4889f8 53 c3", 3},
		{"mov rdi rsi changes an argument", "4889f7 53 c3", 0},
		{"movslq edi rdi changes an argument", "4863ff 53 c3", 0},
		{"xor eax eax, test rdi rdi, je", "31c0 4885ff 7401 c3 c3", 5},
		{"a load may fault", "488b07 53 c3", 0},
		{"patchable entry before push", "f30f1efa 0f1f440000 53 c3", 9},
		{"patchable entry without push", "f30f1efa 0f1f440000 4883ec08 c3", 4},
		{"empty", "", 0},
		{"cut", "f30f1e", 0},
	} {
		if got, _ := Entry(abi.AMD64, unhex(t, c.code)); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestIsNop5(t *testing.T) {
	for code, want := range map[string]bool{
		"0f1f440000": true, "0f1f440008": true, "66410f1fc3": true, "670f1f4000": true, "6666666690": true, "0f1f4000": false,
		"660f1f440000": false, "0f1f4c0000": false, "9090909090": false, "c5f8904008": false, "0f1f80000000": false,
		"0f1f": false,
	} {
		if got := IsNop5(unhex(t, code)); got != want {
			t.Errorf("%s: %v", code, got)
		}
	}
}

func TestGoEntry(t *testing.T) {
	for _, c := range []struct {
		name, code string
		want       int
	}{
		{"small frame", "493b6610 7605 55 4889e5 c3", 6},
		{"small frame, far branch", "493b6610 0f8600010000 55 c3", 10},
		{"large frame", "4c8d6424c0 4d3b6610 7605 55 c3", 11},
		{"huge frame", "4989e4 4981ec00100100 7205 4d3b6610 7605 55 c3", 18},
		{"before 1.17", "64488b0c25f8ffffff 483b6110 7605 4883ec18 c3", 15},
		{"no check", "55 4889e5 c3", 0},
		{"leaf", "4889d8 c3", 0},
		{"a comparison of its own", "4883f810 7605 55 c3", 0},
	} {
		if got := CheckedEntry(abi.AMD64, unhex(t, c.code)); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestBoundary(t *testing.T) {
	fn := unhex(t, "f30f1efa 55 4889e5 e811223344 0f1f440000 c3")
	starts := map[uint64]bool{0: true, 4: true, 5: true, 8: true, 13: true, 18: true}
	for off := uint64(0); off < 25; off++ {
		ok, err := Boundary(abi.AMD64, fn, off)
		if err != nil || ok != starts[off] {
			t.Errorf("+%d: %v %v, want %v", off, ok, err, starts[off])
		}
	}
	if start, ok := Before(abi.AMD64, fn, 10); !ok || start != 8 {
		t.Errorf("before 10: %d %v", start, ok)
	}
	if _, err := Boundary(abi.AMD64, unhex(t, "55 06 c3"), 2); err == nil {
		t.Error("an invalid byte was stepped over")
	}
}

// TestLoadsG has the starts of functions of the older convention in a program, a position-independent one and a
// library.
func TestLoadsG(t *testing.T) {
	for _, c := range []struct {
		code  string
		loads bool
		site  int
	}{
		{"644c8b3425f8ffffff 493b6610 767c 55 4889e5", true, 15},
		{"49c7c6f8ffffff 644d8b36 493b6610 767c 55 4889e5", true, 17},
		{"4c8b3591f10d00 644d8b36 493b6610 767c 55 4889e5", true, 17},
		{"493b6610 7659 55 4889e5 4883ec40", false, 6},
		{"64488b0c25f8ffffff 483b6110 767c 55", false, 15}, // before 1.17
		{"55 4889e5 c3", false, 0},
		{"55 4889e5 450f57ff 644c8b3425f8ffffff e800000000 5d c3", true, 0},
		{"55 4889e5 e800000000 450f57ff 644c8b3425f8ffffff 5d c3", false, 0}, // behind a call
	} {
		fn := unhex(t, c.code)
		if got, site := LoadsG(abi.AMD64, fn), CheckedEntry(abi.AMD64, fn); got != c.loads || site != c.site {
			t.Errorf("%s: %v, site %d", c.code, got, site)
		}
	}
}

func TestTaken(t *testing.T) {
	// lea 0x10(%rip),%rax; mov 0x20(%rip),%rdx; mov $0x401234,%ecx; jmp +0; ret
	fn := unhex(t, "488d0510000000 488b1520000000 b934124000 eb00 c3")
	const at = 0x401000
	read := func(a uint64) uint64 {
		if a == at+7+7+0x20 {
			return 0x402000
		}
		return 0
	}
	isCode := func(a uint64) bool { return a >= 0x401000 && a < 0x403000 }
	addrs, branches := Taken(abi.AMD64, fn, at, read, isCode)
	want := []uint64{at + 7 + 0x10, 0x402000, 0x401234}
	if len(addrs) != 3 || addrs[0] != want[0] || addrs[1] != want[1] || addrs[2] != want[2] {
		t.Errorf("%#x, want %#x", addrs, want)
	}
	if len(branches) != 1 || branches[0] != at+21 {
		t.Errorf("branches %#x", branches)
	}
}

func TestTargets(t *testing.T) {
	// jmp -2; nop; jmp -5; jz +16 (long); ret
	body := unhex(t, "ebfe 90 e9fbffffff 0f8410000000 c3")
	var got []uint64
	Targets(abi.AMD64, body, 0x1000, func(a uint64) { got = append(got, a) })
	if want := []uint64{0x1000, 0x1003, 0x101e}; !slices.Equal(got, want) {
		t.Errorf("%#x, want %#x", got, want)
	}
	var far []uint64
	FarTargets(body, 0x1000, 0x1003, 0x101e, func(a uint64) { far = append(far, a) })
	for _, want := range []uint64{0x1003, 0x101e} {
		if !slices.Contains(far, want) {
			t.Errorf("%#x lacks %#x", far, want)
		}
	}
}

// FuzzDecode checks that nothing makes the decoders panic or run away.
func FuzzDecode(f *testing.F) {
	f.Add([]byte{0xf3, 0x0f, 0x1e, 0xfa, 0x55})
	f.Add([]byte{0x62, 0xf1, 0x7c, 0x48, 0x10, 0x07})
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, arch := range []*abi.Arch{abi.AMD64, abi.I386, abi.ARM64} {
			in, ok := Decode(arch, b)
			if ok && (in.Len <= 0 || in.Len > len(b) || in.Len > MaxInstruction) {
				t.Fatalf("length %d of %d", in.Len, len(b))
			}
			if e, _ := Entry(arch, b); e < 0 || e > len(b) {
				t.Fatalf("entry %d of %d", e, len(b))
			}
			if e := CheckedEntry(arch, b); e < 0 || e > len(b) {
				t.Fatalf("Go entry %d of %d", e, len(b))
			}
			Boundary(arch, b, uint64(len(b)))
			Taken(arch, b, 0x1000, func(uint64) uint64 { return 0 }, func(uint64) bool { return true })
		}
	})
}

func TestStraight(t *testing.T) {
	// 0: xor eax,eax  2: mov ecx,edx  4: inc ecx  6: je 4  8: ret
	text := []byte{0x31, 0xc0, 0x89, 0xd1, 0xff, 0xc1, 0x74, 0xfc, 0xc3}
	for _, c := range []struct {
		from, to uint64
		want     bool
	}{
		{0, 2, true},
		{2, 4, false},
		{0, 4, false},
		{4, 6, true},
		{4, 8, false},
		{0, 1, false},
		{1, 2, false},
		{2, 2, false},
		{0, 100, false},
	} {
		if got := Straight(abi.AMD64, text, 0x1000, 0x1000+c.from, 0x1000+c.to); got != c.want {
			t.Errorf("from %d to %d: %v", c.from, c.to, got)
		}
	}
}

// TestStepped: which probed instructions the kernel steps over (push_setup_insn, branch_setup_ops; on arm64 what
// arm_probe_decode_insn does not simulate).
func TestStepped(t *testing.T) {
	for _, c := range []struct {
		arch *abi.Arch
		text string
		want bool
	}{
		{abi.AMD64, "55", false},
		{abi.AMD64, "4157", false},
		{abi.AMD64, "e800000000", false},
		{abi.AMD64, "90", false},
		{abi.AMD64, "eb00", false},
		{abi.AMD64, "0f8400000000", false},
		{abi.AMD64, "0f1f440000", false},
		{abi.AMD64, "c3", true},
		{abi.AMD64, "f30f1efa", true},
		{abi.AMD64, "4883ec08", true},
		{abi.AMD64, "0f1f00", true},
		{abi.ARM64, "00000014", false},
		{abi.ARM64, "c0035fd6", false},
		{abi.ARM64, "1f2003d5", false},
		{abi.ARM64, "fd7bbfa9", true},
		{abi.ARM64, "40000058", false},
	} {
		if got := Stepped(c.arch, unhex(t, c.text)); got != c.want {
			t.Errorf("%s %s: %v", c.arch.Name, c.text, got)
		}
	}
}
