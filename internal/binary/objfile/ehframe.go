package objfile

import (
	"encoding/binary"
	"sort"
)

// FrameStart finds the start of the function around an address in the unwind table (.eh_frame_hdr), which stripped files
// keep: exceptions need it. Some compilers split a function into several entries; the start of one is an instruction's
// start all the same.
//
// The header (LSB, "The .eh_frame_hdr section"): version 1, encodings of the pointer, count and table, then a sorted table
// of pairs, here as all linkers write it: 32 bits, relative to the header (DW_EH_PE_datarel|sdata4).
func (f *File) FrameStart(addr uint64) (start uint64, ok bool) {
	var err error
	defer Guard(&err)()
	s := f.section(".eh_frame_hdr")
	if s == nil || !f.Executable(addr) {
		return 0, false
	}
	h := f.sectionBytes(s)
	if len(h) < 12 || h[0] != 1 || h[2] != 0x03 || h[3] != 0x3b {
		return 0, false
	}
	at := 8
	if h[1]&0x0f == 0x0c || h[1]&0x0f == 0x04 { // the pointer before the count may have 8 bytes
		at = 12
	}
	if len(h) < at+4 {
		return 0, false
	}
	n := int(binary.LittleEndian.Uint32(h[at:]))
	table := h[at+4:]
	if n <= 0 || n > len(table)/8 {
		return 0, false
	}
	entry := func(i int) uint64 { return s.Addr + uint64(int64(int32(binary.LittleEndian.Uint32(table[8*i:])))) }
	i := sort.Search(n, func(i int) bool { return entry(i) > addr })
	if i == 0 {
		return 0, false
	}
	start = entry(i - 1)
	// Where the function ends stands in its frame description; what lies behind belongs to nobody.
	end, ok := f.frameEnd(s.Addr+uint64(int64(int32(binary.LittleEndian.Uint32(table[8*(i-1)+4:])))), start)
	return start, ok && addr < end
}

// frameEnd reads the length of the code that a frame description entry is for.
func (f *File) frameEnd(fde, start uint64) (end uint64, ok bool) {
	b := f.Bytes(fde, 24)
	// length, CIE pointer, start, length of the code: the last two in the encoding of the CIE, of which 32 bits relative to
	// the place is what compilers use.
	if len(b) < 16 || fde+8+uint64(int64(int32(u32(b, 8)))) != start {
		return 0, false
	}
	return start + u32(b, 12), true
}
