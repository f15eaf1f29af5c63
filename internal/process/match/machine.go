package match

import (
	"trocar/internal/binary/objfile"
	"trocar/internal/process/probe"
)

// Machine is the CPU that the file of a point is made for; 0: it is in none.
func (r *Result) Machine(p *probe.Point) objfile.Machine {
	if r.files == nil || p.Path == "" {
		return 0
	}
	b := r.files.byPath(p.Path)
	if b == nil {
		return 0
	}
	return b.obj.Machine()
}
