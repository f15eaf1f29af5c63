package objfile

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSegments compares offsets of functions in several executable segments with what readelf says of the sections.
func TestSegments(t *testing.T) {
	const src = `
__attribute__((noinline)) int near_path(int a) { return a + 1; }
__attribute__((section(".far_text"), noinline)) int far_path(int a) { return a + 2; }
int main(void) { return near_path(1) + far_path(2); }`
	for _, flags := range [][]string{
		{"-no-pie", "-Wl,--section-start=.far_text=0x40000000"},
		{"-pie", "-fPIE"},
		{"-no-pie", "-static"},
	} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			path := build(t, "split.c", src, flags...)
			f := open(t, path)
			ef, err := elf.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer ef.Close()
			syms, _ := ef.Symbols()
			checked := 0
			for _, s := range syms {
				if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Section == elf.SHN_UNDEF || int(s.Section) >= len(ef.Sections) {
					continue
				}
				sec := ef.Sections[s.Section]
				off, ok := f.Offset(s.Value)
				if !ok || off != s.Value-sec.Addr+sec.Offset {
					t.Errorf("%s at %#x: offset %#x %v, want %#x", s.Name, s.Value, off, ok, s.Value-sec.Addr+sec.Offset)
				}
				if back, ok := f.Addr(off); !ok || back != s.Value {
					t.Errorf("%s: offset %#x is address %#x %v, want %#x", s.Name, off, back, ok, s.Value)
				}
				checked++
			}
			if checked < 5 {
				t.Errorf("only %d symbols checked", checked)
			}
			if _, ok := f.Offset(0xdead00000000); ok {
				t.Error("an address outside has an offset")
			}
		})
	}
}

