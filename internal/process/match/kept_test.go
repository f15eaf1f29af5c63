package match

import (
	"testing"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/code"
	"trocar/internal/binary/types"
)

// What was passed in a register counts behind the first instructions only as long as none has changed it.
func TestKeptAt(t *testing.T) {
	text := []byte{
		0x48, 0x83, 0xec, 0x38, // sub $0x38,%rsp
		0x48, 0x89, 0xd7, // mov %rdx,%rdi
		0x4c, 0x89, 0x44, 0x24, 0x08, // mov %r8,0x8(%rsp)
	}
	prologue, ok := code.ReadPrologue(abi.AMD64, text, false)
	if !ok {
		t.Fatal("the code is not read")
	}
	register := func(n int) types.Place { return types.Place{Kind: types.InRegister, Reg: n} }
	pair := types.Place{Kind: types.InPieces, Pieces: []types.Piece{
		{Size: 8, Place: register(8)},
		{Size: 4, Place: register(5)},
	}}
	for _, c := range []struct {
		end   int
		place types.Place
		want  bool
	}{
		{4, register(5), true},
		{7, register(5), false},
		{7, register(8), true},
		{4, pair, true},
		{7, pair, false},
		{7, types.Place{Kind: types.InMemory, Reg: 7}, false},
		{4, types.Place{Kind: types.InMemory, Reg: 5}, true},
		{7, types.Place{Kind: types.InMemory, Reg: 5}, false},
	} {
		if got := keptAt(prologue, c.end, &c.place); got != c.want {
			t.Errorf("at %d: %+v is kept: %v", c.end, c.place, got)
		}
	}
}
