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
	return &probe.Scope{ArgsType: argsType(p.Event, proto)}
}

// argsType is the struct of arguments as the context has them, as far as programs see it.
func argsType(name string, proto btf.Prototype) *types.Type {
	t := &types.Type{Kind: types.Struct, Name: "struct " + name + "_args", Align: 8}
	for _, a := range proto.Params {
		if t.Size/8 >= maxKernelArgs {
			break
		}
		t.Fields = append(t.Fields, types.Field{Name: a.Name, Type: a.Type, Offset: t.Size})
		t.Size += 8 * wordsOf(a.Type)
	}
	return t
}

// wordsOf is the number of words that a value takes: a structure of up to 16 bytes is in two.
func wordsOf(t *types.Type) int { return max(1, (t.Size+7)/8) }

func words(params []btf.Param) (n int) {
	for _, a := range params {
		n += wordsOf(a.Type)
	}
	return n
}

// functionScope is what a program of type fentry or fexit sees: the arguments, and behind them at the return the result
// (get_func_ret in the kernel's kernel/trace/bpf_trace.c).
func (m *matcher) functionScope(p *probe.Point, proto btf.Prototype) *probe.Scope {
	s := &probe.Scope{}
	if len(proto.Params) > 0 {
		s.ArgsType = argsType(p.Event, proto)
	}
	if !p.Kind.Traits().Return {
		return s
	}
	result := proto.Result.Complete()
	place := types.Place{Kind: types.InContext, Offset: int64(8 * words(proto.Params))}
	switch {
	case result.Kind == types.Void:
		result, place = types.TUint64, types.Unknown("%s returns nothing", p.Event)
	case !result.IsScalar() || result.Size > 8:
		place = types.Unknown("a program of type fexit is not given a result of type %s", types.Declare(result, ""))
	}
	s.Retval = &probe.Var{Name: "retval", Type: result, Place: place}
	return s
}

// kernelParams are the arguments as declarations.
func (m *matcher) kernelParams(kind probe.Kind, name string) (out []string) {
	proto, ok := m.prototype(kind, name)
	if !ok {
		return nil
	}
	if kind != probe.Kretprobe {
		for _, a := range proto.Params {
			out = append(out, declared(a.Type, a.Name))
		}
		if proto.Vararg {
			out = append(out, "...")
		}
	}
	if kind.Traits().Return && proto.Result.Kind != types.Void {
		out = append(out, declared(proto.Result, "retval"))
	}
	return out
}
