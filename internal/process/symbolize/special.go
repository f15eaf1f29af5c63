package symbolize

import (
	"bytes"
	"os"

	"trocar/internal/binary/objfile"
	"trocar/internal/process/target"
	"trocar/result"
)

// special names an address in a mapping that is not of a file; it tells whether the next frame out is exact.
func (s *Symbolizer) special(f *result.Frame, p *process, sp *space, m *mapping, at uint64) (nextExact bool) {
	switch m.kind {
	case anonymous:
		s.generated(sp, p).find(f, at)
		return false
	case vsyscall:
		f.Module = specialNames[m.kind]
		// Three entries of fixed addresses (arch/x86/entry/vsyscall/vsyscall_emu_64.S).
		names := [...]string{"gettimeofday", "time", "getcpu"}
		if i := (at - m.start) / 1024; i < uint64(len(names)) {
			f.Symbol, f.Offset = names[i], f.Addr-m.start-i*1024
		}
		return false
	case vdso:
		f.Module, f.ModuleOffset = specialNames[m.kind], f.Addr-m.start
		v := s.vdso.file()
		if v == nil || s.vdso.size != m.end-m.start {
			return false // that of 32-bit programs is another
		}
		in, ok := v.elf.Addr(at - m.start)
		if !ok {
			return false
		}
		sym := v.lookup(in, false)
		if sym == nil {
			return false
		}
		f.Symbol, f.Offset, f.BuildID = sym.name, in-sym.start+(f.Addr-at), v.buildID
		return sym.signal
	}
	f.Module = specialNames[m.kind]
	return false
}

// lazyVDSO is the virtual library that the kernel maps into every process. All 64-bit processes have the same one, so
// ours serves: its content is not in any file.
type lazyVDSO struct {
	tried bool
	f     *File
	size  uint64
}

// maxVDSO bounds its size: it is two pages large.
const maxVDSO = 1 << 20

func (v *lazyVDSO) file() *File {
	if v.tried {
		return v.f
	}
	v.tried = true
	maps, err := target.PID(os.Getpid()).Maps()
	if err != nil {
		return nil
	}
	for i := range maps {
		m := &maps[i]
		if m.Path != "[vdso]" || m.End-m.Start > maxVDSO {
			continue
		}
		mem, err := os.Open("/proc/self/mem")
		if err != nil {
			return nil
		}
		defer mem.Close()
		b := make([]byte, m.End-m.Start)
		if _, err := mem.ReadAt(b, int64(m.Start)); err != nil || !bytes.HasPrefix(b, []byte("\x7fELF")) {
			return nil
		}
		if elf, err := objfile.New("[vdso]", b); err == nil {
			v.f, v.size = &File{path: "[vdso]", elf: elf, buildID: elf.BuildID()}, m.End-m.Start
		}
	}
	return v.f
}
