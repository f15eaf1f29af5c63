package match

import (
	le "encoding/binary"

	"trocar/internal/binary/code"
	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/objfile"
)

// maxExits bounds the instructions with which one function ends.
const maxExits = 256

// Exits are the instructions with which a function ends.
type Exits struct {
	Returns []uint64
	// Tails are jumps with which it goes on in another function, which returns in its place.
	Tails []uint64
}

// ExitsOf finds the instructions with which a function ends. why says why they are not known.
func ExitsOf(obj *objfile.File, start uint64, ranges []debuginfo.Range) (x Exits, why string) {
	var err error
	defer objfile.Guard(&err)()
	if len(ranges) == 0 {
		ranges = []debuginfo.Range{{Low: start, High: start + obj.CodeSize(start)}}
	}
	inside := func(addr uint64) bool {
		for _, r := range ranges {
			if r.Contains(addr) {
				return true
			}
		}
		return false
	}
	why = "its code cannot be read" // unless the end is reached
	for _, r := range ranges {
		if r.High <= r.Low || r.High-r.Low > code.MaxFunction {
			return x, "it is too large to find where it returns"
		}
		body := obj.Bytes(r.Low, int(r.High-r.Low))
		var starts []int
		for at := 0; at < len(body); {
			in, ok := code.Decode(obj.Arch(), body[at:])
			if !ok || in.Len == 0 {
				return x, "not all of its code is known"
			}
			addr := r.Low + uint64(at)
			starts = append(starts, at)
			target := addr + uint64(in.Target)
			switch {
			case in.Op == code.Ret:
				x.Returns = append(x.Returns, addr)
			case in.Op == code.Jump && !in.Direct:
				tables, ok := code.Switch(obj.Arch(), body, r.Low, starts, at)
				switch {
				case ok && anyTable(obj, tables, func(a uint64) bool { return a != start && inside(a) }):
				case ok:
					return x, "it jumps to places that are computed, which may be in functions that return in its place"
				default:
					x.Tails = append(x.Tails, addr)
				}
			case in.Op == code.Jump && !inside(target):
				x.Tails = append(x.Tails, addr)
			case in.Op == code.CondJump && !inside(target):
				return x, "it ends in a jump to another function, which returns in its place, on a condition"
			}
			at += in.Len
		}
	}
	switch n := len(x.Returns) + len(x.Tails); {
	case n == 0:
		return x, "no instruction in it returns"
	case n > maxExits:
		return x, "it returns in too many places"
	}
	return x, ""
}

// anyTable tells whether one of the tables begins with an address in the function: then all of them are.
func anyTable(obj *objfile.File, tables []code.Table, inside func(uint64) bool) bool {
	for _, t := range tables {
		if inside(tableEntry(obj, t)) {
			return true
		}
	}
	return false
}

// tableEntry is the address that the first entry of a table stands for.
func tableEntry(obj *objfile.File, t code.Table) (addr uint64) {
	var err error
	defer objfile.Guard(&err)()
	if !t.Relative {
		return obj.PointerAt(t.At)
	}
	if b := obj.Bytes(t.At, 4); len(b) == 4 {
		return t.At + uint64(int64(int32(le.LittleEndian.Uint32(b))))
	}
	return 0
}
