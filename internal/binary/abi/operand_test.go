package abi

import (
	"reflect"
	"strings"
	"testing"

	"trocar/internal/binary/types"
)

// fakeSymbols is a file with these symbols that is loaded anywhere.
type fakeSymbols map[string]uint64

func (s fakeSymbols) SymbolAddr(name string) (uint64, bool) {
	addr, ok := s[name]
	return addr, ok
}

func (s fakeSymbols) Fixed() bool { return false }

// TestOperands reads operands as compilers write them.
func TestOperands(t *testing.T) {
	const main, ticks = 0x1139, 0x4010
	o := Operands{Arch: AMD64, Site: main, Symbols: fakeSymbols{"main": main, "ticks": ticks}}
	reg := func(n int) types.Place { return types.Place{Kind: types.InRegister, Reg: n} }
	mem := func(n int, off int64) types.Place { return types.Place{Kind: types.InMemory, Reg: n, Offset: off} }
	con := func(v int64) types.Place { return types.Place{Kind: types.Constant, Value: uint64(v)} }
	push := func(r int) types.PlaceOp { return types.PlaceOp{Code: types.PushReg, Reg: r} }
	num := func(n int64) types.PlaceOp { return types.PlaceOp{Code: types.PushConst, Arg: n} }
	op := func(c types.PlaceCode) types.PlaceOp { return types.PlaceOp{Code: c} }
	for _, c := range []struct {
		text  string
		place types.Place
		typ   *types.Type
	}{
		{"8@%rax", reg(0), types.TUint64},
		{"-4@%edi", reg(5), types.TInt32},
		{"-2@%dx", reg(1), types.TInt16},
		{"1@%r8b", reg(8), types.TUint8},
		{"4@%r9d", reg(9), types.TUint32},
		{"-1@%sil", reg(4), types.TInt8},
		{"8@%eax", reg(0), types.TUint32},
		{"4@%rax", reg(0), types.TUint32},
		{"-1@%ch", types.Place{Kind: types.Computed, Ops: []types.PlaceOp{
			push(2), num(8), op(types.ShrUnsigned), num(255),
			op(types.And),
		}}, types.TInt8},
		{"8@$-9", con(-9), types.TUint64},
		{"-4@$-5", con(-5), types.TInt32},
		{"4@$-5", con(0xfffffffb), types.TUint32},
		{"-1@$255", con(-1), types.TInt8},
		{"8@$0xffffffffffffffff", con(-1), types.TUint64},
		{"-4@8(%rdi)", mem(5, 8), types.TInt32},
		{"-8@-16(%rsp)", mem(7, -16), types.TInt64},
		{"8@(%rbp)", mem(6, 0), types.TUint64},
		{"-2@2(%rdi,%rsi,4)", types.Place{Kind: types.InMemory, Ops: []types.PlaceOp{
			num(2), push(5), op(types.Add), push(4),
			num(4), op(types.Mul), op(types.Add),
		}}, types.TInt16},
		{"1@(%rdi,%rsi)", types.Place{Kind: types.InMemory, Ops: []types.PlaceOp{
			num(0), push(5), op(types.Add), push(4),
			num(1), op(types.Mul), op(types.Add),
		}}, types.TUint8},
		{"-4@4(%edi)", types.Place{Kind: types.InMemory, Ops: []types.PlaceOp{
			num(4), push(5), op(types.Add), num(0xffffffff),
			op(types.And),
		}}, types.TInt32},
		{"-4@ticks(%rip)", mem(16, ticks-main), types.TInt32},
		{"-4@ticks+4(%rip)", mem(16, ticks-main+4), types.TInt32},
		{"-4@4+ticks(%rip)", unavailable("x"), types.TInt32},
		{
			"8@$ticks",
			types.Place{Kind: types.Computed, Ops: []types.PlaceOp{push(16), num(ticks - main), op(types.Add)}},
			types.TUint64,
		},
		{"8@%xmm0", unavailable("xmm0"), types.TUint64},
		{"8f@%xmm3", unavailable("floating-point"), types.TUint64},
		{"8@%st(0)", unavailable("st"), types.TUint64},
		{"4@%fs:0xfffc", unavailable("segment"), types.TUint32},
		{"4@nothere(%rip)", unavailable("nothere"), types.TUint32},
		{"8@ticks@GOTPCREL(%rip)", unavailable("table"), types.TUint64},
		{"4@16(%rip)", unavailable("instruction"), types.TUint32},
		{"3@%rax", unavailable("3 bytes"), types.TInt64},
		{"4@(%rdi,%rsi,3)", unavailable("scale"), types.TUint32},
		{"4@(%xmm0)", unavailable("xmm0"), types.TUint32},
		{"4@(%rdi", unavailable("parenthesis"), types.TUint32},
		{"4@%r16d", unavailable("r16d"), types.TUint32},
		{"4@", unavailable("empty"), types.TUint32},
		{"%rdi", reg(5), types.TInt64},
	} {
		place, typ := o.parse(c.text)
		if c.place.Kind == types.Unavailable {
			if place.Kind != types.Unavailable || place.Why == "" || c.place.Why != "x" && !strings.Contains(place.Why,
				c.place.Why) {
				t.Errorf("%s: %+v, want unavailable with %q", c.text, place, c.place.Why)
			}
			continue
		}
		if !reflect.DeepEqual(place, c.place) || typ != c.typ {
			t.Errorf("%s: %+v %s, want %+v %s", c.text, place, typ, c.place, c.typ)
		}
	}
	arm := Operands{Arch: ARM64, Site: main, Symbols: o.Symbols}
	for _, c := range []struct {
		text  string
		place types.Place
		typ   *types.Type
	}{
		{"-4@w0", reg(0), types.TInt32},
		{"8@x30", reg(30), types.TUint64},
		{"8@sp", reg(31), types.TUint64},
		{"-4@5", con(5), types.TInt32},
		{"8@[sp, 16]", mem(31, 16), types.TUint64},
		{"-4@[x29, -20]", mem(29, -20), types.TInt32},
		{"8@[x0]", mem(0, 0), types.TUint64},
		{"8@d0", unavailable("d0"), types.TUint64},
	} {
		place, typ := arm.parse(c.text)
		if c.place.Kind == types.Unavailable && place.Kind == types.Unavailable && strings.Contains(place.Why, c.place.Why) {
			continue
		}
		if !reflect.DeepEqual(place, c.place) || typ != c.typ {
			t.Errorf("arm64 %s: %+v %s, want %+v %s", c.text, place, typ, c.place, c.typ)
		}
	}
	if got := splitOperands(" -4@%edi  8@[sp, 16] 4@(%rdi, %rsi,4)"); len(got) != 3 || got[1] != "8@[sp, 16]" {
		t.Errorf("split: %q", got)
	}
}

// FuzzOperand reads anything as the operands of a USDT probe.
func FuzzOperand(f *testing.F) {
	f.Add("-4@%esi -2@%dx 8@$-9 4@8(%rdi,%rsi,4) -4@ticks+8(%rip) 8@%xmm0 8@[sp, 16] -1@%ah")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4096 {
			return
		}
		for _, o := range []Operands{{}, {Arch: AMD64}, {Arch: I386}, {Arch: ARM64}} {
			o.Symbols = fakeSymbols{}
			places, typs := o.Places(text)
			if len(places) != len(typs) || len(places) > MaxOperands {
				t.Fatalf("%d places, %d types", len(places), len(typs))
			}
			for i, ty := range typs {
				if ty == nil || ty.Size == 0 {
					t.Fatalf("operand %d of %q has no type", i, text)
				}
			}
		}
	})
}
