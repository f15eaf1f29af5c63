package code

import (
	"strings"
	"testing"

	"trocar/internal/binary/abi"
)

func TestHazard(t *testing.T) {
	for _, c := range []struct {
		code, name string
		want       Hazard
	}{
		{"c5fa7f06", "vmovdqu", Mistaken},       // store
		{"62f17f487f06", "vmovdqu8", Mistaken},  // EVEX
		{"c5f97ec8", "vmovd", Mistaken},         // to eax
		{"c5f9ebd0", "vpor", Mistaken},          // jmp
		{"c5f974d8", "vpcmpeqb", Mistaken},      // je
		{"c5f9e8e0", "vpsubsb", Mistaken},       // call
		{"c5f9e9e0", "vpsubsw", Mistaken},       // jmp
		{"c5f9eae0", "vpminsw", Mistaken},       // far jump
		{"c5f0c2c200", "vcmpps", Mistaken},      // ret
		{"c4e2699ac1", "vfmsub132ps", Mistaken}, // far call
		{"c4e2699dc1", "vfnmadd132ss", Mistaken},
		{"c5f877", "vzeroupper", Mistaken},
		{"c5f890c1", "kmovw", Mistaken},
		{"8fe878a2c130", "", Undecoded}, // XOP
		{"c5fa6f06", "vmovdqu", Unsteppable},
		{"c5f96ec7", "vmovd", Unsteppable},
		{"cc", "", Refused},
		{"cd03", "", Refused},
		{"f4", "", Refused},
		{"ec", "", Refused},
		{"c4e2698e10", "", Unsteppable}, // vpmaskmovd of xmm2: mov to ss
		{"c4e2618e18", "", Sound},       // vpmaskmovd of xmm3
		{"c5f858c1", "", Sound},         // vaddps
		{"62f27d485800", "", Sound},     // vpbroadcastd
		{"4190", "xchg", Exchange},
		{"4990", "xchg", Exchange},
		{"4890", "", Sound}, // nop
		{"90", "", Sound},
		{"9c", "pushf", Flags},
		{"662e0f1f840000000000", "", Prefixed},
		{"f0ff0f", "", Prefixed},
		{"3effe0", "", Prefixed},
		{"2e7403", "", Prefixed},
		{"f3a4", "a string instruction with rep", Repeated},
		{"f348ab", "", Repeated},
		{"a4", "", Sound},
		{"0f05", "syscall", Leaves},
		{"0fa2", "cpuid", Leaves},
		{"0f34", "sysenter", Leaves},
		{"0f00c0", "sldt", Leaves},
		{"660f0008", "str", Leaves},
		{"0f0018", "", Sound}, // ltr
		{"0f0100", "sgdt", Leaves},
		{"670f0108", "sidt", Leaves},
		{"0f01c1", "", Sound}, // vmcall
		{"490f01e1", "smsw", Leaves},
		{"0f0120", "smsw", Leaves},
		{"0f01ef", "", Sound}, // wrpkru
		{"66e0db", "a branch of 16 bits", Narrow},
		{"66ffd3", "", Narrow},
		{"ffd3", "", Sound},
		{"66ffc3", "", Sound},
		{"e0db", "", Sound},
		{"f2410f413df7070010", "", Misread}, // cmov
		{"0f413df7070010", "", Sound},
		{"f30f9005f8070010", "", Misread}, // setcc
		{"f20f2b25f8070010", "", Misread}, // movntsd
		{"64410fb73df7070010", "", Sound},
		{"64488b0425f8ffffff", "", Sound},
		{"f390", "", Sound}, // pause
		{"0f7f06", "", Sound},
		{"660febc1", "", Sound},
		{"7403", "", Sound},
		{"e900000000", "", Sound},
		{"c3", "", Sound},
	} {
		b := unhex(t, c.code)
		in, ok := Decode(abi.AMD64, b)
		if !ok || in.Len != len(b) || in.Hazard != c.want {
			t.Errorf("%s: %d (%v), length %d, want %d", c.code, in.Hazard, ok, in.Len, c.want)
		}
		if got := Describe(abi.AMD64, b); c.name != "" && !strings.HasPrefix(got, c.name+" (") {
			t.Errorf("%s is called %q", c.code, got)
		}
	}
	for text, want := range map[string]Hazard{
		"d51050": Undecoded, "66d508c3": Undecoded, "62f47c180111": Undecoded, "8fe978c1": Undecoded, "c4e4692211": Undecoded,
		"8f0000": Sound, "06": Sound, "": Sound, "0f05": Leaves,
	} {
		if got := HazardAt(abi.AMD64, unhex(t, text)); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
	if got := Describe(abi.AMD64, unhex(t, "d510509090")); got != "d5 10 50 90 …" {
		t.Errorf("REX2 is called %q", got)
	}
	if in, ok := Decode(abi.I386, unhex(t, "c5f9ebd0")); !ok || in.Hazard != Mistaken {
		t.Errorf("32 bits: %+v %v", in, ok)
	}
}

func TestSafeEntry(t *testing.T) {
	for _, c := range []struct {
		name, code string
		site       int
		ok         bool
	}{
		{"harmless", "4883ec08 c3", 0, true},
		{"vpor", "c5f9ebd0 c4e1f97ed0 c3", 9, true}, // vmovq to rax is quiet, too
		{"vmovd to eax", "c5f97ec8 4898 c3", 4, true},
		{"vmovd to edi", "c5f97ecf 4898 c3", 0, false},
		{"vmovd to r8d", "c4c1797ec8 c3", 0, false},
		{"vmovd to r10d", "c4c1797eca c3", 5, true},
		{"a store", "c5fa7f06 c3", 0, false},
		{"a load may fault", "c5fa6f06 c3", 0, false},
		{"vpbroadcastb of a register, EVEX", "62e27d487ac6 4889f8 c3", 6, true},
		{"arithmetic may fault", "c5f0c2c200 c3", 0, false},
		{"vzeroupper", "c5f877 c3", 0, false},
		{"xchg", "4990 c3", 0, false},
		{"lock", "f0ff0f c3", 0, false},
		{"cs nop", "662e0f1f840000000000 4883ec08 c3", 10, true},
		{"cut", "c5f9", 0, false},
	} {
		site, ok := SafeEntry(abi.AMD64, unhex(t, c.code), func(Hazard) bool { return false })
		if site != c.site || ok != c.ok {
			t.Errorf("%s: %d %v, want %d %v", c.name, site, ok, c.site, c.ok)
		}
	}
	if site, ok := SafeEntry(abi.AMD64, unhex(t, "c5fa7f06 c3"), Hazard.Vector); site != 0 || !ok {
		t.Errorf("where the kernel is right: %d %v", site, ok)
	}
}
