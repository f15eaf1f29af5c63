package match

import (
	"trocar/internal/binary/abi"
	"trocar/internal/process/probe"
)

// Arch is the CPU that the file of a point is made for, nil if it is not known or the point is in no file; cpu is its name
// for people, "" if there is no file.
func (r *Result) Arch(p *probe.Point) (arch *abi.Arch, cpu string) {
	if r.files == nil || p.Path == "" {
		return nil, ""
	}
	b := r.files.byPath(p.Path)
	if b == nil {
		return nil, ""
	}
	return b.obj.Arch(), b.obj.CPU()
}
