package cli

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"syscall"
)

// segments are where this program's code and constants are in memory: what no process writes to. They are the file's
// own, so pages of them that are given back come again from the page cache.
type segments []struct{ address, size uint64 }

// ownSegments reads them from the program's file. There are none where that cannot be told: a file that is loaded
// elsewhere than its headers say, or that cannot be read.
func ownSegments() (s segments) {
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		return nil
	}
	defer f.Close()
	var head [1 << 10]byte
	n, _ := f.ReadAt(head[:], 0)
	var h elf.Header64
	if _, err := binary.Decode(head[:n], binary.LittleEndian, &h); err != nil || elf.Type(h.Type) != elf.ET_EXEC {
		return nil
	}
	programs := make([]elf.Prog64, h.Phnum)
	if h.Phoff > uint64(n) {
		return nil
	}
	if err := binary.Read(bytes.NewReader(head[h.Phoff:n]), binary.LittleEndian, programs); err != nil {
		return nil
	}
	for _, p := range programs {
		if elf.ProgType(p.Type) == elf.PT_LOAD && elf.ProgFlag(p.Flags)&elf.PF_W == 0 {
			s = append(s, struct{ address, size uint64 }{p.Vaddr, p.Memsz})
		}
	}
	return s
}

// giveBack lets the kernel take the pages that one part of a run has brought in and the next one does not need: a page
// fault maps 16 pages at once, so that the initialisation of packages alone maps a quarter of the program, and a
// compilation half of it. What is needed again costs a page fault of about 1 us. A run with few probes has 5 MB in
// memory then, not 14.
func (s segments) giveBack() {
	for _, a := range s {
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, uintptr(a.address), uintptr(a.size), syscall.MADV_DONTNEED)
	}
}
