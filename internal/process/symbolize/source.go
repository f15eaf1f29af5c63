package symbolize

import (
	"trocar/internal/binary/objfile"
	"trocar/result"
)

// origin is one of the functions that the code at an address came from.
type origin struct {
	name string // "": that of the symbol
	file string
	line int // of the code, or of the call of what is inlined there
}

// sources appends what was inlined at an address of the file, innermost first, and gives the function's own frame its
// place in the source.
func (f *File) sources(dst []result.Frame, own *result.Frame, addr uint64, demangle bool) []result.Frame {
	all := f.origins(addr, demangle)
	if len(all) == 0 {
		return dst
	}
	last := len(all) - 1
	if own.Offset > 0 { // at a function's start nothing that was inlined has begun
		for _, o := range all[:last] {
			dst = append(dst, result.Frame{
				Addr: own.Addr, Symbol: o.name, Module: own.Module, ModuleOffset: own.ModuleOffset, BuildID: own.BuildID,
				File: o.file, Line: o.line, Inlined: true,
			})
		}
	}
	own.File, own.Line = all[last].file, all[last].line
	return dst
}

// origins are the inlined functions, innermost first, and last the one whose code it is. The result is remembered.
func (f *File) origins(addr uint64, demangle bool) []origin {
	if all, ok := f.places[addr]; ok {
		return all
	}
	if f.places == nil || len(f.places) >= maxNames {
		f.places = map[uint64][]origin{}
	}
	all := f.tableOrigins(addr)
	if all == nil {
		all = f.debugOrigins(addr, demangle)
	}
	f.places[addr] = all
	return all
}

// tableOrigins are those that Go's own table tells of, which stripped programs have as well.
func (f *File) tableOrigins(addr uint64) []origin {
	var all []origin
	for _, g := range f.elf.TableFrames(addr) {
		all = append(all, origin{g.Name, g.File, g.Line})
	}
	return all
}

// debugOrigins are those that debug information tells of.
func (f *File) debugOrigins(addr uint64, demangle bool) []origin {
	info, err := f.im.Info()
	if err != nil {
		return nil
	}
	line, err := info.LineAt(addr)
	chain, unknown := info.InstancesAt(addr)
	if err != nil && unknown != nil {
		return nil
	}
	var all []origin
	o := origin{file: line.File, line: line.Line}
	for _, one := range chain {
		if !one.IsInlined() {
			break
		}
		switch fn := one.Func; {
		case fn.Linkage != "" && demangle:
			o.name = objfile.Demangle(fn.Linkage)
		case fn.Linkage != "":
			o.name = fn.Linkage
		default:
			o.name = fn.Qualified
		}
		all = append(all, o)
		o = origin{file: one.CallFile, line: one.CallLine}
	}
	return append(all, o)
}
