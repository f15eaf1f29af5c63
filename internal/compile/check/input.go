package check

import (
	"trocar/internal/binary/abi"
	"trocar/internal/binary/types"
	"trocar/internal/compile/feature"
	"trocar/internal/process/probe"
)

// Input is all that the meaning of a script depends on besides its text and its probe points.
type Input struct {
	Params   []string // positional parameters: $1 …
	Options  []Option // named parameters, for getopt
	Config   *Config  // see ReadConfig; nil: the defaults
	Unsafe   bool
	ChildPID int // -c: the held process; 0: none
	PID      int // -p
	// TracerPID is the process that runs the script; 0: it is run elsewhere.
	TracerPID int
	NCPU      int         // for ncpus
	Arch      *abi.Arch   // the CPU; nil: one that is not known, of which scripts cannot read registers
	Features  feature.Set // of the kernel; nil: all
	Lookup    Lookup
}

// Option is one named parameter of the command line, --name or --name=value.
type Option struct {
	Name, Value string
	HasValue    bool
}

// Lookup finds what a script names outside itself. Each function may be nil: then nothing is found.
type Lookup struct {
	// UserSymbol finds a variable or function of the file that a point lies in.
	UserSymbol func(p *probe.Point, name string) (Symbol, error)
	// UserVariable finds a variable that is in no function, of the file that a point lies in, with its type.
	// probe.ErrSeveral, probe.ErrUnavailable: why it is not told.
	UserVariable func(p *probe.Point, name string) (Symbol, error)
	// KernelSymbol is the address of a kernel symbol.
	KernelSymbol func(name string) (uint64, error)
	// PerCPUSymbol is the number of a per-CPU variable of the kernel in its type information.
	PerCPUSymbol func(name string) (id uint32, err error)
	// KernelFunc tells whether the kernel has a function that programs may call (a kfunc), KernelFuncIn whether programs
	// of a kind of probe may call it.
	KernelFunc   func(name string) bool
	KernelFuncIn func(name string, kind probe.Kind) bool
	// CgroupID is the id of a cgroup directory.
	CgroupID func(path string) (uint64, error)
	// UserType finds a type by name ("struct foo", "enum e", "size_t") in the debug information of the file that a point
	// lies in, nil if there is none. An error tells why it cannot be told which of several it is.
	UserType func(p *probe.Point, name string) (*types.Type, error)
	// UserEnumerator finds an enumerator of the file that a point lies in: its enum and value. probe.ErrAmbiguous: there
	// are several of that name.
	UserEnumerator func(p *probe.Point, name string) (*types.Type, int64, error)
	// KernelType finds a type by name in the kernel's type information.
	KernelType func(name string) *types.Type
	// KernelEnumerator finds an enumerator of the kernel: its enum and value.
	KernelEnumerator func(name string) (*types.Type, int64, bool)
}

// Symbol is a symbol of a file.
type Symbol struct {
	Place types.Place // in memory; it holds at all points of the file
	Size  uint64
	Type  *types.Type // of UserVariable
}

// has tells whether the kernel has a feature.
func (in *Input) has(f feature.Feature) bool { return in.Features == nil || in.Features.Has(f) }

func (l *Lookup) kernelType(name string) *types.Type {
	if l.KernelType == nil {
		return nil
	}
	return l.KernelType(name)
}
