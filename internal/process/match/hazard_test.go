package match

import (
	"strings"
	"testing"

	"trocar/internal/binary/code"
	"trocar/internal/process/probe"
	"trocar/internal/script/syntax"
)

// lanes has functions that begin with vector instructions, and the ways by which calls may come past them.
const lanes = `
#define F(name, body) __asm__(".globl " #name "\n.type " #name ",@function\n" #name ":\n" body " ret\n.size " #name ",.-" #name "\n");
F(lane_or, " vpor %xmm0,%xmm0,%xmm2\n vmovq %xmm2,%rax\n lea 1(%rdi),%rcx\n")
F(lane_store, " vmovdqu %xmm0,(%rsi)\n mov $16,%eax\n")
F(lane_load, " vmovdqu (%rsi),%xmm0\n mov $16,%eax\n")
F(lane_loop, " vpor %xmm0,%xmm0,%xmm2\n 1: dec %edi\n jnz 1b\n")
F(lane_into, " vpor %xmm0,%xmm0,%xmm2\n .globl lane_second\n .type lane_second,@function\nlane_second:\n lea 1(%rdi),%rcx\n")
F(lane_target, " vpor %xmm0,%xmm0,%xmm2\n lane_aim: lea 1(%rdi),%rcx\n")
F(lane_source, " mov %rsi,%rdx\n .byte 0xe9\n .long lane_aim - . - 4\n")
F(lane_middle, " mov %rsi,%rdx\n vpor %xmm0,%xmm0,%xmm2\n mov $1,%eax\n")
F(lane_behind, " mov %rsi,%rdx\n vpor %xmm0,%xmm0,%xmm2\n lane_again: mov $1,%eax\n")
F(lane_jumps, " mov %rsi,%rdx\n .byte 0xe9\n .long lane_again - . - 4\n")
F(lane_switch, " mov %rsi,%rdx\n vpor %xmm0,%xmm0,%xmm2\n jmp *%rdi\n")
F(lane_tail, " mov %rsi,%rdx\n vzeroupper\n")
F(lane_plain, " lea 1(%rdi),%rax\n")
int main(void) { return 0; }
`

func buildLanes(t *testing.T) string {
	t.Helper()
	return compile(t, t.TempDir(), "lanes", lanes, "-O1")
}

// TestHazards: no probe is put on an instruction that the kernel mishandles.
func TestHazards(t *testing.T) {
	path := buildLanes(t)
	for _, c := range []struct {
		at   string
		skip int    // of the point; -1: refused
		says string // in the refusal
	}{
		{"uprobe:%:lane_plain", 0, ""},
		{"uprobe:%:lane_or", 9, ""},    // vmovq to rax is quiet, lea is not emulated
		{"uretprobe:%:lane_or", 0, ""}, // at its return instruction
		{"uprobe:%:lane_store", -1, "vmovdqu"},
		{"uretprobe:%:lane_store", 0, ""},
		{"uretprobe:%:lane_load", 0, ""},
		{"uprobe:%:lane_load", -1, "vmovdqu"},
		{"uprobe:%:lane_loop", -1, "vpor"},
		{"uprobe:%:lane_into", -1, "vpor"},
		{"uprobe:%:lane_target", -1, "vpor"},
		{"uprobe:%:lane_middle", 0, ""},
		{"uprobe:%:lane_middle+3", 4, ""},
		{"uprobe:%:lane_behind+3", -1, "vpor"},
		{"uprobe:%:lane_switch+3", -1, "vpor"},
		{"uprobe:%:lane_middle+7", 0, ""},
		{"uprobe:%:lane_tail+3", -1, "vzeroupper"},
		{"uprobe:%:lane_or+0", -1, "vpor"},
	} {
		for _, unsafe := range []bool{false, true} {
			at := strings.ReplaceAll(c.at, "%", path)
			points, r := find(t, at+" {}", Options{Unsafe: unsafe})
			r.Close()
			switch {
			case c.skip < 0 && len(points) > 0:
				t.Errorf("%s (unsafe %v): at +%d", at, unsafe, points[0].Skip)
			case c.skip < 0 && (r.Diags.Errors() == 0 || !strings.Contains(messages(r), c.says)):
				t.Errorf("%s (unsafe %v): refused with\n%s", at, unsafe, messages(r))
			case c.skip >= 0 && len(points) != 1:
				t.Errorf("%s (unsafe %v): %d points\n%s", at, unsafe, len(points), messages(r))
			case c.skip >= 0 && points[0].Skip != c.skip:
				t.Errorf("%s (unsafe %v): +%d, want +%d", at, unsafe, points[0].Skip, c.skip)
			}
		}
	}
}

// TestHazardsLeftOut: what a pattern finds and cannot be probed is counted.
func TestHazardsLeftOut(t *testing.T) {
	path := buildLanes(t)
	points, r := find(t, "uprobe:"+path+":lane_* {}", Options{})
	defer r.Close()
	if text := messages(r); len(points) != 9 || r.Diags.Errors() > 0 ||
		!strings.Contains(text, "4 places are left out") || !strings.Contains(text, "1 place is left out, lane_load") {
		t.Errorf("%d points\n%s", len(points), text)
	}
	kept := func() bool { return true }
	points, r = find(t, "uprobe:"+path+":lane_* {}", Options{VectorsStepped: kept})
	defer r.Close()
	if len(points) != 14 || len(r.Diags.All) > 0 {
		t.Errorf("where the kernel is right: %d points\n%s", len(points), messages(r))
	}
}

// TestEveryPointIsAsked: the gate is behind all kinds of probes, and refuses what any of them finds.
func TestEveryPointIsAsked(t *testing.T) {
	path := buildLanes(t)
	points, r := find(t, "uprobe:"+path+":lane_middle {}", Options{})
	defer r.Close()
	if len(points) != 1 {
		t.Fatal(messages(r))
	}
	m := newMatcher(t.Context(), Options{}, &r.Diags)
	defer m.close()
	for _, kind := range probe.Kinds() {
		if kind.Traits().Program != probe.UprobeProgram {
			continue
		}
		bad := *points[0]
		bad.Kind, bad.Addr, bad.Offset = kind, bad.Addr+3, bad.Offset+3
		sp := &spec{ap: &syntax.AttachPoint{}, kind: &m.kinds[0], fn: "lane_middle"}
		before := r.Diags.Errors()
		if got := m.harmless(sp, []*probe.Point{&bad}); len(got) > 0 || r.Diags.Errors() == before {
			t.Errorf("%s: a place on vpor is let through", kind)
		}
		if h := m.pointHazard(&bad); h == nil || h.why != code.Mistaken {
			t.Errorf("%s: %v", kind, h)
		}
	}
}
