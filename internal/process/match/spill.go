package match

import (
	"fmt"
	"slices"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/code"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
)

// Arguments in floating-point registers, which BPF cannot read: where a function stores them at once, the point moves
// behind that, and they are read from its frame.

// behindSpills moves a point at the entry of a runtime's function. It stays if one of the arguments that it has would
// be gone there, or if nothing is gained.
func (m *matcher) behindSpills(b *binary, entry uint64, p *probe.Point) {
	if !p.Entry || p.Call == nil || p.Call.Unknown != "" || m.stays || m.needs.Given || p.Scope == nil ||
		!slices.ContainsFunc(p.Scope.Args, func(v probe.Var) bool { return vectors(v.Place) > 0 }) {
		return
	}
	var err error
	defer objfile.Guard(&err)()
	size := b.obj.CodeSize(entry)
	if p.Addr-entry >= size || size > code.MaxFunction {
		return
	}
	text := b.obj.Bytes(entry, int(size))
	var best *code.Spill
	var placed []types.Place
	least := 0
	for _, v := range p.Scope.Args {
		least += vectors(v.Place)
	}
	list := code.ReadSpills(b.obj.Arch(), text[p.Addr-entry:])
	for i := range list {
		at := &list[i]
		if at.Depth != 0 && !at.Framed || m.hazardAt(b.obj, p.Addr+uint64(at.At)) != nil {
			continue
		}
		s := spilled{b.obj.Arch(), at}
		places, missing, gone := make([]types.Place, len(p.Scope.Args)), 0, false
		for k, v := range p.Scope.Args {
			var ok bool
			places[k], ok = s.place(v.Place, int64(v.Type.Complete().Size))
			gone = gone || !ok
			missing += vectors(places[k])
		}
		if !gone && missing < least {
			best, placed, least = at, places, missing
		}
	}
	if best == nil {
		return
	}
	to := p.Addr + uint64(best.At)
	jumped := false
	code.Targets(b.obj.Arch(), text, entry, func(t uint64) { jumped = jumped || p.Addr < t && t <= to })
	if jumped {
		return
	}
	moved, call := *p, *p.Call
	call.Depth = best.Depth
	moved.Call, moved.Entry, moved.Skip = &call, best.Depth == 0, p.Skip+best.At
	moved.Scope = p.Scope.Clone()
	moved.Scope.Args = slices.Clone(p.Scope.Args)
	moved.Scope.ArgN = slices.Clone(p.Scope.ArgN)
	for k := range placed {
		moved.Scope.Args[k].Place = placed[k]
		if k < len(moved.Scope.ArgN) && moved.Scope.ArgN[k].Kind != types.Unavailable {
			moved.Scope.ArgN[k] = placed[k]
		}
	}
	if m.place(&moved, b, to) != nil {
		*p = moved
	}
}

// behindReloads moves the points where a runtime's function returns, of which a result is in a floating-point register,
// to where it begins to give up its frame, if it has put the result there right before. All of them are moved, or none.
func (m *matcher) behindReloads(b *binary, entry uint64, points []*probe.Point) {
	if len(points) == 0 || points[0].Scope == nil || points[0].Scope.Retval == nil || m.stays || m.needs.Given ||
		vectors(points[0].Scope.Retval.Place) == 0 || points[0].Call == nil || points[0].Call.Unknown != "" {
		return
	}
	var err error
	defer objfile.Guard(&err)()
	size := b.obj.CodeSize(entry)
	if size > code.MaxFunction {
		return
	}
	text := b.obj.Bytes(entry, int(size))
	var moved []probe.Point
	var targets []uint64
	code.Targets(b.obj.Arch(), text, entry, func(t uint64) { targets = append(targets, t) })
	scopes := map[string]*probe.Scope{}
	for _, p := range points {
		at, ok := code.ReadFarewell(b.obj.Arch(), text, int(p.Addr-entry))
		into := func(t uint64) bool { return entry+uint64(at.From) < t && t <= p.Addr }
		if !ok || m.hazardAt(b.obj, entry+uint64(at.At)) != nil || slices.ContainsFunc(targets, into) {
			return
		}
		s := spilled{b.obj.Arch(), &code.Spill{Depth: at.Depth, Stores: at.Floats}}
		result := *p.Scope.Retval
		if result.Place, ok = s.place(result.Place, int64(result.Type.Complete().Size)); !ok || vectors(result.Place) > 0 {
			return
		}
		q, call := *p, *p.Call
		call.Depth = at.Depth
		q.Call, q.Frame = &call, &probe.Frame{Reg: b.obj.Arch().SP, Offset: at.Depth}
		key := fmt.Sprint(result.Place)
		if scopes[key] == nil {
			scopes[key] = p.Scope.Clone()
			scopes[key].Retval = &result
		}
		q.Scope = scopes[key]
		if m.place(&q, b, entry+uint64(at.At)) == nil {
			return
		}
		moved = append(moved, q)
	}
	for i := range moved {
		*points[i] = moved[i]
	}
}

// vectors counts the parts of a value that are in floating-point registers.
func vectors(p types.Place) (n int) {
	if p.Kind == types.Unavailable && p.Vector > 0 {
		n++
	}
	if p.Kind == types.InPieces {
		for i := range p.Pieces {
			n += vectors(p.Pieces[i].Place)
		}
	}
	return n
}

// spilled finds values behind code that stores some of them.
type spilled struct {
	arch *abi.Arch
	at   *code.Spill
}

// place is where a value of size bytes is that was at p; false: it is nowhere any more.
func (s *spilled) place(p types.Place, size int64) (types.Place, bool) {
	switch p.Kind {
	case types.Unavailable:
		if p.Vector > 0 {
			if stored, ok := s.stored(p.Vector-1, true, size); ok {
				return stored, true
			}
		}
		return p, true
	case types.Constant:
		return p, true
	case types.InRegister:
		if s.at.Kept(s.arch, p.Reg) {
			return p, true
		}
		return s.stored(p.Reg, false, size)
	case types.InMemory:
		if len(p.Ops) > 0 {
			return p, false
		}
		if p.Reg != s.arch.SP {
			return p, s.at.Kept(s.arch, p.Reg)
		}
		p.Offset += s.at.Depth
		return p, len(p.Derefs) == 0 && !s.at.Wrote(p.Offset, size)
	case types.InPieces:
		p.Pieces = slices.Clone(p.Pieces)
		for i := range p.Pieces {
			piece := &p.Pieces[i]
			var ok bool
			if piece.Place, ok = s.place(piece.Place, int64(piece.Size)); !ok {
				return p, false
			}
		}
		return p, true
	case types.Computed, types.InContext:
	}
	return p, false
}

// stored is where a register was stored.
func (s *spilled) stored(reg int, float bool, size int64) (types.Place, bool) {
	for _, st := range s.at.Stores {
		if st.Reg == reg && st.Float == float && int64(st.Size) >= size {
			return types.Place{Kind: types.InMemory, Reg: s.arch.SP, Offset: int64(st.Off)}, true
		}
	}
	return types.Place{}, false
}