// TestTables compares the functions of installed files with those that debug/elf finds.
func TestTables(t *testing.T) {
	for _, path := range []string{
		"/bin/bash", "/lib/x86_64-linux-gnu/libc.so.6",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
	} {
		if _, err := os.Stat(path); err != nil {
			continue
		}
		f := open(t, path)
		ef, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer ef.Close()
		want := map[string]int{}
		add := func(syms []elf.Symbol) {
			for _, s := range syms {
				typ := elf.ST_TYPE(s.Info)
				if (typ == elf.STT_FUNC || typ == elf.STT_GNU_IFUNC) && s.Section != elf.SHN_UNDEF && s.Value != 0 {
					want[fmt.Sprintf("%s@%x", s.Name, s.Value)]++
				}
			}
		}
		dyn, _ := ef.DynamicSymbols()
		add(dyn)
		all, _ := ef.Symbols()
		add(all)
		got := map[string]int{}
		err = f.Functions(func(s *Symbol) bool {
			if !s.NoType {
				got[fmt.Sprintf("%s@%x", s.Name, s.Addr)]++
			}
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		for k := range want {
			if got[k] == 0 {
				t.Errorf("%s: %s is missing", path, k)
			}
		}
		if len(want) == 0 {
			t.Errorf("%s: no functions", path)
		}
	}
}

const tally = `
__attribute__((noipa)) int tally_old(int n) { return n + 1; }
__attribute__((noipa)) int tally_new(int n, int step) { return n + step; }
__attribute__((noipa)) int other(int n) { return n - 1; }
__asm__(".symver tally_old, tally@TALLY_1");
__asm__(".symver tally_new, tally@@TALLY_2");`

func TestVersions(t *testing.T) {
	dir := t.TempDir()
	script := write(t, dir, "map", "TALLY_1 { global: tally; other; local: *; };\nTALLY_2 { global: tally; } TALLY_1;\n")
	path := build(t, "tally.c", tally, "-O1", "-fPIC", "-shared", "-Wl,--version-script="+script)
	stripped := filepath.Join(dir, "stripped")
	run(t, dir, "strip", "--strip-all", "-o", stripped, path)
	addrs := nm(t, path, "-D")
	v1, v2 := addrs["tally@TALLY_1"][0], addrs["tally@@TALLY_2"][0]
	for _, file := range []string{path, stripped} {
		f := open(t, file)
		for _, c := range []struct {
			pattern string
			want    []uint64
		}{
			{"tally", []uint64{v1, v2}},
			{"tally@TALLY_1", []uint64{v1}},
			{"tally@@TALLY_2", []uint64{v2}},
			{"tally@TALLY_2", nil}, // the default version is written with two signs
			{"tally@*", []uint64{v1, v2}},
			{"*@TALLY_1", []uint64{v1, addrs["other@@TALLY_1"][0]}},
			{"tall", nil},
		} {
			var got []uint64
			for _, fn := range match(t, f, c.pattern, "") {
				got = append(got, fn.Addr)
			}
			slices.Sort(got)
			want := slices.Clone(c.want)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%s: %s: %#x, want %#x", filepath.Base(file), c.pattern, got, want)
			}
		}
		for _, fn := range match(t, f, "tally@@TALLY_2", "") {
			if fn.FullName() != "tally@@TALLY_2" {
				t.Errorf("full name %s", fn.FullName())
			}
		}
	}
}

func TestTwinsAndAliases(t *testing.T) {
	dir := t.TempDir()
	one := write(t, dir, "one.c", "static __attribute__((noipa)) int helper(int a) { return a + 1; }\nint one(int a) { "+
		"return helper(a); }")
	two := write(t, dir, "two.c", `static __attribute__((noipa)) int helper(int a) { return a * 3; }
int two(int a) { return helper(a); }
int also_two(int a) __attribute__((alias("two")));
int __two(int a) __attribute__((weak, alias("two")));
int one(int);
int main(void) { return one(1) + two(2); }`)
	out := filepath.Join(dir, "prog")
	run(t, dir, "gcc", "-O1", "-o", out, one, two)
	f := open(t, out)
	if got, want := len(match(t, f, "helper", "")), len(nm(t, out)["helper"]); got != 2 || want != 2 {
		t.Errorf("%d functions named helper, nm shows %d", got, want)
	}
	funcs := match(t, f, "*two*", "")
	if len(funcs) != 1 || funcs[0].Name != "also_two" && funcs[0].Name != "two" || len(funcs[0].Aliases) != 2 {
		t.Errorf("aliases: %+v", funcs)
	}
	if s, ok := f.Lookup(nm(t, out)["two"][0] + 1); !ok || strings.HasPrefix(s.Name, "_") {
		t.Errorf("lookup: %+v %v", s, ok)
	}
}

func TestIndirect(t *testing.T) {
	const src = `
static __attribute__((noipa)) unsigned plain(unsigned n) { return n; }
static __attribute__((noipa)) unsigned fast(unsigned n) { return n + 1; }
static __attribute__((noipa)) unsigned never(unsigned n) { return n + 2; }
static unsigned (*pick(void))(unsigned) { __builtin_cpu_init(); return __builtin_cpu_supports("avx2") ? fast : plain; }
unsigned digest(unsigned) __attribute__((ifunc("pick")));
int main(void) { return digest(1) + never(2); }`
	for _, flags := range [][]string{{"-O1"}, {"-O0"}, {"-O2", "-static", "-no-pie"}, {"-O1", "-no-pie"}} {
		path := build(t, "digest.c", src, flags...)
		f := open(t, path)
		funcs := match(t, f, "digest", "")
		if len(funcs) != 1 || !funcs[0].IFunc {
			t.Fatalf("%v: %+v", flags, funcs)
		}
		impls, err := f.Implementations(&funcs[0])
		if err != nil {
			t.Fatal(err)
		}
		got := names(impls)
		slices.Sort(got)
		if !slices.Equal(got, []string{"fast", "plain"}) {
			t.Errorf("%v: %v", flags, got)
		}
	}
}

func TestSplitDebug(t *testing.T) {
	const src = `
__attribute__((noipa)) static int mix_one(int a) { return a * 2; }
int mix(int a) { return mix_one(a) + 1; }`
	lib := build(t, "libmix.so.c", src, "-g", "-O1", "-fPIC", "-shared", "-Wl,--build-id=none")
	dir := filepath.Dir(lib)
	addr := nm(t, lib)["mix_one"][0]
	strip := func(name string) string {
		out := filepath.Join(dir, name)
		run(t, dir, "strip", "--strip-all", "-o", out, lib)
		return out
	}
	find := func(path string) int {
		f := open(t, path)
		funcs := match(t, f, "mix_one", "")
		if len(funcs) == 1 && funcs[0].Addr != addr {
			t.Errorf("%s: at %#x, want %#x", path, funcs[0].Addr, addr)
		}
		return len(funcs)
	}

	bare := strip("bare.so")
	if find(bare) != 0 {
		t.Error("a stripped library has a local name")
	}
	// .gnu_debuglink to .debug/, checked by its checksum.
	os.Mkdir(filepath.Join(dir, ".debug"), 0o755)
	run(t, dir, "objcopy", "--only-keep-debug", lib, ".debug/mix.debug")
	linked := strip("linked.so")
	run(t, dir, "objcopy", "--add-gnu-debuglink=.debug/mix.debug", linked)
	if find(linked) != 1 {
		t.Error("the debug file was not found by .gnu_debuglink")
	}
	other := filepath.Join(dir, ".debug/mix.debug")
	data, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	f := open(t, linked)
	if crc, ok := f.debugLinkCRC(); !ok || crc != crc32.ChecksumIEEE(data) {
		t.Errorf("checksum %#x %v", crc, ok)
	}
	// Another file of that name is not believed.
	if err := os.WriteFile(other, append(data, 0), 0o644); err != nil {
		t.Fatal(err)
	}
	if find(linked) != 0 {
		t.Error("a debug file with a wrong checksum was taken")
	}

	// With build ids these decide.
	withID := build(t, "libid.so.c", src, "-g", "-O1", "-fPIC", "-shared", "-Wl,--build-id=sha1")
	f = open(t, withID)
	if id := f.BuildID(); len(id) != 40 || !strings.Contains(run(t, "", "readelf", "-n", withID), id) {
		t.Errorf("build id %q", id)
	}
	id := f.BuildID()
	if p := f.debugPaths(f.Names()); len(p) == 0 || p[0] != "/usr/lib/debug/.build-id/"+id[:2]+"/"+id[2:]+".debug" {
		t.Errorf("paths %v", p)
	}
}

func TestMiniDebug(t *testing.T) {
	tool(t, "xz")
	lib := build(t, "libmini.so.c",
		"__attribute__((noipa)) static int secret(int a) { return a * 2; }\nint open_one(int a) { return secret(a); }",
		"-g", "-O1", "-fPIC", "-shared")
	dir := filepath.Dir(lib)
	addr := nm(t, lib)["secret"][0]
	run(t, dir, "objcopy", "--strip-debug", "--keep-section=.symtab", lib, "mini")
	for _, args := range [][]string{nil, {"-9e"}, {"--check=sha256"}, {"-T2", "--block-size=4096"}} {
		os.Remove(filepath.Join(dir, "mini.xz"))
		run(t, dir, "xz", append(args, "-k", "mini")...)
		out := filepath.Join(dir, "with")
		run(t, dir, "strip", "--strip-all", "-o", out, lib)
		run(t, dir, "objcopy", "--add-section", ".gnu_debugdata=mini.xz", out)
		f := open(t, out)
		if funcs := match(t, f, "secret", ""); len(funcs) != 1 || funcs[0].Addr != addr {
			t.Errorf("xz %v: %+v", args, funcs)
		}
		if s, ok := f.Lookup(addr + 1); !ok || s.Name != "secret" {
			t.Errorf("xz %v: lookup %+v %v", args, s, ok)
		}
	}
}

func TestCompressedSections(t *testing.T) {
	plain := build(t, "plain.c", "int main(void) { return 0; }", "-g", "-gz=none")
	want, err := open(t, plain).Data(".debug_info")
	if err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"zlib", "zlib-gnu", "zstd"} {
		out := plain + "." + how
		cmd := run
		if strings.Contains(cmd(t, "", "objcopy", "--help"), how) == false {
			t.Logf("objcopy does not know %s", how)
			continue
		}
		run(t, "", "objcopy", "--compress-debug-sections="+how, plain, out)
		f := open(t, out)
		got, err := f.Data(".debug_info")
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, %v; want %d", how, len(got), err, len(want))
		}
	}
	if _, err := open(t, plain).Data(".nothing"); !errors.Is(err, ErrNoSection) {
		t.Errorf("a section that is not there: %v", err)
	}
}

