package match

import (
	"trocar/internal/binary/abi"
	"trocar/internal/binary/objfile"
	"trocar/internal/process/probe"
)

// symbols is a file as the operands of its USDT probes need it.
type symbols struct{ *objfile.File }

func (s symbols) Fixed() bool { return s.Type() == objfile.TypeExec }

// operandScope makes the scope of a USDT probe at an address from the text of its operands.
func operandScope(obj *objfile.File, site uint64, text string) *probe.Scope {
	o := abi.Operands{Arch: obj.Arch(), Site: site, Symbols: symbols{obj}}
	s := &probe.Scope{}
	s.ArgN, s.ArgNTypes = o.Places(text)
	return s
}
