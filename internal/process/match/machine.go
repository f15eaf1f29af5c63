package match

import (
	"trocar/internal/binary/abi"
	"trocar/internal/process/probe"
)

// fileCPU is the CPU that a file is made for.
type fileCPU struct {
	arch *abi.Arch
	name string
}

// Arch is the CPU that the file of a point is made for, nil if it is not known or the point is in no file; cpu is its
// name for people, "" if there is no file.
func (r *Result) Arch(p *probe.Point) (arch *abi.Arch, cpu string) {
	if r.files == nil {
		return nil, ""
	}
	f := r.files.cpus[p.Path]
	return f.arch, f.name
}
