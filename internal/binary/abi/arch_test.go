package abi

import (
	"slices"
	"strings"
	"testing"

	"trocar/internal/binary/types"
)

// ptRegs is the size of struct pt_regs (of struct user_pt_regs on arm64) as programs see it, by CPU.
var ptRegs = map[*Arch]int{AMD64: 168, ARM64: 272}

// TestRegisters: each register has one name and one place of its own, which programs can read, and all are named.
func TestRegisters(t *testing.T) {
	for _, a := range all() {
		if a.Kernel != a {
			if a.Registers != nil || a.ScriptRegisters() != nil || a.Kernel.Kernel != a.Kernel {
				t.Errorf("%s: its programs are told by the registers of %s", a, a.Kernel)
			}
			continue
		}
		names, scripts, offsets := map[string]bool{}, map[string]bool{}, map[int]bool{}
		for n, r := range a.Registers {
			off, ok := a.Offset(n)
			if !ok || off != r.Offset || offsets[off] || a.RegisterName(n) != r.Name || names[r.Name] || r.Script == "" {
				t.Errorf("%s: register %d: %+v", a, n, r)
			}
			names[r.Name], offsets[off] = true, true
			if name, ok := a.ScriptName(n); !ok || name != r.Script {
				t.Errorf("%s: register %d is %q in scripts", a, n, name)
			}
		}
		for _, name := range a.ScriptRegisters() {
			off, ok := a.ScriptRegister(name)
			if !ok || off%8 != 0 || off < 0 || off+8 > ptRegs[a] || scripts[name] {
				t.Errorf("%s: reg(%q) is at %d", a, name, off)
			}
			scripts[name] = true
		}
		// What the kernel saves is known in full.
		for _, r := range a.Others {
			offsets[r.Offset] = true
		}
		for off := 0; off < ptRegs[a]; off += 8 {
			if !offsets[off] {
				t.Errorf("%s: what is at %d of struct pt_regs has no name", a, off)
			}
		}
		last := len(a.Registers) - 1
		for _, b := range a.banks {
			if b.first <= last || b.last < b.first {
				t.Errorf("%s: the registers %s0… are in the way of others", a, b.prefix)
			}
			for n := b.first; n <= b.last; n++ {
				if name := a.RegisterName(n); names[name] || strings.HasPrefix(name, "register") || a.HasRegister(n) {
					t.Errorf("%s: register %d is %q", a, n, name)
				} else {
					names[name] = true
				}
			}
			last = b.last
		}
		seen := map[int]bool{}
		for n := 0; a.Encoded(n) >= 0; n++ {
			if r := a.Encoded(n); !a.HasRegister(r) || seen[r] {
				t.Errorf("%s: instructions name register %d by %d", a, r, n)
			} else {
				seen[r] = true
			}
		}
		if len(seen) < 16 || a.Encoded(-1) >= 0 {
			t.Errorf("%s: %d registers in instructions", a, len(seen))
		}
	}
}

// TestConventions: what a CPU has is had in full.
func TestConventions(t *testing.T) {
	elf := map[ELF]bool{}
	for _, a := range all() {
		k := a.Kernel
		if a.Name == "" || a.Title == "" || a.Uname == "" || a.C.Name == "" || a.MinInst == 0 || a.operand == nil {
			t.Errorf("%+v: it has no name", a)
		}
		if elf[a.ELF] || ByELF(a.ELF.Machine, a.ELF.Class) != a || MachineName(a.ELF.Machine) != a.Title {
			t.Errorf("%s: its files are not known", a)
		}
		elf[a.ELF] = true
		if a.Bits != 64 && a.Bits != 32 || int(a.ELF.Class) != a.Bits/32 {
			t.Errorf("%s: %d bits", a, a.Bits)
		}
		special := []int{a.IP, a.SP, a.C.Result}
		if !a.ReturnOnStack() {
			special = append(special, a.LR)
		}
		for _, list := range [][]int{special, a.C.Args, a.C.hidden} {
			for _, n := range list {
				if !k.HasRegister(n) {
					t.Errorf("%s: register %d cannot be read", a, n)
				}
			}
			for i, n := range list {
				if slices.Index(list, n) != i {
					t.Errorf("%s: register %d is there twice", a, n)
				}
			}
		}
		for _, n := range append(a.C.Args, a.C.hidden...) {
			if !a.Passes(n) {
				t.Errorf("%s: nothing is passed in %s", a, k.RegisterName(n))
			}
		}
		if a.Kernel == a && (a.Passes(a.SP) || a.PC() != a.IP) {
			t.Errorf("%s: values in the stack pointer", a)
		}
		if a.ReturnOnStack() != (a.C.StackArgs == a.Bits/8) {
			t.Errorf("%s: arguments on the stack begin at %d", a, a.C.StackArgs)
		}
		if p := a.StackArg(2); p.Kind != types.InMemory || p.Offset != int64(a.C.StackArgs+2*a.Bits/8) {
			t.Errorf("%s: the third argument on the stack is at %+v", a, p)
		}
		word := types.TInt32
		for _, lang := range []types.Language{types.C, types.CPlusPlus, types.Rust} {
			if p := a.Result(word, lang); p.Kind != types.InRegister || p.Reg != a.C.Result {
				t.Errorf("%s: a number is returned at %+v", a, p)
			}
		}
		if p := a.RustResult(word, false); p.Kind != types.InRegister || p.Reg != a.C.Result {
			t.Errorf("%s: a number of Rust is returned at %+v", a, p)
		}
		if list := a.CPlaces([]*types.Type{word}, nil); list != nil && (list[0].Kind != types.InRegister ||
			list[0].Reg != a.C.Args[0]) {
			t.Errorf("%s: the first argument is at %+v", a, list[0])
		}
		if g := a.Go(); g != nil {
			for _, n := range append([]int{g.G, g.SP}, g.Integers...) {
				if !a.HasRegister(n) {
					t.Errorf("%s: Go's register %d cannot be read", a, n)
				}
			}
			if slices.Contains(g.Integers, g.G) || slices.Contains(g.Integers, g.SP) {
				t.Errorf("%s: Go passes arguments in registers that it needs", a)
			}
		}
		if u := a.UserMode(); u != nil {
			if _, ok := a.ScriptRegister(u.Register); !ok {
				t.Errorf("%s: there is no register %s", a, u.Register)
			}
		}
		if k != a {
			continue
		}
		if a.Triplet == "" || a.Tree == "" || len(a.Predefined) == 0 || a.ELF.Relative == 0 || a.ELF.Cache == 0 ||
			a.Watch.Exec == 0 {
			t.Errorf("%s: it is not known in full", a)
		}
	}
}

