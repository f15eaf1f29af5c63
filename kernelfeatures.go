package trocar

import (
	"trocar/internal/compile/codegen"
	"trocar/internal/kernel"
)

// kernelFeatures answers code generation from the running kernel.
type kernelFeatures struct{ *kernel.Features }

func (k kernelFeatures) Has(f codegen.Feature) bool {
	switch f {
	case codegen.Cookie:
		return k.Features.Has(kernel.AttachCookie)
	case codegen.Sleepable:
		return k.Features.Has(kernel.SleepableUprobe)
	case codegen.AtomicFetch:
		return k.Features.Has(kernel.AtomicFetch)
	case codegen.Loop:
		return k.Features.Has(kernel.Loop)
	case codegen.ForEach:
		return k.Features.Has(kernel.ForEachMapElem)
	case codegen.PerCPULookup:
		return k.Features.Has(kernel.MapLookupPercpu)
	case codegen.KtimeTAI:
		return k.Features.Has(kernel.KtimeTAI)
	}
	return false
}

// bpftraceFeatures are the names that bpftrace's --no-feature takes, for the features that they stand for here.
func bpftraceFeatures() map[string][]kernel.Feature {
	return map[string][]kernel.Feature{
		"uprobe_multi": {kernel.UprobeMulti, kernel.UprobeMultiPID, kernel.UprobeSession},
		"kprobe_multi": nil, "kprobe_session": nil,
	}
}

// session finds the functions of sessions in the kernel.
func (p *Program) session() *codegen.Session {
	if !p.features.Has(kernel.UprobeSession) {
		return nil
	}
	isReturn, ok := p.features.Types().FuncID("bpf_session_is_return")
	if !ok {
		return nil
	}
	cookie, ok := p.features.Types().FuncID("bpf_session_cookie")
	if !ok {
		return nil
	}
	return &codegen.Session{IsReturn: int32(isReturn), Cookie: int32(cookie)}
}
