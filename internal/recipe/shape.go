package recipe

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"trocar/internal/order"
	"trocar/internal/script/syntax"
)

// Functions whose calls are shown by the same text share their probes, whatever their number: there is one program for
// all of a shape, and what differs between them is data (the builtin func names them). A program that differs from
// others costs time to compile and to load, and memory in the kernel, so that their number is bounded.

const (
	// maxPrograms is how many programs the shapes of a question take: up to three each, for the entry, the returns and the
	// tail calls.
	maxPrograms = 200
	// Of no more functions than maxShapes each may be a shape of its own.
	maxShapes = 20
)

// severalPrograms is from how many programs on functions with the rarer kinds of arguments share programs that show
// less, where there are more functions than fewFunctions: of those whoever asks wants to see all.
const (
	severalPrograms = 40
	fewFunctions    = 200
)

// plainPrograms are kept for functions whose calls are shown without arguments: those that return, that end in tail
// calls, or both, of C and of Go.
const plainPrograms = 10

// programs is how many programs a shape takes.
func (c *call) programs() int {
	n := 1
	if c.pairs() && len(c.returns) > 0 {
		n++
	}
	if c.pairs() && len(c.leaves) > 0 {
		n++
	}
	if c.pairs() && len(c.tails) > 0 {
		n++
	}
	return n
}

// shape is what the text for a call depends on, apart from the function's name.
func (s *script) shape(c *call) string {
	fn := c.fn
	var b strings.Builder
	fmt.Fprint(&b, c.pairs(), c.split, c.early, len(c.returns) > 0, len(c.leaves) > 0, len(c.tails) > 0,
		fn.Tasks != nil, fn.Managed, fn.Replaced, fn.Panics, fn.Typed, fn.Line,
		"\x00", fn.EntryKey, "\x00", fn.ReturnKey, "\x00", fn.ResultExpr, fn.Parted)
	for _, list := range [][]part{c.shown, c.results, c.extra} {
		fmt.Fprintf(&b, "\x00%d", len(list))
		for i := range list {
			fmt.Fprint(&b, "\x00", list[i])
		}
	}
	for i := range fn.Params {
		if p := &fn.Params[i]; s.wants == nil || s.wants[p.Name] || s.wants[anyArgument] {
			fmt.Fprint(&b, "\x00", i, *p)
		}
	}
	if fn.Result != nil && (s.wants == nil || s.wants["retval"] || !s.counts) {
		fmt.Fprint(&b, "\x00", *fn.Result)
	}
	if !fn.Called || fn.Replaced && c.pairs() {
		b.WriteString("\x00" + fn.Name) // it stands in the text
	}
	return b.String()
}

// anyArgument stands for arguments by number, which are no names.
const anyArgument = "argN"

// wanted are the names in expressions that stand for something of a function.
func wanted(exprs []syntax.Expr) map[string]bool {
	names := map[string]bool{}
	for _, x := range exprs {
		if x == nil {
			continue
		}
		syntax.Inspect(x, func(n syntax.Node) bool {
			if id, ok := n.(*syntax.Ident); ok {
				if rest, is := strings.CutPrefix(id.Name, "arg"); is && (rest == "s" || strings.Trim(rest, "0123456789") == "") {
					names[anyArgument] = true
				}
				names[id.Name] = true
			}
			return true
		})
	}
	return names
}

// shapes are the shapes of calls, and which of them are beyond so many programs, the most frequent aside.
func (s *script) shapes(calls []*call, most int, plainly bool) (shapes []string, rare map[string]bool) {
	shapes = make([]string, len(calls))
	count, programs := map[string]int{}, map[string]int{}
	total := 0
	for i, c := range calls {
		shapes[i] = s.shape(c)
		if count[shapes[i]]++; count[shapes[i]] == 1 {
			programs[shapes[i]] = c.programs()
			total += c.programs()
		}
	}
	if total <= most {
		return shapes, nil
	}
	if plainly {
		most -= plainPrograms
	}
	rare = map[string]bool{}
	common := slices.Sorted(maps.Keys(count))
	order.By(common, func(a, b string) int { return cmp.Compare(count[b], count[a]) })
	for _, shape := range common {
		if most -= programs[shape]; most < 0 {
			rare[shape] = true
		}
	}
	return shapes, rare
}