func TestDynamic(t *testing.T) {
	path := build(t, "uses.c", "#include <stdio.h>\nint main(void) { return puts(\"x\"); }",
		"-Wl,-rpath,/opt/inner:/opt/other")
	f := open(t, path)
	if !slices.Contains(f.Needed(), "libc.so.6") {
		t.Errorf("needed: %v", f.Needed())
	}
	if !f.Imports("puts") || f.Imports("main") || f.Imports("nothing") {
		t.Error("imports")
	}
	if !slices.Equal(f.Runpath(), []string{"/opt/inner", "/opt/other"}) {
		t.Errorf("run path: %v", f.Runpath())
	}
}

// TestNoSections opens a file whose section headers are gone: the dynamic symbols are found by PT_DYNAMIC.
func TestNoSections(t *testing.T) {
	for _, style := range []string{"gnu", "sysv"} {
		lib := build(t, "libns.c", "int first(void) { return 1; }\nint second(void) { return 2; }", "-shared", "-fPIC",
			"-Wl,--hash-style="+style)
		want := nm(t, lib, "-D")
		data, err := os.ReadFile(lib)
		if err != nil {
			t.Fatal(err)
		}
		clear(data[40:48]) // e_shoff
		clear(data[58:64]) // e_shentsize, e_shnum, e_shstrndx
		f, err := New("cut", data)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"first", "second"} {
			if funcs := match(t, f, name, ""); len(funcs) != 1 || funcs[0].Addr != want[name][0] {
				t.Errorf("%s: %s: %+v, want %#x", style, name, funcs, want[name])
			}
		}
	}
}

