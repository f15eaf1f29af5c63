package trocar

import (
	"trocar/internal/compile/check"
	"trocar/internal/process/probe"
	"trocar/internal/process/symbolize"
	"trocar/internal/process/target"
)

// lookup finds what a script names outside itself.
func (p *Program) lookup() check.Lookup {
	return check.Lookup{
		UserSymbol: p.userSymbol,
		UserType:   p.matched.Type,

		UserEnumerator: p.matched.Enumerator,
		CgroupID:       target.CgroupID,

		KernelType: p.features.Types().Type, KernelEnumerator: p.features.Types().Enumerator,
		KernelSymbol: symbolize.KernelAddress,
	}
}

func (p *Program) userSymbol(pt *probe.Point, name string) (check.Symbol, error) {
	s, err := p.matched.Symbol(pt, name)
	return check.Symbol{Addr: s.Addr, Size: s.Size, Absolute: s.Fixed}, err
}