// TestSyscalls holds the tables against numbers of the kernel's own lists (arch/x86/entry/syscalls/syscall_64.tbl,
// include/uapi/asm-generic/unistd.h).
func TestSyscalls(t *testing.T) {
	for _, c := range []struct {
		a      *Arch
		name   string
		number int
	}{
		{AMD64, "read", 0},
		{AMD64, "openat", 257},
		{AMD64, "rseq", 334},
		{AMD64, "uprobe", 336},
		{AMD64, "cachestat", 451},
		{ARM64, "io_setup", 0},
		{ARM64, "openat", 56},
		{ARM64, "read", 63},
		{ARM64, "newfstatat", 79},
		{ARM64, "clone3", 435},
	} {
		if n, ok := c.a.Syscall(c.name); !ok || n != c.number || c.a.Syscalls()[n] != c.name {
			t.Errorf("%s: %s is %d, want %d", c.a, c.name, n, c.number)
		}
	}
	for _, a := range all() {
		seen := map[string]bool{}
		for n, name := range a.Syscalls() {
			if name != "" && seen[name] || len(name) > 31 {
				t.Errorf("%s: %q (%d)", a, name, n)
			}
			seen[name] = true
		}
		if _, ok := a.Syscall(""); ok {
			t.Errorf("%s: a call without a name", a)
		}
	}
	if _, ok := ARM64.Syscall("open"); ok {
		t.Error("arm64 has no open")
	}
}

// TestUnknown: nothing is said of a CPU that is not known.
func TestUnknown(t *testing.T) {
	var a *Arch
	for _, p := range []types.Place{
		a.Result(types.TInt32, types.C), a.RustResult(types.TInt32, false), a.RustHidden(types.TInt32, types.Place{}),
		a.StackArg(0),
	} {
		if p.Kind != types.Unavailable {
			t.Errorf("a place: %+v", p)
		}
	}
	in, out := a.Go().Places([]*types.Type{types.TInt32}, []*types.Type{types.TInt32}, true)
	_, offset := a.Offset(0)
	_, script := a.ScriptRegister("sp")
	_, name := a.ScriptName(0)
	_, _, cfa := a.EntryCFA()
	_, call := a.Syscall("read")
	if len(in) != 1 || in[0] != nil || len(out) != 1 || out[0] != nil || offset || script || name || cfa || call {
		t.Error("something is known")
	}
	if a.HasRegister(0) || a.PC() >= 0 || a.Encoded(0) >= 0 || a.ReturnOnStack() || a.ScriptRegisters() != nil ||
		a.UserMode() != nil ||
		a.CPlaces(nil, nil) != nil || a.IntegerArgs() != nil || a.RegisterName(3) != "register 3" || !a.Passes(0) {
		t.Error("something is known")
	}
	if ByELF(8, 2) != nil || ByELF(62, 1) != nil || MachineName(8) != "machine 8" || MachineName(62) != "x86-64" {
		t.Error("files of other CPUs")
	}
	if o := (&Operands{}); true {
		if list, _ := o.Places("8@%rax"); list[0].Kind != types.Unavailable || list[0].Why == "" {
			t.Errorf("an operand: %+v", list[0])
		}
	}
}

func TestPlaceText(t *testing.T) {
	for _, c := range []struct {
		p    types.Place
		want string
	}{
		{types.Place{Kind: types.InRegister, Reg: 5}, "rdi"},
		{types.Place{Kind: types.InMemory, Reg: 7, Offset: 8}, "[rsp+8]"},
		{types.Place{Kind: types.InMemory, Reg: 6, Offset: -24, Derefs: []int64{0, 16}}, "[[[rbp-24]]+16]"},
		{types.Place{Kind: types.Constant, Value: 1<<64 - 5}, "= -5"},
		{types.Place{Kind: types.InPieces, Pieces: []types.Piece{
			{Size: 8, Place: types.Place{Kind: types.InRegister, Reg: 8}}, {Size: 4, Place: types.Place{Why: "optimized out"}},
		}}, "r8 (8 bytes), optimized out (4 bytes)"},
		{types.Place{Kind: types.Computed, Reg: 7, Offset: 32}, "= rsp+32"},
		{types.Place{Kind: types.InRegister, Reg: 17}, "xmm0"},
		{types.Place{}, "unavailable"},
		{types.Place{Why: "optimized out"}, "optimized out"},
	} {
		if got := AMD64.PlaceText(c.p); got != c.want {
			t.Errorf("%q, not %q", got, c.want)
		}
	}
}
