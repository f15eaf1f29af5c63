package codegen_test

import (
	"fmt"
	"math/bits"
	"sort"

	"trocar/internal/binary/types"
	"trocar/internal/compile/check"
)

// Statements, as the language's description has them.

func (in *interp) block(b *check.Block) leaving {
	if b == nil {
		return ""
	}
	for _, s := range b.Stmts {
		if l := in.stmt(s); l != "" {
			return l
		}
	}
	return ""
}

func (in *interp) stmt(s check.Stmt) leaving {
	if in.steps++; in.steps > 1e6 {
		panic("no end")
	}
	switch s := s.(type) {
	case *check.Block:
		return in.block(s)
	case *check.ExprStmt:
		in.eval(s.X)
	case *check.SetVar:
		if s.Value == nil {
			in.vars[s.Var] = make([]byte, s.Var.Type.Size)
			break
		}
		in.vars[s.Var] = padded(in.eval(s.Value), s.Var.Type.Size)
	case *check.SetMap:
		v := padded(in.eval(s.Value), s.Map.Value.Size)
		in.entries(s.Map)[in.key(s.Map, s.Key)] = v
	case *check.Aggregate:
		in.aggregate(s)
	case *check.If:
		if in.num(s.Cond) != 0 {
			return in.block(s.Then)
		}
		return in.block(s.Else)
	case *check.While:
		for in.num(s.Cond) != 0 {
			if l := in.block(s.Body); l == "break" {
				break
			} else if l == "return" {
				return l
			}
		}
	case *check.ForRange:
		i, end := in.num(s.Start), in.num(s.End)
		for ; int64(i) < int64(end); i++ {
			in.vars[s.Var] = put(i, s.Var.Type.Size)
			if l := in.block(s.Body); l == "break" {
				break
			} else if l == "return" {
				return l
			}
		}
	case *check.ForMap:
		return in.forMap(s)
	case *check.Unrolled:
		for _, b := range s.Bodies {
			if l := in.block(b); l != "" {
				return l
			}
		}
	case *check.Jump:
		return leaving(s.Kind)
	default:
		panic(fmt.Sprintf("no meaning for %T", s))
	}
	return ""
}

func (in *interp) forMap(s *check.ForMap) leaving {
	t := s.Var.Type
	var keys []string
	for k := range in.entries(s.Map) {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		v := make([]byte, t.Size)
		copy(v[t.Fields[0].Offset:], cast([]byte(k), s.Map.Key, t.Fields[0].Type))
		copy(v[t.Fields[1].Offset:], number(in.entries(s.Map)[k], s.Map.Value))
		in.vars[s.Var] = v
		if l := in.block(s.Body); l == "break" {
			break
		} else if l == "return" {
			return l
		}
	}
	return ""
}

// aggregate updates the sum of all CPUs' values.
func (in *interp) aggregate(s *check.Aggregate) {
	t := s.Map.Value
	var n uint64
	if len(s.Args) > 0 {
		n = in.num(s.Args[0])
	}
	entries, key := in.entries(s.Map), in.key(s.Map, s.Key)
	v := entries[key]
	if v == nil {
		v = make([]byte, t.Size)
		entries[key] = v
	}
	add := func(i int, n uint64) { setWord(v, i, word(v, i)+n) }
	switch t.Kind {
	case types.Count:
		add(0, 1)
	case types.Sum:
		add(0, n)
	case types.Avg, types.Stats:
		add(0, n)
		add(1, 1)
	case types.Min, types.Max:
		setWord(v, 0, max(word(v, 0), rank(n, t)))
		setWord(v, 1, 1)
	case types.Hist:
		add(histBucket(n, t.Bits, s.Args[0].Type().Signed), 1)
	case types.LHist:
		switch x := int64(n); {
		case x < t.Min:
			add(0, 1)
		case x >= t.Max:
			add(t.Size/8-1, 1)
		default:
			add(1+int((x-t.Min)/t.Step), 1)
		}
	}
}

// histBucket is the counter of a value: 0 for negative ones, then one for each below 2^k, then 2^k for each power of
// two.
func histBucket(n uint64, k int, signed bool) int {
	switch {
	case signed && int64(n) < 0:
		return 0
	case n < 1<<k:
		return 1 + int(n)
	}
	power := bits.Len64(n) - 1
	return 1 + 1<<k + (power-k)<<k + int(n>>(power-k)&(1<<k-1))
}
