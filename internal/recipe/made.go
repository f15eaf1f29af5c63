package recipe

import (
	"slices"

	"trocar/internal/process/probe"
)

// made are the functions whose code is made at run time, beside that which the file may have.
type made map[start]bool

func madeOf(lists ...[]*probe.Point) made {
	m := made{}
	for _, list := range lists {
		for _, p := range list {
			if p.Made != nil {
				m[startOf(p)] = true
			}
		}
	}
	return m
}

func (m made) has(p *probe.Point) bool { return m[startOf(p)] }

// without leaves out points on such code of functions that have points in the file, too.
func (m made) without(points []*probe.Point) []*probe.Point {
	if len(m) == 0 {
		return points
	}
	inFile := map[start]bool{}
	for _, p := range points {
		inFile[startOf(p)] = inFile[startOf(p)] || p.Made == nil
	}
	both := func(p *probe.Point) bool { return p.Made != nil && inFile[startOf(p)] }
	return slices.DeleteFunc(slices.Clone(points), both)
}
