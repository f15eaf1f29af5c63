package symbolize

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"trocar/internal/need"
)

func kernelOf(t testing.TB, text string) *kernel {
	t.Helper()
	k := &kernel{}
	k.once.Do(func() {})
	if err := k.parse(strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	return k
}

func TestKernelSymbols(t *testing.T) {
	const text = `0000000000000000 A fixed_percpu_data
ffffffff81000000 t local
ffffffff81000000 T __under
ffffffff81000000 T _stext
ffffffff81000000 T start
ffffffff81000100 T second
ffffffff81000180 D data
ffffffff81000200 W weak
ffffffffa0000000 t mod_init	[mod]
broken
ffffffffa0000010 t bpf_prog_6deef7357e7b4530	[bpf]
ffffffff81000300 T last`
	k, some := kernelOf(t, text), &kernel{}
	for _, c := range []struct {
		addr, offset   uint64
		exact          bool
		symbol, module string
	}{
		{0xffffffff80ffffff, 0, true, "", ""},
		{0xffffffff81000000, 0, true, "start", ""},
		{0xffffffff810000ff, 0xff, true, "start", ""},
		{0xffffffff81000100, 0, true, "second", ""},
		{0xffffffff81000100, 0x100, false, "start", ""}, // a call was the last instruction of start
		{0xffffffff81000190, 0x90, true, "second", ""},
		{0xffffffff81000310, 0x10, true, "last", ""},
		{0xffffffff81200310, 0, true, "", ""}, // beyond the kernel
		{0xffffffffa0000008, 8, true, "mod_init", "[mod]"},
		{0xffffffffa0000018, 8, true, "bpf_prog_6deef7357e7b4530", "[bpf]"},
		{0, 0, false, "", ""},
		{^uint64(0), 0, true, "", ""},
	} {
		f := k.frame(c.addr, c.exact)
		if f.Symbol != c.symbol || f.Offset != c.offset || f.Module != c.module || f.Addr != c.addr {
			t.Errorf("%#x: %+v, want %+v", c.addr, f, c)
		}
		some.asked = append(some.asked, callOf(c.addr, c.exact))
	}
	// Some are found without keeping all.
	asked := slices.Clone(some.asked)
	some.once.Do(func() {})
	some.find(strings.NewReader(text))
	for _, at := range asked {
		if got, want := some.frame(at, true), k.frame(at, true); got != want {
			t.Errorf("%#x: %+v, want %+v", at, got, want)
		}
	}
}

func TestThisKernel(t *testing.T) {
	s := New(Options{})
	defer s.Close()
	if err := s.LoadKernel(t.Context()); err != nil {
		need.Root(t) // for addresses
		t.Fatal(err)
	}
	out, err := exec.Command("grep", "-m1", " T vfs_read$", kallsyms).Output()
	if err != nil {
		t.Skip("no vfs_read")
	}
	addr, err := strconv.ParseUint(strings.Fields(string(out))[0], 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	if f := s.KernelSymbol(addr + 3); f.Symbol != "vfs_read" || f.Offset != 3 {
		t.Errorf("%+v", f)
	}
	if f := s.KernelStack(nil, []uint64{addr, addr + 5}); names(f) != "vfs_read vfs_read" {
		t.Errorf("%+v", f)
	}
	if f := s.KernelSymbol(uint64(os.Getpid())); f.Symbol != "" {
		t.Errorf("%+v", f)
	}
}

func FuzzKallsyms(f *testing.F) {
	f.Add([]byte("ffffffff81000000 T _stext\nffffffffa0000000 t mod_init\t[mod]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		k := kernelOf(t, string(text))
		for i, a := range k.addrs {
			if f := k.frame(a, true); f.Symbol == "" || f.Offset != 0 || i > 0 && a <= k.addrs[i-1] {
				t.Errorf("%#x: %+v", a, f)
			}
		}
	})
}
