package objfile

import "strings"

// TableFrame is one of the functions that the code at an address came from.
type TableFrame struct {
	Name    string
	File    string
	Line    int // of the code, or of the call of what is inlined there
	Inlined bool
}

// pcLine is the place in _func of the table of lines.
const pcLine = 24

// TableFrames tells what Go's table has of the code at an address: the functions that were inlined there, innermost
// first, and last the one that it is part of, with their lines (runtime/symtabinl.go). Nil: the table does not tell.
func (f *File) TableFrames(addr uint64) (frames []TableFrame) {
	var err error
	defer Guard(&err)()
	t := f.funcTable()
	if t == nil {
		return nil
	}
	i, entry, end, ok := t.index(addr)
	rec := t.record(i)
	if !ok || rec == nil {
		return nil
	}
	lines, files, nodes := u32(rec, pcLine), u32(rec, funcPCFile), pcData(rec, pcInlTree)
	tree := funcData(rec, dataInlTree, f.goFuncBase())
	if f.goValue(t, lines, addr-entry) < 0 {
		return nil // padding behind the code
	}
	for pc := addr - entry; ; {
		one := TableFrame{File: t.file(u32(rec, funcCU), f.goValue(t, files, pc)), Line: max(0, f.goValue(t, lines, pc))}
		node := -1
		if nodes != 0 && tree != 0 && len(frames) < maxInlineDeep {
			node = f.goValue(t, nodes, pc)
		}
		var call []byte
		if node >= 0 && node < maxInlines {
			call = f.Bytes(tree+uint64(node)*inlineSize, inlineSize)
		}
		if len(call) < inlineSize {
			one.Name = strings.Clone(cString(t.names, u32(rec, 4)))
			return append(frames, one)
		}
		one.Name, one.Inlined = strings.Clone(cString(t.names, u32(call, 4))), true
		frames = append(frames, one)
		if pc = u32(call, 8); pc >= end-entry { // of the call
			return nil // damaged
		}
	}
}

// goValue is what a table of values by address has at an offset from the function's entry; -1: nothing.
func (f *File) goValue(t *funcTable, table, pc uint64) (value int) {
	value = -1
	t.pcValues(table, f.goQuantum(), func(low, high uint64, v int) bool {
		if low <= pc && pc < high {
			value = v
			return false
		}
		return low <= pc
	})
	return value
}
