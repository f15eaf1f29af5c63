package pclntab

import "trocar/internal/binary/objfile"

// pcLine is the place in _func of the table of lines.
const pcLine = 24

// Frames tells what the table has of the code at an address: the functions that were inlined there, innermost
// first, and last the one that it is part of, with their lines (runtime/symtabinl.go). Nil: the table does not tell.
func (t *Table) Frames(addr uint64) (frames []objfile.TableFrame) {
	var err error
	defer objfile.Guard(&err)()
	i, entry, end, ok := t.index(addr)
	rec := t.record(i)
	if !ok || rec == nil {
		return nil
	}
	lines, files, nodes := u32(rec, pcLine), u32(rec, funcPCFile), pcData(rec, pcInlTree)
	tree := funcData(rec, dataInlTree, t.funcBase())
	if t.value(lines, addr-entry) < 0 {
		return nil // padding behind the code
	}
	for pc := addr - entry; ; {
		one := objfile.TableFrame{File: t.file(u32(rec, funcCU), t.value(files, pc)), Line: max(0, t.value(lines, pc))}
		node := -1
		if nodes != 0 && tree != 0 && len(frames) < maxInlineDeep {
			node = t.value(nodes, pc)
		}
		var call []byte
		if node >= 0 && node < maxInlines {
			call = t.f.Bytes(tree+uint64(node)*inlineSize, inlineSize)
		}
		if len(call) < inlineSize {
			one.Name = string(t.name(u32(rec, 4)))
			return append(frames, one)
		}
		one.Name, one.Inlined = string(t.name(u32(call, 4))), true
		frames = append(frames, one)
		if pc = u32(call, 8); pc >= end-entry { // of the call
			return nil // damaged
		}
	}
}

// value is what a table of values by address has at an offset from the function's entry; -1: nothing.
func (t *Table) value(table, pc uint64) (value int) {
	value = -1
	t.pcValues(table, t.quantum(), func(low, high uint64, v int) bool {
		if low <= pc && pc < high {
			value = v
			return false
		}
		return low <= pc
	})
	return value
}
