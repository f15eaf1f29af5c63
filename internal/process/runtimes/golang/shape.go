package golang

import (
	"fmt"
	"slices"
	"strings"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/code"
	"trocar/internal/binary/types"
	"trocar/internal/process/runtimes/golang/pclntab"
)

// Codes of FUNCDATA_ArgInfo (internal/abi/symtab.go). Any other byte is an offset, behind which the size stands.
const (
	argsEnd       = 0xff
	argsOpen      = 0xfe
	argsClose     = 0xfd
	argsMore      = 0xfc
	argsTooFar    = 0xfb // no offset: it is too large for a byte
	argsSpecial   = 0xf0
	maxShapeWords = 64
)

// shape is an argument, or a part of one: a word of 1 to 8 bytes, or a group.
type shape struct {
	group  bool
	parts  []shape
	more   bool // parts are missing
	off    int  // from the first place for arguments; -1: not known
	size   int
	hidden bool // the dictionary of a generic function
	place  types.Place
	placed bool // place is known
}

// shapes are a function's arguments.
type shapes struct {
	unknown string // the reason why they are not known
	args    []shape
	more    bool
	old     bool              // the function is called as assembly is: all is on the stack
	conv    *abi.GoConvention // nil: not known
	// saved has for each offset of an argument, or a part of one, the register that it is passed in; nil: not known, see
	// saves.
	saved map[int]saved
}

const (
	unknownShape   = "the program is stripped and has no information about this function's arguments"
	unknownGeneric = "it is an instance of a generic function, and the stripped program does not describe all of its " +
		"arguments"
)

// shape reads the shapes of a function's arguments.
func (p *Program) shape(g *pclntab.Func) *shapes {
	s := &shapes{conv: p.f.Arch().Go()}
	if g.ArgInfo == nil {
		s.unknown = unknownShape
		return s
	}
	r := shapeReader{data: g.ArgInfo}
	s.args, s.more = r.list(0)
	if r.failed {
		s.unknown = unknownShape
		return s
	}
	if s.old = p.oldConvention(g); !s.old {
		s.saved, _ = saves(p.f, g.Entry, g.End)
	}
	if strings.Contains(g.Name, "[") {
		s.generic(g.Name, p.dictionaryFirst())
	}
	return s
}

// generic puts in what is missing in the shapes of a function with type arguments in its name. The compiler leaves out
// the first (cmd/compile/internal/ssagen, EmitArgInfo), taking it for the dictionary; but in a method that is the
// receiver, behind which the dictionary is (first: from Go 1.20 on), and an instance that isn't shared has none.
func (s *shapes) generic(name string, first bool) {
	dict := HasDictionary(name)
	switch {
	case first && dict && isGenericMethod(name):
		s.args = append([]shape{{size: 8, hidden: true}}, s.args...)
		return
	case isGenericMethod(name) && dict:
		if len(s.args) == 0 || s.args[0].group || s.args[0].size != 8 || s.args[0].off != 8 {
			s.unknown = unknownGeneric
			return
		}
		s.args[0].hidden = true
	case isGenericMethod(name):
		if len(s.args) > 0 && s.args[0].off == 0 {
			s.unknown = unknownGeneric // it is on the stack
			return
		}
	case dict && !isMethodName(name):
		s.args = append([]shape{{size: 8, hidden: true}}, s.args...)
		return
	default:
		s.unknown = unknownGeneric
		return
	}
	s.args = append([]shape{{size: 8}}, s.args...)
}

type shapeReader struct {
	data   []byte
	words  int
	failed bool
}

func (r *shapeReader) next() byte {
	if len(r.data) == 0 {
		r.failed = true
		return argsEnd
	}
	c := r.data[0]
	r.data = r.data[1:]
	return c
}

