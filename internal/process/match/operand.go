package match

import (
	"trocar/internal/binary/abi"
	"trocar/internal/binary/objfile"
	"trocar/internal/process/probe"
)

// symbols is a file as the operands of its USDT probes need it.
type symbols struct{ *objfile.File }

func (s symbols) Fixed() bool { return s.Type() == objfile.TypeExec }

// operandScope makes the scope of a USDT probe from the text of its operands, with names where they are known and asked
// for.
func operandScope(obj *objfile.File, u *objfile.USDT, names bool) *probe.Scope {
	o := abi.Operands{Arch: obj.Arch(), Site: u.Addr, Symbols: symbols{obj}}
	s := &probe.Scope{}
	s.ArgN, s.ArgNTypes = o.Places(u.Args)
	if names {
		nameArguments(s, u.Provider, u.Name)
	}
	return s
}
