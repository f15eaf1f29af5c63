package trocar

import (
	"errors"
	"fmt"

	"trocar/internal/compile/check"
	"trocar/internal/process/probe"
	"trocar/internal/process/symbolize"
	"trocar/internal/process/target"
)

// lookup finds what a script names outside itself.
func (p *Program) lookup() check.Lookup {
	l := check.Lookup{
		UserSymbol: p.userSymbol, UserVariable: p.userVariable, UserType: p.matched.Type,
		UserEnumerator: p.matched.Enumerator,
		KernelType:     p.features.Types().Type, KernelEnumerator: p.features.Types().Enumerator,
		KernelFunc: p.features.Types().HasKfunc,
	}
	if p.features.Types().Available() {
		l.PerCPUSymbol = p.perCPUSymbol
	}
	if p.machine.running {
		l.CgroupID, l.KernelSymbol = target.CgroupID, symbolize.KernelAddress
	}
	return l
}

// perCPUSymbol finds a per-CPU variable of the kernel, which needs its address as well when it loads a program.
func (p *Program) perCPUSymbol(name string) (uint32, error) {
	id, ok := p.features.Types().PerCPU(name)
	if !ok {
		return 0, fmt.Errorf("the kernel's type information has no per-CPU variable %s", name)
	}
	if p.machine.running {
		if _, err := symbolize.KernelAddress(name); err != nil {
			return 0, fmt.Errorf("the kernel does not give programs the address of %s: it was built without "+
				"CONFIG_KALLSYMS_ALL", name)
		}
	}
	return id, nil
}

func (p *Program) userSymbol(pt *probe.Point, name string) (check.Symbol, error) {
	s, err := p.matched.Symbol(pt, name)
	return check.Symbol{Place: s.Place, Size: s.Size}, err
}

func (p *Program) userVariable(pt *probe.Point, name string) (check.Symbol, error) {
	s, t, err := p.matched.Variable(pt, name)
	return check.Symbol{Place: s.Place, Size: s.Size, Type: t}, err
}

// threadPointer is the offset of the traced thread's pointer to its own variables in the kernel's struct task_struct.
func (p *Program) threadPointer() (int, error) {
	arch := p.machine.arch()
	if arch == nil || arch.TLS == nil {
		return 0, fmt.Errorf("where a thread's own variables are is not known on %s", p.machine.CPU)
	}
	at, offset := p.features.Types().Type("struct task_struct"), 0
	for _, name := range arch.TLS.ThreadPointer {
		if at == nil {
			return 0, errors.New("the kernel has no type information (CONFIG_DEBUG_INFO_BTF), which tells where it is")
		}
		f, ok := at.Field(name)
		if !ok {
			return 0, fmt.Errorf("%s of this kernel has no %s", at.Name, name)
		}
		offset, at = offset+f.Offset, f.Type
	}
	return offset, nil
}
