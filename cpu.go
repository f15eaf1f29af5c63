package trocar

import (
	"slices"

	"trocar/internal/binary/abi"
	"trocar/internal/process/match"
	"trocar/internal/process/probe"
	"trocar/internal/script/syntax"
)

// arch is the machine's CPU in the compiler's terms, nil if it is not known (see check).
func (m *Machine) arch() *abi.Arch { return abi.ByName(m.CPU) }

// headers is what C headers ask of the machine's CPU.
func (m *Machine) headers() syntax.CPU {
	a := m.arch()
	if a == nil {
		return syntax.CPU{}
	}
	return syntax.CPU{Predefined: a.Predefined, Triplet: a.Triplet, Tree: a.Tree}
}

// foreign takes out the points in files that the machine does not run: they would never be hit, and the registers in
// which their arguments are would be others'. Where a pattern found them beside points that it does run, nothing is
// said.
func (m *Machine) foreign(r *match.Result) {
	type file struct {
		arch *abi.Arch
		cpu  string
	}
	own, known := m.arch(), map[string]file{}
	for _, matches := range r.Matches {
		for i := range matches {
			found, path := &matches[i], ""
			found.Points = slices.DeleteFunc(found.Points, func(p *probe.Point) bool {
				if p.Path == "" {
					return false
				}
				f, ok := known[p.Path]
				if !ok {
					f.arch, f.cpu = r.Arch(p)
					known[p.Path] = f
				}
				if f.cpu == "" || f.arch != nil && f.arch.Kernel == own { // "": match did not open it
					return false
				}
				path = p.Path
				return true
			})
			if path != "" && len(found.Points) == 0 {
				r.Diags.Errorf(found.Spec.Span, "%s is for %s, not for %s", path, known[path].cpu, m.CPU)
			}
		}
	}
}
