package match

import (
	"bufio"
	"bytes"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"trocar/internal/need"
)

// older are such instructions without VEX and EVEX.
var older = []string{
	"c4e2698e11",                                                   // vpmaskmovd, which the kernel refuses as a move to ss
	"8fe878a2c130", "8fe978c1c1", "8fea781000000000", "8fe8788e11", // XOP
	// REX2.
	"d51050", "d51158", "d57089c0", "d508eb10", "d50874f0", "d508e800000000", "d5800541", "d508c3", "d59005", "d5ff90",
	"0f00c0", "0f0000", "0f00c8", "0f0008", "0f0100", "0f0108", "0f01e0", "0f0120", // UMIP
	"660f00c0", "480f00c8", "670f0100", "410f01e0", "64480f0120",
	"0f05", "0f34", "0fa2", "9c", "4190", "4990",
	"f3a4", "f2a6", "f348ab", "66e010", "66ff11", "66ffd1",
	"f30f4115f8070010", "f20f9005f8070010", "f20f2b25f8070010",
	"f0ff01", "3effe0", "2e7403",
}

// mishandled are instructions that kernels get wrong when they are probed, in hexadecimal: by what the sweep of all
// forms measured (docs/hazards.md), and those of XOP and APX that no CPU at hand has.
func mishandled() (forms []string) {
	ops := []byte{0x6c, 0x6f, 0x90, 0x9a, 0x9d, 0xc2, 0xc3, 0xca, 0xcb, 0xe4, 0xe8, 0xe9, 0xea, 0xeb, 0xef, 0xff}
	for op := byte(0x70); op < 0x80; op++ {
		ops = append(ops, op)
	}
	for i, op := range ops {
		for j, head := range [][]byte{ // the second source is xmm2
			{0xc5, 0xe9, op},
			{0xc5, 0xea, op},
			{0xc4, 0xe2, 0x69, op},
			{0xc4, 0xe3, 0x69, op},
			{0xc4, 0xe2, 0x6b, op},
			{0x62, 0xf1, 0x6d, 0x48, op},
			{0x62, 0xf2, 0x6e, 0x48, op},
			{0x62, 0xf3, 0x6d, 0x48, op},
			{0x62, 0xf4, 0x6c, 0x18, op},
			{0x62, 0xf5, 0x6c, 0x48, op},
			{0x62, 0xf6, 0x6d, 0x48, op},
		} {
			modrm := []byte{0x11, 0xd1}[(i+j)%2]                      // of (%rcx), of xmm1
			forms = append(forms, fmt.Sprintf("%x%x90", head, modrm)) // 90 is an operand, or a nop
		}
	}
	return append(forms, older...)
}

// TestMishandledForms: wherever an instruction that kernels mishandle stands, no probe of any kind is put on it:
// neither as a function's first one nor by offset, address, line, as an inlined copy or for returns, and with --unsafe
// neither.
func TestMishandledForms(t *testing.T) {
	need.Tool(t, "nm")
	forms := mishandled()
	var source, script strings.Builder
	for i, form := range forms {
		var code []string
		for n := 0; n < len(form); n += 2 {
			code = append(code, "0x"+form[n:n+2])
		}
		// Once at the start, and once with something in front of it.
		fmt.Fprintf(&source, "static inline __attribute__((always_inline)) void i%d(void) { "+
			"__asm__ volatile(\"at%d%%=: .byte %s\" ::); }\n", i, i, strings.Join(code, ","))
		fmt.Fprintf(&source, "void f%d(void) { i%d(); } int g%d(int n) "+
			"{ n *= 3; __asm__ volatile(\"\" : \"+r\"(n)); i%d(); return n; }\n", i, i, i, i)
	}
	source.WriteString("int main(void) { return 0; }\n")
	path := compile(t, t.TempDir(), "forms", source.String(), "-O2", "-g", "-fcf-protection=none", "-no-pie")
	out, err := exec.Command("nm", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	bad := map[uint64]string{}
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		words := strings.Fields(s.Text())
		if len(words) < 3 {
			continue
		}
		addr, err := strconv.ParseUint(words[0], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(words[2], "at") {
			bad[addr] = words[2]
		}
	}
	if len(bad) < 2*len(forms) {
		t.Fatalf("%d places of %d forms", len(bad), len(forms))
	}
	all := func(kind, form string, args ...any) {
		fmt.Fprintf(&script, "%s:%s%s {}\n", kind, path, fmt.Sprintf(form, args...))
	}
	for addr := range bad {
		all("uprobe", ":%#x", addr)
	}
	for i := range forms {
		all("uprobe", ":f%d+0", i)
		if i%11 == 0 || i >= len(forms)-len(older) { // each takes a while
			all("uprobe", ":i%d", i)
		}
		all("uprobe", "@forms.c:%d", 2*i+1)
	}
	for _, name := range []string{"f*", "g*"} {
		all("uprobe", ":%s", name)
		all("uretprobe", ":%s", name)
	}
	for _, unsafe := range []bool{false, true} {
		points, r := find(t, script.String(), Options{Unsafe: unsafe})
		r.Close()
		for _, p := range points {
			if name, ok := bad[p.Addr]; ok {
				t.Errorf("%s (unsafe %v): a probe on %s at %#x", p.Name, unsafe, name, p.Addr)
			}
		}
		t.Logf("%d forms, %d points beside them", len(forms), len(points))
		if len(points) < len(forms) {
			t.Error("hardly anything was probed")
		}
	}
}