func (r *shapeReader) list(depth int) (list []shape, more bool) {
	for !r.failed {
		switch c := r.next(); {
		case c == argsEnd:
			r.failed = r.failed || depth > 0
			return list, more
		case c == argsClose:
			r.failed = r.failed || depth == 0
			return list, more
		case c == argsMore:
			more = true
		case c == argsOpen:
			if r.words++; depth > 16 || r.words > maxShapeWords {
				r.failed = true
				break
			}
			g := shape{group: true}
			g.parts, g.more = r.list(depth + 1)
			list = append(list, g)
		case c == argsTooFar:
			list = append(list, shape{off: -1})
		case c >= argsSpecial:
			r.failed = true
		default:
			if r.words++; r.words > maxShapeWords {
				r.failed = true
				break
			}
			list = append(list, shape{off: int(c), size: int(r.next())})
		}
	}
	return nil, true
}

const (
	whyFloat = "whether it, or an argument before it, is a floating-point number is not in the stripped program; that " +
		"decides in which register it is"
	whyDead = "the function does not use it, and its location is not known in a stripped program"
	whyFar  = "its location is too far from the others to be known in a stripped program"
	whyOdd  = "the stripped program has contradictory information about its size"
)

// oldConvention tells whether a function is called as assembly is.
func (p *Program) oldConvention(g *pclntab.Func) bool {
	return g.Assembly || code.LoadsG(p.f.Arch(), p.f.Bytes(g.Entry, int(min(g.End-g.Entry, code.MaxFunction))))
}

// leaves are the words of arguments in order.
func leaves(args []shape, list []*shape) []*shape {
	for i := range args {
		if w := &args[i]; w.group {
			list = leaves(w.parts, list)
		} else {
			list = append(list, w)
		}
	}
	return list
}

// placeAll finds the places of words: by the code that saves them, else by counting registers as long as nothing can be
// a floating-point number. receiver tells that the first argument is one word and no number.
func (s *shapes) placeAll(receiver bool) {
	words := leaves(s.args, nil)
	if s.old {
		for _, w := range words {
			w.place = types.Place{Kind: types.Unavailable, Why: whyFar}
			if w.off >= 0 && s.conv != nil {
				w.place, w.placed = types.Place{Kind: types.InMemory, Reg: s.conv.SP, Offset: int64(s.conv.Frame + w.off)}, true
			}
		}
		return
	}
	if receiver {
		s.set(words[0], 0)
	}
	if s.saved != nil {
		s.bySaves(words)
		return
	}
	// Only what has a size that no floating-point number has is certain, and what is behind such. A group may be an array,
	// which is on the stack.
	next := 0
	for i := range s.args {
		w := &s.args[i]
		sure := !w.group && (w.size == 1 || w.size == 2 || w.hidden || i == 0 && receiver)
		if !sure || s.conv == nil || next == len(s.conv.Integers) {
			break
		}
		s.set(w, next)
		next++
	}
	for _, w := range words {
		if !w.placed {
			w.place = types.Place{Kind: types.Unavailable, Why: whyFloat}
		}
	}
}

// set places a word in the n-th integer register.
func (s *shapes) set(w *shape, n int) {
	if s.conv == nil {
		w.place = types.Place{Why: "the calling convention of this CPU is not known"}
		return
	}
	w.place, w.placed = types.Place{Kind: types.InRegister, Reg: s.conv.Integers[n]}, true
}

// bySaves places the words that the function saves. It leaves out those that it doesn't use: these have the registers
// between, if there are as many of these as of them.
func (s *shapes) bySaves(words []*shape) {
	var run []*shape // not saved, since
	last := -1       // the register of the last saved one, by its place in the convention
	for _, w := range words {
		r, ok := s.saved[w.off]
		switch {
		case w.off < 0:
			w.place = types.Place{Kind: types.Unavailable, Why: whyFar}
			run = append(run, w)
			continue
		case ok && r.size != w.size:
			w.place = types.Place{Kind: types.Unavailable, Why: whyOdd}
			return
		case ok && r.float:
			w.place = types.Place{Kind: types.Unavailable, Why: fmt.Sprintf("it is in X%d, a floating-point register, which "+
				"BPF cannot read", r.reg), Vector: r.reg + 1}
			w.placed = true
			continue
		case !ok && !w.placed:
			w.place = types.Place{Kind: types.Unavailable, Why: whyDead}
			run = append(run, w)
			continue
		}
		n := 0
		if ok {
			n = slices.Index(s.conv.Integers, r.reg)
		}
		if n-last-1 == len(run) {
			for i, u := range run {
				s.set(u, last+1+i)
			}
		}
		if n < 0 || n <= last {
			w.place = types.Place{Kind: types.Unavailable, Why: whyOdd}
			return
		}
		s.set(w, n)
		run, last = run[:0], n
	}
}

