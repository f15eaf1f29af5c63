package dotnet

import (
	"slices"
	"testing"

	"trocar/internal/process/runtimes"
)

func TestNote(t *testing.T) {
	for line, want := range map[string]runtimes.Note{
		"0x7f10a0 2a instance int32 [app] Ns.Type::Method(int32,string)[OptimizedTier1]\n": {
			Addr: 0x7f10a0, Size: 0x2a, Tier: "OptimizedTier1", Rank: 3, Name: "Ns.Type::Method(int,string)",
			Keys: []string{"app!Ns.Type::Method(int,string)", "app!Ns.Type::Method/2"},
		},
		"7f10a0 2a void [app] Outer`1+In[System.Int32]::M(!0,class [x]Y`1<!!0>)[QuickJitted]": {
			Addr: 0x7f10a0, Size: 0x2a, Tier: "QuickJitted", Rank: 1, Name: "Outer<int>+In::M(!0,Y<!!0>)",
			Keys: []string{"app!Outer+In::M(!0,Y<!!0>)", "app!Outer+In::M/2"},
		},
		"7f10a0 2a void [app] P::Main()[OptimizedTier1OSR]": {
			Addr: 0x7f10a0, Size: 0x2a, Tier: "OptimizedTier1OSR", Rank: runtimes.NotEntered, Name: "P::Main()",
			Keys: []string{"app!P::Main()", "app!P::Main/0"},
		},
		"7f10a0 2a void [app] P::I()[InstrumentedTier]": {
			Addr: 0x7f10a0, Size: 0x2a, Tier: "InstrumentedTier", Rank: 2, Name: "P::I()",
			Keys: []string{"app!P::I()", "app!P::I/0"},
		},
		"7f10a0 2a instance void [app] W+<Asy>d__0`1[System.Int32]::MoveNext()[QuickJitted]": {
			Addr: 0x7f10a0, Size: 0x2a, Tier: "QuickJitted", Rank: 1, Name: "W+<Asy>d__0<int>::MoveNext()",
			Keys: []string{"app!W+<Asy>d__0::MoveNext()", "app!W+<Asy>d__0::MoveNext/0"},
		},
		"7f10a0 2a int32 [app] W+<>c::<Main>b__0(int32)[QuickJitted]": {
			Addr: 0x7f10a0, Size: 0x2a, Tier: "QuickJitted", Rank: 1, Name: "W+<>c::<Main>b__0(int)",
			Keys: []string{"app!W+<>c::<Main>b__0(int)", "app!W+<>c::<Main>b__0/1"},
		},
		"7f10a0 2a class X`1<int32> [app] <Module>.<A>C::System.IEnumerable<System.Char>.Get()[QuickJitted]": {
			Addr: 0x7f10a0, Size: 0x2a, Tier: "QuickJitted", Rank: 1,
			Name: "<Module>.<A>C::System.IEnumerable<System.Char>.Get()",
			Keys: []string{
				"app!<Module>.<A>C::System.IEnumerable<System.Char>.Get()",
				"app!<Module>.<A>C::System.IEnumerable<System.Char>.Get/0",
			},
		},
		"7f10a0 0 void [app] P::Main()[QuickJitted]": {}, "7f10a0 2a GenerateLookupStub": {}, "": {}, "zz 1 x": {},
		"7f10a0 2a void P::Main()[QuickJitted]": {},
	} {
		got, ok := note(line)
		if ok != (want.Addr != 0) || ok && (got.Addr != want.Addr || got.Size != want.Size || got.Tier != want.Tier ||
			got.Rank != want.Rank || got.Name != want.Name || !slices.Equal(got.Keys, want.Keys)) {
			t.Errorf("%q: %+v, %v", line, got, ok)
		}
	}
}

func FuzzNote(f *testing.F) {
	f.Add("0x7f10a0 2a instance int32 [app] Ns.Type`1[System.Int32]::Method(!0,string)[OptimizedTier1]")
	f.Add("1 1 class [a b] [c] A`2<B`1<[x]C>,!1>::<M>g__L|0_0(!!0[],native int&)[X]")
	f.Fuzz(func(t *testing.T, line string) {
		if b, ok := note(line); ok && (b.Size == 0 || len(b.Keys) != 2) {
			t.Errorf("%q: %+v", line, b)
		}
	})
}
