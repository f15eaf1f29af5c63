package recipe

import (
	"fmt"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/code"
	"trocar/internal/binary/types"
	"trocar/internal/process/match"
	"trocar/internal/process/probe"
	"trocar/internal/script/syntax"
)

// maxReturnDepth is how many calls of a thread the kernel keeps the return addresses of (MAX_URETPROBE_DEPTH in
// include/linux/uprobes.h); it lets the returns of deeper ones pass unseen.
const maxReturnDepth = 64

// callsItself tells whether a function's code calls it: recursion may be deep.
func callsItself(k match.Known, p *probe.Point) bool {
	if k.File == nil {
		return false
	}
	start := p.Addr - uint64(p.Skip)
	if k.Func != nil {
		start = k.Func.Entry
	}
	size := k.File.CodeSize(start)
	if size > code.MaxFunction {
		return true // not looked at
	}
	found := false
	code.Targets(k.File.Arch(), k.File.Bytes(start, int(size)), start,
		func(target uint64) { found = found || target == start })
	return found
}

// exits finds the instructions with which a function ends, as attach points (by address if it has no name of its
// own). why says why they are not known.
func (fn *candidate) exits() (returns, tails []string, parts bool, why string) {
	k, p, name := fn.known, fn.point, fn.word()
	if k.File == nil {
		return nil, nil, false, "its code cannot be read"
	}
	start := p.FunctionStart()
	if k.Func != nil && len(k.Func.Ranges) > 0 {
		start = k.Func.Entry
	}
	ranges := k.Code(start)
	found, refusal := k.Returns(start)
	if refusal != nil {
		return nil, nil, false, refusal.Reason
	}
	found, parts = k.ThroughParts(start, found)
	own := ranges[0]
	points := func(addrs []uint64) (list []string) {
		for _, addr := range addrs {
			if name != "" && !fn.many && own.Contains(addr) && own.Low == start {
				list = append(list, fmt.Sprintf("uprobe:%s:%s+%d", syntax.QuoteWord(fn.path), syntax.QuoteExact(name), addr-start))
			} else {
				list = append(list, fmt.Sprintf("uprobe:%s:%#x", syntax.QuoteWord(fn.path), addr))
			}
		}
		return list
	}
	return points(found.At), points(found.Tails), parts, ""
}

// resultExpr is the expression of a result at the instruction that returns it, "" if a script cannot compute it.
func resultExpr(arch *abi.Arch, v *probe.Var) string {
	if v == nil || arch == nil || v.Place.Kind != types.InRegister || v.Place.Reg != arch.C.Result {
		return ""
	}
	name, ok := arch.ScriptName(v.Place.Reg)
	if !ok {
		return ""
	}
	reg := fmt.Sprintf("reg(%q)", name)
	t := v.Type.Complete()
	sized := fmt.Sprintf("(%s)%s", types.IntOf(t.Size, t.Signed), reg)
	if t.Size == 8 && !t.Signed {
		sized = reg
	}
	switch t.Kind {
	case types.Bool:
		return "(bool)(uint8)" + reg
	case types.Int, types.Enum:
		if t.Size <= 8 {
			return sized
		}
	case types.Pointer:
		if t.IsCString() {
			return "(char *)" + reg
		}
		return "(void *)" + reg
	}
	return ""
}
