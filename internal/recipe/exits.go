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

// onward is a tail call: where another function takes a function's place.
type onward struct {
	point   string   // attach point of the jump
	names   []string // of the other function; none: not known
	returns []string // attach points of where that returns
	open    bool     // not all of those are known
}

// onward finds out where a function ends, and where its tail calls lead.
func (fn *candidate) onward() {
	k := fn.known
	if k.File == nil || fn.Tasks != nil {
		return
	}
	start := fn.point.FunctionStart()
	if k.Func != nil && len(k.Func.Ranges) > 0 {
		start = k.Func.Entry
	}
	found, refusal := k.Returns(start)
	if refusal != nil {
		fn.NoReturn = refusal.Reason
		return
	}
	fn.Word = fn.resultWord()
	at := func(addr uint64) string { return fmt.Sprintf("uprobe:%s:%#x", syntax.QuoteWord(fn.path), addr) }
	for _, ret := range found.At {
		fn.Ends = append(fn.Ends, at(ret))
	}
	for _, tail := range found.Tails {
		to := k.Onward(tail)
		on := onward{point: at(tail), names: to.Names, open: to.Open}
		for _, r := range to.Returns {
			on.returns = append(on.returns, at(r))
		}
		fn.Onward = append(fn.Onward, on)
	}
	fn.ReturnKey = frameKey("sp", int64(fn.arch.C.StackArgs))
}

// resultWord is the expression of a word that is the result, at an instruction that returns.
func (fn *candidate) resultWord() string {
	if name, ok := fn.arch.ScriptName(fn.arch.C.Result); ok {
		return fmt.Sprintf("reg(%q)", name)
	}
	return ""
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
