package match

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
)

// Variable finds a variable that is in no function, of the file that a point lies in: where it is, and its type. Of
// several of one name that of the point's own unit counts, then the one that all units see. "name@file.c" is that of a
// file. See probe.ErrSeveral and probe.ErrUnavailable.
func (r *Result) Variable(p *probe.Point, name string) (Symbol, *types.Type, error) {
	b, err := r.fileOf(p)
	if err != nil {
		return Symbol{}, nil, debuginfo.ErrNotFound
	}
	s, t, err := r.variableIn(p, b, name)
	if err == nil {
		s, err = r.settle(p, b, s, nil)
	}
	return s, t, err
}

func (r *Result) variableIn(p *probe.Point, b *binary, name string) (Symbol, *types.Type, error) {
	if name == errnoVariable {
		place, _, err := r.files.threadLocal(b, name)
		return Symbol{Place: place, Size: errnoSize}, types.TInt32, err
	}
	info, err := b.debug()
	if err != nil {
		return Symbol{}, nil, err
	}
	name, file, chosen := strings.Cut(name, "@")
	all, err := info.Globals(name)
	switch {
	case errors.Is(err, debuginfo.ErrNotFound):
		return Symbol{}, nil, err
	case err != nil:
		return Symbol{}, nil, fmt.Errorf("%w: %w", probe.ErrUnavailable, err)
	}
	fn, err := info.FunctionAt(p.Addr)
	if err != nil {
		fn = nil
	}
	only := func(fits func(g *debuginfo.Global) bool) {
		var some []debuginfo.Global
		for i := range all {
			if fits(&all[i]) {
				some = append(some, all[i])
			}
		}
		if len(some) > 0 {
			all = some
		}
	}
	if chosen {
		in := func(g *debuginfo.Global) bool { return g.File == file || strings.HasSuffix(g.File, "/"+file) }
		if only(in); !in(&all[0]) {
			return Symbol{}, nil, fmt.Errorf("it is not in %s but in %s: %w", file, unitsOf(all), debuginfo.ErrNotFound)
		}
	}
	only(func(g *debuginfo.Global) bool { return g.Qualified == name })
	only(func(g *debuginfo.Global) bool { return g.Place.Kind == types.InMemory })
	if len(all) > 1 {
		only(func(g *debuginfo.Global) bool { return g.Beside(fn) })
	}
	if len(all) > 1 {
		only(func(g *debuginfo.Global) bool { return g.External })
	}
	g := &all[0]
	for i := range all[1:] {
		if fmt.Sprint(all[i+1].Place) != fmt.Sprint(g.Place) {
			return Symbol{}, nil, fmt.Errorf("%w: in %s", probe.ErrSeveral, unitsOf(all))
		}
	}
	if g.Place.Kind == types.Unavailable {
		return Symbol{}, nil, fmt.Errorf("%w: %s", probe.ErrUnavailable, g.Place.Why)
	}
	if g.Place.Kind != types.InMemory || g.Type == nil {
		return Symbol{}, nil, fmt.Errorf("%w: it has no address", probe.ErrUnavailable)
	}
	s := Symbol{Place: b.inUse(g), Size: uint64(max(g.Type.Complete().Size, 0))}
	return s, g.Type, nil
}

// inUse is where a variable is that a program may have a copy of.
func (b *binary) inUse(g *debuginfo.Global) types.Place {
	symbol := g.Linkage
	if symbol == "" {
		symbol = g.Name
	}
	if slot, ok := b.obj.Cell(symbol); ok && g.External {
		return types.Place{Kind: types.InMemory, Ops: objfile.Word(slot)}
	}
	return g.Place
}

// unitsOf names the files that have variables, so that they can be told apart.
func unitsOf(all []debuginfo.Global) string {
	var files []string
	for i := range all {
		if f := all[i].File; !slices.Contains(files, f) {
			files = append(files, f)
		}
	}
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = path.Base(f)
		if slices.ContainsFunc(files, func(o string) bool { return o != f && path.Base(o) == names[i] }) {
			names[i] = f
		}
	}
	return strings.Join(names, ", ")
}
