package btf

import (
	"strconv"
	"strings"

	"trocar/internal/binary/types"
)

// Prototype is what BTF tells of a function of the kernel.
type Prototype struct {
	Params []Param
	Result *types.Type // types.TVoid: none
	Vararg bool
}

// Param is a parameter of a Prototype.
type Param struct {
	Name string // arg0, arg1 … where it has none
	Type *types.Type
}

// Func finds a function of the kernel by its name. Static functions of one name may differ: the first counts.
func (b *Types) Func(name string) (p Prototype, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id, ok := b.find(1<<kindFunc, name)
	if !ok {
		return p, false
	}
	return b.prototype(b.at(id).ref(), 0)
}

// rawTracepointFuncs are the functions that the kernel makes for each tracepoint, with its arguments behind a first one
// of its own (include/linux/tracepoint.h, include/trace/bpf_probe.h). Those of the first two kinds are of the very
// tracepoint, the last is shared by a class of them and has that one's name.
var rawTracepointFuncs = []string{"__probestub_", "__traceiter_", "__bpf_trace_"}

// RawTracepoint finds the arguments of a tracepoint as programs attached to it directly see them, each in 64 bits of
// its own.
func (b *Types) RawTracepoint(name string) (p Prototype, ok bool) {
	for _, prefix := range rawTracepointFuncs {
		if p, ok = b.Func(prefix + name); ok && len(p.Params) > 0 {
			break
		}
	}
	if !ok {
		b.mu.Lock()
		defer b.mu.Unlock()
		// The typedef has the types, but no names.
		id, found := b.find(1<<kindTypedef, "btf_trace_"+name)
		t := b.at(id)
		if !found || b.at(t.ref()).kind != kindPtr {
			return p, false
		}
		if p, ok = b.prototype(b.at(t.ref()).ref(), -1); !ok {
			return p, false
		}
	}
	if len(p.Params) == 0 {
		return p, false
	}
	return Prototype{Params: p.Params[1:], Result: types.TVoid}, true
}

// prototype reads a FUNC_PROTO; parameters without a name are called by their number plus first.
func (b *Types) prototype(id uint32, first int) (p Prototype, ok bool) {
	t := b.at(id)
	if t.kind != kindFuncProto {
		return p, false
	}
	p.Result = b.conv.of(t.ref(), true, 0)
	for i := range t.vlen {
		name, typ := b.text(t.word(2*i)), t.word(2*i+1)
		if typ == 0 && i == t.vlen-1 {
			p.Vararg = true
			break
		}
		if name == "" {
			name = "arg" + strconv.Itoa(i+first)
		}
		p.Params = append(p.Params, Param{Name: name, Type: b.conv.of(typ, true, 0)})
	}
	return p, true
}

// FuncID is the number by which programs call a function of the kernel.
func (b *Types) FuncID(name string) (id uint32, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id, known := b.funcs[name]
	if !known {
		id, _ = b.find(1<<kindFunc, name)
		if len(b.funcs) < maxKept {
			b.funcs[strings.Clone(name)] = id
		}
	}
	return id, id != 0
}

// PerCPU is the number of a variable of which each CPU has its own, by which programs take its address (Linux 5.10).
func (b *Types) PerCPU(name string) (id uint32, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.index()
	for i := range b.starts {
		t := b.at(uint32(i))
		if t.kind != kindDatasec || !b.called(u32(t.at, 0), ".data..percpu") {
			continue
		}
		for j := range t.vlen {
			id := t.word(3 * j)
			if v := b.at(id); v.kind == kindVar && name != "" && b.called(u32(v.at, 0), name) {
				return id, true
			}
		}
	}
	return 0, false
}

// HasKfunc tells whether programs may call a function of the kernel. Kernels before 6.8 don't say which they
// may: then any function's name will do.
func (b *Types) HasKfunc(name string) bool {
	id, ok := b.FuncID(name)
	if !ok {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.index()
	tagged := false
	for i := range b.starts {
		t := b.at(uint32(i))
		if t.kind != kindDeclTag || !b.called(u32(t.at, 0), "bpf_kfunc") {
			continue
		}
		if t.ref() == id {
			return true
		}
		tagged = true
	}
	return !tagged
}
