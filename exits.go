package trocar

import (
	"fmt"

	"trocar/internal/binary/code"
	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
)

// The kernel keeps the return addresses of a few calls only that are open in each other. Functions that call themselves are
// probed at the instructions that return, which it need not remember.

// maxReturnDepth is how many calls of a thread the kernel keeps the return addresses of (MAX_URETPROBE_DEPTH in
// include/linux/uprobes.h); it lets the returns of deeper ones pass unseen.
const maxReturnDepth = 64

// callsItself tells whether a function's code calls it: recursion may be deep.
func callsItself(k probe.Known, p *probe.Point) bool {
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
	code.Targets(k.File.Arch(), k.File.Bytes(start, int(size)), start, func(target uint64) { found = found || target == start })
	return found
}

// maxExits bounds the places at which one function returns.
const maxExits = 64

// exits finds the instructions with which the function of a point returns, as attach points (by address if it has no name
// of its own). why says why they are not
// known: a function that goes on in another one by a jump returns from there.
func exits(k probe.Known, p *probe.Point, path, name string) (points []string, why string) {
	if k.File == nil {
		return nil, "its code cannot be read"
	}
	start := p.Addr - uint64(p.Skip)
	ranges := []debuginfo.Range{{Low: start, High: start + k.File.CodeSize(start)}}
	if k.Func != nil && len(k.Func.Ranges) > 0 {
		start, ranges = k.Func.Entry, k.Func.Ranges
	}
	inside := func(addr uint64) bool {
		for _, r := range ranges {
			if r.Low <= addr && addr < r.High {
				return true
			}
		}
		return false
	}
	for _, r := range ranges {
		if r.High <= r.Low || r.High-r.Low > code.MaxFunction {
			return nil, "it is too large to find where it returns"
		}
		body := k.File.Bytes(r.Low, int(r.High-r.Low))
		for at := uint64(0); at < uint64(len(body)); {
			in, ok := code.Decode(k.File.Arch(), body[at:])
			if !ok || in.Len == 0 {
				return nil, "its code is not all known, so that not all places where it returns are"
			}
			addr := r.Low + at
			at += uint64(in.Len)
			target := addr + uint64(in.Target)
			switch {
			case in.Op == code.Ret:
				if name != "" && addr >= ranges[0].Low && addr < ranges[0].High && ranges[0].Low == start {
					points = append(points, fmt.Sprintf("uprobe:%s:%s+%d", quoteWord(path), quoteWord(name), addr-start))
				} else {
					points = append(points, fmt.Sprintf("uprobe:%s:%#x", quoteWord(path), addr))
				}
			case in.Op == code.Jump && !in.Direct:
				return nil, "it jumps to places that are computed, which may be other functions that return in its place"
			case (in.Op == code.Jump || in.Op == code.CondJump) && !inside(target):
				return nil, "it ends in a jump to another function, which returns in its place"
			}
		}
	}
	switch {
	case len(points) == 0:
		return nil, "no instruction in it returns"
	case len(points) > maxExits:
		return nil, fmt.Sprintf("it returns in %d places", len(points))
	}
	return points, ""
}

// resultExpr is the expression of a result at the instruction that returns it, "" if a script cannot compute it.
func resultExpr(v *probe.Var) string {
	if v == nil || v.Place.Kind != types.InRegister || v.Place.Reg != 0 {
		return ""
	}
	reg := `reg("ax")`
	if arch() == types.ARM64 {
		reg = `reg("r0")`
	}
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
		if isCString(t) {
			return "(int8 *)" + reg
		}
		return "(void *)" + reg
	}
	return ""
}
