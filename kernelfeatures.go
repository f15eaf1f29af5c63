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
