package codegen

import (
	"testing"

	"trocar/internal/binary/unwind"
	"trocar/internal/compile/record"
)

// TestNumbers: programs that walk stacks have the numbers of the tables in their code.
func TestNumbers(t *testing.T) {
	for rule, want := range map[int]unwind.Kind{
		ruleStop: unwind.Stop, ruleStack: unwind.Stack, ruleFrame: unwind.Frame, ruleDeref: unwind.Deref,
		rulePLT: unwind.PLT, ruleSignal: unwind.Signal, ruleFP: unwind.FP, ruleRegister: unwind.Register,
		ruleStackAt: unwind.StackDeref,
	} {
		if unwind.Kind(rule) != want {
			t.Errorf("rule %d is %d in tables", rule, want)
		}
	}
	for _, c := range [][2]int{
		{ruleKept, unwind.Kept},
		{ruleAtFrame, unwind.AtFrame},
		{record.UnwindChunkSize, 4 * unwind.ChunkWords},
		{record.UnwindChunks, unwind.MaxWords / unwind.ChunkWords},
		{record.UnwindAreasSize, rememberedSize << (64 - rememberedShift)},
		{record.UnwindRulesSize, unwind.RuleSize << 16},
	} {
		if c[0] != c[1] {
			t.Errorf("%d, want %d", c[0], c[1])
		}
	}
}