// word is the type of a value of which only the size is known.
func word(size int, float bool) *types.Type {
	if float {
		return &types.Type{
			Kind: types.Float, Name: fmt.Sprintf("float%d", 8*size), Size: size, Align: size,
			Source: &types.Source{Lang: types.Go},
		}
	}
	t := types.PointerTo(types.TVoid, types.User) // shown in hexadecimal: its sign is not known
	t.Name, t.Size, t.Align, t.Source = "word", size, size, &types.Source{Lang: types.Go, Form: types.UnsafeForm}
	if size < 8 {
		t.Name = fmt.Sprintf("word%d", 8*size)
	}
	return t
}

// shaped tells the arguments by their shapes, with the receiver's type as the name has it.
func (p *Program) shaped(fn *Function, g *pclntab.Func, s *shapes) {
	recv, pointer := p.receiver(fn.Name)
	switch {
	case g.ArgInfo == nil && !pointer:
		// What has no arguments has no shape of them.
		return
	case s.unknown != "":
		fn.Unknown = s.unknown
		return
	case pointer && (len(s.args) == 0 || s.args[0].group || s.args[0].size != 8):
		fn.Unknown = "the stripped program has contradictory information about the receiver"
		return
	}
	s.placeAll(pointer)
	fn.More = s.more
	for i := range s.args {
		w := &s.args[i]
		if w.hidden {
			continue
		}
		a := Param{Type: w.typ(), Place: w.placeOf()}
		if i == 0 && recv != nil && fits(recv, w) {
			if in, _ := p.f.Arch().Go().Places([]*types.Type{recv}, nil, s.old); in[0] != nil {
				a = Param{Type: recv, Place: *in[0], Known: true}
				fn.Receiver = true
			}
		}
		fn.Params = append(fn.Params, a)
	}
}

// isGenericMethod tells "pkg.(*T[…]).m", without closures in it.
func isGenericMethod(name string) bool {
	i := strings.LastIndexByte(name, ']')
	rest, ok := strings.CutPrefix(name[i+1:], ").")
	return ok && !strings.ContainsAny(rest, ".-") && strings.Contains(name, "(*")
}

// isMethodName tells "pkg.T[…].m" and what is in such.
func isMethodName(name string) bool {
	return !strings.HasSuffix(name, "]")
}

// HasDictionary tells, by its name, whether a function is given a dictionary that tells type arguments: it is shared by
// several instances of a generic one. Closures in one have it from their context, and the functions that compare values
// need none.
func HasDictionary(name string) bool {
	i := strings.LastIndex(name, "[go.shape.")
	if i < 0 || strings.HasPrefix(name, "type:") {
		return false
	}
	rest := name[i:]
	if j := strings.LastIndexByte(rest, ']'); j >= 0 {
		rest = rest[j+1:]
	}
	if method, ok := strings.CutPrefix(rest, ")."); ok {
		// A method's own name may look like one that the compiler makes.
		_, rest, _ = strings.Cut(method, ".")
		if strings.Contains(method, "-") {
			return false
		}
	}
	return !strings.Contains(rest, "-") && !isMade(rest[strings.LastIndexByte(rest, '.')+1:])
}

// words are the sizes and offsets of a shape's words.
func (w *shape) words(list []shape) []shape {
	if !w.group {
		return append(list, *w)
	}
	for i := range w.parts {
		list = w.parts[i].words(list)
	}
	return list
}

func (w *shape) cut() bool {
	return w.more || slices.ContainsFunc(w.parts, func(s shape) bool { return s.cut() })
}

