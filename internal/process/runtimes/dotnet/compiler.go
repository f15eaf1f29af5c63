package dotnet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"trocar/internal/binary/cfi"
	"trocar/internal/binary/code"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/opener"
	"trocar/internal/process/probe"
	"trocar/internal/process/target"
)

// A method that is called for the first time by several threads at once is compiled by one of them, and the others run
// the code before the note of it is written: so code is looked for earlier, where the compiler returns. That is a
// library of its own with an interface (src/coreclr/inc/corjit.h of dotnet/runtime, the same from .NET 5 to 10): it
// exports getJit, whose result is an object with compileMethod first in its table:
//
//	compileMethod(this, ICorJitInfo*, CORINFO_METHOD_INFO*, flags, uint8_t** nativeEntry, uint32_t* nativeSizeOfCode)
//	struct CORINFO_METHOD_INFO { CORINFO_METHOD_HANDLE ftn; CORINFO_MODULE_HANDLE scope; uint8_t* ILCode; … }

const compilerLibrary = "libclrjit.so"

var errCompiler = errors.New("the function with which the runtime compiles is not known")

// Compiler finds compileMethod.
func (p *process) Compiler() (c *probe.Compiler, err error) {
	maps, err := p.pid.Maps()
	if err != nil {
		return nil, err
	}
	mapped := func(name string) int {
		return slices.IndexFunc(maps, func(m target.Mapping) bool {
			return m.IsFile() && m.Perm&target.Exec != 0 && path.Base(m.Path) == name
		})
	}
	file, from := "", ""
	var opened *os.File
	if i := mapped(compilerLibrary); i >= 0 {
		file = maps[i].Path
		opened, err = p.pid.OpenMapped(&maps[i])
	} else if i = mapped(Library); i >= 0 { // it is loaded with the first method that is compiled
		file = path.Join(path.Dir(maps[i].Path), compilerLibrary)
	} else {
		return nil, errCompiler // it is in the program
	}
	if from = fmt.Sprintf("/proc/%d/root%s", p.pid, file); opened == nil && err == nil {
		opened, err = opener.Root{}.Open(from)
	}
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	defer objfile.Guard(&err)()
	f, err := objfile.OpenFile(opened, file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entry, ok := compileMethod(f)
	if !ok {
		return nil, errCompiler
	}
	returns, err := returnsOf(f, entry)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(opened.Fd()), &st); err != nil {
		return nil, err
	}
	point := func(addr uint64) *probe.Point {
		off, _ := f.Offset(addr)
		return &probe.Point{
			Kind: probe.Uprobe, Path: from, PID: int(p.pid), Name: "compileMethod",
			Addr: addr, Offset: off,
			File: probe.FileID{Dev: st.Dev, Inode: st.Ino, Size: st.Size, Changed: st.Mtim.Nano()},
		}
	}
	c = &probe.Compiler{Entry: point(entry), Request: 2, SourceAt: 16, Code: 4, Size: 5}
	for _, addr := range returns {
		c.Returns = append(c.Returns, point(addr))
	}
	return c, nil
}

// compileMethod finds it by the object that getJit has in its code.
func compileMethod(f *objfile.File) (addr uint64, ok bool) {
	const longest = 64
	at, _, ok := f.Symbol("getJit")
	if !ok {
		return 0, false
	}
	text := f.Bytes(at, longest)
	for off := 0; off < len(text); {
		in, ok := code.Decode(f.Arch(), text[off:])
		if !ok || in.Len == 0 || in.Op == code.Ret {
			return 0, false
		}
		b := text[off : off+in.Len]
		off += in.Len
		if len(b) == 7 && b[0]&0xfb == 0x48 && b[1] == 0x8d && b[2]&0xc7 == 5 { // lea reg, [rip+disp]
			object := at + uint64(off) + uint64(int64(int32(binary.LittleEndian.Uint32(b[3:]))))
			addr = f.PointerAt(f.PointerAt(object))
			return addr, f.Executable(addr)
		}
	}
	return 0, false
}

// returnsOf are the instructions with which a function returns that begins as compilers of C have it.
func returnsOf(f *objfile.File, entry uint64) ([]uint64, error) {
	const pushFrame = 0x55
	size := uint64(0)
	if fn, ok := cfi.Open(f).Function(entry); ok && fn.Low == entry {
		size = fn.High - fn.Low
	}
	text := f.Bytes(entry, int(size))
	if len(text) == 0 || text[0] != pushFrame {
		return nil, errCompiler
	}
	found, tails, err := code.Exits(f.Arch(), text)
	if err != nil || len(tails) > 0 || len(found) == 0 {
		return nil, errCompiler
	}
	at := make([]uint64, len(found))
	for i, off := range found {
		at[i] = entry + uint64(off)
	}
	return at, nil
}

// Mapped looks in all mappings of the file: the runtime has some files twice.
func (p *process) Mapped(file string, off uint64) (addrs []uint64) {
	var st unix.Stat_t
	if unix.Stat(file, &st) != nil {
		return nil
	}
	const fresh = 20 * time.Millisecond
	if time.Since(p.looked) > fresh {
		p.mapped, _ = p.pid.Maps()
		p.looked = time.Now()
	}
	for i := range p.mapped {
		m := &p.mapped[i]
		if m.IsFile() && m.Inode == st.Ino && m.Offset <= off && off-m.Offset < m.End-m.Start {
			addrs = append(addrs, m.Start+off-m.Offset)
		}
	}
	return addrs
}
