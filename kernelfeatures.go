package trocar

import (
	"trocar/internal/compile/codegen"
	"trocar/internal/compile/feature"
)

// session finds the functions of sessions in the kernel.
func (p *Program) session() *codegen.Session {
	if !p.features.Has(feature.UprobeSession) {
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

// returnDepth finds where the kernel counts the return addresses that it has replaced in a thread.
func (p *Program) returnDepth() (pointer, depth int, ok bool) {
	offset := func(structure, field string) (int, bool) {
		t := p.features.Types().Type(structure)
		if t == nil {
			return 0, false
		}
		for _, f := range t.Fields {
			if f.Name == field && f.BitSize == 0 {
				return f.Offset, true
			}
		}
		return 0, false
	}
	pointer, ok = offset("struct task_struct", "utask")
	if !ok {
		return 0, 0, false
	}
	depth, ok = offset("struct uprobe_task", "depth")
	return pointer, depth, ok
}
