package objfile

import (
	"bytes"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"trocar/internal/near"
	"trocar/internal/need"
)

// seeds gives small ELF files of several kinds, as far as a compiler is there.
func seeds(f *testing.F) (files [][]byte) {
	if ok, err := need.HasTool("gcc"); err != nil {
		f.Fatal(err)
	} else if !ok {
		return nil
	}
	dir := f.TempDir()
	src := filepath.Join(dir, "a.c")
	text := `
static int plain(int n) { return n; }
static int fast(int n) { return n + 1; }
static int (*pick(void))(int) { return fast ? fast : plain; }
int digest(int) __attribute__((ifunc("pick")));
int f(int n) { return digest(n); }
__asm__(".pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n.4byte 8, 40, 3\n.asciz \"stapsdt\"\n.8byte 1\n"
	".8byte 0\n.8byte 2\n.asciz \"a\"\n.asciz \"b\"\n.asciz \"8@%rax\"\n.balign 4\n.popsection");
`
	if err := os.WriteFile(src, []byte(text), 0o644); err != nil {
		f.Fatal(err)
	}
	for _, flags := range [][]string{
		{"-shared", "-fPIC", "-nostdlib"},
		{"-shared", "-fPIC", "-nostdlib", "-s", "-Wl,--hash-style=gnu"},
		{"-c", "-g", "-gz"},
		{"-m32", "-shared", "-fPIC", "-nostdlib"},
	} {
		out := filepath.Join(dir, "out")
		if exec.Command("gcc", append(flags, "-o", out, src)...).Run() != nil {
			continue
		}
		data, err := os.ReadFile(out)
		if err != nil {
			f.Fatal(err)
		}
		files = append(files, data)
	}
	return files
}

// FuzzELF opens anything as an ELF file and asks it everything.
func FuzzELF(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s, "f")
	}
	f.Add([]byte("\x7fELF\x02\x01\x01"), "*")
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		if len(data) > 1<<20 {
			return
		}
		file, err := New("fuzz", data)
		if err != nil {
			return
		}
		defer file.Close()
		file.BuildID()
		file.USDTs()
		file.Needed()
		file.Imports(name)
		file.Runpath()
		for _, pattern := range []string{name, "*"} {
			funcs, err := file.Match(NewQuery(pattern, ""))
			if err != nil {
				t.Fatal(err) // the data does not change: no fault can happen
			}
			for i := range funcs {
				if i == 20 {
					break
				}
				fn := &funcs[i]
				file.Offset(fn.Addr)
				file.Lookup(fn.Addr + 1)
				file.Implementations(fn)
				file.Code(fn.Addr, fn.Size)
			}
		}
		file.Near(name, 3)
		file.SymbolAddr(name)
		file.ClassAt(file.Entry())
		file.Addr(file.Entry())
		for i := range file.Sections() {
			if i == 40 {
				break
			}
			file.Data(file.Sections()[i].Name)
		}
	})
}

// FuzzArchive looks for members in anything.
func FuzzArchive(f *testing.F) {
	f.Add([]byte("PK\x03\x04\n\x00\x00\x00\x00\x00"), "a")
	f.Add([]byte("PK\x05\x06\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"), "lib/x.so")
	f.Fuzz(func(t *testing.T, data []byte, member string) {
		base, size, err := findMember(data, member)
		if err == nil && base+size > uint64(len(data)) {
			t.Fatalf("%d bytes at %d of %d", size, base, len(data))
		}
	})
}

// FuzzXZ unpacks anything; the limit holds.
func FuzzXZ(f *testing.F) {
	f.Add(
		[]byte("\xfd7zXZ\x00\x00\x04\xe6\xd6\xb4\x46\x02\x00\x21\x01\x16\x00\x00\x00\x74\x2f\xe5\xa3\x01\x00\x03abcd\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		out, err := unxz(data, 1<<16)
		if err == nil && len(out) > 1<<16 {
			t.Fatalf("%d bytes", len(out))
		}
	})
}

// FuzzNames demangles and matches anything.
func FuzzNames(f *testing.F) {
	f.Add("A::b*", "_ZN1A1bEi")
	f.Add("<a::B<u8> as c>::d", "_RNvCs7NAv3frp1Oz_10hello_rust4fun1")
	f.Add("larger<int>(int, int)", "_Z6largerIiET_S0_S0_.isra.0")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if len(pattern) > 4096 || len(name) > 4096 {
			return
		}
		for _, lang := range []string{"", "cpp"} {
			q := NewQuery(pattern, lang)
			q.Match(&Symbol{Name: name, Version: "V"})
		}
		if !strings.Contains(name, "*") && !NewQuery(name, "").Match(&Symbol{Name: name}) &&
			!strings.Contains(name, ".llvm.") {
			t.Fatalf("%q does not fit itself", name)
		}
		Demangle(name)
		near.Distance(pattern, name, 3)
	})
}

// FuzzInflate decompresses anything in both forms.
func FuzzInflate(f *testing.F) {
	f.Add(uint64(chZlib), uint64(4), []byte{0x78, 0x9c, 0x4b, 0x4c, 0x4a, 0x4e, 0x01, 0x00, 0x03, 0xd8, 0x01, 0x8b})
	f.Add(uint64(chZstd), uint64(4), []byte{0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x00, 0x21, 0x00, 0x00, 'a', 'b', 'c', 'd'})
	f.Fuzz(func(t *testing.T, typ, size uint64, body []byte) {
		if size > 1<<20 {
			return
		}
		whole, parts := &File{room: new(Room)}, &File{room: new(Room)}
		defer whole.Close()
		defer parts.Close()
		var s Section
		want, err := whole.unpacked(&s, typ, size, body, math.MaxUint64)
		if err == nil && uint64(len(want)) != size {
			t.Fatalf("%d bytes, want %d", len(want), size)
		}
		var got []byte
		var partErr error
		for n := uint64(1); partErr == nil && n < size; n += unpackStep / 2 {
			if got, partErr = parts.unpacked(&s, typ, size, body, n); err == nil && !bytes.Equal(got[:n], want[:n]) {
				t.Fatalf("the first %d bytes differ", n)
			}
		}
		if got, partErr = parts.unpacked(&s, typ, size, body, math.MaxUint64); (partErr == nil) != (err == nil) ||
			!bytes.Equal(got, want) {
			t.Fatalf("in parts: %v, whole: %v", partErr, err)
		}
	})
}
