package code

import "trocar/internal/binary/abi"

// StoredAt takes an instruction apart that moves a register of 64 bits to where another one points, off bytes behind:
// the registers by their DWARF numbers. False: it is another one, or the CPU's are not known.
func StoredAt(arch *abi.Arch, in []byte) (from, base int, off int64, ok bool) {
	const rexW, wide, extendsBase, extendsFrom, move, hasIndex, alone = 0xf8, 0x48, 1, 4, 0x89, 4, 0x24
	if arch != abi.AMD64 || len(in) < 4 || in[0]&rexW != wide || in[0]&2 != 0 || in[1] != move || in[2]>>6 != 1 {
		return 0, 0, 0, false
	}
	rex, modrm, rest := in[0], in[2], in[3:]
	if modrm&7 == hasIndex {
		if rest[0] != alone || len(rest) < 2 {
			return 0, 0, 0, false
		}
		rest = rest[1:]
	}
	from = arch.Encoded(int(modrm>>3&7) | int(rex&extendsFrom)<<1)
	base = arch.Encoded(int(modrm&7) | int(rex&extendsBase)<<3)
	return from, base, int64(int8(rest[0])), true
}