// merge makes calls alike whose arguments are words; and where there are many kinds of others, those, too.
func (s *script) merge(calls []*call) {
	for _, c := range calls {
		s.alike(c, false)
	}
	if len(calls) <= fewFunctions {
		return
	}
	shapes, rare := s.shapes(calls, severalPrograms, true)
	for i, c := range calls {
		if !rare[shapes[i]] {
			continue
		}
		if s.alike(c, true) {
			s.notice(c.fn, "of arguments and results only numbers, addresses and texts in registers are shown: "+
				"these functions have too many kinds of them; select fewer functions")
		}
	}
}

// join puts the calls together that share their probes. Where they have too many shapes, those of the shapes that few
// functions have are shown as plain tells, or left out if that is nil.
func (s *script) join(calls []*call, plain func(*Function) *call) []*call {
	if s.many && plain != nil {
		s.merge(calls)
	}
	shapes, rare := s.shapes(calls, maxPrograms, plain != nil)
	if len(rare) > 0 {
		kept := calls[:0]
		keptShapes := shapes[:0]
		for i, c := range calls {
			shape := shapes[i]
			if rare[shape] {
				if plain == nil {
					s.notice(c.fn, "left out: these functions have too many kinds of arguments and results; select fewer of them")
					continue
				}
				s.notice(c.fn, "arguments and results are not shown: "+
					"these functions have too many kinds of them; select fewer functions")
				c = plain(c.fn)
				shape = s.shape(c)
			}
			kept, keptShapes = append(kept, c), append(keptShapes, shape)
		}
		calls, shapes = kept, keptShapes
	}
	var out []*call
	first := map[string]*call{}
	for i, c := range calls {
		f := first[shapes[i]]
		if f == nil {
			first[shapes[i]] = c
			out = append(out, c)
			continue
		}
		if f.fn.Called {
			f.name = "" // the builtin func tells them apart
		}
		f.points = append(f.points, c.points...)
		f.members = append(f.members, c.members...)
		f.returns = append(f.returns, c.returns...)
		f.leaves = append(f.leaves, c.leaves...)
		f.tails = append(f.tails, c.tails...)
	}
	return out
}

// plainly is how a call is shown without its arguments and result.
func (s *script) plainly(fn *Function) *call {
	bare := *fn
	bare.Params, bare.Result, bare.Typed, bare.Notices = nil, nil, false, nil
	bare.EntryKey = fn.BareKey
	return s.newCall(&bare)
}

// named decides how the functions of a question are named in its results: by the builtin func, which gives the symbols'
// names, or by names that stand in the text as in the source. It is one way for all, as the names are keys of one map,
// and the second takes a program for each function.
func (s *script) named(fns []Function) []Function {
	if len(fns) > 0 && !slices.ContainsFunc(fns, func(f Function) bool { return f.Probe == "" || f.Called }) {
		s.what = "event"
		if !slices.ContainsFunc(fns, func(f Function) bool { return !f.Errno }) {
			s.what = "syscall"
		}
	}
	other := s.unnamed(fns)
	if other == 0 {
		return fns
	}
	fns = slices.Clone(fns)
	for i := range fns {
		if !fns[i].Line {
			fns[i].Called = len(fns) > maxShapes && fns[i].Probe == ""
		}
		if fns[i].Called && len(fns[i].Folded) > 0 {
			fns[i].Notices = append(slices.Clone(fns[i].Notices), sameCode(strings.Join(fns[i].Folded, ", ")))
		}
	}
	return fns
}

// namedInLines is named where each result is a line of its own: constructors, destructors and functions with the same
// code keep their names if they are few, since the builtin func does not tell those apart.
func (s *script) namedInLines(fns []Function) []Function {
	kept := 0
	for i := range fns {
		if fns[i].Structor || len(fns[i].Folded) > 0 {
			kept++
		}
	}
	out := s.named(fns)
	if kept > maxShapes || s.unnamed(fns) == 0 {
		return out
	}
	for i := range out {
		if fns[i].Structor || len(fns[i].Folded) > 0 {
			out[i].Called, out[i].Notices = fns[i].Called, fns[i].Notices
		}
	}
	return out
}

// unnamed counts the functions that the builtin func does not name as in the source, and decides whether it leaves out
// parameters of C++.
func (s *script) unnamed(fns []Function) (n int) {
	for i := range fns {
		if !fns[i].Called || fns[i].Line {
			n++
		}
		s.bare = s.bare || fns[i].Mangled
	}
	s.bare = s.bare || n > 0 && len(fns) > maxShapes
	return n
}