func TestZipMember(t *testing.T) {
	tool(t, "zip")
	lib := build(t, "libz.c", "int in_zip(void) { return 1; }", "-shared", "-fPIC")
	dir := filepath.Dir(lib)
	write(t, dir, "pad.txt", strings.Repeat("x", 1000))
	run(t, dir, "zip", "-q", "-0", "a.apk", "pad.txt", "libz")
	run(t, dir, "zip", "-q", "-9", "b.apk", "pad.txt", "libz")
	f := open(t, filepath.Join(dir, "a.apk")+"!/libz")
	funcs := match(t, f, "in_zip", "")
	if len(funcs) != 1 {
		t.Fatalf("%+v", funcs)
	}
	off, ok := f.Offset(funcs[0].Addr)
	data, err := os.ReadFile(filepath.Join(dir, "a.apk"))
	if err != nil {
		t.Fatal(err)
	}
	if !ok || !bytes.Equal(data[off:off+8], f.Bytes(funcs[0].Addr, 8)) {
		t.Errorf("offset %#x is not the function's", off)
	}
	if f.AttachPath() != filepath.Join(dir, "a.apk") || f.Base() == 0 {
		t.Errorf("attach to %s, base %d", f.AttachPath(), f.Base())
	}
	for path, want := range map[string]string{
		"b.apk!/libz": "compressed", "a.apk!/none": "no member",
		"pad.txt!/x": "not a zip file",
	} {
		if _, err := Open(filepath.Join(dir, path)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestNotELF(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "empty", "")
	write(t, dir, "text", "#!/bin/sh\necho not an ELF file, but long enough\n")
	write(t, dir, "head", "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00>\x00")
	for _, name := range []string{"empty", "text", "head", "."} {
		if _, err := Open(filepath.Join(dir, name)); !errors.Is(err, ErrNotELF) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("none: %v", err)
	}
}

// TestTruncated cuts a file while it is mapped: reading gives an error, not a signal.
func TestTruncated(t *testing.T) {
	path := build(t, "cut.c", "int main(void) { return 0; }")
	f := open(t, path)
	if err := os.Truncate(path, 4096); err != nil {
		t.Fatal(err)
	}
	_, err := f.Match(NewQuery("main", ""))
	if err == nil {
		// The tables may still be in the first page of a very small program; then nothing was cut.
		t.Skip("nothing beyond the cut was read")
	}
	if !errors.Is(err, ErrTruncated) {
		t.Errorf("%v", err)
	}
	if _, ok := f.Lookup(f.Entry()); ok {
		t.Error("a name came out of nothing")
	}
}

func TestLookup(t *testing.T) {
	path := build(t, "look.c", `
__asm__(".text\n.globl bare\n.type bare, @function\nbare: nop\nnop\nret\n"
".globl sized\n.type sized, @function\nsized: nop\nret\n.size sized, .-sized\n");
void bare(void); void sized(void);
int main(void) { bare(); sized(); return 0; }`)
	f := open(t, path)
	syms := nm(t, path)
	for _, c := range []struct {
		addr uint64
		want string
	}{
		{syms["bare"][0], "bare"},
		{syms["bare"][0] + 2, "bare"}, // without a size it reaches to the next symbol
		{syms["sized"][0] + 1, "sized"},
		{syms["main"][0] + 3, "main"},
	} {
		if s, ok := f.Lookup(c.addr); !ok || s.Name != c.want {
			t.Errorf("%#x: %q %v, want %s", c.addr, s.Name, ok, c.want)
		}
	}
	if s, ok := f.Lookup(0x10); ok {
		t.Errorf("0x10: %+v", s)
	}
	if n := f.CodeSize(syms["bare"][0]); n != 3 {
		t.Errorf("bare has %d bytes, want 3", n)
	}
}

func TestNear(t *testing.T) {
	f := open(t, build(t, "near.cc", `namespace shop { struct Till { int pay(int n); int refund(int n) const; int open; }; }
int shop::Till::pay(int n) { return n; }
int shop::Till::refund(int n) const { return n; }
int dispatch(const char *what, int n) { return n; }
extern "C" int readline(void) { return 1; }
extern "C" int rl_forced(void) { return 2; }
extern "C" { static __attribute__((used)) int helper_v1(void) { return 3; } }
int main(void) { return 0; }`))
	for name, want := range map[string]string{
		"readlin": "readline", "raedline": "readline", "rl_force": "rl_forced", "ReadLine": "readline", "helper": "helper_v1",
		"pay": "shop::Till::pay", "shop::Till::pya": "shop::Till::pay",
		"refnud": "shop::Till::refund", "Till::refun": "shop::Till::refund", "dispach": "dispatch",
	} {
		if got := f.Near(name, 3); !slices.Contains(got, want) {
			t.Errorf("%s: %v, want %s", name, got, want)
		}
	}
	for _, name := range []string{"zzzzzzzzzz", "Till", "ay"} {
		if got := f.Near(name, 3); len(got) != 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestLookupAll: what is found for some addresses, few or many, is what is found for each.
func TestLookupAll(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, path := range []string{own, "/bin/sh", "/lib/x86_64-linux-gnu/libc.so.6", "/lib/aarch64-linux-gnu/libc.so.6"} {
		f, err := Open(path)
		if err != nil {
			continue
		}
		defer f.Close()
		for _, n := range []int{1, 3, 100, 3000} {
			var addrs []uint64
			for _, s := range f.Segments() {
				for range n {
					if s.Exec {
						addrs = append(addrs, s.Addr+random.Uint64N(s.FileSize))
					}
				}
			}
			slices.Sort(addrs)
			seen := 0
			f.ForgetNames()
			found := map[uint64]Symbol{}
			f.LookupAll(addrs, func(addr uint64, sym Symbol, ok bool) {
				if seen++; ok {
					found[addr] = sym
				}
			})
			for _, addr := range addrs {
				if want, ok := f.Lookup(addr); found[addr] != want || ok != (found[addr] != Symbol{}) {
					t.Errorf("%s: %#x is in %+v, want %+v", path, addr, found[addr], want)
				}
			}
			if seen != len(addrs) {
				t.Errorf("%s: %d of %d addresses", path, seen, len(addrs))
			}
		}
	}
}
