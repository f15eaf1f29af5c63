package match

import (
	"trocar/internal/binary/btf"
	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
)

// Arguments of the kernel's functions and tracepoints, where programs see them as an array of 64-bit words.

// prototype finds what a function of the kernel takes, or a tracepoint.
func (m *matcher) prototype(kind probe.Kind, name string) (btf.Prototype, bool) {
	if m.opts.Prototype == nil {
		return btf.Prototype{}, false
	}
	return m.opts.Prototype(name, kind == probe.RawTracepoint)
}

// maxKernelArgs is the most that programs can see (MAX_BPF_FUNC_ARGS of the kernel's include/linux/bpf.h).
const maxKernelArgs = 12

// kernelArgs lays `args` of a kernel function or tracepoint out over the program's context; nil: they are not known.
func (m *matcher) kernelArgs(p *probe.Point) *probe.Scope {
	proto, ok := m.prototype(p.Kind, p.Event)
	if !ok || len(proto.Params) == 0 {
		return nil
	}
	t := &types.Type{Kind: types.Struct, Name: "struct " + p.Event + "_args", Align: 8}
	for _, a := range proto.Params {
		if t.Size/8 >= maxKernelArgs {
			break
		}
		t.Fields = append(t.Fields, types.Field{Name: a.Name, Type: a.Type, Offset: t.Size})
		// A structure of up to 16 bytes is in two words.
		t.Size += 8 * max(1, (a.Type.Size+7)/8)
	}
	return &probe.Scope{ArgsType: t}
}

// kernelParams are the arguments as declarations.
func (m *matcher) kernelParams(kind probe.Kind, name string) (out []string) {
	proto, ok := m.prototype(kind, name)
	if !ok {
		return nil
	}
	result := kind == probe.Fexit || kind == probe.Kretprobe
	if kind != probe.Kretprobe {
		for _, a := range proto.Params {
			out = append(out, declared(a.Type, a.Name))
		}
		if proto.Vararg {
			out = append(out, "...")
		}
	}
	if result && proto.Result.Kind != types.Void {
		out = append(out, declared(proto.Result, "retval"))
	}
	return out
}
