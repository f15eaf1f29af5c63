package trocar

import (
	"slices"

	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
	"trocar/internal/process/match"
	"trocar/internal/process/probe"
)

// arch is the machine's CPU in the compiler's terms.
func (m *Machine) arch() *types.Arch {
	if m.CPU == "arm64" {
		return types.ARM64
	}
	return types.AMD64
}

// runs tells whether a machine runs files that are made for a CPU.
func (m *Machine) runs(file objfile.Machine) bool {
	switch file {
	case objfile.AArch64:
		return m.CPU == "arm64"
	case objfile.AMD64, objfile.I386:
		return m.CPU == "amd64"
	}
	return false
}

// foreign takes out the points in files that the machine does not run: they would never be hit, and the registers in which
// their arguments are would be others'. Where a pattern found them beside points that it does run, nothing is said.
func (m *Machine) foreign(r *match.Result) {
	known := map[string]objfile.Machine{}
	for _, matches := range r.Matches {
		for i := range matches {
			found, path := &matches[i], ""
			found.Points = slices.DeleteFunc(found.Points, func(p *probe.Point) bool {
				if p.Path == "" {
					return false
				}
				cpu, ok := known[p.Path]
				if !ok {
					cpu = r.Machine(p)
					known[p.Path] = cpu
				}
				if m.runs(cpu) {
					return false
				}
				path = p.Path
				return true
			})
			if path != "" && len(found.Points) == 0 {
				r.Diags.Errorf(found.Spec.Span, "%s is for %s, not for %s", path, known[path], m.CPU)
			}
		}
	}
}
