package session

import (
	"encoding/binary"
	"fmt"
	"path"

	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
	"trocar/result"
)

// Functions of one name in several files are several keys of a map. They are told apart by where each is declared, by
// their files, or by where they begin.

// pointIn is where in a value of a type the number of a point is that names a function.
func pointIn(t *types.Type) (off int, ok bool) {
	if t.Kind == types.USym {
		return 12, true
	}
	if t.Kind != types.Tuple && t.Kind != types.Record {
		return 0, false
	}
	for _, f := range t.Fields {
		if off, ok := pointIn(f.Type); ok {
			return f.Offset + off, true
		}
	}
	return 0, false
}

// apart gives functions of one name longer ones in the keys of a map.
func (s *Session) apart(t *types.Type, rows []row) {
	off, ok := pointIn(t)
	if !ok {
		return
	}
	alike := map[string][]int{}
	var texts []string // in order
	for i := range rows {
		text := string(rows[i].key.AppendKey(nil))
		if alike[text] == nil {
			texts = append(texts, text)
		}
		alike[text] = append(alike[text], i)
	}
	for _, text := range texts {
		if group := alike[text]; len(group) > 1 {
			s.tell(group, off, rows)
		}
	}
}

// tell adds to the names of functions of a group what differs among them.
func (s *Session) tell(group []int, off int, rows []row) {
	var points []int
	for _, i := range group {
		key := rows[i].raw
		if off+4 > len(key) {
			return
		}
		n := int(binary.LittleEndian.Uint32(key[off:])) - 1
		if n < 0 || n >= len(s.names.points) {
			return
		}
		points = append(points, n)
	}
	for _, label := range []func(n int, p *probe.Point) string{s.names.declared, fileOf, beginOf} {
		labels, seen := make([]string, len(points)), map[string]bool{}
		for i, n := range points {
			labels[i] = label(n, s.names.points[n])
			seen[labels[i]] = true
		}
		if len(seen) < len(points) || seen[""] {
			continue
		}
		for i, at := range group {
			if v := symbolIn(rows[at].key); v != nil {
				v.Text += " (" + labels[i] + ")"
			}
		}
		return
	}
}

// symbolIn finds the name of a function in a key.
func symbolIn(v *result.Value) *result.Value {
	if v.Kind == result.Symbol {
		return v
	}
	for i := range v.Elems {
		if found := symbolIn(&v.Elems[i]); found != nil {
			return found
		}
	}
	return nil
}

// declared is the line on which a point's function is, "" if that is not known.
func (n *resolver) declared(point int, _ *probe.Point) string {
	im, addr := n.binary(point)
	if im == nil {
		return ""
	}
	info, err := im.Info()
	if err != nil {
		return ""
	}
	fn, err := info.FunctionAt(addr)
	if err != nil || fn.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", path.Base(fn.File), fn.Line)
}

func fileOf(_ int, p *probe.Point) string { return path.Base(p.Path) }

func beginOf(_ int, p *probe.Point) string {
	if at := p.FunctionStart(); at != 0 {
		return fmt.Sprintf("%#x", at)
	}
	return fmt.Sprintf("%#x", p.Addr)
}