// typ is a type that shows a shape. Parts have numbers for names.
func (w *shape) typ() *types.Type {
	if !w.group {
		if w.off < 0 {
			return types.Missing("its size is not known")
		}
		return word(w.size, w.placed && w.place.Kind == types.Unavailable)
	}
	t := &types.Type{Kind: types.Struct, Name: w.text(), Align: 8, Source: &types.Source{Lang: types.Go}}
	words := w.words(nil)
	if len(words) == 0 || w.cut() {
		return t
	}
	base := words[0].off
	for i := range words {
		at := words[i].off - base
		if words[i].off < 0 || at < t.Size {
			t.Fields, t.Size = nil, 0
			return t
		}
		t.Fields = append(t.Fields, types.Field{Name: fmt.Sprintf("w%d", i), Type: words[i].typ(), Offset: at})
		t.Size = at + words[i].size
	}
	return t
}

// placeOf puts the places of a shape's words together.
func (w *shape) placeOf() types.Place {
	if !w.group {
		return w.place
	}
	words := w.words(nil)
	if w.cut() {
		return types.Place{Kind: types.Unavailable, Why: "the stripped program describes only its first parts"}
	}
	if len(words) == 0 {
		return types.Place{Kind: types.InPieces}
	}
	out := types.Place{Kind: types.InPieces}
	end := 0
	for i := range words {
		at := words[i].off - words[0].off
		if words[i].off < 0 || at < end {
			return types.Place{Kind: types.Unavailable, Why: "the locations of its parts are not known in a stripped program"}
		}
		if at > end {
			out.Pieces = append(out.Pieces, types.Piece{Size: at - end, Place: types.Place{Kind: types.Constant}})
		}
		out.Pieces = append(out.Pieces, types.Piece{Size: words[i].size, Place: words[i].place})
		end = at + words[i].size
	}
	return out
}

// text is a shape as it is listed: "word", "{word, word8}".
func (w *shape) text() string {
	if !w.group {
		switch {
		case w.off < 0:
			return "?"
		case w.placed && w.place.Kind == types.Unavailable:
			return fmt.Sprintf("float%d", 8*w.size)
		}
		return word(w.size, false).Name
	}
	var parts []string
	for i := range w.parts {
		parts = append(parts, w.parts[i].text())
	}
	if w.more {
		parts = append(parts, "…")
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// fits tells whether a type has the shape of an argument.
func fits(t *types.Type, w *shape) bool {
	t = t.Complete()
	group := t.Kind == types.Struct || t.Kind == types.Array
	if group != w.group {
		return false
	}
	if !group {
		return t.Size == w.size || w.off < 0
	}
	words := w.words(nil)
	if w.cut() || len(words) == 0 {
		return true
	}
	first, last := words[0], words[len(words)-1]
	return first.off < 0 || last.off < 0 || last.off+last.size-first.off <= t.Size
}

// agrees tells whether a signature fits the shapes of the arguments, and the registers that it gives them those that
// the function saves.
func (p *Program) agrees(fn *Function, s *shapes) bool {
	if s.unknown != "" {
		return true
	}
	if len(s.args) > len(fn.Params) || len(s.args) < len(fn.Params) && !s.more {
		return false
	}
	for i := range s.args {
		if !fits(fn.Params[i].Type, &s.args[i]) {
			return false
		}
	}
	if s.saved == nil {
		return true
	}
	want := map[int]bool{}
	floats := 0
	for _, param := range fn.Params {
		pieces := param.Place.Pieces
		if param.Place.Kind != types.InPieces {
			pieces = []types.Piece{{Place: param.Place}}
		}
		for _, piece := range pieces {
			switch piece.Place.Kind {
			case types.InRegister:
				want[piece.Place.Reg] = true
			case types.Unavailable:
				floats++
			}
		}
	}
	for _, r := range s.saved {
		if r.float {
			floats--
		} else if !want[r.reg] {
			return false
		}
	}
	return floats >= 0 // those that it doesn't use are not saved
}
