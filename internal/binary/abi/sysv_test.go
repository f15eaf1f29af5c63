package abi

import (
	"fmt"
	"strings"
	"testing"

	"trocar/internal/binary/types"
)

// place is the short form of a place: registers by name, memory as [register+offset].
func short(p *types.Place) string {
	names := []string{"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9"}
	if p == nil {
		return "?"
	}
	switch p.Kind {
	case types.InRegister:
		return names[p.Reg]
	case types.InMemory:
		s := fmt.Sprintf("[%s+%d]", names[p.Reg], p.Offset)
		for _, d := range p.Derefs {
			s = fmt.Sprintf("[%s+%d]", s, d)
		}
		return s
	case types.Constant:
		return "pad"
	case types.Unavailable:
		_, rest, _ := strings.Cut(p.Why, "in ")
		reg, _, _ := strings.Cut(rest, ",")
		return reg
	case types.InPieces:
		var parts []string
		for _, piece := range p.Pieces {
			parts = append(parts, fmt.Sprintf("%s:%d", short(&piece.Place), piece.Size))
		}
		return strings.Join(parts, " ")
	}
	return "other"
}

func TestCPlaces(t *testing.T) {
	integer := func(name string, size int) *types.Type {
		return &types.Type{Kind: types.Int, Name: name, Size: size, Align: size, Signed: true}
	}
	float := func(name string, size int) *types.Type {
		return &types.Type{Kind: types.Float, Name: name, Size: size, Align: size}
	}
	long, i32, i128, char := integer("long", 8), integer("int", 4), integer("__int128", 16), integer("char", 1)
	double, single, x87, quad := float("double", 8), float("float", 4), float("long double", 16), float("__float128", 16)
	record := func(size, align int, fields ...types.Field) *types.Type {
		return &types.Type{
			Kind: types.Struct, Name: "s", Size: size, Align: align, Fields: fields,
			Source: &types.Source{Lang: types.CPlusPlus},
		}
	}
	at := func(t *types.Type, off int) types.Field { return types.Field{Name: "f", Type: t, Offset: off} }
	il, id, di := record(16, 8, at(i32, 0), at(long, 8)), record(16, 8, at(long, 0), at(double, 8)),
		record(16, 8, at(double, 0), at(long, 8))
	floats, ffi, three := record(8, 4, at(single, 0), at(single, 4)),
		record(12, 4, at(single, 0), at(single, 4), at(i32, 8)), record(3, 1, at(char, 0), at(char, 1), at(char, 2))
	big, packed, x := record(24, 8, at(long, 0), at(long, 8), at(long, 16)), record(9, 1, at(char, 0), at(long, 1)),
		record(16, 16, at(x87, 0))
	// Without a gap it may be packed, and then it is aligned to less.
	tight, wideGap := record(32, 16, at(i128, 0), at(long, 16), at(long, 24)), record(32, 16, at(long, 0), at(i128, 16))
	tail := record(32, 16, at(i128, 0), at(long, 16))
	unknown := &types.Type{Kind: types.Struct, Size: 8, Align: 8, Incomplete: true}
	unclear := record(16, 8, at(unknown, 0), at(i32, 8))
	empty := record(1, 1)
	special := record(8, 8, at(long, 0))
	special.Source.InMemory = true
	vector := types.ArrayOf(i32, 4)
	vector.Source = &types.Source{Lang: types.C, Form: types.VectorForm}
	wide := types.ArrayOf(i32, 8)
	wide.Source = vector.Source
	cplx := func(part *types.Type) *types.Type {
		c := record(2*part.Size, part.Align, at(part, 0), at(part, part.Size))
		c.Source.Form = types.ComplexForm
		return c
	}
	long7 := []*types.Type{long, long, long, long, long, long, long}
	for _, c := range []struct {
		args   []*types.Type
		result *types.Type
		want   string
	}{
		{[]*types.Type{i32, char, long}, nil, "rdi, rsi, rdx"},
		{long7, nil, "rdi, rsi, rdx, rcx, r8, r9, [rsp+8]"},
		{[]*types.Type{i32}, big, "rsi"},
		{[]*types.Type{i32}, special, "rsi"},
		{[]*types.Type{i32}, il, "rdi"},
		{[]*types.Type{i32}, cplx(x87), "rdi"},
		{[]*types.Type{i32}, x, "rdi"},
		{[]*types.Type{il, id, di}, nil, "rdi:8 rsi:8, rdx:8 xmm0:8, xmm1:8 rcx:8"},
		{[]*types.Type{floats, ffi, three}, nil, "xmm0, xmm1:8 rdi:4, rsi"},
		{[]*types.Type{big, i32, packed, i32}, nil, "[rsp+8], rdi, [rsp+32], rsi"},
		{[]*types.Type{x, x87, i32}, nil, "[rsp+8], [rsp+24], rdi"},
		{[]*types.Type{i128, i32}, nil, "rdi:8 rsi:8, rdx"},
		{append(long7[:5:5], i128, long), nil, "rdi, rsi, rdx, rcx, r8, [rsp+8], r9"},
		{append(long7[:5:5], il, long, long), nil, "rdi, rsi, rdx, rcx, r8, [rsp+8], r9, [rsp+24]"},
		{append(long7[:7:7], i128), nil, "rdi, rsi, rdx, rcx, r8, r9, [rsp+8], [rsp+24]"},
		{[]*types.Type{big, tight, i32}, nil, "[rsp+8], ?, ?"},
		{[]*types.Type{big, big, tight, i32}, nil, "[rsp+8], [rsp+32], [rsp+56], rdi"},
		{[]*types.Type{big, wideGap, i32}, nil, "[rsp+8], [rsp+40], rdi"},
		{[]*types.Type{big, tail, i32}, nil, "[rsp+8], [rsp+40], rdi"},
		{[]*types.Type{i32, unclear, i32}, nil, "rdi, ?, ?"},
		{[]*types.Type{i32}, unclear, "?"},
		{[]*types.Type{empty, i32}, nil, "pad:1, rdi"},
		{[]*types.Type{special, i32}, nil, "[rdi+0], rsi"},
		{append(long7[:6:6], special), nil, "rdi, rsi, rdx, rcx, r8, r9, [[rsp+8]+0]"},
		{[]*types.Type{double, quad, vector, cplx(single), cplx(double), i32}, nil, "xmm0, xmm1, xmm2, xmm3, xmm4:8 " +
			"xmm5:8, rdi"},
		{[]*types.Type{i32, wide, i32}, nil, "rdi, ?, ?"},
		{[]*types.Type{i32}, wide, "?"},
		{[]*types.Type{i32, {Kind: types.Struct, Incomplete: true}, i32}, nil, "rdi, ?, ?"},
		{[]*types.Type{i32}, &types.Type{Kind: types.Struct, Size: 8, Incomplete: true}, "?"},
	} {
		var got []string
		for _, p := range AMD64.CPlaces(c.args, c.result) {
			got = append(got, short(p))
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%v to %v: %s, not %s", c.args, c.result, s, c.want)
		}
	}
	for _, c := range []struct {
		t    *types.Type
		want string
	}{
		{long, "rax"},
		{i128, "rax:8 rdx:8"},
		{il, "rax:8 rdx:8"},
		{di, "xmm0:8 rax:8"},
		{id, "rax:8 xmm0:8"},
		{big, "[rax+0]"},
		{special, "[rax+0]"},
		{double, "xmm0"},
		{x87, "a register of the floating-point unit (st0)"},
		{x, "a register of the floating-point unit (st0)"},
		{packed, "[rax+0]"},
		{vector, "xmm0"},
		{cplx(single), "xmm0"},
		{cplx(double), "xmm0:8 xmm1:8"},
		{empty, "pad:1"},
		{three, "rax:3"},
	} {
		p := AMD64.Result(c.t, types.C)
		if s := short(&p); s != c.want {
			t.Errorf("result %v: %s, not %s", c.t, s, c.want)
		}
	}
	if p := AMD64.Result(wide, types.C); p.Kind != types.Unavailable || !strings.Contains(p.Why, "is not known") {
		t.Errorf("wide vector: %+v", p)
	}
}
