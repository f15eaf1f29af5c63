package trocar

import (
	"trocar/internal/compile/check"
	"trocar/internal/process/probe"
	"trocar/internal/process/symbolize"
	"trocar/internal/process/target"
)

// lookup finds what a script names outside itself.
func (p *Program) lookup() check.Lookup {
	l := check.Lookup{
		UserSymbol: p.userSymbol, UserType: p.matched.Type, UserEnumerator: p.matched.Enumerator,
		KernelType: p.features.Types().Type, KernelEnumerator: p.features.Types().Enumerator,
		KernelFunc: p.features.Types().HasKfunc,
	}
	if p.machine.running {
		l.CgroupID, l.KernelSymbol = target.CgroupID, symbolize.KernelAddress
	}
	return l
}

func (p *Program) userSymbol(pt *probe.Point, name string) (check.Symbol, error) {
	s, err := p.matched.Symbol(pt, name)
	return check.Symbol{Addr: s.Addr, Size: s.Size, Absolute: s.Fixed}, err
}
