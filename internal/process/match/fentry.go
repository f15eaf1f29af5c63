package match

import (
	"trocar/internal/binary/btf"
	"trocar/internal/process/probe"
)

// Fentry and fexit: functions of the kernel, by trampolines. The kernel checks such a program against what the
// function takes and returns, so its types must be known.

func parseFentry(m *matcher, s *spec) bool {
	if len(s.parts) < 1 || len(s.parts) > 3 {
		return m.argCount(s, 1, 3)
	}
	fail := func(format string, args ...any) bool {
		if !s.skip {
			m.diags.Errorf(s.ap.Span, format, args...)
		}
		return false
	}
	if s.parts[0] == "bpf" {
		s.target = "bpf"
		switch len(s.parts) {
		case 1:
			return fail("the 'bpf' variant of this probe requires a bpf program name and optional bpf program id")
		case 3:
			if s.parts[1] != "*" {
				n, err := parseUint(s.parts[1])
				if err != nil {
					return fail("bpf program id must be a number or '*'")
				}
				s.progID = n
			}
		}
		s.fn = s.parts[len(s.parts)-1]
		return true
	}
	switch len(s.parts) {
	case 3:
		return fail("Only the 'bpf' variant of this probe supports 4 arguments")
	case 2:
		s.target, s.fn = s.parts[0], s.parts[1]
	default:
		s.fn = s.parts[0]
	}
	if s.fn == "" {
		return fail("fentry/fexit should specify a function")
	}
	return true
}

func matchFentry(m *matcher, s *spec) []*probe.Point {
	if s.target == "bpf" {
		m.diags.Errorf(s.ap.Span, "%s on bpf programs is not supported", s.kind.name)
		return nil
	}
	k := m.kernelFunctionList()
	found := k.find(s.target, s.fn)
	if len(found) > 1 && s.target == "" && !hasWildcard(s.fn) {
		m.diags.Errorf(s.ap.Span, "ambiguous attach point, please specify module containing the function '%s'", s.fn)
		return nil
	}
	var points []*probe.Point
	left := leftOut{}
	for _, f := range found {
		proto, refusal := m.trampoline(s.kind.kind, f)
		switch {
		case refusal == nil:
		case hasWildcard(s.fn) || s.skip:
			left.add(refusal, f.name)
			continue
		default:
			m.failAttach(s, "%s on %s is not possible: %s", s.kind.name, f.name, refusal.Reason).Hint("%s", refusal.Way)
			return nil
		}
		p := &probe.Point{Kind: s.kind.kind, Category: f.module, Event: f.name, Func: f.name, PID: m.pid()}
		p.Name = s.kind.name + ":" + f.module + ":" + f.name
		if m.needs.Typed() {
			p.Scope = m.functionScope(p, proto)
		}
		points = append(points, p)
	}
	if !s.skip {
		m.tellLeftOut(s, left)
	}
	if len(points) == 0 && !hasWildcard(s.fn) {
		m.missingKernel(s, k)
	}
	return points
}

// trampoline tells what a function of the kernel takes and returns, or why no program of type fentry can be attached
// to it (bpf_check_attach_target in the kernel's kernel/bpf/verifier.c, btf_distill_func_proto in kernel/bpf/btf.c).
func (m *matcher) trampoline(kind probe.Kind, f kernelFunc) (btf.Prototype, *probe.Refusal) {
	instead := "probe it with kprobe"
	if kind.Traits().Return {
		instead = "probe it with kretprobe"
	}
	if f.module != "vmlinux" {
		return btf.Prototype{}, &probe.Refusal{
			Reason: "it is a function of the module " + f.module + ", and only types of the kernel itself are known",
			Way:    instead,
		}
	}
	proto, ok := m.prototype(kind, f.name)
	switch {
	case !ok:
		return proto, &probe.Refusal{
			Reason: "the kernel's type information (" + btf.KernelPath + ") does not describe it", Way: instead,
		}
	case proto.Vararg:
		return proto, &probe.Refusal{Reason: "it takes a variable number of arguments", Way: instead}
	case words(proto.Params) > maxKernelArgs:
		return proto, &probe.Refusal{Reason: "it takes more arguments than a program can be given", Way: instead}
	}
	return proto, nil
}
