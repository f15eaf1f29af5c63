package abi

import "trocar/internal/binary/types"

// aapcsResult is the place of a result where a C function returns on arm64 (AAPCS64, 6.9; only what needs no more than
// the general registers). The one or two words of a small structure are in x0 and x1; one of up to four equal
// floating-point numbers is in their registers.
func aapcsResult(t *types.Type) types.Place {
	if t.IsScalar() || t.Kind != types.Struct && t.Kind != types.Union {
		return scalarResult(t, 8, 0)
	}
	unavailable := func(why string) types.Place { return types.Place{Why: why} }
	classes := classesOf(t)
	if classes == nil {
		return unavailable("the result is in memory whose address is no longer known")
	}
	p := types.Place{Kind: types.InPieces}
	for i, c := range classes {
		if c != integerClass {
			return unavailable("the result has floating-point numbers, which BPF cannot read in registers")
		}
		p.Pieces = append(p.Pieces, types.Piece{
			Size: min(8, t.Size-8*i), Place: types.Place{Kind: types.InRegister, Reg: i},
		})
	}
	return p
}
