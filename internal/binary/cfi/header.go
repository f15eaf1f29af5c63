package cfi

import (
	"sort"

	"trocar/internal/binary/section"
)

// header is the table of .eh_frame_hdr (LSB core, 10.6.2): the addresses of functions, sorted, with those of their
// entries. The zero header finds nothing.
type header struct {
	addr  uint64 // of the section
	table []byte // pairs of 32 bits, relative to addr, as all linkers write them (DW_EH_PE_datarel|sdata4)
	count int
}

func readHeader(b []byte, addr uint64) header {
	r := section.Reader{Data: b}
	version, ptrEnc, countEnc, tableEnc := r.U8(), r.U8(), r.U8(), r.U8()
	if r.Bad || version != 1 || tableEnc != encDataRel|encSdata4 {
		return header{}
	}
	at := encodedAt{r: &r, addr: addr, data: addr, size: 8}
	at.read(ptrEnc)
	count, ok := at.read(countEnc)
	if !ok || r.Bad || count > uint64(r.Left()/8) {
		return header{}
	}
	return header{addr: addr, table: b[r.Pos:], count: int(count)}
}

// find returns the address of the entry for pc, if there is one: whether it reaches as far as pc stands in it.
func (h *header) find(pc uint64) (entry uint64, ok bool) {
	i := sort.Search(h.count, func(i int) bool { return h.at(8*i) > pc }) - 1
	if i < 0 {
		return 0, false
	}
	return h.at(8*i + 4), true
}

func (h *header) at(off int) uint64 {
	r := section.Reader{Data: h.table, Pos: off}
	return h.addr + uint64(int64(int32(r.U32())))
}
